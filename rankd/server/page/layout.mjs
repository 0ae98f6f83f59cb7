// layout.mjs: layered drawing of a directed acyclic graph (Sugiyama): layers by longest path, order by barycentres,
// places by isotonic regression. No part of it depends on a browser, on time or on chance.

/** Space between boxes of a layer, between layers, and the width of an edge that crosses a layer. */
export const gap = { x: 28, y: 40, edge: 14 };

/** The layer of each node: one more than the highest layer of its sources. Throws if there is a cycle. */
export function layersOf(count, edges) {
  const out = lists(count, edges, 'from', 'to');
  const missing = new Int32Array(count);
  for (const { to } of edges) missing[to] += 1;
  const layer = new Int32Array(count);
  const ready = [];
  for (let node = 0; node < count; node += 1) if (missing[node] === 0) ready.push(node);
  for (let at = 0; at < ready.length; at += 1)
    for (const next of out[ready[at]]) {
      layer[next] = Math.max(layer[next], layer[ready[at]] + 1);
      missing[next] -= 1;
      if (missing[next] === 0) ready.push(next);
    }
  if (ready.length !== count) throw new Error('the graph has a cycle');
  return layer;
}

function lists(count, edges, key, value) {
  const all = Array.from({ length: count }, () => []);
  for (const edge of edges) all[edge[key]].push(edge[value]);
  return all;
}

/**
 * Replaces edges over several layers by chains of bends. If there would be more than `limit` bends, as in a plan of
 * thousands of nodes with far references, the longest edges stay as they are and are drawn in one piece.
 */
function withBends(nodes, edges, layer, limit) {
  const items = nodes.map((node, at) => ({ width: node.width, layer: layer[at], node: at, up: [], down: [] }));
  const spans = edges.map((edge, at) => ({ at, length: layer[edge.to] - layer[edge.from] }));
  spans.sort((a, b) => a.length - b.length || a.at - b.at);
  const chains = edges.map(() => null);
  let left = limit;
  for (const { at, length } of spans) {
    if (length - 1 > left) break;
    left -= length - 1;
    chains[at] = [];
  }
  edges.forEach((edge, at) => {
    if (chains[at] === null) return link(items, edge.from, edge.to, false);
    let last = edge.from;
    for (let on = layer[edge.from] + 1; on < layer[edge.to]; on += 1) {
      items.push({ width: gap.edge, layer: on, node: -1, up: [], down: [] });
      chains[at].push(items.length - 1);
      link(items, last, items.length - 1, true);
      last = items.length - 1;
    }
    return link(items, last, edge.to, true);
  });
  return { items, chains };
}

function link(items, from, to, near) {
  if (!near) return;
  items[from].down.push(to);
  items[to].up.push(from);
}

/** The items of each layer in the order of a walk from the sources, so that chains begin side by side. */
function firstOrder(items) {
  const rows = [];
  const seen = new Uint8Array(items.length);
  for (let start = 0; start < items.length; start += 1) {
    if (seen[start] || items[start].up.length > 0) continue;
    const stack = [start];
    seen[start] = 1;
    while (stack.length > 0) {
      const at = stack.pop();
      (rows[items[at].layer] ??= []).push(at);
      for (let i = items[at].down.length - 1; i >= 0; i -= 1) {
        const next = items[at].down[i];
        if (seen[next]) continue;
        seen[next] = 1;
        stack.push(next);
      }
    }
  }
  for (let at = 0; at < rows.length; at += 1) rows[at] ??= [];
  return rows;
}

/** Sorts each layer by the mean position of its neighbours in the layer before it, down and up in turn. */
function sweep(items, rows, times) {
  const position = new Float64Array(items.length);
  const centre = new Float64Array(items.length);
  const settle = (row) => row.forEach((item, at) => { position[item] = at; });
  rows.forEach(settle);
  let best = rows.map((row) => row.slice());
  let fewest = crossings(items, rows, position);
  for (let turn = 0; turn < times && fewest > 0; turn += 1) {
    const side = turn % 2 === 0 ? 'up' : 'down';
    const order = turn % 2 === 0 ? rows : rows.slice().reverse();
    for (const row of order) {
      for (const item of row) centre[item] = mean(items[item][side], position, position[item]);
      row.sort((a, b) => centre[a] - centre[b] || position[a] - position[b]);
      settle(row);
    }
    const now = crossings(items, rows, position);
    if (now >= fewest) continue;
    fewest = now;
    best = rows.map((row) => row.slice());
  }
  return best;
}

function mean(neighbours, position, otherwise) {
  if (neighbours.length === 0) return otherwise;
  let sum = 0;
  for (const each of neighbours) sum += position[each];
  return sum / neighbours.length;
}

/** How many pairs of edges between neighbouring layers cross (Barth, Jünger and Mutzel: inversions by a binary tree). */
function crossings(items, rows, position) {
  let sum = 0;
  for (let at = 0; at + 1 < rows.length; at += 1) {
    const ends = [];
    for (const item of rows[at]) {
      const { down } = items[item];
      if (down.length === 1) ends.push(position[down[0]]);
      else for (const end of down.map((each) => position[each]).sort((a, b) => a - b)) ends.push(end);
    }
    sum += inversions(ends, rows[at + 1].length);
  }
  return sum;
}

function inversions(values, range) {
  const tree = new Int32Array(range + 1);
  let sum = 0;
  for (let at = values.length - 1; at >= 0; at -= 1) {
    for (let i = values[at]; i > 0; i -= i & -i) sum += tree[i];
    for (let i = values[at] + 1; i <= range; i += i & -i) tree[i] += 1;
  }
  return sum;
}

/**
 * The places nearest to the wished ones (least squares) that keep the order and the distances of a row: isotonic
 * regression by pooling, in one pass.
 */
export function spread(wished, distance) {
  const offset = [0];
  for (let at = 1; at < wished.length; at += 1) offset[at] = offset[at - 1] + distance[at - 1];
  const pools = [];
  wished.forEach((wish, at) => {
    pools.push({ sum: wish - offset[at], size: 1 });
    while (pools.length > 1) {
      const last = pools[pools.length - 1];
      const before = pools[pools.length - 2];
      if (before.sum / before.size <= last.sum / last.size) break;
      before.sum += last.sum;
      before.size += last.size;
      pools.pop();
    }
  });
  const places = [];
  for (const pool of pools)
    for (let i = 0; i < pool.size; i += 1) places.push(Math.round(pool.sum / pool.size) + offset[places.length]);
  return places;
}

function centres(items, rows, times) {
  const x = new Float64Array(items.length);
  const distances = rows.map((row) =>
    row.slice(1).map((item, at) => Math.ceil((items[row[at]].width + items[item].width) / 2) + gap.x));
  rows.forEach((row, at) => spread(row.map(() => 0), distances[at]).forEach((place, i) => { x[row[i]] = place; }));
  rows.forEach((row) => {
    const middle = Math.round((x[row[0]] + x[row[row.length - 1]]) / 2);
    for (const item of row) x[item] -= middle;
  });
  for (let turn = 0; turn < times; turn += 1)
    for (let i = 0; i < rows.length; i += 1) {
      const at = turn % 2 === 0 ? i : rows.length - 1 - i;
      const wished = rows[at].map((item) => wish(items[item], turn, x, x[item]));
      spread(wished, distances[at]).forEach((place, index) => { x[rows[at][index]] = place; });
    }
  return x;
}

/** Down by the sources, up by the users, at the end between both. */
function wish(item, turn, x, now) {
  if (turn < 4) return mean(turn % 2 === 0 ? item.up : item.down, x, now);
  const above = mean(item.up, x, now);
  const all = item.up.length + item.down.length;
  return all === 0 ? now : (above * item.up.length + mean(item.down, x, now) * item.down.length) / all;
}

/**
 * Places boxes `{width, height}` and edges `{from, to}`, both ends positions in `nodes`, every edge downward. Returns
 * `{boxes: [{x, y, layer}], lines: [[{x, y}, …]], rows: [[node, …]], width, height}`; `x` and `y` are the upper left
 * corner. The same graph has the same places, to the byte. Cost: O((V + E) log V) for each sweep.
 */
export function layout(nodes, edges, { sweeps = nodes.length > 2000 ? 4 : 8, bends = 2 * nodes.length + 2000 } = {}) {
  if (nodes.length === 0) return { boxes: [], lines: [], rows: [], width: 0, height: 0 };
  const layer = layersOf(nodes.length, edges);
  const { items, chains } = withBends(nodes, edges, layer, bends);
  const rows = sweep(items, firstOrder(items), sweeps);
  const x = centres(items, rows, 6);
  const tops = [];
  const heights = rows.map((row) => row.reduce((most, at) => Math.max(most, nodes[items[at].node]?.height ?? 0), 0));
  heights.forEach((height, at) => { tops[at] = at === 0 ? 0 : tops[at - 1] + heights[at - 1] + gap.y; });
  let left = Infinity;
  let right = -Infinity;
  items.forEach((item, at) => {
    left = Math.min(left, x[at] - item.width / 2);
    right = Math.max(right, x[at] + item.width / 2);
  });
  left = Math.floor(left);
  const boxes = nodes.map((node, at) => ({ x: x[at] - node.width / 2 - left, y: tops[layer[at]], layer: layer[at] }));
  const lines = edges.map((edge, at) => {
    const points = [{ x: x[edge.from] - left, y: boxes[edge.from].y + nodes[edge.from].height }];
    for (const bend of chains[at] ?? []) {
      const top = tops[items[bend].layer];
      points.push({ x: x[bend] - left, y: top }, { x: x[bend] - left, y: top + heights[items[bend].layer] });
    }
    points.push({ x: x[edge.to] - left, y: boxes[edge.to].y });
    return points;
  });
  return {
    boxes,
    lines,
    rows: rows.map((row) => row.filter((at) => items[at].node >= 0)),
    width: right - left,
    height: tops[tops.length - 1] + heights[heights.length - 1],
  };
}
