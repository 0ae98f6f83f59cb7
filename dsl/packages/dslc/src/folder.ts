// folder.ts: which plans a project has, and the index beside its artifacts.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

import { prettyJson, sha256 } from "./json.js";
import { type Project, ProjectError } from "./project.js";
import { reasonOf, replaceFile } from "./write.js";

const suffix = ".plan.ts";
const manifestName = "manifest.json";
const indexName = "index.json";

/** The plans whose artifacts would replace what stands beside the artifacts under another meaning. */
export const reservedNames: readonly string[] = [indexName, manifestName].map((name) => name.replace(/\.json$/, ""));

/** The sources of all plans: those that plans/manifest.json lists, or without one every NAME.plan.ts. */
export function sourcesOf(project: Project): string[] {
  const manifest = join(project.root, "plans", manifestName);
  return existsSync(manifest) ? readManifest(project, manifest) : findSources(project);
}

function readManifest(project: Project, file: string): string[] {
  let manifest: unknown;
  try {
    manifest = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new ProjectError(`${file}: ${reasonOf(error)}`);
  }
  const plans = (manifest as { plans?: unknown } | null)?.plans;
  if (!Array.isArray(plans) || !plans.every((each) => typeof each === "string"))
    throw new ProjectError(
      `${file}: \`plans\` must list the sources of plans, as in {"plans": ["plans/NAME.plan.ts"]}`,
    );
  return plans.map((each) => join(project.root, each));
}

/** Every NAME.plan.ts in the folder `plans` of the project, in the one of the artifacts, and in folders inside. */
function findSources(project: Project): string[] {
  const folders = [join(project.root, "plans"), project.plans];
  const found = [...new Set(folders.flatMap((folder) => plansBelow(folder)))].sort();
  if (found.length === 0)
    throw new ProjectError(`there is no plan to compile: ${join(project.root, "plans")} has no file NAME${suffix}`);
  const byName = new Map<string, string>();
  for (const file of found) {
    const name = file.split(/[/\\]/).at(-1)!;
    const other = byName.get(name);
    if (other !== undefined)
      throw new ProjectError(
        `${relative(project.root, other)} and ${relative(project.root, file)} would have the same artifact; name one of them otherwise`,
      );
    byName.set(name, file);
  }
  return found;
}

function plansBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^\.|^node_modules$/.test(entry.name) ? [] : plansBelow(path);
    return entry.name.endsWith(suffix) ? [path] : [];
  });
}

/** Writes the index of a folder: all artifacts that lie there, with their digests. */
export function writeIndex(folder: string): void {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".json") && name !== indexName && name !== manifestName)
    .sort();
  const plans = names.map((path) => ({
    name: path.replace(/\.json$/, ""),
    path,
    digest: sha256(readFileSync(join(folder, path))),
  }));
  replaceFile(join(folder, indexName), prettyJson({ schema_version: 1, plans }));
}
