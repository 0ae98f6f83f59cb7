// layout_worker.mjs: lays out large plans on its own thread, so that the page stays responsive.
import { layout } from './layout.mjs';

self.addEventListener('message', ({ data: { number, nodes, edges } }) => {
  self.postMessage({ number, places: layout(nodes, edges) });
});
