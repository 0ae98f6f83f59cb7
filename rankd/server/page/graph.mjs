// graph.mjs: draws a plan on a canvas: only the boxes and edges that are in sight.
import { cut, formulaOf, timeText } from './model.mjs';

export const box = { width: 240, height: 84 };
const readable = 0.8; // a scale
const far = 0.12; // below it boxes are too small for words, and those that look alike are drawn at once
const atOnce = 500; // boxes or edges
const letters = 31; // of a box's width, in the font of formulas
const markColours = { added: 'good', removed: 'critical' };
const colours = ['page', 'panel', 'line', 'text', 'muted', 'accent', 'critical', 'good', 'warn', 'node', 'edge', 'band'];

/**
 * Shows a graph with its layout, and over it a run, the fate of an id, or marks; null for an absent one. `onSelect(at)`
 * is called when a person chooses a node. Cost: for each frame, the nodes in sight and one test for each edge.
 */
export class GraphView {
  constructor(canvas, onSelect) {
    Object.assign(this, { canvas, onSelect, graph: null, run: null, fate: null, marks: null, selected: -1 });
    this.view = { x: 0, y: 0, scale: 1 };
    this.pen = canvas.getContext('2d');
    this.readColours();
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.readColours(); this.draw(); });
    this.listen();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colour = Object.fromEntries(colours.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    this.mono = style.getPropertyValue('--mono').trim();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    const first = this.size === undefined || this.size.width === 0;
    this.size = { width: clientWidth, height: clientHeight };
    this.canvas.width = Math.round(clientWidth * devicePixelRatio);
    this.canvas.height = Math.round(clientHeight * devicePixelRatio);
    if (first) this.start();
    this.paint();
  }

  /** `stays`: keeps what is in sight, as while a plan is edited. */
  show(graph, places, stays = false) {
    Object.assign(this, { graph, places, run: null, fate: null, marks: null, selected: -1 });
    this.bounds = places.lines.map((line) => {
      const x = line.map((point) => point.x);
      return { left: Math.min(...x), right: Math.max(...x), top: line[0].y, bottom: line[line.length - 1].y };
    });
    this.tops = places.rows.map((row) => places.boxes[row[0]]?.y ?? 0);
    if (stays) this.draw();
    else this.start();
  }

  /** Shows the sources, large enough to be read; shows all of a small plan. */
  start() {
    this.fit();
    if (!this.graph || this.view.scale >= readable) return;
    const [first, last] = [this.places.rows[0][0], this.places.rows[0].at(-1)];
    const middle = (this.places.boxes[first].x + this.places.boxes[last].x + box.width) / 2;
    this.view = { x: this.size.width / 2 - middle * readable, y: 20, scale: readable };
    this.draw();
  }

  fit() {
    if (!this.graph || !this.size || this.size.width === 0) return;
    const { width, height } = this.places;
    const room = { width: this.size.width - 40, height: this.size.height - 48 };
    const whole = Math.min(room.width / Math.max(width, 1), room.height / Math.max(height, 1));
    this.view.scale = Math.min(1.1, Math.max(whole, 0.004));
    this.view.x = (this.size.width - width * this.view.scale) / 2;
    this.view.y = Math.max(20, (this.size.height - 20 - height * this.view.scale) / 2);
    this.draw();
  }

  /** Zooms so that the place under `at` of the canvas stays where it is; by default, its middle. */
  zoom(factor, at = { x: this.size.width / 2, y: this.size.height / 2 }) {
    const scale = Math.min(3, Math.max(0.004, this.view.scale * factor));
    const ratio = scale / this.view.scale;
    this.view.x = at.x - (at.x - this.view.x) * ratio;
    this.view.y = at.y - (at.y - this.view.y) * ratio;
    this.view.scale = scale;
    this.draw();
  }

  /** Marks a node as chosen and brings it into sight. */
  select(at) {
    this.selected = at;
    if (at >= 0) this.reveal(at);
    this.draw();
  }

  reveal(at) {
    const { view, size } = this;
    const place = this.places.boxes[at];
    if (view.scale < 0.45) {
      view.scale = 0.8;
      view.x = size.width / 2 - (place.x + box.width / 2) * view.scale;
      view.y = size.height / 2 - (place.y + box.height / 2) * view.scale;
      return;
    }
    const left = view.x + place.x * view.scale;
    const top = view.y + place.y * view.scale;
    if (left < 10) view.x += 10 - left;
    if (left + box.width * view.scale > size.width - 10) view.x -= left + box.width * view.scale - size.width + 10;
    if (top < 10) view.y += 10 - top;
    if (top + box.height * view.scale > size.height - 24) view.y -= top + box.height * view.scale - size.height + 24;
  }

  /** The node at a place of the canvas, or -1. */
  nodeAt(x, y) {
    if (!this.graph) return -1;
    const [gx, gy] = [(x - this.view.x) / this.view.scale, (y - this.view.y) / this.view.scale];
    const row = this.places.rows[lastAtMost(this.tops, gy)];
    return row?.find((at) => inside(this.places.boxes[at], gx, gy)) ?? -1;
  }

  /** The node that an arrow key leads to from the chosen one. */
  neighbour(key) {
    if (this.selected < 0) return this.places.rows[0][0];
    const node = this.graph.nodes[this.selected];
    if (key === 'ArrowDown') return node.down[0] ?? this.selected;
    if (key === 'ArrowUp') return node.up[0] ?? this.selected;
    const row = this.places.rows[this.places.boxes[this.selected].layer];
    return row[row.indexOf(this.selected) + (key === 'ArrowRight' ? 1 : -1)] ?? this.selected;
  }

  listen() {
    const { canvas } = this;
    let held = null;
    canvas.addEventListener('pointerdown', (event) => {
      held = { x: event.offsetX, y: event.offsetY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!held) return;
      const [dx, dy] = [event.offsetX - held.x, event.offsetY - held.y];
      if (!held.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      held = { x: event.offsetX, y: event.offsetY, moved: true };
      this.view.x += dx;
      this.view.y += dy;
      this.draw();
    });
    canvas.addEventListener('pointerup', (event) => {
      const at = held && !held.moved ? this.nodeAt(event.offsetX, event.offsetY) : -1;
      held = null;
      if (at >= 0) this.onSelect(at);
    });
    canvas.addEventListener('pointercancel', () => { held = null; });
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (event.shiftKey) {
        this.view.x -= event.deltaX + event.deltaY;
        this.draw();
      } else this.zoom(Math.exp(-event.deltaY / 500), { x: event.offsetX, y: event.offsetY });
    }, { passive: false });
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  key(event) {
    if (!this.graph || event.ctrlKey || event.metaKey || event.altKey) return;
    const zooms = { '+': 1.25, '=': 1.25, '-': 0.8 };
    if (event.key.startsWith('Arrow')) this.onSelect(this.neighbour(event.key));
    else if (event.key in zooms) this.zoom(zooms[event.key]);
    else if (event.key === '0') this.fit();
    else return;
    event.preventDefault();
  }

  /** Paints at the next frame, once however often it is called. */
  draw() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => { this.waits = false; this.paint(); });
  }

  paint() {
    if (!this.size) return;
    const { pen, view, size } = this;
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    pen.fillStyle = this.colour.page;
    pen.fillRect(0, 0, size.width, size.height);
    if (!this.graph) return;
    pen.translate(view.x, view.y);
    pen.scale(view.scale, view.scale);
    this.sight = {
      left: -view.x / view.scale, top: -view.y / view.scale,
      right: (size.width - view.x) / view.scale, bottom: (size.height - view.y) / view.scale,
    };
    this.paintEdges();
    const seen = this.nodesInSight();
    if (view.scale < far) this.paintFar(seen);
    else for (const at of seen) this.paintNode(at);
  }

  nodesInSight() {
    const { sight, places, tops } = this;
    const found = [];
    for (let row = Math.max(0, lastAtMost(tops, sight.top - box.height)); row < tops.length; row += 1) {
      if (tops[row] > sight.bottom) break;
      for (const at of places.rows[row]) {
        const { x } = places.boxes[at];
        if (x + box.width >= sight.left && x <= sight.right) found.push(at);
      }
    }
    return found;
  }

  /** Draws boxes without words: boxes without marks are drawn together. */
  paintFar(seen) {
    const { pen, colour } = this;
    const isPlain = (at) => !this.fate && at !== this.selected && this.look(at).colour === colour.line;
    const plain = seen.filter(isPlain);
    for (let from = 0; from < plain.length; from += atOnce) {
      pen.beginPath();
      for (const at of plain.slice(from, from + atOnce)) {
        const { x, y } = this.places.boxes[at];
        pen.rect(x, y, box.width, box.height);
      }
      pen.fillStyle = colour.node;
      pen.fill();
      pen.strokeStyle = colour.line;
      pen.lineWidth = 0.5 / this.view.scale;
      pen.stroke();
    }
    if (plain.length < seen.length) for (const at of seen) if (!isPlain(at)) this.paintNode(at);
  }

  paintEdges() {
    const { pen, sight, graph } = this;
    const isFar = this.view.scale < far && !this.fate && !this.run;
    const plain = [];
    graph.edges.forEach((edge, at) => {
      const b = this.bounds[at];
      if (b.right < sight.left || b.left > sight.right || b.bottom < sight.top || b.top > sight.bottom) return;
      if (isFar) return plain.push(at);
      const [from, to] = [this.run?.[edge.from]?.critical ?? 0, this.run?.[edge.to]?.critical ?? 0];
      const isWay = this.fate?.way.has(edge.from) && this.fate.way.has(edge.to);
      const isCritical = !this.fate && from > 0 && to === from + 1;
      pen.globalAlpha = this.fate && !isWay ? 0.3 : 1;
      pen.strokeStyle = this.colour[isWay ? 'good' : isCritical ? 'critical' : 'edge'];
      pen.lineWidth = Math.max(isCritical || isWay ? 3 : 1.3, 0.6 / this.view.scale);
      pen.setLineDash(edge.param === '' ? [] : [6, 4]);
      this.paintLine(this.places.lines[at]);
    });
    pen.setLineDash([]);
    pen.globalAlpha = 1;
    this.paintFarEdges(plain);
  }

  /** Straight, and as one path: there may be tens of thousands. */
  paintFarEdges(all) {
    const { pen } = this;
    pen.strokeStyle = this.colour.edge;
    pen.lineWidth = 0.6 / this.view.scale;
    for (let from = 0; from < all.length; from += atOnce) {
      pen.beginPath();
      for (const at of all.slice(from, from + atOnce)) {
        const points = this.places.lines[at];
        pen.moveTo(points[0].x, points[0].y);
        for (let i = 1; i < points.length; i += 1) pen.lineTo(points[i].x, points[i].y);
      }
      pen.stroke();
    }
  }

  paintLine(points) {
    const { pen } = this;
    pen.beginPath();
    pen.moveTo(points[0].x, points[0].y);
    for (let at = 1; at < points.length; at += 1) {
      const [a, b] = [points[at - 1], points[at]];
      const bend = Math.min((b.y - a.y) / 2, 60);
      if (a.x === b.x) pen.lineTo(b.x, b.y);
      else pen.bezierCurveTo(a.x, a.y + bend, b.x, b.y - bend, b.x, b.y);
    }
    pen.stroke();
    if (this.view.scale < 0.25) return;
    const end = points[points.length - 1];
    pen.beginPath();
    pen.moveTo(end.x, end.y);
    pen.lineTo(end.x - 4, end.y - 8);
    pen.lineTo(end.x + 4, end.y - 8);
    pen.fillStyle = pen.strokeStyle;
    pen.fill();
  }

  /** The marks of a node: its colour, the width of its border, and words, because colour is not enough. */
  look(at) {
    const run = this.run?.[at];
    if (this.marks?.has(at)) {
      const words = this.marks.get(at);
      return { colour: this.colour[markColours[words] ?? 'warn'], width: 3, words };
    }
    if (this.fate?.dropped.has(at)) return { colour: this.colour.critical, width: 3, words: '✕ dropped' };
    if (this.fate?.made.has(at)) return { colour: this.colour.good, width: 3, words: '+ came from' };
    if (this.fate?.way.has(at)) return { colour: this.colour.good, width: 2, words: '' };
    if (run && !['done', 'bypassed'].includes(run.state)) return { colour: this.colour.critical, width: 2, words: run.state };
    if (run?.state === 'bypassed') return { colour: this.colour.line, width: 1, words: 'bypassed' };
    if (!this.fate && run?.critical > 0)
      return { colour: this.colour.critical, width: 3, words: `critical ${run.critical}` };
    return { colour: this.colour.line, width: 1.2, words: '' };
  }

  paintNode(at) {
    const { pen, colour } = this;
    const node = this.graph.nodes[at];
    const place = this.places.boxes[at];
    const look = this.look(at);
    const isFaint = (this.fate && !this.fate.way.has(at) && !this.fate.dropped.has(at)) || look.words === 'bypassed';
    pen.globalAlpha = isFaint ? 0.4 : 1;
    pen.beginPath();
    pen.roundRect(place.x, place.y, box.width, box.height, 6);
    pen.fillStyle = at === this.selected ? colour.band : colour.node;
    pen.fill();
    pen.strokeStyle = at === this.selected ? colour.accent : look.colour;
    pen.lineWidth = Math.max(at === this.selected ? 3 : look.width, 0.5 / this.view.scale);
    pen.stroke();
    if (node.output) {
      pen.beginPath();
      pen.roundRect(place.x + 4, place.y + 4, box.width - 8, box.height - 8, 4);
      pen.lineWidth = 1;
      pen.stroke();
    }
    if (this.view.scale >= 0.3) this.paintText(node, place, this.run?.[at], look);
    pen.globalAlpha = 1;
  }

  /** Letters of names are 7.83 wide and others 6.62, in the common monospaced fonts. */
  paintText(node, place, run, look) {
    const { pen, colour } = this;
    const left = place.x + 12;
    const words = look.words;
    const line = (text, y, size, weight, ink) => {
      pen.font = `${weight} ${size}px ${this.mono}`;
      pen.fillStyle = ink;
      pen.fillText(text, left, place.y + y);
    };
    line(cut(node.node, words === '' ? 27 : Math.floor((206 - 6.62 * words.length) / 7.83)), 20, 13, 600, colour.text);
    line(cut(node.op, letters), 36, 11.5, 400, colour.muted);
    line(cut(formulaOf(node), letters), 53, 11.5, 400, colour.text);
    if (words !== '') {
      pen.font = `600 11px ${this.mono}`;
      pen.fillStyle = look.colour === colour.line ? colour.muted : look.colour;
      pen.textAlign = 'right';
      pen.fillText(words, place.x + box.width - 12, place.y + 20);
      pen.textAlign = 'left';
    }
    if (run) line(cut(runLine(run), letters), 72, 11.5, 600, colour.accent);
  }
}

function runLine(run) {
  if (run.state === 'bypassed' || run.state === 'skipped') return 'did not run';
  return `${run.rowsIn} → ${run.rowsOut} rows  ${run.waits ? 'I/O ' : ''}${timeText(run.took)}`;
}

/** The position of the last of ascending values that is at most `value`; -1 if there is no such value. */
function lastAtMost(values, value) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function inside(place, x, y) {
  return x >= place.x && x <= place.x + box.width && y >= place.y && y <= place.y + box.height;
}
