// versions.mjs: the plan that is open beside another plan, or another version of it, with marks where they differ.
import { byId, make, nothingYet, pairs, row, table } from './dom.mjs';
import { GraphView, box } from './graph.mjs';
import { layout } from './layout.mjs';
import { graphOf, sidesOf } from './model.mjs';

const maxListed = 500; // changes

/**
 * The second graph and the list of what differs. `page` has `ask(path)`, `attempt(work)`, `say(text)`, `view`, the first
 * graph, and `select(at)`, which chooses a node of it.
 */
export class Versions {
  constructor(page) {
    this.page = page;
    this.other = new GraphView(byId('other'), (at) => this.chooseOther(at));
    this.found = null;
  }

  /** Begins anew with a plan of all of these. */
  open(plan, graph, plans) {
    Object.assign(this, { plan, graph, found: null, listed: '' });
    byId('other-side').hidden = true;
    byId('graph-title').hidden = true;
    const names = plans.filter((each) => each.runnable).map((each) => make('option', { value: each.plan }, each.plan));
    this.name = make('select', { name: 'with' }, names);
    this.name.value = plan.plan;
    this.version = make('select', { name: 'with_version' });
    this.name.addEventListener('change', () => this.page.attempt(() => this.listVersions()));
    const start = make('button', { type: 'button', id: 'compare-versions' }, 'Compare');
    start.addEventListener('click', () => this.page.attempt(() => this.compare()));
    const end = make('button', { type: 'button', id: 'end-comparison' }, 'One graph again');
    end.addEventListener('click', () => this.close());
    this.result = make('div', {}, nothingYet(
      'Both graphs stand side by side, this plan on the left; nodes that are not alike are marked.'));
    byId('panel-versions').replaceChildren(make('div', { className: 'row' }, make('p', {}, `${plan.plan} with`),
      make('label', {}, 'Plan ', this.name), make('label', {}, 'Version ', this.version), start, end), this.result);
    this.showVersions([]);
  }

  /** The marks of the first graph; null where it stands alone. */
  get marks() {
    return this.found?.left ?? null;
  }

  /** What the server keeps of the chosen plan; asked for when the tab is opened, because few look. */
  async listVersions() {
    if (this.listed === this.name.value) return;
    this.listed = this.name.value;
    const { versions } = await this.page.ask(`v1/plans/${encodeURIComponent(this.name.value)}/versions`);
    this.showVersions(versions);
  }

  showVersions(versions) {
    const kept = versions.map((each) => make('option', { value: String(each.version) },
      `${each.version}: ${each.digest.slice(0, 8)}${each.serves ? ', serves' : ''}, loaded ${each.loaded_at}`));
    this.version.replaceChildren(make('option', { value: '' }, 'the one that serves'), ...kept);
  }

  async compare() {
    const { page, plan } = this;
    const [name, version] = [this.name.value, this.version.value];
    const form = version === '' ? 'form=full' : `form=full&version=${version}`;
    const with_ = version === '' ? '' : `&with_version=${version}`;
    const [after, diff] = await Promise.all([
      page.ask(`v1/plans/${encodeURIComponent(name)}?${form}`),
      page.ask(`v1/plans/${encodeURIComponent(plan.plan)}/diff?with=${encodeURIComponent(name)}${with_}`),
    ]);
    if (diff.before.digest !== plan.digest || diff.after.digest !== after.digest)
      throw new Error('the plans have changed on the server: choose the plan again');
    this.otherGraph = graphOf(after);
    this.found = { diff, ...sidesOf(diff, this.graph, this.otherGraph) };
    this.show(version === '' ? name : `${name}, version ${version}`, after);
  }

  show(name, after) {
    const { diff, left, right } = this.found;
    byId('other-side').hidden = false;
    byId('graph-title').hidden = false;
    byId('graph-title').textContent = `Before: ${this.plan.plan} ${this.plan.digest.slice(0, 8)}`;
    byId('other-title').textContent = `After: ${name} ${after.digest.slice(0, 8)}`;
    byId('other').setAttribute('aria-label', `Graph of ${name}, ${after.nodes.length} nodes, to be compared`);
    this.other.show(this.otherGraph, layout(after.nodes.map(() => box), this.otherGraph.edges));
    this.other.marks = right;
    Object.assign(this.page.view, { fate: null, marks: left });
    // Each has half of the room now.
    for (const each of [this.page.view, this.other]) {
      each.resize();
      each.fit();
    }
    this.result.replaceChildren(...this.report());
    this.page.say(diff.equal ? 'The plans do the same' : `${diff.changes.length} changes`);
  }

  /** What differs, for those who see no canvas, and to go to the nodes. */
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

  /** What is to be said of a node of the first graph: its changes. */
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
