// source_text.mjs: the source of a plan as text, without a browser: places, words, and pieces with their errors.

/** The offset of a line and a column in a text, both from 1; beyond its end, the end. */
export function offsetOf(text, line, column) {
  let start = 0;
  for (let at = 1; at < line; at += 1) {
    const end = text.indexOf('\n', start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  const end = text.indexOf('\n', start);
  return Math.min(start + column - 1, end < 0 ? text.length : end);
}

/** The characters `[from, to)` that a diagnostic is about; null if it has no place in this file. */
export function rangeOf(text, { place }, file) {
  if (!place || place.file !== file) return null;
  const from = offsetOf(text, place.line, place.column);
  return { from, to: Math.max(offsetOf(text, place.endLine, place.endColumn), Math.min(from + 1, text.length)) };
}

/** The text in pieces `{text, isWrong}`, so that each character of a range is in a wrong piece. */
export function piecesOf(text, ranges) {
  const cuts = [...new Set([0, text.length, ...ranges.flatMap(({ from, to }) => [from, to])])].sort((a, b) => a - b);
  return cuts.slice(1).map((end, at) => ({
    text: text.slice(cuts[at], end), isWrong: ranges.some(({ from, to }) => from < end && cuts[at] < to),
  }));
}

/** A line for a diagnostic. */
export function diagnosticLine({ code, message, hint, place }) {
  const where = place ? `${place.file}:${place.line}:${place.column}: ` : '';
  return `${where}${code}: ${message}${hint ? `; ${hint}` : ''}`;
}

/** `plans/home.plan.ts:12:5` of a node as a place; null for another text. */
export function placeOf(text) {
  const found = /^(.+):(\d+):(\d+)$/.exec(text ?? '');
  return found && { file: found[1], line: Number(found[2]), column: Number(found[3]) };
}
