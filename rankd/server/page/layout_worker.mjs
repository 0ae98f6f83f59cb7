// layout_worker.mjs: the layout of large plans, on a thread of its own, so that the page answers meanwhile.
import { layout } from './layout.mjs';

self.addEventListener('message', ({ data: { number, nodes, edges } }) => {
  self.postMessage({ number, places: layout(nodes, edges) });
});
