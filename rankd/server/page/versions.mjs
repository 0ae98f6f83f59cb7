// versions.mjs: the open plan next to another plan, or another version of it: their graphs, with marks at the
// differences, and their answers.
import { TrafficRun, answersReport, trafficReport } from './compare.mjs';
import { byId, make, nothingYet, pairs, row, table } from './dom.mjs';
import { GraphView } from './graph.mjs';
import { graphOf, sidesOf } from './model.mjs';
import { placesOf } from './placing.mjs';

const maxListed = 500; // changes

/**
 * The second graph and the list of differences. `page` has `ask(path, body)`, `askLines(path, signal, onLine)`,
 * `attempt(work)`, `say(text)`, `offers(name)`, `requestBody()`, `view`, the first graph, and `select(at)`, which
 * chooses a node of it.
 */
export class Versions {
  constructor(page) {
    this.page = page;
    this.other = new GraphView(byId('other'), (at) => this.chooseOther(at));
    this.found = null;
  }

  /** Begins again with a plan from this list. */
  open(plan, graph, plans) {
    this.run?.stop();
    Object.assign(this, { plan, graph, found: null, listed: '', run: null, draft: null, versions: [] });
    byId('other-side').hidden = true;
    byId('graph-title').hidden = true;
    const names = plans.filter((each) => each.runnable).map((each) => make('option', { value: each.plan }, each.plan));
    this.name = make('select', { name: 'with' }, names);
    this.name.value = plan.plan;
    this.version = make('select', { name: 'with_version' });
    this.name.addEventListener('change', () => this.page.attempt(() => this.listVersions()));
    const button = (id, text, work) => {
      const made = make('button', { type: 'button', id }, text);
      made.addEventListener('click', work);
      return made;
    };
    const start = button('compare-versions', 'Graphs', () => this.page.attempt(() => this.compare()));
    const answers = button('compare-answers', 'Answers to the request', () => this.page.attempt(() => this.compareAnswers()));
    const end = button('end-comparison', 'One graph again', () => this.close());
    this.traffic = make('div', { className: 'row', hidden: true });
    this.result = make('div', {}, nothingYet(
      'Graphs: both stand side by side, this plan on the left; nodes that are not alike are marked. Answers: both plans '
      + 'run for the request on the left, on the same data, and each id that moved has the reason.'));
    byId('panel-compare').replaceChildren(make('div', { className: 'row' }, make('p', {}, `${plan.plan} with`),
      make('label', {}, 'Plan ', this.name), make('label', {}, 'Version ', this.version), start, answers, end),
    this.traffic, this.result);
    this.showVersions([]);
  }

  /** The marks of the first graph; null if it is the only one. */
  get marks() {
    return this.found?.left ?? null;
  }

  /**
   * The versions that the server keeps of the chosen plan; requested when the tab is opened, because few people look.
   */
  async listVersions() {
    await this.listTraffic();
    if (this.listed === this.name.value) return;
    this.listed = this.name.value;
    const { versions } = await this.page.ask(`v1/plans/${encodeURIComponent(this.name.value)}/versions`);
    this.showVersions(versions);
  }

  showVersions(versions) {
    this.versions = versions;
    const kept = versions.map((each) => make('option', { value: String(each.version) },
      `${each.version}: ${each.digest.slice(0, 8)}${each.serves ? ', serves' : ''}, loaded ${each.loaded_at.slice(0, 19)}Z`));
    const draft = this.page.offers('drafts') && this.name.value === this.plan.plan
      ? make('option', { value: 'draft' }, 'the text in the tab Source') : '';
    const chosen = this.version.value;
    this.version.replaceChildren(make('option', { value: '' }, 'the one that serves'), draft, ...kept);
    if ([...this.version.options].some((each) => each.value === chosen)) this.version.value = chosen;
  }

  /** Lists the records that both plans can run, if the server has some. */
  async listTraffic() {
    if (!this.page.offers('traffic') || !this.traffic.hidden) return;
    const { records } = await this.page.ask('v1/traffic');
    const all = make('option', { value: '' }, records.length === 0 ? 'nothing is recorded' : 'all records');
    this.record = make('select', { name: 'record' }, all,
      ...records.map(({ record, bytes }) => make('option', { value: record }, `${record}, ${Math.ceil(bytes / 1024)} KiB`)));
    const live = make('input', { type: 'checkbox', name: 'live' });
    const start = make('button', { type: 'button', id: 'compare-traffic', disabled: records.length === 0 }, 'Recorded traffic');
    start.addEventListener('click', () => this.page.attempt(() => this.compareTraffic(live.checked)));
    this.traffic.replaceChildren(make('label', {}, 'Record ', this.record),
      make('label', {}, live, ' ask the stores for what is not recorded'), start);
    this.traffic.hidden = false;
  }

  /** The second plan, as the query of a comparison names it. */
  get query() {
    const version = { '': '', draft: '&with_draft=1' }[this.version.value] ?? `&with_version=${this.version.value}`;
    return `with=${encodeURIComponent(this.name.value)}${version}`;
  }

  get path() {
    return `v1/plans/${encodeURIComponent(this.plan.plan)}/diff`;
  }

  async compareAnswers() {
    this.needsDraft();
    this.page.say('Running both plans');
    const found = await this.page.ask(`${this.path}/answers?${this.query}`, this.page.requestBody());
    this.result.replaceChildren(...answersReport(this, found));
    this.page.say(`overlap@${found.depth} ${found.overlap.toFixed(2)}, ${found.moved} ids moved`);
  }

  async compareTraffic(isLive) {
    this.needsDraft();
    this.run?.stop();
    const run = new TrafficRun(this.page.say);
    this.run = run;
    this.result.replaceChildren(run.element);
    const record = this.record.value === '' ? '' : `&record=${encodeURIComponent(this.record.value)}`;
    try {
      const found = await run.run(`${this.path}/traffic?${this.query}${record}${isLive ? '&live=1' : ''}`, this.page.askLines);
      if (this.run !== run) return;
      this.result.replaceChildren(...(found ? trafficReport(this, found) : [nothingYet('Stopped.')]));
      this.page.say(found ? `${found.different.all} of ${found.compared} answers differ` : 'Stopped');
    } catch (error) {
      if (this.run === run) this.result.replaceChildren();
      throw error;
    }
  }

  /** A function that brings a node of either plan into sight; null if no node has the name. */
  nodeNamed(name) {
    const other = this.found ? this.otherGraph.at.get(name) : undefined;
    if (other !== undefined) return () => this.chooseOther(other);
    const at = this.graph.at.get(name);
    return at === undefined ? null : () => this.page.select(at);
  }

  async compare() {
    const [name, version] = [this.name.value, this.version.value];
    this.needsDraft();
    if (version === 'draft') {
      return await this.showSecond(`${name}, the text`, this.draft, await this.page.ask(`${this.path}?${this.query}`));
    }
    const form = version === '' ? 'form=full' : `form=full&version=${version}`;
    const [after, diff] = await Promise.all([
      this.page.ask(`v1/plans/${encodeURIComponent(name)}?${form}`), this.page.ask(`${this.path}?${this.query}`)]);
    return await this.showSecond(version === '' ? name : `${name}, version ${version}`, after, diff);
  }

  needsDraft() {
    if (this.version.value === 'draft' && !this.draft)
      throw new Error('the text in the tab Source does not compile, or is not open');
  }

  /** Shows the draft of the open plan next to the plan. */
  async compareDraft(after) {
    this.draft = after;
    this.name.value = this.plan.plan;
    this.showVersions(this.versions);
    this.version.value = 'draft';
    const diff = await this.page.ask(`${this.path}?${this.query}`);
    if (this.draft === after) await this.showSecond(`${this.plan.plan}, the text`, after, diff, true);
  }

  async showSecond(name, after, diff, keep = false) {
    const { plan } = this;
    if (diff.before.digest !== plan.digest || diff.after.digest !== after.digest)
      throw new Error('the plans have changed on the server: choose the plan again');
    const graph = graphOf(after);
    const places = await placesOf(graph);
    if (this.plan !== plan) return;
    const stays = keep && this.found !== null;
    this.otherGraph = graph;
    this.found = { diff, ...sidesOf(diff, this.graph, graph) };
    this.show(name, after, places, stays);
  }

  /** `stays`: both graphs keep their positions. */
  show(name, after, places, stays) {
    const { diff, left, right } = this.found;
    byId('other-side').hidden = false;
    byId('graph-title').hidden = false;
    byId('graph-title').textContent = `Before: ${this.plan.plan} ${this.plan.digest.slice(0, 8)}`;
    byId('other-title').textContent = `After: ${name} ${after.digest.slice(0, 8)}`;
    byId('other').setAttribute('aria-label', `Graph of ${name}, ${after.nodes.length} nodes, to be compared`);
    this.other.show(this.otherGraph, places, stays);
    this.other.marks = right;
    Object.assign(this.page.view, { fate: null, marks: left });
    this.page.view.draw();
    // Each graph has half of the room now.
    for (const each of stays ? [] : [this.page.view, this.other]) {
      each.resize();
      each.fit();
    }
    this.result.replaceChildren(...this.report());
    this.page.say(diff.equal ? 'The plans do the same' : `${diff.changes.length} changes`);
  }

  /** The differences, for people who see no canvas, and with links to the nodes. */
  report() {
    const { diff } = this.found;
    if (diff.equal) return [make('p', {}, 'The plans do the same.')];
    const text = (value) => make('td', { className: 'mono' }, value ?? '–');
    const changes = diff.changes.slice(0, maxListed).map((each) => row([
      make('td', { className: `change ${each.kind}` }, each.kind), this.button(each), each.field ?? '', text(each.before),
      text(each.after)]));
    const heads = ['change', 'node', 'what', 'before', 'after'].map((title) => ({ title }));
    const follows = diff.consequences.map((each) =>
      [each.what, `${each.before.join(', ') || '(none)'} → ${each.after.join(', ') || '(none)'}`]);
    return [
      changes.length === 0 ? nothingYet('The nodes are the same.') : table(heads, changes),
      diff.changes.length > maxListed ? nothingYet(`${diff.changes.length - maxListed} more`) : '',
      follows.length === 0 ? '' : make('div', {}, make('h3', {}, 'What follows'), pairs(follows)),
    ];
  }

  button(change) {
    if (change.node === null) return 'the plan';
    const button = make('button', { type: 'button' }, change.node);
    button.addEventListener('click', () => {
      if (change.kind === 'removed') this.page.select(this.graph.at.get(change.node));
      else this.chooseOther(this.otherGraph.at.get(change.node));
    });
    return button;
  }

  /** A node of the second graph was chosen. */
  chooseOther(at) {
    const before = this.found.back[at];
    if (before >= 0) return this.page.select(before);
    this.other.select(at);
    return this.page.say(`${this.otherGraph.nodes[at].node} is in the second graph alone`);
  }

  /** A node of the first graph was chosen. */
  chosen(at) {
    if (this.found) this.other.select(this.found.partner[at]);
  }

  /** The name of a node of the first graph in the draft; null if the shown draft has no such node. */
  nameInDraft(at) {
    const { node } = this.graph.nodes[at];
    if (!this.found || this.version.value !== 'draft') return node;
    const partner = this.found.partner[at];
    return partner < 0 ? null : this.otherGraph.nodes[partner].node;
  }

  /** The changes of a node of the first graph. */
  about(at) {
    if (!this.found) return [];
    const { diff, partner } = this.found;
    const other = partner[at] < 0 ? null : this.otherGraph.nodes[partner[at]].node;
    const mine = diff.changes.filter((each) =>
      (each.kind === 'removed' ? each.node === this.graph.nodes[at].node : other !== null && each.node === other &&
        each.kind !== 'added'));
    return mine.map((each) => [each.field ? `${each.kind} ${each.field}` : each.kind,
      each.kind === 'removed' ? 'is not in the second graph' : `${each.before ?? '–'} → ${each.after ?? '–'}`]);
  }

  close() {
    this.found = null;
    byId('other-side').hidden = true;
    byId('graph-title').hidden = true;
    this.page.view.marks = null;
    this.page.view.draw();
    this.result.replaceChildren();
  }
}
