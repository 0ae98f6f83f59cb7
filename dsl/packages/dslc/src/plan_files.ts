// plan_files.ts: what a plan may read: files of its project, the authoring package, and texts in place of files.
import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";

import ts from "typescript";

const packageName = "@rankd/plan";

/** The folder of the authoring package's sources. */
export const libraryFolder = dirname(createRequire(import.meta.url).resolve(packageName));

/** How plans are read and emitted. */
export const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2022.d.ts"],
  module: ts.ModuleKind.CommonJS,
  moduleResolution: ts.ModuleResolutionKind.Node10,
  ignoreDeprecations: "5.0",
  strict: true,
  noUncheckedIndexedAccess: true,
  types: [],
  skipLibCheck: true,
  removeComments: true,
  newLine: ts.NewLineKind.LineFeed,
};

/** The modules that are there whether or not a plan imports them. */
export const libraryRoots: readonly string[] = [join(libraryFolder, "index.ts"), join(libraryFolder, "hooks.ts")];

const bindingsFile = join(libraryFolder, "generated.ts");

/** Texts by absolute path that stand in for what is on the disk. */
export type Texts = ReadonlyMap<string, string>;

/** The files of one project. */
export class PlanFiles {
  /** `generated` is the text of the bindings of the project. */
  constructor(
    private readonly root: string,
    private readonly generated: string,
    private readonly texts: Texts,
  ) {}

  read(file: string): string | undefined {
    const path = resolve(file);
    if (path === bindingsFile) return this.generated;
    const text = this.texts.get(path);
    if (text !== undefined) return text;
    try {
      return readFileSync(file, "utf8");
    } catch {
      return undefined;
    }
  }

  /** Another one when what is on the disk has changed; of texts that stand in for files always the same. */
  versionOf(file: string): string {
    const path = resolve(file);
    if (path === bindingsFile || this.texts.has(path)) return "0";
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? "" : `${found.ino} ${found.mtimeNs} ${found.size}`;
  }

  exists(file: string): boolean {
    const path = resolve(file);
    return path === bindingsFile || this.texts.has(path) || existsSync(file);
  }

  /** Only the authoring package and files of the project can be imported. */
  resolveImport(name: string, importer: string): string | undefined {
    if (name === packageName) return libraryRoots[0];
    if (!/^\.\.?\//.test(name)) return undefined;
    const base = resolve(dirname(importer), name.replace(/\.js$/, ""));
    const file = [base.endsWith(".ts") ? base : `${base}.ts`].find((each) => this.exists(each));
    if (file === undefined) return undefined;
    return isLibrary(file) === isLibrary(importer) && (isLibrary(file) || isInside(file, this.root)) ? file : undefined;
  }

  /** The same as TypeScript asks for it. */
  resolveLiterals(
    literals: readonly ts.StringLiteralLike[],
    importer: string,
  ): ts.ResolvedModuleWithFailedLookupLocations[] {
    return literals.map((literal) => {
      const file = this.resolveImport(literal.text, importer);
      return {
        resolvedModule:
          file === undefined
            ? undefined
            : { resolvedFileName: file, extension: ts.Extension.Ts, isExternalLibraryImport: false },
      };
    });
  }
}

/** Whether a file belongs to the authoring package. */
export function isLibrary(file: string): boolean {
  return isInside(file, libraryFolder);
}

function isInside(file: string, folder: string): boolean {
  const path = relative(folder, resolve(file));
  return path !== "" && !path.startsWith("..") && !path.startsWith(sep);
}
