// program.ts: type-checks plans, and emits them as JavaScript modules for the sandbox.
import { relative, resolve } from "node:path";

import ts = require("typescript");

import { type Diagnostic, diagnostic, type Place, startOf } from "./diagnostic.js";
import {
  compilerOptions,
  isLibrary,
  isStandard,
  libraryFolder,
  libraryRoots,
  PlanFiles,
  placeName,
  type Texts,
} from "./plan_files.js";
import { parsePlanText, type PlanText } from "./plan_text.js";
import type { Module } from "./interpreter.js";
import { placeOf, refusals, SpanTable, transformer } from "./transform.js";

type SourceOptions = Parameters<ts.CompilerHost["getSourceFile"]>[1];

/**
 * The files of the standard library and of the authoring package, which are parsed once for all compilers of a process.
 */
const ownFiles = new Map<string, ts.SourceFile>();

/** The files of the authoring package as JavaScript, each with its source text. */
const emittedFiles = new Map<string, { readonly text: string; readonly emitted: string }>();

/** Caches everything that does not change between compilations, such as unchanged plans. */
export class ProgramCache {
  readonly plans = new Map<string, PlanText>();
  program: ts.Program | undefined;
}

/** A set of plans with everything that they import. */
export class PlanProgram {
  /** The source positions that emitted modules refer to. */
  readonly spans = new SpanTable();
  private readonly program: ts.Program;
  /** The same modules with source maps: see `mapOf`. */
  private mapping: ts.Program | undefined;
  private readonly emitted = new Map<string, Module>();
  private readonly files: PlanFiles;

  /** `generated` is the text of the project's bindings. */
  constructor(
    private readonly root: string,
    plans: readonly string[],
    generated: string,
    private readonly cache: ProgramCache,
    texts: Texts,
  ) {
    this.files = new PlanFiles(root, generated, texts);
    const host = this.host();
    this.program = ts.createProgram({
      rootNames: [...plans, ...libraryRoots],
      options: compilerOptions,
      host,
      ...(cache.program === undefined ? {} : { oldProgram: cache.program }),
    });
    cache.program = this.program;
  }

  private host(): ts.CompilerHost {
    const host = Object.assign(ts.createCompilerHost(compilerOptions), this.files.host);
    host.getSourceFile = (file, language) => {
      // The module kind that TypeScript has detected is dropped. It depends on the package.json in the nearest parent
      // folder, so it would differ for files in an installed package.
      const options = typeof language === "object" ? { ...language, impliedNodeFormat: undefined } : language;
      return isStandard(file) || isLibrary(file) ? this.ownSource(file, options) : this.planText(file, options)?.source;
    };
    return host;
  }

  /** A file of TypeScript or of the authoring package. */
  private ownSource(file: string, options: SourceOptions): ts.SourceFile | undefined {
    const known = ownFiles.get(file);
    if (known !== undefined && isStandard(file)) return known;
    const text = this.files.read(file);
    if (text === undefined) return undefined;
    if (known !== undefined && known.text === text) return known;
    const made = ts.createSourceFile(file, text, options, true);
    ownFiles.set(file, made);
    return made;
  }

  private planText(file: string, options: SourceOptions): PlanText | undefined {
    const text = this.files.read(file);
    if (text === undefined) {
      this.cache.plans.delete(file);
      return undefined;
    }
    const known = this.cache.plans.get(file);
    if (known?.text === text) return known;
    const made = parsePlanText(file, this.shown(file), text, options);
    this.cache.plans.set(file, made);
    return made;
  }

  /** A file as it was read, even if it is not a part of the program. */
  textOf(file: string): PlanText | undefined {
    return this.cache.plans.get(file);
  }

  /** The name of the file in source positions. */
  shown(file: string): string {
    return placeName(this.root, file);
  }

  /** Returns the files of a plan: its own file, followed by its imports. */
  filesOf(plan: string): string[] {
    const found = [plan];
    for (const file of found)
      for (const next of Object.values(this.importsOf(file)))
        if (!isLibrary(next) && !found.includes(next)) found.push(next);
    return found;
  }

  private importsOf(file: string): Record<string, string> {
    const source = this.program.getSourceFile(file);
    const out: Record<string, string> = {};
    for (const { text } of source === undefined ? [] : importLiterals(source)) {
      const target = this.files.resolveImport(text, file);
      if (target !== undefined) out[text] = target;
    }
    return out;
  }

  private moduleOf(file: string, text: string): Module {
    const imports = Object.entries(this.importsOf(file)).map(([name, target]) => [name, this.idOf(target)]);
    return { id: this.idOf(file), text, imports: Object.fromEntries(imports) as Module["imports"] };
  }

  /** Returns the errors in the text and the types of a file. */
  check(file: string, types: "with types" | "without types"): Diagnostic[] {
    const source = this.program.getSourceFile(file);
    const shown = this.shown(file);
    if (source === undefined) return [diagnostic("unreadable_file", "the file cannot be read", startOf(shown))];
    const refused = refusals(shown, source);
    const said = [
      ...this.program.getSyntacticDiagnostics(source),
      ...(types === "with types" ? this.program.getSemanticDiagnostics(source) : []),
    ];
    // A type error inside a piece of text that is refused is not reported, because the refusal already states the
    // cause.
    const typed = said
      .map((each) => this.diagnosticOf(each, shown))
      .filter((each) => !refused.some((outer) => isWithin(each.place, outer.place)));
    return [...refused, ...typed];
  }

  private diagnosticOf(said: ts.Diagnostic, file: string): Diagnostic {
    const syntax = said.code < 2000;
    const message = `${ts.flattenDiagnosticMessageText(said.messageText, " ")} (TS${said.code})`;
    const start = said.start ?? 0;
    const place =
      said.file === undefined
        ? startOf(file)
        : placeOf(this.shown(said.file.fileName), said.file, start, start + (said.length ?? 0));
    const hint = said.code === noOverlap && /(Param|Key)Token<"bool"/.test(message) ? flagHint : "";
    return diagnostic(syntax ? "syntax_error" : "type_error", message, place, { hint });
  }

  /** Returns a file as a JavaScript module. */
  emit(file: string): Module {
    let module = this.emitted.get(file);
    if (module === undefined) {
      module = this.moduleOf(file, this.emitBy(this.program, file, this.spans).text);
      this.emitted.set(file, module);
    }
    return module;
  }

  private emitBy(program: ts.Program, file: string, spans: SpanTable): { text: string; map: string } {
    const made = { text: "", map: "" };
    const transformers = { before: [transformer(this.shown(file), spans)] };
    const write = (name: string, content: string): void => {
      made[name.endsWith(".map") ? "map" : "text"] = content;
    };
    program.emit(program.getSourceFile(file), write, undefined, false, transformers);
    return made;
  }

  /**
   * Maps emitted text back to its source. It is computed only for a plan that throws, because it takes a third of the
   * time of emitting.
   */
  private mapOf(file: string): string {
    this.mapping ??= ts.createProgram({
      rootNames: this.program.getRootFileNames(),
      options: { ...compilerOptions, sourceMap: true },
      host: this.host(),
      oldProgram: this.program,
    });
    return this.emitBy(this.mapping, file, new SpanTable()).map;
  }

  /** Returns the modules of the authoring package. */
  library(): Module[] {
    return this.program
      .getSourceFiles()
      .filter(({ fileName }) => isLibrary(fileName))
      .map(({ fileName, text }) => this.moduleOf(fileName, emitLibraryFile(fileName, text)));
  }

  private idOf(file: string): string {
    return isLibrary(file) ? relative(libraryFolder, file).replace(/\.ts$/, "") : this.shown(file);
  }

  /** Returns the text of a file, by its path or by its name in source positions. */
  source(file: string): ts.SourceFile | undefined {
    return this.program.getSourceFile(resolve(this.root, file));
  }

  checker(): ts.TypeChecker {
    return this.program.getTypeChecker();
  }

  /** Returns the position of a file's default export. */
  placeOfExport(file: string): Place | undefined {
    const source = this.program.getSourceFile(file);
    const statement = source?.statements.find((each) => ts.isExportAssignment(each));
    return source && statement && placeOf(this.shown(file), source, statement.getStart(source), statement.getEnd());
  }

  /** Returns the position in the innermost line of a stack trace that refers to a file of a plan. */
  placeOfStack(stack: string, files: readonly string[]): Place | undefined {
    const sources = new Map(files.map((file) => [this.shown(file), file]));
    for (const [, name = "", line, column] of stack.matchAll(/\(?([^\s()]+\.ts):(\d+)(?::(\d+))?\)?/g)) {
      const source = sources.get(name);
      if (source === undefined) continue;
      const head = Number(line) === 1 ? moduleHead : 0;
      const found = sourcePlace(this.mapOf(source), Number(line), Number(column ?? 1) - head);
      if (found !== undefined) return { file: name, ...found, endLine: found.line, endColumn: found.column };
    }
    return undefined;
  }
}

function emitLibraryFile(file: string, text: string): string {
  const known = emittedFiles.get(file);
  if (known?.text === text) return known.emitted;
  // transpileModule is used instead of the program, because the program would type-check these files first.
  const emitted = ts.transpileModule(text, { compilerOptions, fileName: file }).outputText;
  emittedFiles.set(file, { text, emitted });
  return emitted;
}

/** TypeScript's error code for a comparison of types that have nothing in common. */
const noOverlap = 2367;
const flagHint = "a param or key of type bool is a predicate itself: write `P.name`, or `!P.name`, without `true`";

/** The number of characters before a module's first line in the sandbox. */
const moduleHead = "(function(exports,require,module){".length;

/** A function of TypeScript that is missing in its types. It decodes a source map, whose numbers count from 0. */
const { decodeMappings } = ts as unknown as {
  decodeMappings(mappings: string): Iterable<{
    readonly generatedLine: number;
    readonly generatedCharacter: number;
    readonly sourceLine?: number;
    readonly sourceCharacter?: number;
  }>;
};

/**
 * Returns the source position of the text at `line` and `column`. All numbers count from 1. `json` is the source map of
 * a file with a single source.
 */
function sourcePlace(json: string, line: number, column: number): { line: number; column: number } | undefined {
  const { mappings } = JSON.parse(json) as { mappings: string };
  const inLine = [...decodeMappings(mappings)].filter(
    (each) => each.generatedLine === line - 1 && each.sourceLine !== undefined,
  );
  const found = inLine.filter((each) => each.generatedCharacter < column).at(-1) ?? inLine[0];
  return found && { line: found.sourceLine! + 1, column: found.sourceCharacter! + 1 };
}

function importLiterals(source: ts.SourceFile): ts.StringLiteral[] {
  return source.statements.flatMap((each) => {
    const specifier = ts.isImportDeclaration(each) || ts.isExportDeclaration(each) ? each.moduleSpecifier : undefined;
    return specifier !== undefined && ts.isStringLiteral(specifier) ? [specifier] : [];
  });
}

function isWithin(inner: Place, outer: Place): boolean {
  const startsAfter = inner.line > outer.line || (inner.line === outer.line && inner.column >= outer.column);
  return (
    startsAfter && (inner.line < outer.endLine || (inner.line === outer.endLine && inner.column < outer.endColumn))
  );
}
