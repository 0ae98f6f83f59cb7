// compiling.mjs: compiles texts of plans in a worker of the browser, and with the server's compiler until that is
// ready.

const maxWaitMs = 60_000; // for an answer of the worker; one that takes longer is ended
const maxFailures = 3; // then the server compiles from then on

/** The diagnostics of the server with the places of the parts of the artifact that they are about, or around these. */
function placed(diagnostics, places) {
  return diagnostics.map((each) => {
    let at = each.pointer;
    while (places[at] === undefined && at !== '') at = at.slice(0, at.lastIndexOf('/'));
    // The sentence need not name the place as well.
    return { ...each, message: each.message.replace(/ \([^()]+:\d+:\d+\)$/, ''), place: places[at] ?? null };
  });
}

/** The policy of the page lets scripts be loaded only by this name and that of the layout. */
function workerUrl() {
  const url = new URL('./compiler.js', import.meta.url).href;
  if (!globalThis.trustedTypes) return url;
  return globalThis.trustedTypes.createPolicy('compiler', { createScriptURL: () => url }).createScriptURL('');
}

/**
 * `ask(path, body)` asks the server, `make()` starts a worker; tests replace both. A worker has the files of a project
 * as they were when `prepare` read them.
 */
export class Compiling {
  constructor(ask, make = null) {
    let url = null; // the name of a policy can be taken once
    Object.assign(this, { ask, worker: null, isReady: false, plan: '', files: '', age: 0, number: 0, failures: 0, waiting: new Map() });
    this.make = make ?? (() => new Worker(url ??= workerUrl()));
  }

  /** Returns `{file, diagnostics, options, plan, isLocal}` for a text; `plan` is null if it is wrong. */
  async compile(plan, text) {
    const path = `v1/plans/${encodeURIComponent(plan)}/draft`;
    const made = this.isReady && this.plan === plan ? await this.here(text) : null;
    if (made) {
      const { file, diagnostics, options, artifact, places } = made;
      // The server keeps no draft of a wrong text, so it must know about that, too.
      const bound = await this.ask(path, JSON.stringify({ artifact: artifact ?? '' }));
      if (artifact === null) return { file, diagnostics, options, plan: null, isLocal: true };
      if (bound.plan !== null) return { file, diagnostics: [], options, plan: bound.plan, isLocal: true };
      if (!bound.diagnostics.some((each) => each.code === 'registry_changed'))
        return { file, diagnostics: placed(bound.diagnostics, places), options, plan: null, isLocal: true };
      this.isReady = false; // it was made by registries that are not those of the server any more
    }
    const answer = await this.ask(path, JSON.stringify({ text }));
    if (!this.isReady || this.plan !== plan) this.prepare(plan).catch(() => this.fail());
    return { ...answer, isLocal: false };
  }

  /** Returns the worker's result for a text; null if it fails. */
  async here(text) {
    try {
      return await this.send({ file: this.file, text });
    } catch {
      this.fail();
      return null;
    }
  }

  /** Other programs may have written files meanwhile: the next text is compiled by the server, until they are read. */
  forget() {
    this.age += 1;
    this.isReady = false;
  }

  /** Sends the current files of the project to the worker. */
  async prepare(plan) {
    if (this.failures >= maxFailures || this.preparing === plan) return;
    this.preparing = plan;
    const { age } = this;
    try {
      const { file, ...project } = await this.ask(`v1/plans/${encodeURIComponent(plan)}/project`);
      const own = `${project.root}/${file}`;
      const files = own + JSON.stringify({ ...project.files, [own]: '' }); // in place of its own stands the text
      if (this.worker === null) this.start();
      if (files !== this.files) {
        this.files = '';
        await this.send(project);
        await this.send({ file, text: project.files[own] }); // the first one takes its time
        this.files = files;
      }
      if (age === this.age) Object.assign(this, { isReady: true, plan, file });
    } finally {
      this.preparing = '';
    }
  }

  start() {
    const worker = this.make();
    worker.addEventListener('message', ({ data: { number, ...answer } }) => {
      this.waiting.get(number)?.(answer);
      this.waiting.delete(number);
    });
    worker.addEventListener('error', () => this.end());
    this.worker = worker;
  }

  async send(message) {
    this.number += 1;
    const { number, worker } = this;
    if (worker === null) throw new Error('the compiler has ended');
    const timer = setTimeout(() => this.end(), maxWaitMs);
    try {
      const answer = await new Promise((resolve) => {
        this.waiting.set(number, resolve);
        worker.postMessage({ ...message, number });
      });
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer;
    } finally {
      clearTimeout(timer);
    }
  }

  fail() {
    this.failures += 1;
    this.end();
  }

  end() {
    this.worker?.terminate();
    Object.assign(this, { worker: null, isReady: false, files: '' });
    for (const tell of this.waiting.values()) tell({ error: 'the compiler has ended' });
    this.waiting.clear();
  }
}
