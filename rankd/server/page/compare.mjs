// compare.mjs: shows the answers of two plans side by side: to the request in the form, and to recorded traffic.
import { make, nothingYet, number, row, table } from './dom.mjs';
import { answersRows, answersText, moveName, percent, requestLine, trafficText } from './comparison.mjs';

const maxRows = 1000;
export const moveWords = { same: '=', up: '▲ up', down: '▼ down', new: '+ new', gone: '✕ gone' };

/** A node by its name; a button where `page.nodeNamed` finds it in one of the graphs. */
function nodeCell(page, name) {
  if (name === null) return '';
  const go = page.nodeNamed(name);
  if (!go) return make('code', {}, name);
  const button = make('button', { type: 'button' }, name);
  button.addEventListener('click', go);
  return button;
}

const moveHeads = [{ title: 'id' }, { title: 'before', number: true }, { title: 'after', number: true }, { title: 'move' },
  { title: 'node' }, { title: 'why' }];

function moveRow(page, { id, before, after, move, node, why }) {
  return row([make('td', { className: 'mono' }, String(id)), number(before || '–'), number(after || '–'), moveWords[move],
    nodeCell(page, node), why], move);
}

/** Elements that show the answer of `POST …/diff/answers`. `page` has `nodeNamed(name)`. */
export function answersReport(page, found) {
  const rows = answersRows(found);
  const list = rows.slice(0, maxRows).map((each) => moveRow(page, each));
  return [
    ...answersText(found).map((line) => make('p', {}, line)),
    rows.length === 0 ? nothingYet('Both answers are empty.') : table(moveHeads, list),
    rows.length > maxRows ? nothingYet(`${rows.length - maxRows} more`) : '',
  ];
}

/** The same for `GET …/diff/traffic`. */
export function trafficReport(page, found) {
  const requests = found.changed.map((request, at) => {
    const moves = request.moves.map((move) => moveRow(page, { ...move, before: move.was, after: move.is, move: moveName(move) }));
    const more = request.moved > request.moves.length ? nothingYet(`${request.moved - request.moves.length} more ids`) : '';
    const details = make('details', {}, make('summary', {}, requestLine(request)),
      moves.length === 0 ? nothingYet('No id moved.') : table(moveHeads, moves), more);
    details.open = at === 0;
    return details;
  });
  return [...trafficText(found).map((line) => make('p', {}, line)), ...requests];
}

/**
 * A running comparison on recorded traffic: a bar, and a button that ends it. `element` is to be shown; `run(path,
 * lines)` returns the findings, or null if a person has ended it. `lines` is `askLines` of the page.
 */
export class TrafficRun {
  constructor(say) {
    this.say = say;
    this.control = new AbortController();
    this.bar = make('progress', { 'aria-label': 'Recorded traffic that is compared', max: 1 });
    this.share = make('p', {}, 'begins');
    const stop = make('button', { type: 'button', id: 'stop-traffic' }, 'Stop');
    stop.addEventListener('click', () => this.stop());
    this.element = make('div', { className: 'row' }, this.bar, this.share, stop);
  }

  stop() {
    this.control.abort();
  }

  async run(path, lines) {
    let found = null;
    try {
      await lines(path, this.control.signal, (line) => {
        if (line.traffic) found = line.traffic;
        else this.note(line);
      });
    } catch (error) {
      if (this.control.signal.aborted) return null;
      throw error;
    }
    if (found === null && !this.control.signal.aborted) throw new Error('the comparison ended early');
    return found;
  }

  note(line) {
    if (line.all > 0) this.bar.value = line.done / line.all;
    this.share.textContent = percent(line);
    this.say(`Comparing: ${percent(line)}`);
  }
}
