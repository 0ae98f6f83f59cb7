// source_map.ts: maps a line and column of emitted JavaScript to its place in the TypeScript source.
import ts = require("typescript");

interface Mapping {
  readonly generatedLine: number;
  readonly generatedCharacter: number;
  readonly sourceLine?: number;
  readonly sourceCharacter?: number;
}

/** Part of TypeScript, and not of its types. All numbers count from 0. */
const { decodeMappings } = ts as unknown as { decodeMappings(mappings: string): Iterable<Mapping> };

/**
 * The place from which the text at `line` and `column` was made; all count from 1. `json` is the source map of a file
 * that was made of one source.
 */
export function sourcePlace(json: string, line: number, column: number): { line: number; column: number } | undefined {
  const { mappings } = JSON.parse(json) as { mappings: string };
  const inLine = [...decodeMappings(mappings)].filter(
    (each) => each.generatedLine === line - 1 && each.sourceLine !== undefined,
  );
  const found = inLine.filter((each) => each.generatedCharacter < column).at(-1) ?? inLine[0];
  return found && { line: found.sourceLine! + 1, column: found.sourceCharacter! + 1 };
}
