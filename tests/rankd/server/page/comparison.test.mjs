// comparison.test.mjs: what the page says of two answers, and of recorded traffic.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answersRows, answersText, LineReader, moveName, percent, requestLine, trafficText,
} from '../../../../rankd/server/page/comparison.mjs';

const side = (ids) => ({ code: 'ok', answer: { candidates: ids.map((id) => ({ id, fields: {} })) } });
const answers = {
  before: side([1, 2, 3]), after: side([1, 3, '9007199254740993']), change: 'candidates', depth: 10, overlap: 0.5, rbo: 0.25,
  moved: 2, moves: [{ id: 2, was: 2, is: null, node: 'cutoff', why: 'dropped at `cutoff`' },
    { id: '9007199254740993', was: null, is: 3, node: null, why: 'new' }],
};

test('two answers are counted, and one that fails says why', () => {
  assert.deepEqual(answersText(answers),
    ['Other candidates: overlap@10 0.5000, rank-biased overlap 0.2500, candidates 3 → 3.']);
  const failed = { code: 'node_failed', answer: { error: { message: 'it broke' } } };
  assert.deepEqual(answersText({ ...answers, after: failed, moves: [], moved: 7, change: 'error' }), [
    'An answer is an error: overlap@10 0.5000, rank-biased overlap 0.2500, candidates 3 → node_failed.',
    'The second plan fails: it broke.', '7 ids moved; the first 0 have a reason.']);
});

test('each id has its places, and the reason where the server says one', () => {
  assert.deepEqual(answersRows(answers).map(({ id, move, node, why }) => [id, move, node, why]), [
    ['2', 'gone', 'cutoff', 'dropped at `cutoff`'], ['9007199254740993', 'new', null, 'new'],
    ['1', 'same', null, ''], ['3', 'up', null, '']]);
  assert.deepEqual(answersRows({ ...answers, after: { code: 'x', answer: { error: {} } } }).map(({ move }) => move),
    ['gone', 'gone', 'gone']);
});

const traffic = {
  plan: 'feed', requests: 6, compared: 4, answered: 4, equal: 1, different: { all: 3, error: 0, candidates: 2, order: 1, values: 0 },
  depth: 10, overlap: 0.75, rbo: 0.5, not_recorded: 1, first_not_recorded: 'main: a', redacted: 1, unusable: 0, lost: 0,
  records: [{ file: 'a.rec', end: 'torn' }], changed: [{}],
};

test('what recorded traffic says is said with what could not be compared', () => {
  assert.deepEqual(trafficText(traffic), [
    '6 requests to feed, 4 compared: 1 equal, 3 different (2 candidates, 1 order).',
    'On average overlap@10 0.7500, rank-biased overlap 0.5000.',
    'Not compared: 1 with unrecorded reads (the first: main: a), 1 redacted.',
    'a.rec is torn: what stands before that was compared.', 'The 1 most changed requests:']);
  const same = { ...traffic, requests: 1, compared: 0, answered: 0, equal: 0, not_recorded: 0, redacted: 0, records: [], changed: [],
    overlap: null, rbo: null, different: { all: 0, error: 0, candidates: 0, order: 0, values: 0 } };
  const failing = { ...traffic, compared: 5, equal: 1, answered: 4, different: { ...traffic.different, all: 4, error: 1 } };
  assert.equal(trafficText(failing)[1],
    'On average overlap@10 0.7500, rank-biased overlap 0.5000, of 4 requests with two answers.');
  assert.deepEqual(trafficText(same), ['1 request to feed, 0 compared: 0 equal, 0 different.']);
});

test('a recorded request is one line', () => {
  const request = { request_id: 'visit 1', number: 0, record: 'a.rec', change: 'order', overlap: 1, rbo: 0.5,
    before: { code: 'ok', candidates: 5 }, after: { code: 'deadline_exceeded', candidates: 0 } };
  assert.equal(requestLine(request), 'visit 1 (number 0 of a.rec): order, overlap 1.0000, rank-biased overlap 0.5000, ' +
    'candidates 5 → deadline_exceeded');
});

test('moves have the names that tables have for them, and shares are whole percent', () => {
  const moves = [[null, 1], [1, null], [2, 1], [1, 2], [1, 1]].map(([was, is]) => moveName({ was, is }));
  assert.deepEqual(moves, ['new', 'gone', 'up', 'down', 'same']);
  assert.deepEqual([{ done: 0, all: 0 }, { done: 1, all: 3 }, { done: 3, all: 3 }].map(percent), ['0 %', '33 %', '100 %']);
});

test('lines are put together from any pieces', () => {
  const reader = new LineReader();
  assert.deepEqual(['{"a"', ':1}\n', '\n{"b":2}\n{"c', '":3}'].map((piece) => reader.add(piece)),
    [[], ['{"a":1}'], ['{"b":2}'], []]);
});
