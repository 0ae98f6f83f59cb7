// source.mjs: the source of the open plan, as text to edit: the graph follows, and errors are marked.
import { Compiling } from './compiling.mjs';
import { byId, make, nothingYet } from './dom.mjs';
import { diagnosticLine, offsetOf, piecesOf, rangeOf } from './source_text.mjs';

// The pause in typing before the text is compiled. It merges the changes of one paste or of a key that repeats. It may be
// short, because only one text is compiled at a time, and the newest one comes next.
const pauseMs = 40;

/**
 * The tab Source. `page` has `ask(path, body)`, `attempt(work)`, `say(text)`, `draftMade(plan)`, which is called with the
 * graph of each draft that compiles, `optionsRead()` once the text is compiled, and `saved(plan)`, once the file is
 * written.
 */
export class Source {
  constructor(page) {
    Object.assign(this, { page, plan: '', wanted: '', file: '', digest: '', kept: '', diagnostics: [], options: null, timer: 0, isAsking: false, isOld: false, isSaving: false });
    this.left = new Map(); // plan → its text that is not saved, while another plan is open
    this.compiling = new Compiling(page.ask);
    window.addEventListener('beforeunload', (event) => { if (this.isChanged || this.left.size > 0) event.preventDefault(); });
    window.addEventListener('focus', () => this.compiling.forget()); // something else was done meanwhile
  }

  get path() {
    return `v1/plans/${encodeURIComponent(this.plan)}`;
  }

  get isChanged() {
    return this.plan !== '' && this.area !== undefined && this.area.value !== this.kept;
  }

  get isOpen() {
    return this.plan !== '' && this.plan === this.page.planName();
  }

  /**
   * The options that the text sets for a node, by its name; null if the text does not compile, or is not compiled yet.
   */
  optionsOf(node) {
    return this.options === null ? null : this.options.filter((each) => each.node === node);
  }

  /** Writes another value for an option at its place, as if it were typed. */
  async changeOption(option, value) {
    const text = this.area.value;
    if (this.options === null || !this.options.includes(option)) throw new Error('the text has changed: write it once more');
    const { from, to } = rangeOf(text, option, this.file);
    const what = { text, from, to, kind: option.kind, value };
    const change = await this.page.ask(`${this.path}/option`, JSON.stringify(what));
    if (this.area.value !== text) throw new Error('the text has changed: write it once more');
    const field = document.activeElement;
    this.page.showSource();
    this.choose(change);
    this.replace(change.from, change.to, change.insert);
    field?.focus();
    await this.compile();
  }

  /** Replaces a text so that it can be undone like typing; in the open tab. */
  replace(from, to, insert) {
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(from, to);
    // The only way to write after which Ctrl+Z still works in a browser.
    if (!document.execCommand(insert === '' ? 'delete' : 'insertText', false, insert)) {
      this.area.setRangeText(insert, from, to, 'end');
      this.changed();
    }
  }

  /** Keeps the text of the open plan, if it is not saved, until that plan is opened again. */
  leave() {
    if (!this.isChanged) return;
    const { file, digest, lineEnd, kept, area } = this;
    this.left.set(this.plan, { file, digest, lineEnd, kept, text: area.value });
    this.page.say(`${file} has changes that are not saved: they come back with its plan`);
  }

  /** Shows the source of a plan. Unsaved text of another plan is kept, and comes back with that plan. */
  async open(plan) {
    if (this.plan === plan) {
      await this.compile(); // the graph of another plan may have been shown meanwhile
      return;
    }
    this.leave();
    clearTimeout(this.timer);
    Object.assign(this, { plan: '', wanted: plan });
    const left = this.left.get(plan);
    if (left !== undefined) {
      this.left.delete(plan);
      const { text, ...rest } = left;
      Object.assign(this, { plan, ...rest, diagnostics: [], options: null });
      this.build(text);
      await this.compile();
      return;
    }
    byId('panel-source').replaceChildren(nothingYet('Reading the source …'));
    let read;
    try {
      read = await this.page.ask(`v1/plans/${encodeURIComponent(plan)}/source`);
    } catch (error) {
      if (this.wanted !== plan) return;
      byId('panel-source').replaceChildren(nothingYet(error.message));
      if (error.code === 'no_source') return;
      throw error;
    }
    if (this.wanted !== plan) return; // another one was opened meanwhile
    const lineEnd = read.text.includes('\r\n') ? '\r\n' : '\n'; // a text area has the second one alone
    Object.assign(this, { plan, file: read.file, digest: read.digest, lineEnd, diagnostics: [], options: null });
    this.build(read.text);
    this.kept = this.area.value;
    await this.compile();
  }

  build(text) {
    const button = (id, title, words, work) => {
      const made = make('button', { type: 'button', id, title }, words);
      made.addEventListener('click', () => this.page.attempt(work));
      return made;
    };
    this.area = make('textarea', {
      id: 'source-text', spellcheck: false, wrap: 'off', autocapitalize: 'off', value: text, autocomplete: 'off', 'aria-label': `Source ${this.file}`,
      'aria-describedby': 'source-problems', 'aria-controls': 'source-names',
    });
    this.behind = make('pre', { 'aria-hidden': 'true' });
    this.names = make('ul', { id: 'source-names', role: 'listbox', 'aria-label': 'Names that may follow', hidden: true });
    this.problems = make('ul', { id: 'source-problems' });
    this.by = make('p', { id: 'source-compiler', className: 'muted' });
    this.area.addEventListener('input', () => this.changed());
    this.area.addEventListener('scroll', () => this.follow());
    this.area.addEventListener('blur', () => this.closeNames());
    this.area.addEventListener('keydown', (event) => this.key(event));
    byId('panel-source').replaceChildren(
      make('div', { className: 'row' }, make('p', { className: 'mono' }, this.file),
        button('save-source', 'Ctrl+S', 'Save', () => this.save()),
        button('discard-source', '', 'Discard', () => this.discard()),
        nothingYet('Ctrl+Space lists names.'), this.by),
      make('div', { className: 'source' }, this.behind, this.area, this.names), this.problems);
    this.paint();
  }

  changed() {
    this.closeNames();
    this.diagnostics = [];
    this.options = null;
    this.by.textContent = '';
    this.paint();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.page.attempt(() => this.compile()), pauseMs);
  }

  /** Compiles the current text; text that is typed meanwhile comes next. */
  async compile() {
    clearTimeout(this.timer);
    if (this.isAsking) {
      this.isOld = true;
      return;
    }
    const { plan } = this;
    const text = this.area.value;
    this.isAsking = true;
    try {
      const answer = await this.compiling.compile(plan, text);
      if (this.plan !== plan || this.area.value !== text) return;
      this.diagnostics = answer.diagnostics;
      this.by.textContent = answer.isLocal ? 'Compiled in this browser.' : 'Compiled by the server.';
      this.options = answer.plan === null ? null : answer.options;
      this.paint();
      if (answer.plan === null) this.page.say(`${this.diagnostics.length} problems in ${this.file}`);
      else await this.page.draftMade(answer.plan, text !== this.kept);
      this.page.optionsRead();
    } finally {
      this.isAsking = false;
      if (this.isOld) {
        this.isOld = false;
        this.page.attempt(() => this.compile());
      }
    }
  }

  /** One at a time: the next save needs the digest that this one returns. */
  async save() {
    if (this.isSaving) return;
    this.isSaving = true;
    try {
      await this.saveNow();
    } finally {
      this.isSaving = false;
    }
  }

  async saveNow() {
    const { plan } = this;
    const text = this.area.value;
    const file = text.replaceAll('\n', this.lineEnd);
    const saved = await this.page.ask(`${this.path}/source`, JSON.stringify({ text: file, digest: this.digest }));
    if (this.plan !== plan) return; // it was discarded meanwhile
    Object.assign(this, { digest: saved.digest, kept: text, diagnostics: saved.diagnostics });
    this.paint();
    if (saved.diagnostics.length === 0) await this.page.saved(plan);
    this.page.say(saved.diagnostics.length === 0 ? `${this.file} is saved, and served`
      : `${this.file} is saved, and not served: see what is listed below the text`);
  }

  async discard() {
    const { plan } = this;
    this.area.value = this.kept;
    this.plan = '';
    await this.open(plan);
  }

  /** The same text with marks is behind the text; both scroll together. */
  paint() {
    const text = this.area.value;
    const ranges = this.diagnostics.map((each) => rangeOf(text, each, this.file)).filter((range) => range !== null);
    this.behind.replaceChildren(...piecesOf(text, ranges).map((piece) =>
      (piece.isWrong ? make('mark', {}, piece.text) : piece.text)), '\n');
    this.follow();
    this.area.setAttribute('aria-invalid', String(this.diagnostics.length > 0));
    this.problems.replaceChildren(...this.diagnostics.map((each) => {
      const range = rangeOf(text, each, this.file);
      if (!range) return make('li', { className: 'bad' }, diagnosticLine(each));
      const go = make('button', { type: 'button', className: 'bad' }, diagnosticLine(each));
      go.addEventListener('click', () => this.choose(range));
      return make('li', {}, go);
    }));
  }

  follow() {
    this.behind.scrollTop = this.area.scrollTop;
    this.behind.scrollLeft = this.area.scrollLeft;
  }

  choose({ from, to }) {
    this.area.focus();
    this.area.setSelectionRange(from, to);
    const lines = this.area.value.slice(0, from).split('\n').length;
    this.area.scrollTop = (lines - 4) * parseFloat(getComputedStyle(this.area).lineHeight);
  }

  /** Whether a place is in this file; if so, moves the caret there. */
  goTo(place) {
    if (!this.area || place.file !== this.file) return false;
    const from = offsetOf(this.area.value, place.line, place.column);
    this.choose({ from, to: from });
    return true;
  }

  // Names that may follow

  key(event) {
    if (event.ctrlKey && event.key === ' ') {
      event.preventDefault();
      this.page.attempt(() => this.listNames());
    } else if (event.ctrlKey && event.key === 's') {
      event.preventDefault();
      this.page.attempt(() => this.save());
    } else if (!this.names.hidden) this.keyOfNames(event);
  }

  keyOfNames(event) {
    const count = this.names.children.length;
    const step = { ArrowDown: 1, ArrowUp: count - 1 }[event.key];
    if (step) this.pick((this.picked + step) % count);
    else if (event.key === 'Enter' || event.key === 'Tab') this.insert(this.names.children[this.picked].dataset.name);
    else if (event.key === 'Escape') this.closeNames();
    else return;
    event.preventDefault();
  }

  async listNames() {
    const [text, offset] = [this.area.value, this.area.selectionStart];
    const found = await this.page.ask(`${this.path}/completions`, JSON.stringify({ text, offset }));
    if (this.area.value !== text || this.area.selectionStart !== offset) return;
    this.from = found.start;
    if (found.entries.length === 0) return this.page.say('No name of the project may stand here');
    this.names.replaceChildren(...found.entries.map(({ name, kind, about }, at) => {
      const item = make('li', { id: `source-name-${at}`, role: 'option' }, make('b', {}, name), ` ${kind}`,
        about === '' ? null : make('small', {}, about));
      item.dataset.name = name;
      item.addEventListener('pointerdown', (event) => {
        event.preventDefault();
        this.insert(name);
      });
      return item;
    }));
    this.names.hidden = false;
    this.pick(0);
    return this.page.say(`${found.entries.length} names; arrow keys choose, Enter takes one`);
  }

  pick(at) {
    this.picked = at;
    [...this.names.children].forEach((item, place) => item.setAttribute('aria-selected', String(place === at)));
    this.names.children[at].scrollIntoView({ block: 'nearest' });
    this.area.setAttribute('aria-activedescendant', `source-name-${at}`);
  }

  insert(name) {
    this.replace(this.from, this.area.selectionStart, name);
  }

  closeNames() {
    this.names.hidden = true;
    this.area.removeAttribute('aria-activedescendant');
  }
}
