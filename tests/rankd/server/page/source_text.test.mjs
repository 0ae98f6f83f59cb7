// source_text.test.mjs: places and pieces of the source of a plan.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  diagnosticLine, offsetOf, piecesOf, placeOf, rangeOf,
} from '../../../../rankd/server/page/source_text.mjs';

const text = 'one\ntwo 😀 three\n';
const problem = (place, more = {}) => ({ code: 'type_error', message: 'wrong', hint: '', place, ...more });
const at = (line, column, endLine, endColumn, file = 'a.ts') => ({ file, line, column, endLine, endColumn });

test('lines and columns count from 1, in the units of a browser, and end with their line', () => {
  assert.deepEqual([[1, 1], [1, 4], [1, 99], [2, 1], [2, 8], [3, 1], [9, 1]].map(([line, column]) => offsetOf(text, line, column)),
    [0, 3, 3, 4, 11, text.length, text.length]);
});

test('a diagnostic is about its characters, of this file alone, and about one at least', () => {
  const { from, to } = rangeOf(text, problem(at(2, 1, 2, 4)), 'a.ts');
  assert.equal(text.slice(from, to), 'two');
  assert.deepEqual(rangeOf(text, problem(at(1, 1, 1, 1)), 'a.ts'), { from: 0, to: 1 });
  assert.deepEqual(rangeOf('', problem(at(1, 1, 1, 1)), 'a.ts'), { from: 0, to: 0 });
  assert.equal(rangeOf(text, problem(at(1, 1, 1, 2, 'b.ts')), 'a.ts'), null);
  assert.equal(rangeOf(text, problem(null), 'a.ts'), null);
});

test('pieces are the whole text, and ranges that overlap mark each character once', () => {
  const pieces = piecesOf('abcdef', [{ from: 1, to: 3 }, { from: 2, to: 4 }]);
  assert.equal(pieces.map((each) => each.text).join(''), 'abcdef');
  assert.equal(pieces.filter((each) => each.isWrong).map((each) => each.text).join(''), 'bcd');
  assert.deepEqual(piecesOf('abc', []), [{ text: 'abc', isWrong: false }]);
  assert.deepEqual(piecesOf('', []), []);
});

test('a diagnostic is a line, with its place and its hint where it has them', () => {
  assert.equal(diagnosticLine(problem(at(2, 5, 2, 6), { hint: 'do that' })), 'a.ts:2:5: type_error: wrong; do that');
  assert.equal(diagnosticLine(problem(null)), 'type_error: wrong');
});

test('the place of a node is a file with a line and a column', () => {
  assert.deepEqual(placeOf('plans/a.plan.ts:12:5'), { file: 'plans/a.plan.ts', line: 12, column: 5 });
  assert.equal(placeOf('plans/a.plan.ts'), null);
  assert.equal(placeOf(undefined), null);
});
