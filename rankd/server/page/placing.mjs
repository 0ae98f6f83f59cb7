// placing.mjs: computes the layout of a plan: at once if it is small, in a worker if it would block the page.
import { box } from './graph.mjs';
import { layout } from './layout.mjs';

const maxAtOnce = 500; // nodes: a few milliseconds
let worker = null;
let policy = null; // a name can be taken once
let asked = 0;
const waiting = new Map(); // by number

/** The policy of the page lets scripts be loaded only by this name, and this is the only one. */
function workerUrl() {
  const url = new URL('./layout_worker.mjs', import.meta.url).href;
  if (!globalThis.trustedTypes) return url;
  policy ??= globalThis.trustedTypes.createPolicy('layout', { createScriptURL: () => url });
  return policy.createScriptURL('');
}

function start() {
  worker = new Worker(workerUrl(), { type: 'module' });
  worker.addEventListener('message', ({ data: { number, places } }) => {
    waiting.get(number)?.resolve(places);
    waiting.delete(number);
  });
  worker.addEventListener('error', () => {
    worker = null; // the next plan starts another one
    for (const each of waiting.values()) each.reject(new Error('the layout of the graph failed'));
    waiting.clear();
  });
}

/** The places of a graph, as `layout` returns them. */
export async function placesOf(graph) {
  const nodes = graph.nodes.map(() => box);
  if (nodes.length <= maxAtOnce) return layout(nodes, graph.edges);
  if (!worker) start();
  asked += 1;
  const number = asked;
  return await new Promise((resolve, reject) => {
    waiting.set(number, { resolve, reject });
    worker.postMessage({ number, nodes, edges: graph.edges.map(({ from, to }) => ({ from, to })) });
  });
}
