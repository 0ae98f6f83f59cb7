// compiling.test.mjs: who compiles a text: a worker once it is ready, and the server until then and where it fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Compiling } from '../../../../rankd/server/page/compiling.mjs';

const places = { '': 'the plan', '/nodes/1': 'a node' };

/** A worker that makes an artifact of each text: its first word. `answers` may answer in its place. */
class FakeWorker {
  constructor(seen, answers) {
    Object.assign(this, { seen, answers, listeners: {} });
  }

  addEventListener(name, listener) {
    this.listeners[name] = listener;
  }

  postMessage(message) {
    this.seen.push(message.files ? 'files' : `text ${message.text}`);
    const own = message.files ? {} : { file: message.file, diagnostics: [], options: ['o'], artifact: message.text.split(' ')[0], places };
    const answer = this.answers?.(message) ?? own;
    if (answer !== 'none') queueMicrotask(() => this.listeners.message({ data: { number: message.number, ...answer } }));
  }

  terminate() {
    this.seen.push('ended');
  }
}

/** A page with a server that binds each artifact but `stale` and the empty one; `change` gives its project another file. */
function world(answers) {
  const seen = [];
  const asked = [];
  const files = { '/p/plans/a.ts': 'first text' };
  const ask = async (path, body) => {
    const what = body === undefined ? undefined : JSON.parse(body);
    asked.push(what === undefined ? path.split('/').at(-1) : JSON.stringify(what));
    if (what === undefined) return { file: 'plans/a.ts', root: '/p', standard: '/s', files: { ...files } };
    if (what.text !== undefined) return { file: 'plans/a.ts', diagnostics: [], options: [], plan: { of: 'server' } };
    const isBound = what.artifact !== 'stale' && what.artifact !== '';
    if (what.artifact.startsWith('wrong'))
      return { diagnostics: [{ code: 'unknown_key', pointer: what.artifact.slice(5), message: 'no key (plans/a.ts:3:4)' }], plan: null };
    return { diagnostics: isBound ? [] : [{ code: 'registry_changed', pointer: '' }], plan: isBound ? { of: what.artifact } : null };
  };
  return { compiling: new Compiling(ask, () => new FakeWorker(seen, answers)), seen, asked, files };
}

/** Until all that was begun has been done. */
const rest = () => new Promise((done) => { setImmediate(done); });

test('the first text is compiled by the server, and the next ones by the worker', async () => {
  const { compiling, seen, asked } = world();
  assert.deepEqual(await compiling.compile('a', 'one'),
    { file: 'plans/a.ts', diagnostics: [], options: [], plan: { of: 'server' }, isLocal: false });
  await rest();
  assert.deepEqual(seen, ['files', 'text first text']);
  assert.deepEqual(await compiling.compile('a', 'two x'),
    { file: 'plans/a.ts', diagnostics: [], options: ['o'], plan: { of: 'two' }, isLocal: true });
  assert.deepEqual(asked, ['{"text":"one"}', 'project', '{"artifact":"two"}']);
  assert.equal((await compiling.compile('b', 'three')).isLocal, false, 'another plan is not ready yet');
});

test('the worker is made ready for each plan that is opened, not for the first one alone', async () => {
  const { compiling, seen } = world();
  await compiling.compile('a', 'one');
  await rest();
  assert.equal((await compiling.compile('b', 'two')).isLocal, false);
  await rest();
  assert.equal((await compiling.compile('b', 'three')).isLocal, true);
  assert.equal((await compiling.compile('a', 'four')).isLocal, false);
  await rest();
  assert.equal((await compiling.compile('a', 'five')).isLocal, true);
  assert.equal(seen.at(-1), 'text five');
});

test('of a wrong text the server hears, so that it keeps no draft', async () => {
  const { compiling, asked } = world(({ text }) => (text === 'wrong'
    ? { file: 'plans/a.ts', diagnostics: ['bad'], options: [], artifact: null } : undefined));
  await compiling.compile('a', 'one');
  await rest();
  const found = await compiling.compile('a', 'wrong');
  assert.deepEqual([found.plan, found.diagnostics, found.isLocal], [null, ['bad'], true]);
  assert.equal(asked.at(-1), '{"artifact":""}');
});

test('what the server says of the artifact of the worker has its place in the text', async () => {
  const { compiling, asked } = world();
  await compiling.compile('a', 'one');
  await rest();
  for (const [pointer, place] of [['/nodes/1', 'a node'], ['/nodes/1/params/key', 'a node'], ['/nodes/10', 'the plan']]) {
    const found = await compiling.compile('a', `wrong${pointer}`);
    assert.deepEqual(found, {
      file: 'plans/a.ts', diagnostics: [{ code: 'unknown_key', pointer, message: 'no key', place }], options: ['o'], plan: null, isLocal: true,
    });
  }
  assert.equal(asked.at(-1), '{"artifact":"wrong/nodes/10"}');
});

test('what is refused because of other registries is compiled by the server, and the files of the project are read anew', async () => {
  const { compiling, seen, asked, files } = world();
  await compiling.compile('a', 'one');
  await rest();
  files['/p/registry'] = 'another one';
  assert.equal((await compiling.compile('a', 'stale')).isLocal, false);
  assert.deepEqual(asked.slice(-3), ['{"artifact":"stale"}', '{"text":"stale"}', 'project']);
  await rest();
  assert.equal(seen.filter((each) => each === 'files').length, 2);
  assert.equal((await compiling.compile('a', 'two')).isLocal, true);
});

test('once files may have changed the server compiles; files that are the same are not given again', async () => {
  const { compiling, seen } = world();
  await compiling.compile('a', 'one');
  await rest();
  compiling.forget();
  assert.equal((await compiling.compile('a', 'two')).isLocal, false);
  await rest();
  assert.equal(seen.filter((each) => each === 'files').length, 1);
  assert.equal((await compiling.compile('a', 'three')).isLocal, true);
});

test('what has changed while the worker was given files makes it no compiler of them', async () => {
  const { compiling } = world();
  await compiling.compile('a', 'one');
  compiling.forget();
  await rest();
  assert.equal(compiling.isReady, false);
});

test('a worker that fails again and again is not started any more, and each text has its answer', async () => {
  const { compiling, seen } = world(({ text }) => (text?.startsWith('first') ? undefined : { error: 'broken' }));
  for (let at = 0; at < 5; at += 1) {
    const found = await compiling.compile('a', 'one');
    assert.deepEqual(found.plan, { of: 'server' });
    await rest();
  }
  assert.equal(seen.filter((each) => each === 'ended').length, 3);
});

test('a worker that cannot be loaded leaves the texts to the server', async () => {
  const { compiling } = world(() => 'none');
  await compiling.compile('a', 'one');
  await rest();
  compiling.worker.listeners.error();
  await rest();
  assert.equal((await compiling.compile('a', 'two')).isLocal, false);
});
