// diagnostic.ts: errors and warnings about a plan, with their positions in the author's files.

/** A range in a file. Lines and columns count from 1, and the end is the first character after the range. */
export interface Place {
  /** Relative to the root of the project. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/** One diagnostic. The code is stable and intended for programs; the message is a sentence for people. */
export interface Diagnostic {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly place: Place;
  /** Pointer into the artifact, or empty. */
  readonly pointer: string;
}

/** The position of the first character of a file. */
export function startOf(file: string): Place {
  return { file, line: 1, column: 1, endLine: 1, endColumn: 1 };
}

/** Creates a diagnostic from its parts. */
export function diagnostic(
  code: string,
  message: string,
  place: Place,
  more: { hint?: string; pointer?: string } = {},
): Diagnostic {
  return { code, message, hint: more.hint ?? "", place, pointer: more.pointer ?? "" };
}

/** Makes text from a plan or a path safe to print: it cannot control the terminal or change the reading order. */
export function printable(text: string): string {
  const code = (character: string): string => `\\u{${character.codePointAt(0)!.toString(16)}}`;
  return text.replace(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, code);
}

/** A count with its noun: "1 plan" or "2 plans". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** "plans/feed.plan.ts:12:5: unknown_key: sentence; hint", with `warning: ` before the code of a warning. */
export function toLine(of: Diagnostic, kind: "error" | "warning" = "error"): string {
  const hint = of.hint === "" ? "" : `; ${of.hint}`;
  const mark = kind === "warning" ? "warning: " : "";
  return printable(`${of.place.file}:${of.place.line}:${of.place.column}: ${mark}${of.code}: ${of.message}${hint}`);
}

/** Sorts diagnostics by their positions, and removes duplicates. */
export function inOrder(all: readonly Diagnostic[]): Diagnostic[] {
  const key = (of: Diagnostic): string =>
    `${of.place.file}\0${of.place.line}\0${of.place.column}\0${of.code}\0${of.message}`;
  const unique = new Map(all.map((each) => [key(each), each]));
  return [...unique.values()].sort(
    (a, b) =>
      (a.place.file < b.place.file ? -1 : a.place.file > b.place.file ? 1 : 0) ||
      a.place.line - b.place.line ||
      a.place.column - b.place.column,
  );
}
