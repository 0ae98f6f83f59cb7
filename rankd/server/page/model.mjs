// model.mjs: the data of the page, without a browser: plans as graphs, requests, explanations, answers side by side.

/** Parses JSON and turns integers of 16 digits and more into strings: ids have 64 bits, and numbers of a browser 53. */
export function parseExact(text) {
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
  return JSON.parse(text.replace(token, (found) => (/^-?\d{16,}$/.test(found) ? `"${found}"` : found)));
}

/** A plan as `?form=full` returns it, with positions for names: `{nodes, edges, at}`; `from` and `to` of edges. */
export function graphOf(plan) {
  const at = new Map(plan.nodes.map((node, index) => [node.node, index]));
  const edges = [];
  plan.nodes.forEach((node, to) => {
    for (const input of node.inputs) edges.push({ from: at.get(input), to, param: '' });
    for (const [param, name] of Object.entries(node.refs ?? {})) edges.push({ from: at.get(name), to, param });
  });
  const nodes = plan.nodes.map((node) => ({ ...node, up: [], down: [] }));
  edges.forEach((edge) => {
    nodes[edge.from].down.push(edge.to);
    nodes[edge.to].up.push(edge.from);
  });
  return { nodes, edges, at };
}

/** The line that says most about a node: its formula, or its params. */
export function formulaOf(node) {
  const params = Object.entries(node.params).filter(([name]) => !(name in (node.refs ?? {})));
  const formula = params.find(([name]) => name === 'expr' || name === 'pred');
  if (formula) return formula[1];
  return params.map(([name, text]) => `${name}: ${text}`).join(', ');
}

export function budgetText(budget) {
  const parts = Object.entries(budget).map(([name, value]) => `${name} ${value}`);
  return parts.length === 0 ? 'unlimited' : parts.join(', ');
}

/** A time in microseconds for people. */
export function timeText(us) {
  if (us === undefined || Number.isNaN(us)) return '–';
  if (us >= 1e6) return `${(us / 1e6).toFixed(2)} s`;
  if (us >= 1000) return `${(us / 1000).toFixed(us >= 1e5 ? 0 : 2)} ms`;
  return `${us.toFixed(us >= 100 ? 0 : 1)} µs`;
}

export function cut(text, size) {
  const all = Array.from(text);
  return all.length <= size ? text : `${all.slice(0, size - 1).join('')}…`;
}

/**
 * Converts ids as a person types them to JSON: integers between commas or spaces, or strings between commas if ids are
 * strings. Throws if one is not an id, or there are too many.
 */
export function idsOf(text, type = 'int') {
  const isText = type === 'string';
  const words = text.split(isText ? ',' : /[\s,]+/).map((word) => word.trim()).filter((word) => word !== '');
  const wrong = isText ? undefined : words.find((word) => !/^-?\d+$/.test(word));
  if (wrong !== undefined) throw new Error(`“${wrong}” is no id: ids are whole numbers`);
  const once = [...new Set(words)];
  if (once.length > 100) throw new Error('at most 100 ids are explained');
  return once.map((word) => idText(word, type));
}

/** An id as JSON; a number stays as it was typed, so that it loses no digits. */
export function idText(id, type = 'int') {
  return type === 'string' ? JSON.stringify(id) : id;
}

/** The text of a param as JSON. Numbers stay as they were typed, so that they lose no digits. */
export function literalOf(type, text, name) {
  if (type === 'string') return JSON.stringify(text);
  const word = text.trim();
  if (word === 'null') return word;
  const fits = { bool: /^(true|false)$/, int: /^-?(0|[1-9]\d*)$/, float: /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/ };
  if (!fits[type]?.test(word)) throw new Error(`${name} must be of type ${type}, got “${text}”`);
  return word;
}

/**
 * The body of a request. `form` has texts: `user`, `params` (by name, empty if absent), `candidates` (JSON),
 * `deadline`, `ids`. Throws at the first text that is not a value.
 */
export function requestText(plan, form) {
  const members = [['plan', JSON.stringify(plan.plan)]];
  const user = (form.user ?? '').trim();
  if (user !== '') {
    const isId = plan.request.id_type === 'string' || /^\d+$/.test(user);
    if (!isId) throw new Error(`user_id must be a whole number, got “${user}”`);
    members.push(['user_id', JSON.stringify(user)]);
  }
  for (const source of ['context', 'param_overrides']) {
    const given = plan.request.params
      .filter((param) => param.source === source && (form.params?.[param.param] ?? '') !== '')
      .map((param) => [param.param, literalOf(param.type, form.params[param.param], param.param)]);
    if (given.length > 0) members.push([source, objectText(given)]);
  }
  const rows = (form.candidates ?? '').trim();
  if (rows !== '') {
    JSON.parse(rows);
    members.push(['candidates', rows]);
  }
  const deadline = (form.deadline ?? '').trim();
  if (deadline !== '') members.push(['deadline_ms', literalOf('int', deadline, 'deadline_ms')]);
  members.push(['explain', `{"ids":[${idsOf(form.ids ?? '', plan.request.id_type).join(',')}]}`]);
  return objectText(members);
}

function objectText(members) {
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/**
 * The run of each node of a graph, by position: `{state, rowsIn, rowsOut, queue, took, waits, critical}`; null if the
 * run has no report on it. `critical` is the position on the critical path from 1 on, and 0 for other nodes. Times are
 * in microseconds.
 */
export function runOf(graph, explain) {
  const found = graph.nodes.map(() => null);
  const critical = new Map((explain.critical_path ?? []).map((step, at) => [step.node, at + 1]));
  for (const node of explain.nodes ?? []) {
    const at = graph.at.get(node.node);
    if (at === undefined) continue;
    found[at] = {
      state: node.state,
      rowsIn: node.rows_in ?? 0,
      rowsOut: node.rows_out ?? 0,
      queue: node.queue_us,
      took: node.io_us ?? node.run_us,
      waits: node.io_us !== undefined,
      critical: critical.get(node.node) ?? 0,
      chosen: node.chosen ?? '',
      fused: node.fused_with ?? '',
      options: node.options ?? [],
      keys: node.keys_added ?? [],
    };
  }
  return found;
}

/** Nodes by their run times, the slowest first; nodes without a time are left out. */
export function slowest(graph, run) {
  return run
    .map((node, at) => ({ at, node: graph.nodes[at].node, ...node }))
    .filter((node) => node.took !== undefined)
    .sort((a, b) => b.took - a.took || a.at - b.at);
}

export const reasons = {
  predicate: 'its predicate is false for them',
  count: 'they stand after the rows that it takes',
  duplicate: 'another row has the same value',
  match: 'the join found a partner for them, or found none',
  diversity: 'too many rows with the same value stand before them, or there is no slot',
  merged: 'it takes other rows of its inputs',
  replaced: 'it gives new rows for those that it takes',
  not_done: 'it had not ended when the answer was known',
  other: 'it does not pass them on',
};

/**
 * The fate of one id in a graph: `{made, dropped, way, text}`. `made` are the nodes that produced rows with it,
 * `dropped` maps nodes to drops, `way` are the nodes that such rows can have passed through.
 */
export function fateOf(graph, run, fate) {
  const made = new Set(fate.produced_by.map((name) => graph.at.get(name)).filter((at) => at !== undefined));
  const dropped = new Map(fate.dropped.map((drop) => [graph.at.get(drop.node), drop]));
  const way = new Set(made);
  const open = [...made];
  while (open.length > 0) {
    const at = open.pop();
    if (dropped.has(at) && fate.positions.length === 0) continue;
    for (const next of graph.nodes[at].down) {
      if (way.has(next) || !passes(run[next], graph.nodes[at])) continue;
      way.add(next);
      open.push(next);
    }
  }
  return { made, dropped, way, text: fateText(fate) };
}

/** A choice has only the rows of one input, and a node that did not run has no rows. */
function passes(node, from) {
  if (!node || node.state === 'bypassed' || node.state === 'skipped') return false;
  return node.chosen === '' || node.chosen === from.node;
}

/** Sentences about one id. */
export function fateText(fate) {
  const lines = [];
  if (fate.positions.length > 0) lines.push(`${fate.id} is in the answer, at ${fate.positions.join(', ')}.`);
  else lines.push(`${fate.id} is not in the answer.`);
  if (fate.produced_by.length === 0) lines.push('No node gave a row with it: no source has this id for this request.');
  else lines.push(`Rows with it came from ${fate.produced_by.join(', ')}.`);
  const rowsOf = (of) => (of.rows === 1 ? '1 row' : `${of.rows} rows`);
  for (const merge of fate.merged ?? []) lines.push(`${merge.node} took ${rowsOf(merge)} of ${merge.from}.`);
  for (const drop of fate.dropped) {
    const place = drop.position === undefined ? '' : `, the first at ${drop.position} of ${drop.from ?? 'its input'}`;
    lines.push(`${drop.node} (${drop.op}) dropped ${rowsOf(drop)}${place}: ${reasons[drop.reason] ?? reasons.other}.`);
  }
  return lines;
}

/** The columns of candidates in the order in which they first appear. */
export function columnsOf(candidates) {
  const names = new Set();
  for (const each of candidates) for (const name of Object.keys(each.fields)) names.add(name);
  return [...names];
}

export function valueText(value) {
  if (value === undefined || value === null) return '–';
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Two answers side by side, by id: `{id, before, after, move}` with positions from 1, 0 if an answer does not have the
 * id. First the ids of the second answer in its order, then ids that only the first one has. `move` is `same`, `up`,
 * `down`, `new` or `gone`.
 */
export function compare(before, after) {
  const places = (candidates) => {
    const all = new Map();
    candidates.forEach((each, at) => { if (!all.has(String(each.id))) all.set(String(each.id), at + 1); });
    return all;
  };
  const old = places(before);
  const now = places(after);
  const rows = [];
  for (const [id, place] of now) {
    const was = old.get(id) ?? 0;
    rows.push({ id, before: was, after: place, move: was === 0 ? 'new' : moveOf(was, place) });
  }
  for (const [id, was] of old) if (!now.has(id)) rows.push({ id, before: was, after: 0, move: 'gone' });
  return rows;
}

function moveOf(was, now) {
  if (was === now) return 'same';
  return now < was ? 'up' : 'down';
}

/** Nodes that differ between two plans: `{node, change}`, added, removed or changed, in the order of the second. */
export function nodeChanges(before, after) {
  const shape = (node) => JSON.stringify([node.op, node.inputs, node.refs ?? {}, node.params]);
  const old = new Map(before.nodes.map((node) => [node.node, shape(node)]));
  const now = new Set(after.nodes.map((node) => node.node));
  const all = [];
  for (const node of after.nodes)
    if (!old.has(node.node)) all.push({ node: node.node, change: 'added' });
    else if (old.get(node.node) !== shape(node)) all.push({ node: node.node, change: 'changed' });
  for (const node of before.nodes) if (!now.has(node.node)) all.push({ node: node.node, change: 'removed' });
  return all;
}

/**
 * The server's comparison (`/v1/plans/NAME/diff`) for the nodes of two graphs. `left` and `right`: by position, the
 * words for the differences. `partner`: for each node of the first graph the node of the second that it became, and
 * `back` the other way round; -1 if there is no such node.
 */
export function sidesOf(diff, before, after) {
  const of = (kind) => diff.changes.filter((each) => each.kind === kind).map((each) => each.node);
  const [removed, added] = [new Set(of('removed')), new Set(of('added'))];
  const names = new Map(diff.changes.filter((each) => each.kind === 'renamed').map((each) => [each.was, each.node]));
  const partner = before.nodes.map(({ node }) => (removed.has(node) ? -1 : after.at.get(names.get(node) ?? node) ?? -1));
  const back = after.nodes.map(() => -1);
  partner.forEach((at, from) => { if (at >= 0) back[at] = from; });
  const right = new Map();
  for (const { kind, node } of diff.changes) {
    if (node === null || kind === 'removed') continue;
    const at = after.at.get(node);
    const words = right.get(at)?.split(', ') ?? [];
    if (!words.includes(kind)) right.set(at, [...words, kind].join(', '));
  }
  const left = new Map([...removed].map((node) => [before.at.get(node), 'removed']));
  for (const [at, words] of right) if (!added.has(after.nodes[at].node)) left.set(back[at], words);
  return { left, right, partner, back };
}

/** The metrics of a plan's nodes in the text of `/metrics`: by name, `{runs, errors, rows, times, seconds}`. */
export function nodeMetrics(text, plan) {
  const found = new Map();
  const line = /^rankd_node_(\w+)\{([^}]*)\} (\S+)$/gm;
  for (const [, family, labels, value] of text.matchAll(line)) {
    const label = Object.fromEntries([...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, a, b]) => [a, b]));
    if (label.plan !== plan) continue;
    if (!found.has(label.node)) found.set(label.node, { runs: 0, errors: 0, rows: 0, times: 0, seconds: 0 });
    const node = found.get(label.node);
    const field = { runs_total: 'runs', errors_total: 'errors', rows_total: 'rows' }[family];
    if (field) node[field] += Number(value);
    if (label.part === 'queue') continue;
    if (family === 'duration_seconds_sum') node.seconds += Number(value);
    if (family === 'duration_seconds_count') node.times += Number(value);
  }
  return found;
}
