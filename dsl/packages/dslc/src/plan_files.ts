// plan_files.ts: the files that a plan may import: files of its project and of the authoring package, and unsaved
// texts.
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";

import ts = require("typescript");

/** The name by which plans import the authoring package. */
export const packageName = "@rankd/plan";

/** Whether an import names a file by its path relative to the importing file. */
export const isRelative = (name: string): boolean => /^\.\.?\//.test(name);

/** The folder of the authoring package's sources. */
export const libraryFolder = dirname(createRequire(import.meta.url).resolve(packageName));

/** The settings with which plans are parsed and emitted. */
export const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2022.d.ts"],
  module: ts.ModuleKind.CommonJS,
  moduleResolution: ts.ModuleResolutionKind.Node10,
  // Without this setting, a file without imports and exports would declare its names in the global scope of all files.
  moduleDetection: ts.ModuleDetectionKind.Force,
  ignoreDeprecations: "5.0",
  strict: true,
  noUncheckedIndexedAccess: true,
  types: [],
  skipLibCheck: true,
  removeComments: true,
  newLine: ts.NewLineKind.LineFeed,
};

/** The modules that exist whether or not a plan imports them. */
export const libraryRoots: readonly string[] = [join(libraryFolder, "index.ts"), join(libraryFolder, "hooks.ts")];

const bindingsFile = join(libraryFolder, "generated.ts");

/** Texts that replace files on the disk, by absolute path. */
export type Texts = ReadonlyMap<string, string>;

/** The files of one project. */
export class PlanFiles {
  /** `generated` is the text of the project's bindings. */
  constructor(
    private readonly root: string,
    private readonly generated: string,
    private readonly texts: Texts,
  ) {}

  /** Returns the text of a file that a plan may read, or nothing. */
  read(file: string): string | undefined {
    const path = resolve(file);
    if (path === bindingsFile) return this.generated;
    if (!this.isReadable(path)) return undefined;
    const text = this.texts.get(path);
    if (text !== undefined) return text;
    try {
      return readFileSync(file, "utf8");
    } catch {
      return undefined;
    }
  }

  /** Returns a version that changes if the file on the disk changes. It is constant for texts that replace files. */
  versionOf(file: string): string {
    const path = resolve(file);
    if (path === bindingsFile || this.texts.has(path)) return "0";
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? "" : `${found.ino} ${found.mtimeNs} ${found.size}`;
  }

  private exists(file: string): boolean {
    const path = resolve(file);
    return path === bindingsFile || (this.isReadable(path) && (this.texts.has(path) || existsSync(path)));
  }

  private isReadable(path: string): boolean {
    return isLibrary(path) || isStandard(path) || isInProject(path, this.root);
  }

  /** The functions through which TypeScript accesses files. */
  readonly host = {
    readFile: (file: string): string | undefined => this.read(file),
    fileExists: (file: string): boolean => this.exists(file),
    resolveModuleNameLiterals: (
      literals: readonly ts.StringLiteralLike[],
      importer: string,
    ): ts.ResolvedModuleWithFailedLookupLocations[] =>
      literals.map(({ text }) => {
        const resolvedFileName = this.resolveImport(text, importer);
        const known = { extension: ts.Extension.Ts, isExternalLibraryImport: false };
        return { resolvedModule: resolvedFileName === undefined ? undefined : { resolvedFileName, ...known } };
      }),
  };

  /** Only the authoring package and files of the project can be imported. */
  resolveImport(name: string, importer: string): string | undefined {
    if (name === packageName) return libraryRoots[0];
    if (!isRelative(name)) return undefined;
    const base = resolve(dirname(importer), name.replace(/\.js$/, ""));
    const file = base.endsWith(".ts") ? base : `${base}.ts`;
    // A declaration file is refused, because no code guarantees that its declarations are true.
    if (file.endsWith(".d.ts") || isLibrary(file) !== isLibrary(importer)) return undefined;
    return this.exists(file) ? file : undefined;
  }
}

/** Whether a file belongs to the authoring package. */
export function isLibrary(file: string): boolean {
  return isInside(resolve(file), libraryFolder);
}

/** Whether a file is one of TypeScript's own declaration files. */
export function isStandard(file: string): boolean {
  // The folder is computed at the first use, because TypeScript in a browser learns the folder of its files only then.
  standardFolder ??= dirname(resolve(ts.getDefaultLibFilePath(compilerOptions)));
  return dirname(resolve(file)) === standardFolder && /[/\\]lib\.[^/\\]*\.ts$/.test(file);
}

let standardFolder: string | undefined;

/** Returns the name of a file in source positions: its path below `root`. */
export function placeName(root: string, file: string): string {
  return relative(root, file).split(sep).join("/");
}

/**
 * Whether a file is in a project by its name, and also after all links were resolved. So a plan cannot reach a file
 * elsewhere through a link. If the file does not exist, its folder is checked instead.
 */
export function isInProject(file: string, root: string): boolean {
  return isInside(resolve(file), resolve(root)) && isInside(realPath(resolve(file)), realPath(resolve(root)));
}

/** Returns the path without links, as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : resolve(realPath(folder), relative(folder, path));
  }
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
