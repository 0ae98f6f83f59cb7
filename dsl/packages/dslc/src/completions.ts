// completions.ts: offers completions at a position in a plan: names of the project's registries, operators and their
// options.
import { resolve } from "node:path";

import ts = require("typescript");

import { compilerOptions, libraryRoots, PlanFiles } from "./plan_files.js";

/** One completion. */
export interface Completion {
  readonly name: string;
  /** The kind, as TypeScript names it: `property`, `method`, `const`. */
  readonly kind: string;
  /** The type and the documentation. Only the first entries have them. */
  readonly about: string;
}

/** The entries that can replace the text from `start` to the position of the request. */
export interface Completions {
  readonly start: number;
  readonly entries: readonly Completion[];
}

const maxEntries = 50;
const maxDescribed = 10;
const isWord = /[\w$]/;

/** Keeps a program for the edited plan, so that only the text of this plan is parsed again. */
export class Completer {
  private readonly texts = new Map<string, string>();
  private readonly files: PlanFiles;
  private readonly service: ts.LanguageService;
  private file = "";
  private version = 0;

  /** `generated` is the text of the project's bindings. */
  constructor(root: string, generated: string) {
    this.files = new PlanFiles(root, generated, this.texts);
    this.service = ts.createLanguageService({
      getCompilationSettings: () => compilerOptions,
      getScriptFileNames: () => [this.file, ...libraryRoots],
      // Each request brings a new text of the file being edited. Other files may change on disk between requests.
      getScriptVersion: (file) => (resolve(file) === this.file ? String(this.version) : this.files.versionOf(file)),
      getScriptSnapshot: (file) => {
        const text = this.files.read(file);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      getCurrentDirectory: () => root,
      getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
      ...this.files.host,
    });
  }

  /** Returns the names that begin with the word before `offset`. The project's own names come first. */
  at(file: string, text: string, offset: number): Completions {
    if (file !== this.file) this.texts.clear();
    this.file = file;
    this.version += 1;
    this.texts.set(file, text);
    let start = Math.min(offset, text.length);
    while (start > 0 && isWord.test(text[start - 1]!)) start -= 1;
    const word = text.slice(start, offset).toLowerCase();
    const found = this.service.getCompletionsAtPosition(file, offset, { includeCompletionsWithInsertText: false });
    const fitting = (found?.entries ?? [])
      .filter(({ name, kind }) => name.toLowerCase().startsWith(word) && kind !== ts.ScriptElementKind.keyword)
      .filter(({ name }) => /^[A-Za-z_$][\w$]*$/.test(name))
      .sort((a, b) => (a.sortText < b.sortText ? -1 : a.sortText > b.sortText ? 1 : a.name < b.name ? -1 : 1));
    const entries = fitting.slice(0, maxEntries).map(({ name, kind }, at) => ({
      name,
      kind,
      about: at < maxDescribed ? this.describe(file, offset, name) : "",
    }));
    return { start, entries };
  }

  private describe(file: string, offset: number, name: string): string {
    const nothing = undefined;
    const found = this.service.getCompletionEntryDetails(file, offset, name, nothing, nothing, nothing, nothing);
    if (found === undefined) return "";
    const parts = [found.displayParts, found.documentation].map((each) => ts.displayPartsToString(each));
    return parts.filter((each) => each !== "").join("\n");
  }
}
