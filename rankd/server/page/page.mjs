// page.mjs: the page of plans: asks the server, and shows its answers in the document.
import { byId, make, nothingYet, number, pairs, row, table } from './dom.mjs';
import { moveWords } from './compare.mjs';
import { GraphView } from './graph.mjs';
import {
  budgetText, columnsOf, compare, fateOf, formulaOf, graphOf, idText, nodeChanges, nodeMetrics, requestText,
  runOf, slowest, timeText, valueText,
} from './model.mjs';
import { Options } from './options.mjs';
import { placesOf } from './placing.mjs';
import { Server } from './server.mjs';
import { Source } from './source.mjs';
import { placeOf } from './source_text.mjs';
import { Versions } from './versions.mjs';

const maxRuns = 20; // that are kept to be compared
const maxListed = 500; // nodes of a list at a time
const state = { plans: [], offers: [], plan: null, graph: null, run: null, runs: [], fates: new Map(), selected: -1 };
const server = new Server(() => {
  byId('token-form').hidden = false;
  byId('token').focus();
});
const ask = (path, body) => server.ask(path, body);
const view = new GraphView(byId('graph'), select);
const versions = new Versions({
  ask, askLines: (...how) => server.askLines(...how), attempt, say, select, view, requestBody,
  offers: (name) => state.offers.includes(name),
});

function say(text) {
  byId('said').textContent = text;
}

const source = new Source({
  ask, attempt, say, draftMade, saved, planName: () => state.plan?.plan, showSource: () => showTab('source'),
  optionsRead: showNodeInText,
});
const options = new Options({ attempt, source, openSource, goTo, nameInText: () => versions.nameInDraft(state.selected) });

/** Runs an action of a person; errors are shown next to the form. */
async function attempt(work) {
  byId('problem').textContent = '';
  try {
    await work();
  } catch (error) {
    byId('problem').textContent = error.message;
    say('Failed');
  }
}

// Plans

async function listPlans() {
  const { plans, offers } = await ask('v1/plans');
  Object.assign(state, { plans, offers: offers ?? [] });
  byId('tab-source').hidden = !state.offers.includes('drafts');
  byId('plans').replaceChildren(...plans.map((plan) => {
    const about = plan.runnable ? `${plan.nodes} nodes` : 'cannot run';
    const problem = plan.message ? make('small', { className: 'bad' }, plan.message) : null;
    const button = make('button', { type: 'button' }, plan.plan, make('small', {}, about), problem);
    button.dataset.plan = plan.plan;
    button.addEventListener('click', () => attempt(() => openPlan(plan.plan)));
    return make('li', {}, button);
  }));
  return plans;
}

async function openPlan(name) {
  say(`Reading ${name}`);
  state.wanted = name;
  const plan = await ask(`v1/plans/${encodeURIComponent(name)}?form=full`);
  const graph = graphOf(plan);
  const places = await placesOf(graph);
  if (state.wanted !== name) return; // another one was chosen meanwhile
  Object.assign(state, { plan, graph, run: null, selected: -1, fates: new Map() });
  history.replaceState(null, '', `#${encodeURIComponent(name)}`);
  for (const button of byId('plans').querySelectorAll('button'))
    if (button.dataset.plan === name) button.setAttribute('aria-current', 'true');
    else button.removeAttribute('aria-current');
  const { nodes, digest, budget } = state.plan;
  byId('plan-title').textContent =
    `${name} · ${nodes.length} nodes · ${digest.slice(0, 12)} · budget ${budgetText(budget)}`;
  byId('graph').setAttribute('aria-label', `Graph of the plan ${name}, ${nodes.length} nodes`);
  byId('legend').textContent = '';
  byId('node-names').replaceChildren(...nodes.slice(0, 2000).map((node) => make('option', { value: node.node })));
  view.show(graph, places);
  versions.open(state.plan, state.graph, state.plans);
  showForm();
  showAll();
  say(`${name}: ${nodes.length} nodes`);
  if (byId('tab-source').getAttribute('aria-selected') === 'true') await source.open(name);
}

async function saved(name) {
  await listPlans();
  await openPlan(name);
}

/** A draft compiles: if it differs from the served plan, both are shown. */
async function draftMade(plan, isChanged) {
  if (plan.plan !== state.plan?.plan) return;
  if (isChanged || versions.marks) await versions.compareDraft(plan);
  else versions.draft = plan;
}

/** The place in the author's files: a button if its file is the source that can be edited. */
function placeCell(text) {
  const place = placeOf(text);
  if (!place || !state.offers.includes('drafts')) return text;
  const go = make('button', { type: 'button', title: 'Show it in the source' }, text);
  go.addEventListener('click', () => attempt(() => goTo(place)));
  return go;
}

async function openSource() {
  showTab('source');
  await source.open(state.plan.plan);
}

async function goTo(place) {
  await openSource();
  if (!source.goTo(place)) say(`${place.file} is another file than the source`);
}

// The request

function field(label, about, input, name) {
  input.name = name;
  return make('label', {}, label, input, about === '' ? null : make('small', {}, about));
}

function paramField(param) {
  const limits = param.min === undefined ? '' : ` ${valueText(param.min)} to ${valueText(param.max)}.`;
  const placeholder = param.default === null ? (param.required ? 'required' : 'null') : valueText(param.default);
  let input = make('input', { placeholder, required: param.required, autocomplete: 'off' });
  if (param.type === 'bool')
    input = make('select', {}, make('option', { value: '' }, `default (${placeholder})`),
      make('option', {}, 'true'), make('option', {}, 'false'));
  return field(`${param.param} (${param.type})`, `${param.doc}${limits}`, input, `param.${param.param}`);
}

function showForm() {
  const { request } = state.plan;
  const kept = new Map([...new FormData(byId('request'))]);
  const inputMode = request.id_type === 'string' ? 'text' : 'numeric';
  const user = make('input', { required: request.user_id, inputMode, autocomplete: 'off' });
  const ids = make('input', { placeholder: '42, 43', autocomplete: 'off' });
  const fields = [
    field('user_id', request.user_id ? '' : 'No node of this plan reads it.', user, 'user'),
    ...request.params.map(paramField),
    request.candidates
      ? field('candidates (JSON)', `Rows with ${['id', ...request.candidates].join(', ')}.`, make('textarea'), 'candidates')
      : null,
    field('deadline_ms', '', make('input', { inputMode: 'numeric', autocomplete: 'off' }), 'deadline'),
    field('explain ids', 'What became of these? Up to 100.', ids, 'ids'),
  ];
  byId('fields').replaceChildren(...fields.filter((each) => each !== null));
  for (const [name, value] of kept) if (byId('request').elements[name]) byId('request').elements[name].value = value;
}

function formTexts() {
  const form = { params: {} };
  for (const [name, value] of new FormData(byId('request')))
    if (name.startsWith('param.')) form.params[name.slice(6)] = value;
    else form[name] = value;
  return form;
}

function requestBody() {
  if (!state.plan) throw new Error('choose a plan first');
  return requestText(state.plan, formTexts());
}

async function runRequest() {
  const body = requestBody();
  say('Running');
  let answer;
  try {
    answer = await ask('v1/rank', body);
  } catch (error) {
    if (error.data?.explain) showRun({ body, answer: { candidates: [], explain: error.data.explain }, failed: error });
    throw error;
  }
  showRun({ body, answer });
  const { candidates, explain } = answer;
  if (explain.plan_digest !== state.plan.digest) say('The plan has changed on the server: choose it again');
  else say(`${candidates.length} candidates in ${timeText(explain.total_us)}`);
}

function showRun({ body, answer, failed }) {
  const run = {
    body, failed, plan: state.plan, candidates: answer.candidates, explain: answer.explain,
    nodes: runOf(state.graph, answer.explain), name: `run ${(state.runs.at(-1)?.count ?? 0) + 1}`,
    count: (state.runs.at(-1)?.count ?? 0) + 1,
  };
  state.runs.push(run);
  if (state.runs.length > maxRuns) state.runs.shift();
  state.run = run;
  state.fates = new Map((answer.explain.ids ?? []).map((fate) => [String(fate.id), fate]));
  byId('legend').textContent =
    `total ${timeText(run.explain.total_us)} · critical path ${run.explain.critical_path?.length ?? 0} nodes`;
  Object.assign(view, { run: run.nodes, fate: null, marks: versions.marks });
  view.draw();
  showAll();
  const first = answer.explain.ids?.[0];
  if (!first) return;
  showFate(String(first.id));
  openTab('fate');
}

/** Repeats the run with one more id to explain: the answer is that of the run, unless data has changed meanwhile. */
async function explainId(id) {
  if (!state.fates.has(id)) {
    const json = idText(id, state.plan.request.id_type);
    const at = state.run.body.lastIndexOf('"explain":{"ids":['); // the last member, as `requestText` writes it
    const body = `${state.run.body.slice(0, at)}"explain":{"ids":[${json}]}}`;
    const answer = await ask('v1/rank', body);
    for (const fate of answer.explain.ids) state.fates.set(String(fate.id), fate);
  }
  showFate(id);
  openTab('fate');
}

// Results

function showAll() {
  showAnswer();
  showTimes();
  showRuns();
  showNodes();
  showNode();
  byId('panel-metrics').replaceChildren(metricsHead());
  byId('panel-fate').replaceChildren(make('p', { className: 'muted' },
    'Choose a candidate in the answer, or write ids into “explain ids” and run: also of what is missing.'));
}

const idButton = (id) => {
  const button = make('button', { type: 'button', title: 'What became of it' }, String(id));
  button.addEventListener('click', () => attempt(() => explainId(String(id))));
  return button;
};

function nodeButton(at) {
  const button = make('button', { type: 'button' }, state.graph.nodes[at].node);
  button.addEventListener('click', () => select(at));
  return button;
}

function showAnswer() {
  const panel = byId('panel-answer');
  if (!state.run) return panel.replaceChildren(nothingYet('Run a request to see its answer.'));
  const { candidates, failed } = state.run;
  if (failed) return panel.replaceChildren(make('p', { className: 'bad' }, `${failed.code}: ${failed.message}`));
  const columns = columnsOf(candidates);
  const heads = [{ title: '#', number: true }, { title: 'id' }, ...columns.map((title) => ({ title }))];
  const rows = candidates.slice(0, 1000).map((each, at) => row([
    number(at + 1), idButton(each.id), ...columns.map((name) =>
      (typeof each.fields[name] === 'number' ? number(valueText(each.fields[name])) : valueText(each.fields[name])))]));
  const more = candidates.length > 1000 ? nothingYet(`${candidates.length - 1000} more`) : '';
  if (candidates.length === 0) return panel.replaceChildren(nothingYet('The answer is empty.'));
  return panel.replaceChildren(table(heads, rows), more);
}

function showFate(id) {
  const fate = state.fates.get(id);
  const found = fateOf(state.graph, state.run.nodes, fate);
  Object.assign(view, { fate: found.way.size > 0 ? found : null, marks: versions.marks });
  view.draw();
  const clear = make('button', { type: 'button' }, 'Show times again');
  clear.addEventListener('click', () => { view.fate = null; view.draw(); });
  const others = [...state.fates.keys()].filter((each) => each !== id).map((each) => {
    const button = make('button', { type: 'button' }, each);
    button.addEventListener('click', () => showFate(each));
    return button;
  });
  const drops = fate.dropped.map((drop) => row([
    state.graph.at.has(drop.node) ? nodeButton(state.graph.at.get(drop.node)) : drop.node, drop.op, drop.reason,
    number(drop.rows), make('td', { className: 'mono' },
      Object.entries(drop.fields ?? {}).map(([name, value]) => `${name} ${valueText(value)}`).join(', '))]));
  const answered = state.run.candidates.find((each) => String(each.id) === id);
  const heads = ['dropped by', 'operator', 'reason', 'rows', 'with'];
  byId('panel-fate').replaceChildren(
    make('div', { className: 'row' }, make('h2', {}, `Candidate ${id}`), clear, ...others),
    ...found.text.map((line) => make('p', {}, line)),
    answered ? pairs(Object.entries(answered.fields).map(([name, value]) => [name, valueText(value)])) : '',
    drops.length === 0 ? '' : table(heads.map((title) => ({ title, number: title === 'rows' })), drops));
}

function bar(share, isCritical) {
  const made = make('span', { className: isCritical ? 'bar hot' : 'bar' });
  made.style.width = `${Math.max(0, Math.min(100, share * 100))}%`;
  return make('td', { className: 'wide' }, made);
}

function showTimes() {
  const panel = byId('panel-times');
  if (!state.run) return panel.replaceChildren(nothingYet('Run a request to see where its time goes.'));
  const { explain, nodes } = state.run;
  const total = Math.max(explain.total_us, 1e-3);
  const steps = (explain.critical_path ?? []).map((step, at) => row([
    number(at + 1), nodeButton(state.graph.at.get(step.node)), number(timeText(step.wait_us)),
    number(timeText(step.io_us ?? step.run_us)), step.io_us === undefined ? 'computes' : 'waits for a store',
    bar((step.io_us ?? step.run_us) / total, true)]));
  steps.push(row(['', 'answering', '', number(timeText(explain.answering_us)), '', bar(explain.answering_us / total)]));
  const path = [{ title: '#', number: true }, { title: 'critical path' }, { title: 'waited', number: true },
    { title: 'took', number: true }, { title: 'by' }, { title: 'of the total' }];
  const all = slowest(state.graph, nodes).slice(0, maxListed).map((node) => row([
    nodeButton(node.at), node.critical ? make('td', { className: 'critical' }, `critical ${node.critical}`) : '',
    number(timeText(node.queue)), number(timeText(node.took)), number(node.rowsIn), number(node.rowsOut),
    bar(node.took / total, node.critical > 0)]));
  const heads = [{ title: 'slowest nodes' }, { title: 'critical path' }, { title: 'queue', number: true },
    { title: 'took', number: true }, { title: 'rows in', number: true }, { title: 'rows out', number: true },
    { title: 'of the total' }];
  const note = nothingYet(`The critical path and the answering add up to the total, ${timeText(explain.total_us)}.`);
  return panel.replaceChildren(note, make('div', { className: 'sides' }, table(path, steps), table(heads, all)));
}

// Two runs side by side

function showRuns() {
  const panel = byId('panel-runs');
  if (state.runs.length < 2)
    return panel.replaceChildren(nothingYet(
      'Run twice, with other params: both answers are shown side by side. The tab Compare runs two plans for one request.'));
  const options = () => state.runs.map((run, at) =>
    make('option', { value: String(at) }, `${run.name}: ${run.plan.plan} ${run.explain.plan_digest.slice(0, 8)}`));
  const before = make('select', { name: 'before' }, options());
  const after = make('select', { name: 'after' }, options());
  before.value = String(state.runs.length - 2);
  after.value = String(state.runs.length - 1);
  const result = make('div');
  const again = () => result.replaceChildren(...comparison(state.runs[before.value], state.runs[after.value]));
  before.addEventListener('change', again);
  after.addEventListener('change', again);
  const head = make('div', { className: 'row' }, make('label', {}, 'Before ', before), make('label', {}, 'After ', after));
  again();
  return panel.replaceChildren(head, result);
}

function comparison(before, after) {
  const rows = compare(before.candidates, after.candidates);
  const count = (move) => rows.filter((each) => each.move === move).length;
  const summary = `${count('same')} in place, ${count('up')} up, ${count('down')} down, ${count('new')} new, ` +
    `${count('gone')} gone · ${timeText(before.explain.total_us)} → ${timeText(after.explain.total_us)}`;
  const list = rows.slice(0, 1000).map((each) => row([
    make('td', { className: 'mono' }, each.id), number(each.before || '–'), number(each.after || '–'), moveWords[each.move],
  ], each.move));
  const ids = table([{ title: 'id' }, { title: 'before', number: true }, { title: 'after', number: true }, { title: 'move' }], list);
  const changes = nodeChanges(before.plan, after.plan);
  if (after.plan === state.plan && !versions.marks) {
    Object.assign(view, { fate: null, marks: changes.length === 0 ? null : new Map(changes
      .filter((each) => state.graph.at.has(each.node)).map((each) => [state.graph.at.get(each.node), each.change])) });
    view.draw();
  }
  const nodes = changes.length === 0 ? nothingYet('Both plans have the same nodes.')
    : table([{ title: 'node' }, { title: 'change' }], changes.map((each) => row([each.node, each.change])));
  const requests = before.body === after.body ? nothingYet('Both requests are the same.')
    : make('dl', {}, make('dt', {}, 'before'), make('dd', { className: 'mono' }, before.body),
      make('dt', {}, 'after'), make('dd', { className: 'mono' }, after.body));
  return [make('p', {}, summary), make('div', { className: 'sides' }, ids, make('div', {}, nodes, requests))];
}

// Metrics, nodes, one node

function metricsHead() {
  const button = make('button', { type: 'button', disabled: !state.plan }, 'Read metrics');
  button.addEventListener('click', () => attempt(showMetrics));
  return make('div', { className: 'row' }, button,
    nothingYet('Of all requests to this plan since the server started; times of one request in --time-nodes-of.'));
}

async function showMetrics() {
  const found = nodeMetrics(await ask('metrics'), state.plan.plan);
  const mean = (node) => (node.times === 0 ? undefined : (node.seconds / node.times) * 1e6);
  const rows = [...found].sort((a, b) => (mean(b[1]) ?? 0) - (mean(a[1]) ?? 0)).map(([name, node]) => row([
    state.graph.at.has(name) ? nodeButton(state.graph.at.get(name)) : name, number(node.runs), number(node.errors),
    number(node.runs === 0 ? '–' : valueText(node.rows / node.runs)), number(timeText(mean(node)))]));
  const heads = [{ title: 'node' }, { title: 'runs', number: true }, { title: 'errors', number: true },
    { title: 'rows a run', number: true }, { title: 'mean time', number: true }];
  byId('panel-metrics').replaceChildren(metricsHead(),
    rows.length === 0 ? nothingYet('No request has run this plan yet.') : table(heads, rows));
}

function describe(at) {
  const run = state.run?.nodes[at];
  const node = state.graph.nodes[at];
  const words = [node.node, node.op];
  if (run) words.push(run.state, `${run.rowsIn} to ${run.rowsOut} rows`, timeText(run.took));
  if (run?.critical) words.push(`critical ${run.critical}`);
  return words.join(', ');
}

/** The graph as a list, for people who see no canvas; sources come before their users. */
function showNodes(text = '') {
  const order = view.places.rows.flat().filter((at) => describe(at).includes(text));
  const items = order.slice(0, maxListed).map((at) => {
    const button = make('button', { type: 'button' }, describe(at));
    if (at === state.selected) button.setAttribute('aria-current', 'true');
    button.addEventListener('click', () => select(at));
    return make('li', {}, button);
  });
  const list = make('ul', { id: 'node-list' }, items);
  const more = order.length > maxListed ? nothingYet(`${order.length - maxListed} more: name a part of them`) : '';
  if (byId('node-list')) {
    byId('node-list').replaceWith(list);
    byId('node-more').replaceChildren(more);
    if (text !== '' || byId('node-filter').value !== '') return;
  }
  const filter = make('input', { id: 'node-filter', type: 'search', value: text });
  filter.addEventListener('input', () => showNodes(filter.value));
  byId('panel-nodes').replaceChildren(make('label', {}, 'Nodes with ', filter), list,
    make('div', { id: 'node-more' }, more));
}

function select(at) {
  if (at < 0) return;
  state.selected = at;
  view.select(at);
  versions.chosen(at);
  showNode();
}

function showNode() {
  if (state.selected < 0)
    return byId('node').replaceChildren(nothingYet('Choose a node in the graph or in the list.'));
  const node = state.graph.nodes[state.selected];
  const run = state.run?.nodes[state.selected];
  const neighbours = (all) => (all.length === 0 ? '–' : make('span', {}, all.map(nodeButton)));
  const parts = [
    make('h3', { className: 'mono' }, node.node), make('p', {}, make('code', {}, node.op), ` ${node.doc}`),
    pairs(Object.entries(node.params).map(([name, text]) => [name, make('code', {}, text)])),
    make('h3', {}, 'Columns'),
    pairs([['reads', node.reads.join(', ') || '–'], ['writes', node.writes.join(', ') || '–'],
      ['rows have', node.columns.join(', ') || '–']]),
    make('h3', {}, 'Edges'), pairs([['rows of', neighbours(node.up)], ['goes to', neighbours(node.down)]]),
  ];
  if (state.offers.includes('drafts') && node.place)
    parts.push(make('h3', {}, 'In the text'), make('div', { id: 'node-options' }));
  const about = [['trace', node.trace], ['written at', node.place && placeCell(node.place)], ['works with', node.fused_with]];
  if (about.some(([, value]) => value)) parts.push(make('h3', {}, 'About'), pairs(about.filter(([, value]) => value)));
  parts.push(make('div', { id: 'node-changes' }));
  if (run) parts.push(make('h3', {}, `In ${state.run.name}`), pairs(runPairs(run)));
  byId('node').replaceChildren(...parts);
  return showNodeInText();
}

/** Shows the differences of the node in the second graph, and its options as they are in the text now. */
function showNodeInText() {
  if (state.selected < 0) return;
  const changes = versions.about(state.selected);
  byId('node-changes').replaceChildren(
    ...(changes.length === 0 ? [] : [make('h3', {}, 'In the second graph'), pairs(changes)]));
  options.show();
}

function runPairs(run) {
  const all = [['state', run.state], ['rows', `${run.rowsIn} in, ${run.rowsOut} out`], ['queue', timeText(run.queue)],
    [run.waits ? 'waited for a store' : 'computed', timeText(run.took)],
    ['critical path', run.critical ? make('span', { className: 'critical' }, `step ${run.critical}`) : 'no']];
  if (run.keys.length > 0) all.push(['columns added', run.keys.join(', ')]);
  for (const each of run.options) all.push([each.option, `${valueText(each.value)} by ${each.param} (${each.from})`]);
  if (run.chosen !== '') all.push(['chose', run.chosen]);
  return all;
}

// Tabs and keys

function showTab(name, focus = false) {
  for (const tab of byId('tabs').children) {
    const isOpen = tab.id === `tab-${name}`;
    tab.setAttribute('aria-selected', String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    byId(tab.getAttribute('aria-controls')).hidden = !isOpen;
    if (isOpen && focus) tab.focus();
  }
}

function openTab(name, focus = false) {
  showTab(name, focus);
  if (name === 'metrics' && state.plan) attempt(showMetrics);
  if (name === 'compare' && state.plan) attempt(() => versions.listVersions());
  if (name === 'source' && state.plan) attempt(() => source.open(state.plan.plan));
}

function listen() {
  for (const tab of byId('tabs').children) {
    tab.addEventListener('click', () => openTab(tab.id.slice(4)));
    tab.addEventListener('keydown', (event) => {
      const tabs = [...byId('tabs').children].filter((each) => !each.hidden);
      const step = { ArrowRight: 1, ArrowLeft: tabs.length - 1 }[event.key];
      if (step) openTab(tabs[(tabs.indexOf(tab) + step) % tabs.length].id.slice(4), true);
    });
  }
  byId('request').addEventListener('submit', (event) => {
    event.preventDefault();
    attempt(runRequest);
  });
  byId('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    sessionStorage.removeItem('token');
    server.token = byId('token').value;
    attempt(async () => {
      await begin();
      byId('token-form').hidden = true;
    });
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && event.ctrlKey) byId('request').requestSubmit();
  });
  byId('fit').addEventListener('click', () => view.fit());
  byId('closer').addEventListener('click', () => view.zoom(1.25));
  byId('farther').addEventListener('click', () => view.zoom(0.8));
  byId('find').addEventListener('change', () => {
    const at = state.graph?.at.get(byId('find').value.trim());
    if (at === undefined) say(`No node is called ${byId('find').value}`);
    else select(at);
  });
}

/** `#PLAN`, `#token=TOKEN` as `rankd studio` prints it, or both with `&` between. The token is kept for this tab. */
function readAddress() {
  const parts = location.hash.slice(1).split('&');
  const token = parts.find((part) => part.startsWith('token='));
  if (token) sessionStorage.setItem('token', decodeURIComponent(token.slice(6)));
  server.token = sessionStorage.getItem('token') ?? server.token;
  const plan = parts.find((part) => part !== token) ?? '';
  if (token) history.replaceState(null, '', `#${plan}`);
  return decodeURIComponent(plan);
}

async function begin() {
  const wanted = readAddress();
  const plans = await listPlans();
  const first = plans.find((plan) => plan.plan === wanted) ?? plans.find((plan) => plan.runnable);
  if (first) await openPlan(first.plan);
}

listen();
window.addEventListener('hashchange', () => attempt(begin));
attempt(begin);
