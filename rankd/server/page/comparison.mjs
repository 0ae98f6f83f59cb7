// comparison.mjs: compares the answers of two plans, without a browser: sentences and rows from the server's
// comparisons.
import { compare } from './model.mjs';

const changes = {
  equal: 'The answers are the same',
  values: 'The same candidates in the same order, with other values',
  order: 'The same candidates in another order',
  candidates: 'Other candidates',
  error: 'An answer is an error',
};

const counted = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;
const fixed = (value) => (value === null ? '–' : value.toFixed(4));

function sideText(side) {
  return side.code === 'ok' ? String(side.answer?.candidates.length ?? side.candidates) : side.code;
}

/** Compares one answer with the other, in sentences. */
export function answersText(found) {
  const lines = [`${changes[found.change]}: overlap@${found.depth} ${fixed(found.overlap)}, rank-biased overlap ` +
    `${fixed(found.rbo)}, candidates ${sideText(found.before)} → ${sideText(found.after)}.`];
  for (const [name, side] of [['first', found.before], ['second', found.after]])
    if (side.code !== 'ok') lines.push(`The ${name} plan fails: ${side.answer.error.message}.`);
  if (found.moved > found.moves.length) lines.push(`${found.moved} ids moved; the first ${found.moves.length} have a reason.`);
  return lines;
}

/**
 * The ids of both answers as `compare` returns them, each with `why` and `node`, if the server says why it moved;
 * `node` is null if no node is at fault. Ids with a reason come first, in the order of the server.
 */
export function answersRows(found) {
  const reasons = new Map(found.moves.map((move) => [String(move.id), move]));
  const rows = compare(found.before.answer.candidates ?? [], found.after.answer.candidates ?? []);
  const all = rows.map((row) => {
    const move = reasons.get(row.id);
    return { ...row, why: move?.why ?? '', node: move?.node ?? null };
  });
  const order = [...reasons.keys()];
  const moved = all.filter(({ id }) => reasons.has(id)).sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
  return [...moved, ...all.filter(({ id }) => !reasons.has(id))];
}

/** The findings on all recorded requests, in sentences. */
export function trafficText(found) {
  const kinds = ['error', 'candidates', 'order', 'values'].filter((kind) => found.different[kind] > 0)
    .map((kind) => `${found.different[kind]} ${kind}`);
  const lines = [`${counted(found.requests, 'request')} to ${found.plan}, ${found.compared} compared: ${found.equal} equal, ` +
    `${found.different.all} different${kinds.length === 0 ? '' : ` (${kinds.join(', ')})`}.`];
  const of = found.answered === found.compared ? '' : `, of ${counted(found.answered, 'request')} with two answers`;
  if (found.answered > 0)
    lines.push(`On average overlap@${found.depth} ${fixed(found.overlap)}, rank-biased overlap ${fixed(found.rbo)}${of}.`);
  const others = [[found.not_recorded, `with unrecorded reads (the first: ${found.first_not_recorded})`],
    [found.redacted, 'redacted'], [found.unusable, 'unusable'], [found.lost, 'not recorded']]
    .filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  if (others.length > 0) lines.push(`Not compared: ${others.join(', ')}.`);
  for (const { file, end } of found.records) if (end !== 'whole') lines.push(`${file} is ${end}: what stands before that was compared.`);
  if (found.different.all > found.changed.length) lines.push(`The ${found.changed.length} most changed requests:`);
  return lines;
}

/** The line of one recorded request. */
export function requestLine(request) {
  return `${request.request_id} (number ${request.number} of ${request.record}): ${request.change}, overlap ` +
    `${fixed(request.overlap)}, rank-biased overlap ${fixed(request.rbo)}, candidates ${sideText(request.before)} → ` +
    sideText(request.after);
}

/** The name of a move in a table of ids, as in `compare`. */
export function moveName({ was, is }) {
  if (was === null) return 'new';
  if (is === null) return 'gone';
  if (was === is) return 'same';
  return is < was ? 'up' : 'down';
}

/** The share of a comparison that is done, for people. */
export const percent = ({ done, all }) => (all === 0 ? '0 %' : `${Math.floor((done / all) * 100)} %`);

/**
 * Splits pieces of text into lines: `add(piece)` returns the lines that are whole now. The rest at the end is not a
 * line.
 */
export class LineReader {
  constructor() {
    this.rest = '';
  }

  add(piece) {
    const lines = `${this.rest}${piece}`.split('\n');
    this.rest = lines.pop();
    return lines.filter((line) => line !== '');
  }
}
