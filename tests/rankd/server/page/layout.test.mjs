// layout.test.mjs: the drawing of graphs: edges go down, boxes keep apart, and the same graph has the same places.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gap, layersOf, layout, spread } from '../../../../rankd/server/page/layout.mjs';

const box = { width: 240, height: 84 };

/** A graph whose nodes take rows of one to three nodes of the `reach` before them. */
function made(count, reach, seed) {
  let state = seed;
  const next = (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const edges = [];
  for (let to = 1; to < count; to += 1) {
    const sources = new Set();
    for (let i = next(3); i >= 0; i -= 1) sources.add(Math.max(0, to - 1 - next(reach)));
    for (const from of sources) edges.push({ from, to });
  }
  return { nodes: Array.from({ length: count }, () => box), edges };
}

/** Everything that is wrong with places; gathered, because a graph may have 10 000 nodes. */
function faults({ nodes, edges }, places) {
  const found = [];
  const hold = (fine, what) => { if (!fine) found.push(what()); };
  edges.forEach(({ from, to }, at) => {
    const [a, b] = [places.boxes[from], places.boxes[to]];
    const line = places.lines[at];
    hold(b.y >= a.y + nodes[from].height + gap.y, () => `edge ${from} to ${to} does not go down`);
    hold(line[0].x === a.x + nodes[from].width / 2, () => `edge ${at} begins beside its node`);
    hold(line.at(-1).x === b.x + nodes[to].width / 2, () => `edge ${at} ends beside its node`);
    for (let i = 1; i < line.length; i += 1) hold(line[i].y >= line[i - 1].y, () => `edge ${at} turns up`);
  });
  for (const row of places.rows)
    for (let i = 1; i < row.length; i += 1) {
      const end = places.boxes[row[i - 1]].x + nodes[row[i - 1]].width + gap.x;
      hold(places.boxes[row[i]].x >= end, () => `nodes ${row[i - 1]} and ${row[i]} are too near`);
    }
  places.boxes.forEach(({ x, y }, at) => {
    const isInside = x >= 0 && x + nodes[at].width <= places.width && y >= 0 && y + nodes[at].height <= places.height;
    hold(isInside, () => `node ${at} is outside`);
  });
  return found;
}

function check(graph, places) {
  assert.deepEqual(faults(graph, places), []);
  assert.deepEqual(places.rows.flat().sort((a, b) => a - b), graph.nodes.map((_, at) => at));
}

test('the layer of a node is one more than the highest of its sources', () => {
  const edges = [{ from: 0, to: 1 }, { from: 1, to: 3 }, { from: 0, to: 3 }, { from: 2, to: 3 }];
  assert.deepEqual([...layersOf(4, edges)], [0, 1, 0, 2]);
  assert.throws(() => layersOf(2, [{ from: 0, to: 1 }, { from: 1, to: 0 }]), /cycle/);
});

test('places keep order and distance, and are as near to the wished ones as that allows', () => {
  assert.deepEqual(spread([0, 100], [10]), [0, 100]);
  assert.deepEqual(spread([50, 50], [10]), [45, 55]);
  assert.deepEqual(spread([30, 0, 0], [10, 10]), [0, 10, 20]);
  assert.deepEqual(spread([], []), []);
});

test('a chain is a straight line', () => {
  const chain = { nodes: [box, box, box], edges: [{ from: 0, to: 1 }, { from: 1, to: 2 }] };
  const places = layout(chain.nodes, chain.edges);
  check(chain, places);
  assert.equal(new Set(places.boxes.map((each) => each.x)).size, 1);
});

test('two chains that could cross do not', () => {
  const edges = [{ from: 0, to: 3 }, { from: 1, to: 2 }, { from: 2, to: 4 }, { from: 3, to: 5 }];
  const { boxes } = layout(Array.from({ length: 6 }, () => box), edges);
  const order = (a, b) => Math.sign(boxes[a].x - boxes[b].x);
  assert.equal(order(0, 1), order(3, 2));
  assert.equal(order(3, 2), order(5, 4));
});

test('a layer is put in the order in which its edges cross least', () => {
  const { boxes } = layout([box, box, box, box], [{ from: 0, to: 2 }, { from: 0, to: 3 }, { from: 1, to: 2 }]);
  assert.ok(boxes[0].x < boxes[1].x);
  assert.ok(boxes[3].x < boxes[2].x);
});

test('an edge over several layers goes round the boxes between', () => {
  const graph = { nodes: [box, box, box], edges: [{ from: 0, to: 1 }, { from: 1, to: 2 }, { from: 0, to: 2 }] };
  const places = layout(graph.nodes, graph.edges);
  check(graph, places);
  const [, bend] = places.lines[2];
  const between = places.boxes[1];
  assert.ok(bend.x < between.x || bend.x > between.x + box.width);
});

test('graphs of all sizes keep the rules', () => {
  for (const [count, reach] of [[0, 1], [1, 1], [2, 1], [30, 5], [200, 20], [200, 200], [1000, 40]]) {
    const graph = made(count, reach, count + reach);
    check(graph, layout(graph.nodes, graph.edges));
  }
});

test('a graph of 10 000 nodes keeps the rules and has the same bytes each time', () => {
  const graph = made(10_000, 40, 7);
  const places = layout(graph.nodes, graph.edges);
  check(graph, places);
  assert.equal(JSON.stringify(layout(graph.nodes, graph.edges)), JSON.stringify(places));
});

test('far references of a long plan are drawn in one piece where bends would be too many', () => {
  const count = 3000;
  const edges = [];
  for (let to = 1; to < count; to += 1) edges.push({ from: to - 1, to }, ...(to > 1 ? [{ from: 0, to }] : []));
  const graph = { nodes: Array.from({ length: count }, () => box), edges };
  const places = layout(graph.nodes, graph.edges);
  check(graph, places);
  const points = places.lines.reduce((sum, line) => sum + line.length, 0);
  assert.ok(points < 2 * edges.length + 2 * (2 * count + 2000) + 1, `${points} points`);
});

/** A browser's worker, as far as the page knows it; it answers when the test wants. */
class FakeWorker {
  static all = [];

  constructor(url, how) {
    Object.assign(this, { url: String(url), how, asked: [], heard: {} });
    FakeWorker.all.push(this);
  }

  addEventListener(name, heard) {
    this.heard[name] = heard;
  }

  postMessage(message) {
    this.asked.push(structuredClone(message));
  }
}

test('a large plan is laid out by one worker, a small one at once, and each answer goes to its question', async () => {
  globalThis.Worker = FakeWorker;
  const { placesOf } = await import('../../../../rankd/server/page/placing.mjs');
  const graphs = [made(3, 2, 1), made(600, 20, 2), made(700, 20, 3)];
  const small = await placesOf(graphs[0]);
  check(graphs[0], small);
  assert.equal(FakeWorker.all.length, 0);
  const waiting = graphs.slice(1).map((graph) => placesOf(graph));
  const [worker, ...others] = FakeWorker.all;
  assert.deepEqual([others.length, worker.how.type], [0, 'module']);
  assert.match(worker.url, /\/layout_worker\.mjs$/);
  // The worker itself, in place of a thread.
  let work = null;
  const said = [];
  globalThis.self = { addEventListener: (_, heard) => { work = heard; }, postMessage: (answer) => said.push(structuredClone(answer)) };
  await import('../../../../rankd/server/page/layout_worker.mjs');
  for (const message of worker.asked) work({ data: message });
  for (const data of said.reverse()) worker.heard.message({ data });
  const places = await Promise.all(waiting);
  places.forEach((each, at) => check(graphs[at + 1], each));
  const failed = placesOf(graphs[1]);
  worker.heard.error();
  await assert.rejects(failed, /layout of the graph failed/);
});
