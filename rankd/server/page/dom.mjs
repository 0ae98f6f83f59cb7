// dom.mjs: makes elements from text. Text from the server is only ever inserted as text.

export const byId = (id) => document.getElementById(id);

/** An element with properties and children; text becomes text nodes. */
export function make(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties))
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  made.append(...children.flat().filter((child) => child !== null));
  return made;
}

export function table(heads, rows) {
  const head = heads.map((each) => make('th', { scope: 'col', className: each.number ? 'number' : '' }, each.title));
  return make('table', {}, make('thead', {}, make('tr', {}, head)), make('tbody', {}, rows));
}

export function row(cells, className = '') {
  const made = cells.map((cell) => (cell instanceof Node && cell.nodeName === 'TD' ? cell : make('td', {}, cell)));
  return make('tr', { className }, made);
}

export const number = (text) => make('td', { className: 'number' }, String(text));

export const nothingYet = (text) => make('p', { className: 'muted' }, text);

export function pairs(entries) {
  return make('dl', {}, entries.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
}
