// folder.ts: finds the plans of a project, and writes the index of its artifacts.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";

import { isObject, parsedJson, prettyJson, sha256 } from "./json.js";
import { testArtifact, testSource } from "./plan_names.js";
import type { Project } from "./project.js";
import { ProjectError } from "./project_error.js";
import { readJson, readText, replaceFile } from "./write.js";

const suffix = ".plan.ts";
const manifestName = "manifest.json";
const indexName = "index.json";

/** Names of plans whose artifacts would replace other files in the folder of artifacts. */
export const reservedNames: readonly string[] = [indexName, manifestName].map((name) => name.replace(/\.json$/, ""));

/** Returns the sources of all plans: those in plans/manifest.json, or every NAME.plan.ts if there is no manifest. */
export function sourcesOf(project: Project): string[] {
  const listed = readManifest(project);
  if (listed !== undefined) return listed;
  const found = sourcesWith(project, suffix);
  if (found.length > 0) return found;
  throw new ProjectError(`there is no plan to compile: ${join(project.root, "plans")} has no file NAME${suffix}`);
}

/** Returns the sources that plans/manifest.json lists. Returns nothing if there is no manifest. */
function readManifest(project: Project): string[] | undefined {
  const file = join(project.root, "plans", manifestName);
  if (!existsSync(file)) return undefined;
  const manifest = readJson(file);
  const plans = isObject(manifest) ? manifest["plans"] : undefined;
  if (!Array.isArray(plans) || !plans.every((each) => typeof each === "string"))
    throw new ProjectError(
      `${file}: \`plans\` must list the sources of plans, as in {"plans": ["plans/NAME.plan.ts"]}`,
    );
  return plans.map((each: string) => join(project.root, each));
}

/** Returns the tests of a project: every NAME.test.ts in the folders of plans, or next to a plan in the manifest. */
export function testsOf(project: Project): string[] {
  const tests = readManifest(project)?.map((plan) => plan.slice(0, -suffix.length) + testSource);
  return tests?.filter((file) => existsSync(file)) ?? sourcesWith(project, testSource);
}

/**
 * Returns the files with this ending in the project's folder `plans`, in the folder of artifacts, and in their
 * subfolders, in the order of their paths. No two of these files have the same artifact.
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

/** Returns the files with this ending below a folder, except those in node_modules and in hidden folders. */
export function filesBelow(folder: string, ending: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^\.|^node_modules$/.test(entry.name) ? [] : filesBelow(path, ending);
    // Only regular files are read, because reading a pipe would wait for its writer.
    const isReadable = entry.isFile() || entry.isSymbolicLink();
    return isReadable && entry.name.endsWith(ending) ? [path] : [];
  });
}

/** The names of the artifacts of plans and tests in a folder. */
function artifactNamesIn(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return names.filter((name) => name !== indexName && name !== manifestName).sort();
}

const plansIn = (folder: string): string[] => artifactNamesIn(folder).filter((name) => !name.endsWith(testArtifact));

/** The artifacts of plans in a folder. Empty if the folder does not exist. */
export function artifactsIn(folder: string): string[] {
  return existsSync(folder) ? plansIn(folder).map((name) => join(folder, name)) : [];
}

/** The index of a folder: all artifacts in the folder, with their digests. */
function indexOf(folder: string): string {
  const plans = plansIn(folder).map((path) => ({
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

/** Whether the folder has an index that differs from the artifacts in it. */
export function isIndexStale(folder: string): boolean {
  const file = join(folder, indexName);
  return existsSync(file) && readFileSync(file, "utf8") !== indexOf(folder);
}

/** The source from which dslc has made an artifact, as named in the artifact. Nothing if dslc has not made it. */
function sourceIn(file: string): string | undefined {
  const artifact = parsedJson(readText(file) ?? ""); // the engine reports the error
  if (!isObject(artifact)) return undefined;
  const { built_by: builtBy, source_files: files } = artifact;
  const first: unknown = Array.isArray(files) ? files[0] : undefined;
  const isOurs = typeof builtBy === "string" && builtBy.startsWith("dslc ");
  return isOurs && typeof first === "string" ? first.split("#")[0] : undefined;
}

/**
 * Returns the artifacts that dslc has made from sources below `root` that no longer exist, with these sources. Leaves
 * out `known`.
 */
export function leftIn(folder: string, root: string, known: string[]): { file: string; source: string }[] {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return []; // the writer reports the error
  return artifactNamesIn(folder).flatMap((name) => {
    const file = join(folder, name);
    const source = known.includes(name) ? undefined : sourceIn(file);
    return source === undefined || existsSync(join(root, source)) ? [] : [{ file, source }];
  });
}
