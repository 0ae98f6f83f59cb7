// folder.ts: finds the plans of a project, and writes the index of its artifacts.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";

import { prettyJson, sha256 } from "./json.js";
import { testArtifact, testSource } from "./plan_names.js";
import type { Project } from "./project.js";
import { ProjectError } from "./project_error.js";
import { reasonOf, replaceFile } from "./write.js";

const suffix = ".plan.ts";
const manifestName = "manifest.json";
const indexName = "index.json";

/** Plan names whose artifacts would replace other files in the folder of artifacts. */
export const reservedNames: readonly string[] = [indexName, manifestName].map((name) => name.replace(/\.json$/, ""));

/** The sources of all plans: those that plans/manifest.json lists, or without one every NAME.plan.ts. */
export function sourcesOf(project: Project): string[] {
  const manifest = join(project.root, "plans", manifestName);
  if (existsSync(manifest)) return readManifest(project, manifest);
  const found = sourcesWith(project, suffix);
  if (found.length > 0) return found;
  throw new ProjectError(`there is no plan to compile: ${join(project.root, "plans")} has no file NAME${suffix}`);
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

/** The tests of a project: every NAME.test.ts in the folders of plans, or next to a plan that its manifest lists. */
export function testsOf(project: Project): string[] {
  const manifest = join(project.root, "plans", manifestName);
  if (!existsSync(manifest)) return sourcesWith(project, testSource);
  return readManifest(project, manifest)
    .map((plan) => plan.slice(0, -suffix.length) + testSource)
    .filter((file) => existsSync(file));
}

/**
 * The files with this ending in the folder `plans` of the project, in the one of the artifacts, and in folders inside,
 * in the order of their paths. Two of them have no artifact in common.
 */
function sourcesWith(project: Project, ending: string): string[] {
  const folders = [join(project.root, "plans"), project.plans];
  const found = [...new Set(folders.flatMap((folder) => filesBelow(folder, ending)))].sort();
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

/** The files below a folder with this ending, without those in node_modules and in hidden folders. */
export function filesBelow(folder: string, ending: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^\.|^node_modules$/.test(entry.name) ? [] : filesBelow(path, ending);
    // Reading a pipe would wait for its writer.
    const isReadable = entry.isFile() || entry.isSymbolicLink();
    return isReadable && entry.name.endsWith(ending) ? [path] : [];
  });
}

/** The names of the artifacts of plans in a folder. */
function artifactNamesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json") && !name.endsWith(testArtifact))
    .filter((name) => name !== indexName && name !== manifestName)
    .sort();
}

/** The artifacts of plans in a folder; empty if there is no folder. */
export function artifactsIn(folder: string): string[] {
  return existsSync(folder) ? artifactNamesIn(folder).map((name) => join(folder, name)) : [];
}

/** The index of a folder: all artifacts in it, with their digests. */
function indexOf(folder: string): string {
  const plans = artifactNamesIn(folder).map((path) => ({
    name: path.replace(/\.json$/, ""),
    path,
    digest: sha256(readFileSync(join(folder, path))),
  }));
  return prettyJson({ schema_version: 1, plans });
}

/** Writes the index of a folder. */
export function writeIndex(folder: string): void {
  replaceFile(join(folder, indexName), indexOf(folder));
}

/** Whether the index of a folder, if it has one, differs from its artifacts. */
export function isIndexStale(folder: string): boolean {
  const file = join(folder, indexName);
  return existsSync(file) && readFileSync(file, "utf8") !== indexOf(folder);
}

/** An artifact that dslc made of a source that is gone. */
export interface LeftArtifact {
  readonly file: string;
  /** As the artifact has it. */
  readonly source: string;
}

/** The source from which dslc made an artifact, as the artifact names it; nothing if it was made otherwise. */
function sourceIn(file: string): string | undefined {
  let artifact: { built_by?: unknown; source_files?: unknown } | null;
  try {
    artifact = JSON.parse(readFileSync(file, "utf8")) as typeof artifact;
  } catch {
    return undefined; // the engine says what is wrong with it
  }
  const [first] = Array.isArray(artifact?.source_files) ? (artifact.source_files as unknown[]) : [];
  const isOurs = typeof artifact?.built_by === "string" && artifact.built_by.startsWith("dslc ");
  return isOurs && typeof first === "string" ? first.split("#")[0] : undefined;
}

/** Plans and tests in a folder of artifacts that dslc made of sources below `root` which are no longer there. */
export function leftIn(folder: string, root: string): LeftArtifact[] {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return []; // what writes there says what is wrong
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json") && name !== indexName && name !== manifestName)
    .sort()
    .flatMap((name) => {
      const file = join(folder, name);
      const source = sourceIn(file);
      return source === undefined || existsSync(join(root, source)) ? [] : [{ file, source }];
    });
}
