// types.ts: writes the declarations that editors and tsc read in place of the authoring package, with the project's
// tokens.
//
// The declarations are stored in the project's own folder .rankd/, so that projects share nothing. .rankd/plan/
// contains the declarations. The project's tsconfig.json extends .rankd/tsconfig.json, which resolves imports of
// @rankd/plan to that folder.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";

import ts = require("typescript");

import { sha256 } from "./json.js";
import { compilerOptions, libraryFolder, PlanFiles } from "./plan_files.js";
import type { Project } from "./project.js";
import { readText, replaceFile } from "./write.js";

/** The folder in a project that `dslc bindings` writes. */
export const typesFolder = (project: Project): string => join(project.root, ".rankd");

const stampName = "stamp";

const tsconfig = `{
  // Written by dslc: the options with which it compiles plans. A tsconfig.json that extends this file may add others.
  "compilerOptions": {
    "target": "es2022",
    "lib": ["es2022"],
    "module": "es2022",
    "moduleResolution": "bundler",
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "allowImportingTsExtensions": true,
    "noEmit": true,
    "skipLibCheck": true,
    "types": [],
    "paths": { "@rankd/plan": ["./plan/index.d.ts"] }
  }
}
`;

/** Writes .rankd/ again if it is missing or was made from different inputs. */
export function writeTypes(project: Project, generated: string): void {
  const folder = typesFolder(project);
  const stamp = stampOf(generated);
  if (readText(join(folder, stampName)) === stamp) return;
  const declarations = declarationsOf(generated);
  rmSync(join(folder, stampName), { force: true });
  for (const [name, text] of declarations) replaceFile(join(folder, "plan", name), text);
  replaceFile(join(folder, "tsconfig.json"), tsconfig);
  replaceFile(join(folder, ".gitignore"), "*\n");
  replaceFile(join(folder, stampName), stamp);
}

/** A digest that changes if the declarations change. */
function stampOf(generated: string): string {
  const sources = readdirSync(libraryFolder).sort();
  const parts = sources
    .filter((name) => name !== "generated.ts")
    .map((name) => readFileSync(join(libraryFolder, name), "utf8"));
  return `${sha256([generated, tsconfig, ts.version, ...parts].map(sha256).join())}\n`;
}

/** The modules of @rankd/plan: maps each file to its text. */
function declarationsOf(generated: string): Map<string, string> {
  const options: ts.CompilerOptions = {
    ...compilerOptions,
    module: ts.ModuleKind.ES2022,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    declaration: true,
    emitDeclarationOnly: true,
    removeComments: false,
    rootDir: libraryFolder,
    outDir: "/",
  };
  // The compiler host must include the functions of PlanFiles in order to resolve imports. Otherwise a module below
  // node_modules would count as a foreign package, and TypeScript would emit no declarations for it.
  const { host: files } = new PlanFiles(libraryFolder, generated, new Map());
  const host = Object.assign(ts.createCompilerHost(options), files);
  const out = new Map<string, string>();
  const program = ts.createProgram({ rootNames: [join(libraryFolder, "index.ts")], options, host });
  for (const source of program.getSourceFiles())
    if (!relative(libraryFolder, source.fileName).startsWith(".."))
      program.emit(source, (name, text) => out.set(relative("/", name), text), undefined, true);
  return out;
}
