// model.test.mjs: what the page makes of plans, texts of a form, explanations, answers and metrics.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as model from '../../../../rankd/server/page/model.mjs';

const node = (name, op, inputs, more = {}) => ({
  node: name, op, doc: '', inputs, params: {}, reads: [], writes: [], columns: [], output: false, ...more,
});

const plan = {
  plan: 'feed',
  nodes: [
    node('viewer', 'core::viewer', []),
    node('near', 'core::follow', ['viewer'], { params: { endpoint: 'EP.main', fanout: '10' } }),
    node('far', 'core::recommendation', ['viewer']),
    node('all', 'core::concat', ['near'], { params: { rhs: 'far' }, refs: { rhs: 'far' } }),
    node('good', 'core::filter', ['all'], { params: { pred: 'Key.final_score > 1' } }),
    node('best', 'core::take', ['good'], { params: { count: '8' }, output: true }),
  ],
  request: {
    user_id: true,
    params: [
      { param: 'page_size', type: 'int', source: 'param_overrides' },
      { param: 'title', type: 'string', source: 'param_overrides' },
      { param: 'new_model', type: 'bool', source: 'param_overrides' },
      { param: 'weight', type: 'float', source: 'param_overrides' },
      { param: 'device', type: 'string', source: 'context' },
    ],
  },
};

const explain = {
  total_us: 100,
  critical_path: [{ node: 'viewer' }, { node: 'far' }, { node: 'all' }],
  nodes: [
    { node: 'viewer', state: 'done', rows_in: 0, rows_out: 1, io_us: 10, queue_us: 1 },
    { node: 'near', state: 'done', rows_in: 1, rows_out: 10, io_us: 30 },
    { node: 'far', state: 'done', rows_in: 1, rows_out: 10, io_us: 50 },
    { node: 'all', state: 'done', rows_in: 10, rows_out: 20, run_us: 5 },
    { node: 'good', state: 'done', rows_in: 20, rows_out: 9, run_us: 3 },
    { node: 'best', state: 'stopped', rows_in: 9 },
  ],
};

test('whole numbers that a browser would round become strings, and nothing else does', () => {
  const text = '{"id":9223372036854775807,"near":-1234567890123456,"small":42,"x":0.12345678901234567890,' +
    '"e":1234567890123456789e-3,"text":"9223372036854775807 \\" 9223372036854775807"}';
  assert.deepEqual(model.parseExact(text), {
    id: '9223372036854775807', near: '-1234567890123456', small: 42, x: 0.12345678901234568, e: 1234567890123456.789,
    text: '9223372036854775807 " 9223372036854775807',
  });
});

test('inputs and references are edges, and references have the name of their param', () => {
  const graph = model.graphOf(plan);
  assert.deepEqual(graph.edges, [
    { from: 0, to: 1, param: '' }, { from: 0, to: 2, param: '' }, { from: 1, to: 3, param: '' },
    { from: 2, to: 3, param: 'rhs' }, { from: 3, to: 4, param: '' }, { from: 4, to: 5, param: '' },
  ]);
  assert.deepEqual(graph.nodes[3].up, [1, 2]);
  assert.deepEqual(graph.nodes[0].down, [1, 2]);
});

test('the line of a node is its formula, or its params without references', () => {
  const [, near, , all, good] = plan.nodes;
  assert.equal(model.formulaOf(good), 'Key.final_score > 1');
  assert.equal(model.formulaOf(near), 'endpoint: EP.main, fanout: 10');
  assert.equal(model.formulaOf(all), '');
  assert.equal(model.budgetText({}), 'unlimited');
  assert.equal(model.budgetText({ rows: 5, in_flight: 1 }), 'rows 5, in_flight 1');
});

test('a request has what the form says, numbers as they were typed', () => {
  const text = model.requestText(plan, {
    user: ' 9223372036854775807 ', deadline: '50', ids: '42, 9007199254740993 42', candidates: '',
    params: { page_size: '9007199254740993', title: '', new_model: 'true', weight: '1.50', device: 'tv "x"' },
  });
  assert.equal(text, '{"plan":"feed","user_id":"9223372036854775807","context":{"device":"tv \\"x\\""},' +
    '"param_overrides":{"page_size":9007199254740993,"new_model":true,"weight":1.50},"deadline_ms":50,' +
    '"explain":{"ids":[42,9007199254740993]}}');
  assert.equal(model.requestText(plan, {}), '{"plan":"feed","explain":{"ids":[]}}');
});

test('where ids are strings, any text is one, and goes as a string', () => {
  const shop = { ...plan, request: { ...plan.request, id_type: 'string' } };
  const text = model.requestText(shop, { user: ' zoë ', ids: 'mug "x", 7,7 , a b' });
  assert.equal(text, '{"plan":"feed","user_id":"zoë","explain":{"ids":["mug \\"x\\"","7","a b"]}}');
  assert.equal(model.idText('7', 'string'), '"7"');
  assert.equal(model.idText('7'), '7');
});

test('texts that are no values are refused by name', () => {
  const refused = (form, why) => assert.throws(() => model.requestText(plan, form), why);
  refused({ user: 'me' }, /user_id must be a whole number, got “me”/);
  refused({ params: { page_size: '1.5' } }, /page_size must be of type int/);
  refused({ params: { page_size: '1}' } }, /page_size must be of type int/);
  refused({ params: { new_model: 'yes' } }, /new_model must be of type bool/);
  refused({ params: { weight: 'NaN' } }, /weight must be of type float/);
  refused({ ids: '42, x' }, /“x” is no id/);
  refused({ ids: Array.from({ length: 101 }, (_, at) => at).join() }, /at most 100/);
  refused({ candidates: '[{' }, SyntaxError);
});

test('a run says of each node its rows, its time and its step of the critical path', () => {
  const graph = model.graphOf(plan);
  const run = model.runOf(graph, { ...explain, nodes: explain.nodes.slice(1).concat({ node: 'gone' }) });
  assert.equal(run[0], null);
  assert.deepEqual([run[2].rowsIn, run[2].rowsOut, run[2].took, run[2].waits, run[2].critical], [1, 10, 50, true, 2]);
  assert.deepEqual([run[3].took, run[3].waits, run[3].critical], [5, false, 3]);
  assert.equal(run[1].critical, 0);
  assert.equal(run[5].took, undefined);
});

test('the slowest node comes first', () => {
  const graph = model.graphOf(plan);
  const names = model.slowest(graph, model.runOf(graph, explain)).map((each) => each.node);
  assert.deepEqual(names, ['far', 'near', 'viewer', 'all', 'good']);
});

test('the way of an id begins where it was made and ends where it was dropped', () => {
  const graph = model.graphOf(plan);
  const run = model.runOf(graph, { ...explain, nodes: explain.nodes.map((each) => ({ ...each, state: 'done' })) });
  const drop = { node: 'good', op: 'core::filter', reason: 'predicate', rows: 1, position: 3, fields: {} };
  const gone = model.fateOf(graph, run, { id: 42, positions: [], produced_by: ['far'], dropped: [drop] });
  assert.deepEqual([...gone.way], [2, 3, 4]);
  assert.deepEqual([...gone.dropped.keys()], [4]);
  assert.deepEqual(gone.text, [
    '42 is not in the answer.', 'Rows with it came from far.',
    'good (core::filter) dropped 1 row, the first at 3 of its input: its predicate is false for them.',
  ]);
  const there = model.fateOf(graph, run, { id: 7, positions: [2], produced_by: ['near'], dropped: [] });
  assert.deepEqual([...there.way], [1, 3, 4, 5]);
  assert.equal(there.text[0], '7 is in the answer, at 2.');
  const never = model.fateOf(graph, run, { id: 9, positions: [], produced_by: [], dropped: [] });
  assert.equal(never.way.size, 0);
  assert.match(never.text[1], /no source has this id/);
});

test('an id that a node merges has the inputs that its rows are of', () => {
  const drop = { node: 'both', op: 'geo::unite', reason: 'merged', rows: 2, from: 'far', position: 4, fields: {} };
  const merged = [{ node: 'both', from: 'near', rows: 1 }];
  const fate = { id: 3, positions: [1], produced_by: ['near', 'far'], dropped: [drop], merged };
  assert.deepEqual(model.fateText(fate), [
    '3 is in the answer, at 1.', 'Rows with it came from near, far.', 'both took 1 row of near.',
    'both (geo::unite) dropped 2 rows, the first at 4 of far: it takes other rows of its inputs.',
  ]);
});

test('no way leads through what did not run, or into a choice of another input', () => {
  const graph = model.graphOf(plan);
  const run = model.runOf(graph, explain);
  const fate = { id: 1, positions: [], produced_by: ['near'], dropped: [] };
  run[3].chosen = 'far';
  assert.deepEqual([...model.fateOf(graph, run, fate).way], [1]);
  run[3].chosen = 'near';
  run[4].state = 'bypassed';
  assert.deepEqual([...model.fateOf(graph, run, fate).way], [1, 3]);
});

test('two answers side by side say what moved, came and went', () => {
  const answer = (...ids) => ids.map((id) => ({ id, fields: {} }));
  assert.deepEqual(model.compare(answer(1, 2, 3, 4), answer(1, 3, 2, '9007199254740993')), [
    { id: '1', before: 1, after: 1, move: 'same' }, { id: '3', before: 3, after: 2, move: 'up' },
    { id: '2', before: 2, after: 3, move: 'down' }, { id: '9007199254740993', before: 0, after: 4, move: 'new' },
    { id: '4', before: 4, after: 0, move: 'gone' },
  ]);
  assert.deepEqual(model.compare(answer(5, 5), answer(5)), [{ id: '5', before: 1, after: 1, move: 'same' }]);
});

test('two plans side by side say which nodes are not alike', () => {
  const after = structuredClone(plan);
  after.nodes[5].params.count = '9';
  after.nodes[1].place = 'elsewhere';
  after.nodes.splice(2, 1, node('other', 'core::list', []));
  assert.deepEqual(model.nodeChanges(plan, after), [
    { node: 'other', change: 'added' }, { node: 'best', change: 'changed' }, { node: 'far', change: 'removed' },
  ]);
  assert.deepEqual(model.nodeChanges(plan, plan), []);
});

test('the sides of a comparison have words for what is not alike, and each node its partner', () => {
  const before = model.graphOf(plan);
  const after = model.graphOf({ ...plan, nodes: plan.nodes.map((each) => ({
    ...each,
    node: { near: 'close', far: 'sorted' }[each.node] ?? each.node,
    inputs: each.inputs.map((input) => ({ near: 'close' })[input] ?? input),
    refs: each.refs && { rhs: 'sorted' },
  })) });
  const change = (kind, node, was = null, field = null) => ({ kind, node, was, field, before: null, after: null });
  const diff = { changes: [
    change('removed', 'far'), change('renamed', 'close', 'near'), change('changed', 'close', 'near', 'fanout'),
    change('changed', 'close', 'near', 'trace'), change('added', 'sorted'), change('moved', 'all', null, 'rhs'),
    change('changed', null, null, 'outputs'),
  ] };
  const found = model.sidesOf(diff, before, after);
  assert.deepEqual([...found.left], [[2, 'removed'], [1, 'renamed, changed'], [3, 'moved']]);
  assert.deepEqual([...found.right], [[1, 'renamed, changed'], [2, 'added'], [3, 'moved']]);
  assert.deepEqual(found.partner, [0, 1, -1, 3, 4, 5]);
  assert.deepEqual(found.back, [0, 1, -1, 3, 4, 5]);
  const same = model.sidesOf({ changes: [] }, before, before);
  assert.deepEqual([same.left.size, same.right.size, same.partner], [0, 0, [0, 1, 2, 3, 4, 5]]);
});

test('metrics of a plan are read by node; time in queues is no time of work', () => {
  const text = `# TYPE rankd_node_runs_total counter
rankd_node_runs_total{plan="feed",node="near"} 8
rankd_node_runs_total{plan="other",node="near"} 99
rankd_node_errors_total{plan="feed",node="near"} 1
rankd_node_rows_total{plan="feed",node="near"} 80
rankd_node_duration_seconds_bucket{plan="feed",node="near",part="io",le="+Inf"} 4
rankd_node_duration_seconds_sum{plan="feed",node="near",part="io"} 0.004
rankd_node_duration_seconds_count{plan="feed",node="near",part="io"} 4
rankd_node_duration_seconds_sum{plan="feed",node="near",part="queue"} 7
rankd_node_duration_seconds_count{plan="feed",node="near",part="queue"} 4
`;
  const found = model.nodeMetrics(text, 'feed');
  assert.deepEqual([...found], [['near', { runs: 8, errors: 1, rows: 80, times: 4, seconds: 0.004 }]]);
});

test('texts are short, and values have no more digits than say something', () => {
  assert.equal(model.timeText(undefined), '–');
  assert.deepEqual([0.5, 123, 1234, 250_000, 3e6].map(model.timeText), ['0.5 µs', '123 µs', '1.23 ms', '250 ms', '3.00 s']);
  assert.equal(model.cut('a long text', 5), 'a lo…');
  assert.equal(model.cut('short', 5), 'short');
  assert.deepEqual([0.1 + 0.2, 3, null, true, 'x', { base64: 'eA==' }].map(model.valueText),
    ['0.3', '3', '–', 'true', 'x', '{"base64":"eA=="}']);
});
