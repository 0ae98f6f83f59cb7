// source_map.ts: maps a line and column of emitted JavaScript to its place in the TypeScript source.

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

interface Segment {
  readonly column: number;
  readonly sourceLine: number;
  readonly sourceColumn: number;
}

function decode(segment: string): number[] {
  const out: number[] = [];
  let value = 0;
  let shift = 0;
  for (const character of segment) {
    const digit = digits.indexOf(character);
    value |= (digit & 31) << shift;
    shift += 5;
    if ((digit & 32) !== 0) continue;
    out.push((value & 1) === 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return out;
}

/** The mappings of a file that was made of one source. */
export class SourceMap {
  private readonly lines: Segment[][] = [];

  constructor(json: string) {
    const { mappings } = JSON.parse(json) as { mappings: string };
    let sourceLine = 0;
    let sourceColumn = 0;
    for (const line of mappings.split(";")) {
      let column = 0;
      const segments: Segment[] = [];
      for (const part of line.split(",")) {
        const [columns = 0, , lines, columnsThere] = decode(part);
        column += columns;
        if (lines === undefined || columnsThere === undefined) continue;
        sourceLine += lines;
        sourceColumn += columnsThere;
        segments.push({ column, sourceLine, sourceColumn });
      }
      this.lines.push(segments);
    }
  }

  /** The place from which the text at `line` and `column` was made; all count from 1. */
  find(line: number, column: number): { line: number; column: number } | undefined {
    const segments = this.lines[line - 1] ?? [];
    const found = segments.filter((segment) => segment.column < column).at(-1) ?? segments[0];
    return found && { line: found.sourceLine + 1, column: found.sourceColumn + 1 };
  }
}
