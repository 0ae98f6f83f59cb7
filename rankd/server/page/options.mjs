// options.mjs: the options of the chosen node, as fields: changing one changes the text in the tab Source.
import { byId, make, nothingYet } from './dom.mjs';

/** The choices of a field that offers a few; null if a value is typed. */
function wordsOf({ kind, choices }) {
  return { choice: choices, truth: ['true', 'false'] }[kind] ?? null;
}

function control(option) {
  const words = wordsOf(option);
  if (words) return make('select', {}, words.map((word) => make('option', { value: word }, word)));
  if (option.kind === 'expression') return make('textarea', { spellcheck: false, rows: Math.min(6, option.text.split('\n').length) });
  return make('input', { autocomplete: 'off', spellcheck: false, inputMode: option.kind === 'number' ? 'decimal' : 'text' });
}

/**
 * The part `node-options` of the panel Node. `page` has `attempt(work)`, `openSource()`, `goTo(place)`, `source`, which
 * knows the options of the text and changes one, and `nameInText()`, the chosen node's name in the text, or null.
 */
export class Options {
  constructor(page) {
    this.page = page;
  }

  /** Shows the options of the chosen node; keeps text that is being typed into a field. */
  show() {
    const place = byId('node-options');
    if (!place) return;
    const name = this.page.nameInText();
    const active = place.contains(document.activeElement) ? document.activeElement : null;
    const kept = active?.dataset.option === undefined ? null
      : { option: active.dataset.option, value: active.value, isChanged: active.value !== active.dataset.was };
    place.replaceChildren(...this.parts(name));
    const again = kept && [...place.querySelectorAll('[data-option]')].find((each) => each.dataset.option === kept.option);
    if (!again) return;
    if (kept.isChanged) again.value = kept.value;
    again.focus();
  }

  parts(name) {
    const { source } = this.page;
    if (!source.isOpen) {
      const open = make('button', { type: 'button', id: 'edit-options' }, 'Edit');
      open.addEventListener('click', () => this.page.attempt(() => this.page.openSource()));
      return [open];
    }
    if (name === null) return [nothingYet('The text in the tab Source has no such node any more.')];
    const options = source.optionsOf(name);
    if (options === null) return [nothingYet('Fields are here once the text in the tab Source compiles.')];
    if (options.length === 0) return [nothingYet('The text gives this node no options.')];
    return [make('dl', { className: 'options' }, options.flatMap((each) => this.rowOf(each)))];
  }

  rowOf(option) {
    const more = [];
    const where = option.definition ?? (option.why === '' ? null : option.place);
    if (where) {
      const go = make('button', { type: 'button', title: 'Show it in the source' }, `${where.file}:${where.line}`);
      go.addEventListener('click', () => this.page.attempt(() => this.page.goTo(where)));
      more.push(go);
    }
    if (option.why !== '')
      return [make('dt', {}, option.option), make('dd', {}, make('code', {}, option.text), make('small', {}, option.why), more)];
    const id = `option-${option.option}`;
    const field = control(option);
    const problem = make('small', { className: 'bad', role: 'alert' });
    field.id = id;
    field.value = option.text;
    Object.assign(field.dataset, { option: option.option, was: option.text });
    field.addEventListener('change', () => this.page.attempt(() => this.change(option, field, problem)));
    field.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') field.value = option.text;
      else if (event.key !== 'Enter' || event.shiftKey || event.ctrlKey || option.kind !== 'expression') return;
      event.preventDefault();
      this.page.attempt(() => this.change(option, field, problem));
    });
    return [make('dt', {}, make('label', { htmlFor: id }, option.option)), make('dd', {}, field, problem, more)];
  }

  async change(option, field, problem) {
    if (field.value === field.dataset.was) return; // Enter and then leaving the field are one change
    problem.textContent = '';
    field.dataset.was = field.value;
    try {
      await this.page.source.changeOption(option, field.value);
    } catch (error) {
      field.dataset.was = option.text;
      problem.textContent = error.message;
    }
  }
}
