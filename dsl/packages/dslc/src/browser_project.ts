// browser_project.ts: lists the files that the compiler reads in a browser: files of the project, the authoring package
// and TypeScript.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { standardFolder } from "./bundle.js";
import { filesBelow } from "./folder.js";
import { isInProject, libraryFolder } from "./plan_files.js";
import { filesOfProject, type Project } from "./project.js";
import { ProjectError } from "./project_error.js";

const maxBytes = 16 << 20;

/** The project that a worker receives: see browser.ts. */
export interface BrowserProject {
  readonly root: string;
  /** The folder of TypeScript's declarations. */
  readonly standard: string;
  /** The files, by absolute path. */
  readonly files: Readonly<Record<string, string>>;
}

/** Returns the declaration files of the language in which plans are written, including all files that they refer to. */
function standardFiles(): string[] {
  const found = [join(standardFolder, "lib.es2022.d.ts")];
  for (const file of found)
    for (const [, name] of readFileSync(file, "utf8").matchAll(/^\/\/\/ <reference lib="([^"]+)" \/>/gm)) {
      const next = join(standardFolder, `lib.${name!}.d.ts`);
      if (!found.includes(next)) found.push(next);
    }
  return found;
}

/** Returns all files in their current state. */
export function browserProject(project: Project): BrowserProject {
  const indexes = filesBelow(project.root, "index.json").filter((file) => basename(join(file, "..")) === "fragments");
  const library = readdirSync(libraryFolder).map((name) => join(libraryFolder, name));
  const all = [
    ...filesOfProject(project),
    ...filesBelow(project.root, ".ts").filter((file) => isInProject(file, project.root)),
    ...indexes,
    ...library,
    ...standardFiles(),
  ];
  const files: Record<string, string> = {};
  let bytes = 0;
  for (const file of all) {
    files[file] = readFileSync(file, "utf8");
    bytes += files[file].length;
    if (bytes > maxBytes)
      throw new ProjectError(`the sources below ${project.root} are more than ${maxBytes >> 20} MB`);
  }
  return { root: project.root, standard: standardFolder, files };
}
