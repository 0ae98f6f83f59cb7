// registry_files.ts: reads the files of registries by the engine's rules, and says at which line one is broken.
import { existsSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

import { parse, TomlError } from "smol-toml";

import { type Diagnostic, diagnostic, type Place, startOf, toLine } from "./diagnostic.js";
import { didYouMean, type Problem } from "./reader.js";
import {
  checkCapabilities,
  checkEndpoints,
  checkFeatures,
  checkKeys,
  checkParams,
  compareEndpoints,
  environments,
  type Section,
  toValues,
} from "./registry_rules.js";
import { ProjectError } from "./project_error.js";

/** What is wrong with registries, each with its place. */
export class RegistryError extends ProjectError {
  constructor(readonly diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map((each) => toLine(each)).join("\n"));
  }
}

/** The place of the field of a table that a JSON pointer leads to; of a table its heading. */
function placeIn(file: string, text: string, pointer: string): Place {
  const [table, row, field] = pointer.split("/").slice(1);
  let at = startOf(file);
  let rows = -1;
  let quotes = "";
  for (const [index, line] of text.split("\n").entries()) {
    const wasQuoted = quotes !== "";
    for (const [found] of line.matchAll(/"""|'''/g)) quotes = quotes === "" ? found : quotes === found ? "" : quotes;
    if (wasQuoted) continue;
    const here = (name: string): Place => {
      const column = line.indexOf(name) + 1;
      return { file, line: index + 1, column, endLine: index + 1, endColumn: column + name.length };
    };
    const heading = /^\s*\[\[\s*([A-Za-z0-9_-]+)\s*\]\]/.exec(line)?.[1];
    const name = /^\s*"?([A-Za-z0-9_-]+)"?\s*[.=]/.exec(line)?.[1];
    if (heading !== undefined) {
      if (heading === table) ++rows;
      if (heading === table && (row === undefined || rows === Number(row))) at = here(heading);
      else if (at.line > 1 && rows > Number(row)) return at;
      if (heading === table && row === undefined) return at;
    } else if (name !== undefined && (row === undefined ? name === table : rows === Number(row) && name === field))
      return here(name);
  }
  return at;
}

/** A file with what it says and what is wrong with it. */
interface File extends Section {
  readonly path: string;
  readonly text: string;
}

function syntaxPlace(file: string, error: unknown): Place {
  if (!(error instanceof TomlError)) return startOf(file);
  return { file, line: error.line, column: error.column, endLine: error.line, endColumn: error.column };
}

/** What is wrong with the files of a folder of registries. */
class Check {
  readonly found: Diagnostic[] = [];

  constructor(private readonly root: string) {}

  /** Nothing where the file is not there, or is no TOML. */
  read(path: string): File | undefined {
    if (!existsSync(path)) return undefined;
    const shown = relative(this.root, path).split(sep).join("/");
    let text: string;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
    } catch {
      this.found.push(diagnostic("toml_syntax", "the file is not valid UTF-8", startOf(shown)));
      return undefined;
    }
    try {
      const problems: Problem[] = [];
      return { path: shown, text, document: toValues(parse(text, { integersAsBigInt: true }), "", problems), problems };
    } catch (error) {
      // The first line of the message; the others show the text.
      const message = (error as Error).message.replace(/^Invalid TOML document: /, "").split("\n")[0]!;
      this.found.push(diagnostic("toml_syntax", message, syntaxPlace(shown, error)));
      return undefined;
    }
  }

  /** Holds a file against its rules, unless it holds what TOML alone knows. */
  hold<Result>(file: File | undefined, rule: (from: Section) => Result): Result | undefined {
    if (file === undefined) return undefined;
    return file.problems.length === 0 ? rule(file) : undefined;
  }

  add(file: File | undefined): void {
    if (file === undefined) return;
    for (const { code, message, hint, pointer } of file.problems)
      this.found.push(diagnostic(code, message, placeIn(file.path, file.text, pointer), { hint, pointer }));
  }
}

/** Refuses registries that the engine would refuse. Files that are missing are for others to miss; paths are below `root`. */
export function checkRegistries(folder: string, environment: string, root: string): void {
  if (!environments.includes(environment)) {
    const hint = didYouMean(environment, environments);
    throw new ProjectError(
      `\`${environment}\` is not an environment: use dev, test or prod${hint === "" ? "" : `; ${hint}`}`,
    );
  }
  const check = new Check(root);
  for (const [name, rule] of [
    ["keys.toml", checkKeys],
    ["params.toml", checkParams],
    ["features.toml", checkFeatures],
    ["capabilities.toml", checkCapabilities],
  ] as const) {
    const file = check.read(join(folder, name));
    check.hold(file, rule);
    check.add(file);
  }
  const endpointsOf = (name: string): string => join(folder, `endpoints.${name}.toml`);
  const own = check.read(endpointsOf(environment));
  const ours = check.hold(own, (from) => checkEndpoints(from, environment));
  check.add(own);
  for (const name of environments.filter((each) => each !== environment)) {
    const other = check.read(endpointsOf(name));
    const theirs = check.hold(other, (from) => checkEndpoints(from, name));
    if (own?.problems.length === 0 && other?.problems.length === 0) compareEndpoints(ours!, theirs!, other.problems);
    check.add(other);
  }
  if (check.found.length > 0) throw new RegistryError(check.found);
}
