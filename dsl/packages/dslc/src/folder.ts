// folder.ts: the list of a project's plans, and the index beside its artifacts.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { prettyJson, sha256 } from "./json.js";
import { type Project, ProjectError } from "./project.js";
import { reasonOf, replaceFile } from "./write.js";

/** The sources of all plans, from plans/manifest.json. */
export function readManifest(project: Project): string[] {
  const file = join(project.root, "plans", "manifest.json");
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const wanted = '{"plans": ["plans/NAME.plan.ts"]}';
    throw new ProjectError(
      `${file}, which lists the sources of plans as in ${wanted}: ${reasonOf(error)}; or name files`,
    );
  }
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch (error) {
    throw new ProjectError(`${file}: ${(error as Error).message}`);
  }
  const plans = (manifest as { plans?: unknown }).plans;
  if (!Array.isArray(plans) || !plans.every((each) => typeof each === "string"))
    throw new ProjectError(`${file}: \`plans\` must list the sources of plans`);
  return plans.map((each) => join(project.root, each));
}

/** Writes the index of a folder: all artifacts that lie there, with their digests. */
export function writeIndex(folder: string): void {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".json") && name !== "index.json")
    .sort();
  const plans = names.map((path) => ({
    name: path.replace(/\.json$/, ""),
    path,
    digest: sha256(readFileSync(join(folder, path))),
  }));
  replaceFile(join(folder, "index.json"), prettyJson({ schema_version: 1, plans }));
}
