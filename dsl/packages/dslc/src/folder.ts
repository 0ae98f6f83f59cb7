// folder.ts: the list of a project's plans, and the index beside its artifacts.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { prettyJson, sha256 } from "./json.js";
import { type Project, ProjectError } from "./project.js";

/** The sources of all plans, from plans/manifest.json. */
export function readManifest(project: Project): string[] {
  const file = join(project.root, "plans", "manifest.json");
  let manifest: unknown;
  try {
    manifest = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new ProjectError(`${file}: ${(error as Error).message}`);
  }
  const plans = (manifest as { plans?: unknown }).plans;
  if (!Array.isArray(plans) || !plans.every((each) => typeof each === "string"))
    throw new ProjectError(`${file}: \`plans\` must list the sources of plans`);
  return plans.map((each) => join(project.root, each));
}

/** Brings the index of a folder up to date, where it has one. */
export function writeIndex(folder: string): void {
  const index = join(folder, "index.json");
  if (!existsSync(index)) return;
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".json") && name !== "index.json")
    .sort();
  const plans = names.map((path) => ({
    name: path.replace(/\.json$/, ""),
    path,
    digest: sha256(readFileSync(join(folder, path))),
  }));
  writeFileSync(index, prettyJson({ schema_version: 1, plans }));
}
