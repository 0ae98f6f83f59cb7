// source_text.test.mjs: places and pieces of the source of a plan, and the texts of several plans in turn.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  diagnosticLine, offsetOf, piecesOf, placeOf, rangeOf,
} from '../../../../rankd/server/page/source_text.mjs';

/** As much of a document as the source is made of. */
class FakeElement {
  constructor() {
    Object.assign(this, { children: [], value: '', textContent: '', hidden: false });
  }

  append(...children) { this.children.push(...children); }

  replaceChildren(...children) { this.children = children; }

  addEventListener() {}

  setAttribute() {}

  removeAttribute() {}
}
const panel = new FakeElement();
globalThis.document = { createElement: () => new FakeElement(), getElementById: () => panel };
const listeners = {};
globalThis.window = { addEventListener: (name, listener) => { listeners[name] = listener; } };
const { Source } = await import('../../../../rankd/server/page/source.mjs');

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

test('text that is not saved is kept while another plan is open, and comes back with its plan', async () => {
  const [drafts, said, stored] = [[], [], { a: 'first of a', b: 'first of b' }];
  const page = {
    ask: async (path, body) => {
      const [, , plan, what] = path.split('/');
      const { text: given, digest } = body === undefined ? {} : JSON.parse(body);
      if (what === 'project') throw new Error('no worker here');
      if (what === 'draft') return { file: `${plan}.ts`, diagnostics: [], options: [], plan: { plan, text: given } };
      if (given === undefined) return { file: `${plan}.ts`, text: stored[plan], digest: stored[plan] };
      assert.equal(digest, stored[plan]);
      stored[plan] = given;
      return { file: `${plan}.ts`, digest: given, diagnostics: [] };
    },
    attempt: (work) => work(),
    say: (words) => said.push(words),
    draftMade: async (plan) => drafts.push(`${plan.plan}: ${plan.text}`),
    optionsRead: () => {},
    saved: async () => {},
    planName: () => source.plan,
  };
  const source = new Source(page);
  const leaves = () => {
    let isStopped = false;
    listeners.beforeunload({ preventDefault: () => { isStopped = true; } });
    return !isStopped;
  };
  await source.open('a');
  source.area.value = 'second of a';
  await source.open('b');
  assert.deepEqual([source.plan, source.file, source.area.value, source.isChanged], ['b', 'b.ts', 'first of b', false]);
  assert.equal(drafts.at(-1), 'b: first of b');
  assert.match(said.at(-1), /^a\.ts has changes that are not saved/);
  assert.ok(!leaves(), 'the page asks before it is left, as the text of `a` would be gone');
  await source.open('a');
  assert.deepEqual([source.file, source.area.value, source.isChanged], ['a.ts', 'second of a', true]);
  assert.equal(drafts.at(-1), 'a: second of a');
  await source.save();
  assert.deepEqual([stored.a, source.isChanged, leaves()], ['second of a', false, true]);
  await source.open('b');
  await source.open('a');
  assert.equal(source.area.value, 'second of a');
  source.area.value = 'third of a';
  await source.discard();
  assert.deepEqual([source.area.value, leaves()], ['second of a', true]);
});
