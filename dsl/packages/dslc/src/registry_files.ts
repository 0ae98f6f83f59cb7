// registry_files.ts: maps the engine's diagnostics about registries to positions in the project's files.
import { resolve } from "node:path";

import type { Problem } from "./checker.js";
import { type Diagnostic, diagnostic, type Place, startOf, toLine } from "./diagnostic.js";
import { placeName } from "./plan_files.js";
import { ProjectError } from "./project_error.js";
import { readText } from "./write.js";

/** The errors in the files of a project, each with its position. */
export class RegistryError extends ProjectError {
  constructor(readonly diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map((each) => toLine(each)).join("\n"));
  }
}

/**
 * Returns the position of the field that a JSON pointer refers to. For a table, this is the position of its heading.
 */
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

/** Returns the diagnostic with the position in its file. Paths are relative to `root`. */
function placed({ code, message, hint, pointer, source }: Problem, root: string): Diagnostic {
  const file = resolve(source);
  const shown = placeName(root, file);
  // A diagnostic about a TOML syntax error has no JSON pointer. Its message begins with the line and column.
  const syntax = /^line (\d+), column (\d+): (.*)$/s.exec(message);
  if (code !== "toml_syntax" || syntax === null)
    return diagnostic(code, message, placeIn(shown, readText(file) ?? "", pointer), { hint, pointer });
  const [line, column] = [Number(syntax[1]), Number(syntax[2])];
  return diagnostic(code, syntax[3]!, { file: shown, line, column, endLine: line, endColumn: column }, { hint });
}

/** Creates an error from the engine's diagnostics about a project. It has source positions if a file is wrong. */
export function projectFault(problems: readonly Problem[], root: string): ProjectError {
  const general = problems.find(({ source }) => source === "");
  if (general !== undefined)
    return new ProjectError(general.message + (general.hint === "" ? "" : `; ${general.hint}`));
  return new RegistryError(problems.map((each) => placed(each, root)));
}
