// fragment_index.ts: records published versions of fragments, which must not change, and finds plans that use older
// versions.
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";

import { fragmentCapability } from "./capabilities.js";
import { byBytes, isObject, type Json, parsedJson, prettyJson, sha256 } from "./json.js";
import type { Project } from "./project.js";
import { ProjectError } from "./project_error.js";
import { readJson, replaceFile } from "./write.js";

const folderName = "fragments";
const suffix = ".fragment.ts";
const indexName = "index.json";

/** Whether a file defines a fragment rather than a plan. */
export const definesFragment = (file: string): boolean => file.endsWith(suffix);

/** A use of a fragment, as an artifact records it. */
export interface FragmentUse {
  readonly id: string;
  readonly fragment: string;
  readonly version: string;
}

/**
 * Returns the uses of fragments in an artifact. Does not report errors in the artifact, because the engine does that.
 */
export function usesOf(artifact: string): readonly FragmentUse[] {
  const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);
  const uses = member(member(member(parsedJson(artifact), "extensions"), fragmentCapability), "uses");
  const isRight = (use: unknown): use is FragmentUse =>
    isObject(use) && ["id", "fragment", "version"].every((field) => typeof use[field] === "string");
  return Array.isArray(uses) ? (uses as unknown[]).filter(isRight) : [];
}

/** A version of a fragment, with the digest of all its sources. */
export interface FragmentVersion {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

/** The end of the path of the file that defines a version. */
export function fragmentPath(name: string, version: string): string {
  return `${folderName}/${name}/${version.split(".")[0]}${suffix}`;
}

/** Returns the digest of a fragment's file and of its imports. It does not depend on the project's folder. */
export function digestOf(file: string, sources: readonly { path: string; text: string }[]): string {
  const from = dirname(dirname(dirname(file)));
  const lines = sources.map(
    ({ path, text }) => `${relative(from, path).replaceAll("\\", "/")}#sha256=${sha256(text)}\n`,
  );
  return sha256(lines.sort(byBytes).join(""));
}

/** Maps each fragment and version to a digest. */
type Index = Record<string, Record<string, string>>;

/** Returns the index in a folder of fragments. Empty if there is no index. */
function readIndex(folder: string): Index {
  const file = join(folder, indexName);
  if (!existsSync(file)) return {};
  const read = readJson(file);
  const fragments = isObject(read) && read["schema_version"] === 1 ? read["fragments"] : undefined;
  const isRight = (versions: unknown): boolean =>
    isObject(versions) && Object.values(versions).every((digest) => typeof digest === "string");
  if (!isObject(fragments) || !Object.values(fragments).every(isRight))
    throw new ProjectError(`${file} is no index of fragments: restore the one that \`dslc publish\` wrote`);
  return fragments as Index;
}

const publishedDigest = (index: Index, name: string, version: string): string | undefined =>
  Object.hasOwn(index, name) && Object.hasOwn(index[name]!, version) ? index[name]![version] : undefined;

/** Returns an error if this version of the fragment was published with different sources, and otherwise nothing. */
export function changedSince(file: string, made: FragmentVersion): string | undefined {
  const published = publishedDigest(readIndex(dirname(dirname(file))), made.name, made.version);
  if (published === undefined || published === made.sha256) return undefined;
  return `version ${made.version} of \`${made.name}\` was published with other sources, and a published version stays as it is`;
}

/** The files of all fragments of a project. */
export function fragmentsOf(project: Project): string[] {
  const folder = join(project.root, folderName);
  if (!existsSync(folder)) throw new ProjectError(`there is no fragment to publish: ${folder} is missing`);
  const found = readdirSync(folder, { withFileTypes: true })
    .filter((each) => each.isDirectory())
    .flatMap((each) => readdirSync(join(folder, each.name)).map((name) => join(folder, each.name, name)))
    .filter(definesFragment)
    .sort(byBytes);
  if (found.length === 0)
    throw new ProjectError(`there is no fragment to publish: ${folder} has no file NAME/MAJOR${suffix}`);
  return found;
}

/** Adds versions to the index of a project. Returns the new versions. */
export function publish(project: Project, made: readonly FragmentVersion[]): readonly FragmentVersion[] {
  const folder = join(project.root, folderName);
  const index = readIndex(folder);
  const added = made.filter(({ name, version }) => publishedDigest(index, name, version) === undefined);
  for (const { name, version, sha256: digest } of added)
    index[name] = { ...(Object.hasOwn(index, name) ? index[name] : {}), [version]: digest };
  if (added.length > 0)
    replaceFile(join(folder, indexName), prettyJson({ schema_version: 1, fragments: index as Json }));
  return added;
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((each) => each.split(".").map(Number)) as [number[], number[]];
  const at = a.findIndex((each, place) => each !== b[place]);
  return at !== -1 && a[at]! < b[at]!;
}

/** Returns a line for each use of a fragment in an artifact for which a newer version was published. */
export function outdatedIn(project: Project, plan: string, uses: readonly FragmentUse[]): string[] {
  const index = readIndex(join(project.root, folderName));
  return uses.flatMap(({ id, fragment, version }) => {
    const published = Object.hasOwn(index, fragment) ? Object.keys(index[fragment]!) : [];
    const newest = published.reduce((best, each) => (isOlder(best, each) ? each : best), version);
    return newest === version ? [] : [`${plan}: ${id} is ${fragment} ${version}; ${newest} is published`];
  });
}
