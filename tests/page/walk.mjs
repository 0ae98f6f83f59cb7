#!/usr/bin/env node
// tests/page/walk.mjs: walks through the page of plans in Chromium as a stranger would, holds what it shows to what the
// server answers, checks accessibility by axe-core at each step, and keeps pictures for docs/page.md.
//
//   (cd tests/page && npm ci)
//   node tests/page/walk.mjs [--rankd build/release/bin/rankd] [--chromium /usr/bin/chromium] [--out docs/page]
//                            [--dslc dsl/packages/dslc/bin/dslc.js] [--only WORDS] [--scheme light|dark]
//
// Status 1 where a task cannot be done, where axe-core finds a violation, or where the page writes an error to the console
// or breaks its policy. Not in the gate, which has no browser.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { must, violationLines } from './checks.mjs';

const { values: options } = parseArgs({
  options: {
    rankd: { type: 'string', default: 'build/release/bin/rankd' }, out: { type: 'string', default: 'docs/page' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    dslc: { type: 'string', default: 'dsl/packages/dslc/bin/dslc.js' },
    only: { type: 'string', default: '' }, scheme: { type: 'string', multiple: true, default: ['light', 'dark'] },
  },
});
const scratch = mkdtempSync(join(tmpdir(), 'rankd-walk-'));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const shown = new Set(['slow_node', 'missing_item', 'changed_weight', 'two_versions', 'two_answers', 'recorded_traffic',
  'edited_plan', 'edited_node']); // in docs/page.md
const complaints = [];
const rankd = resolve(options.rankd);
process.env.RANKD = rankd; // by which dslc checks
const running = [];
let project = ''; // each scheme has one of its own
let artifact = '';
let source = '';

/** Starts `rankd` with these words, and gives what it prints that fits. */
async function start(words, pattern) {
  const server = spawn(rankd, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  running.push(server);
  let all = '';
  for await (const text of server.stdout) {
    all += text;
    const found = pattern.exec(all);
    if (found) return { server, found };
  }
  throw new Error(`rankd ${words[0]} did not start`);
}

async function end(server) {
  server.kill();
  if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
}

/** A new demo, with requests that a server has recorded, and a plan of 10 000 nodes. */
async function makeProject(name) {
  project = join(scratch, name);
  artifact = join(project, 'plans/home_feed.json');
  source = join(project, 'plans/home_feed.plan.ts');
  execFileSync(rankd, ['init', 'demo', project], { stdio: 'ignore' });
  writeFileSync(join(project, 'plans/large.json'), largePlan());
  writeFileSync(join(project, 'plans/wide.plan.ts'), widePlan());
  execFileSync(process.execPath, [resolve(options.dslc), 'build', '--project', project, join(project, 'plans/wide.plan.ts')]);
  const words = ['serve', '--project', project, '--listen', '127.0.0.1:0', '--record', join(project, 'monday.rec')];
  const { server, found } = await start(words, /listening on (\S+)\n/);
  for (let user = 1; user <= 5; user += 1) {
    const body = JSON.stringify({ plan: 'home_feed', user_id: user, request_id: `visit ${user}` });
    await fetch(`${found[1]}/v1/rank`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
  }
  await end(server);
}

/** A tree of concats over 5000 takes of one viewer. */
function largePlan() {
  const plan = JSON.parse(readFileSync(artifact, 'utf8'));
  const nodes = [{ node_id: 'viewer', op: 'core::viewer', inputs: [], params: { endpoint: 'ep_0001' } }];
  let open = [];
  for (let at = 0; at < 5000; at += 1) {
    nodes.push({ node_id: `t${at}`, op: 'core::take', inputs: ['viewer'], params: { count: 1 } });
    open.push(`t${at}`);
  }
  for (let at = 0; open.length > 1; at += 1) {
    const [left, right, ...rest] = open;
    nodes.push({ node_id: `c${at}`, op: 'core::concat', inputs: [left], params: { rhs: right } });
    open = [...rest, `c${at}`];
  }
  const { registry_digests, schema_version } = plan;
  return JSON.stringify({ schema_version, plan_name: 'large', nodes, outputs: open, registry_digests, expr_table: {}, pred_table: {} });
}

/** The source of a plan of 402 nodes, each with its options written out. */
function widePlan() {
  const branches = Array.from({ length: 100 }, (_, at) => `    const branch${at} = viewer
      .follow({ as: "follow${at}", endpoint: EP.redis_default, fanout: ${at + 10} })
      .vm({ as: "score${at}", outKey: Key.final_score, expr: ${at + 1} - Key.id * 0.5 })
      .take({ as: "take${at}", count: ${at + 1} });`);
  const joined = branches.slice(1).map((_, at) => `\n      .concat({ as: "with${at + 1}", rhs: branch${at + 1} })`);
  return `// wide: a hundred branches.
import { definePlan, EP, Key } from "@rankd/plan";

export default definePlan({
  name: "wide",
  build: (ctx) => {
    const viewer = ctx.viewer({ as: "viewer", endpoint: EP.redis_default });
${branches.join('\n')}
    return branch0${joined.join('')}
      .sort({ as: "sorted", by: Key.final_score, order: "desc" })
      .take({ as: "top", count: 20 });
  },
});
`;
}

/** The page with what a walk does again and again. */
class Walk {
  constructor(page, studio, scheme) {
    Object.assign(this, { page, scheme, ...studio });
  }

  /** What the server answers to others than the page. */
  async ask(path, body) {
    const headers = { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' };
    return await (await fetch(`${this.address}/${path}`, { method: body ? 'POST' : 'GET', headers, body })).json();
  }

  tab(name) {
    return this.page.getByRole('tab', { name, exact: true });
  }

  text(selector) {
    return this.page.locator(selector).innerText();
  }

  async says(wanted) {
    await this.page.waitForFunction((pattern) => new RegExp(pattern).test(document.getElementById('said').textContent),
      wanted.source);
  }

  /** Fills the form and runs it by keyboard. */
  async run(fields) {
    for (const [name, value] of Object.entries(fields)) await this.page.locator(`[name="${name}"]`).fill(value);
    await this.page.evaluate(() => { document.getElementById('said').textContent = ''; });
    await this.page.keyboard.press('Control+Enter');
    await this.says(/candidates in/);
  }

  /** Chooses a node by its name. */
  async choose(name) {
    await this.page.locator('#find').fill(name);
    await this.page.locator('#find').press('Enter');
  }

  /** Writes an option of the node that is chosen. */
  async write(option, value) {
    await this.page.locator(`#option-${option}`).fill(value);
    await this.page.locator(`#option-${option}`).press('Enter');
  }

  /** The panel of the node says that of the second graph. */
  async changes(wanted) {
    await this.page.waitForFunction((pattern) => new RegExp(pattern).test(document.getElementById('node-changes').textContent),
      wanted.source);
  }

  /** The text is compiled. The line that says by what is not there while a source is read. */
  async compiled() {
    await this.page.waitForFunction(() => (document.getElementById('source-compiler')?.textContent ?? '') !== '');
  }

  /** Types until the worker of the browser compiles what is typed. */
  async worker() {
    const area = this.page.locator('#source-text');
    for (let at = 0; at < 60; at += 1) {
      await area.press('Control+End');
      await area.press(at % 2 === 0 ? 'Enter' : 'Backspace');
      await this.compiled();
      if (/in this browser/.test(await this.text('#source-compiler'))) return;
      await this.page.waitForTimeout(500);
    }
    must(false, 'a worker compiles');
  }

  /** From a change of the text to its graph, in milliseconds: of 11 changes of the count of the node `top`. */
  async timesToFollow() {
    return await this.page.evaluate(async () => {
      const area = document.getElementById('source-text');
      const said = document.getElementById('said');
      const frame = () => new Promise((done) => { requestAnimationFrame(done); });
      const times = [];
      for (let at = 0; at < 12; at += 1) {
        const [{ index, 1: head, 2: count }] = [...area.value.matchAll(/(as: "top", count: )(\d+)/g)];
        const from = index + head.length;
        area.focus();
        area.setSelectionRange(from, from + count.length);
        const begin = performance.now();
        const drawn = new Promise((done) => {
          new MutationObserver((_, observer) => {
            if (!/changes|do the same/.test(said.textContent)) return;
            observer.disconnect();
            done();
          }).observe(said, { childList: true, characterData: true, subtree: true });
        });
        document.execCommand('insertText', false, String(30 + at));
        await drawn;
        await frame();
        times.push(Math.round(performance.now() - begin));
        await new Promise((done) => { setTimeout(done, 100); });
      }
      return times.slice(1); // the first one opens the second graph
    });
  }

  /** A picture of what is seen now, after the rules of axe-core have found nothing wrong with it. */
  async look(name) {
    await this.page.evaluate(() => new Promise((done) => {
      requestAnimationFrame(() => requestAnimationFrame(done));
    }));
    // As text for the debugger: the policy of the page lets no script in.
    await this.page.evaluate(axe);
    const { violations } = await this.page.evaluate('axe.run()');
    complaints.push(...violationLines(`${this.scheme} ${name}`, violations));
    if (this.scheme === 'light' && shown.has(name)) await this.page.screenshot({ path: join(options.out, `${name}.png`) });
  }
}

const tasks = {
  async 'find the slow node'(walk) {
    await walk.run({ user: '1' });
    await walk.page.getByRole('tab', { name: 'Times' }).click();
    const slowest = walk.page.locator('#panel-times table').nth(1).locator('tbody tr').first();
    const name = await slowest.locator('button').innerText();
    await slowest.locator('button').click();
    must(await walk.text('#node h3 >> nth=0') === name, 'the slowest node opens beside the graph');
    must(/critical path \d+ nodes/.test(await walk.text('#legend')), 'the graph says how long the critical path is');
    await walk.look('slow_node');
  },

  async 'find why item 42 is missing'(walk) {
    await walk.run({ user: '1', ids: '42' });
    must(/^42 is not in the answer\./m.test(await walk.text('#panel-fate')), 'the fate of 42 is told without a search');
    must(await walk.page.getByRole('tab', { name: 'Candidate', selected: true }).isVisible(), 'its tab is open');
    await walk.look('missing_item');
  },

  async 'change a weight and compare'(walk) {
    await walk.run({ user: '1', ids: '', 'param.media_age_penalty_weight': '0.5' });
    await walk.run({ 'param.media_age_penalty_weight': '-1' });
    await walk.page.getByRole('tab', { name: 'Runs' }).click();
    must(/\d+ in place, \d+ up, \d+ down/.test(await walk.text('#panel-runs')), 'both answers are counted');
    must(await walk.page.locator('#panel-runs tr.up, #panel-runs tr.new').count() > 0, 'the weight moves candidates');
    must(/0\.5[\s\S]*-1/.test(await walk.text('#panel-runs')), 'both requests are shown');
    await walk.look('changed_weight');
    await walk.page.locator('[name="param.media_age_penalty_weight"]').fill('');
  },

  async 'compare two versions'(walk) {
    await walk.page.getByRole('tab', { name: 'Answer' }).focus();
    for (let i = 0; i < 4; i += 1) await walk.page.keyboard.press('ArrowRight');
    must(await walk.page.getByRole('tab', { name: 'Compare', selected: true }).isVisible(), 'arrow keys open the tab');
    await walk.page.waitForFunction(() => document.querySelectorAll('[name="with_version"] option').length === 4);
    await walk.page.locator('[name="with_version"]').selectOption('1');
    await walk.page.locator('#compare-versions').press('Enter');
    await walk.says(/\d changes/);
    const told = await walk.ask('v1/plans/home_feed/diff?with_version=1');
    const rows = await walk.page.locator('#panel-compare tbody tr').allInnerTexts();
    must(rows.length === told.changes.length, 'there is a row for each change');
    told.changes.forEach(({ kind, node }, at) => must(rows[at].includes(kind) && rows[at].includes(node), `row ${at}`));
    must(await walk.page.locator('#other').isVisible(), 'both graphs are seen');
    await walk.page.locator('#panel-compare td button').first().press('Enter');
    must(/In the second graph/.test(await walk.text('#node')), 'the node says what is different of it');
    await walk.look('two_versions');
    await walk.page.locator('#end-comparison').click();
    must(!await walk.page.locator('#other').isVisible(), 'one graph is left');
  },

  async 'compare two versions by their answers'(walk) {
    await walk.run({ user: '1', ids: '' });
    await walk.tab('Compare').click();
    await walk.page.locator('[name="with_version"]').selectOption('1');
    await walk.page.locator('#compare-answers').press('Enter');
    await walk.says(/overlap@10 \d/);
    const told = await walk.ask('v1/plans/home_feed/diff/answers?with_version=1', '{"user_id":1}');
    must(told.moved > 0 && told.moves.every(({ why }) => why !== ''), 'every id that moved has a sentence');
    const text = await walk.text('#panel-compare');
    must(text.includes(`overlap@10 ${told.overlap.toFixed(4)}`), 'the overlap is that of the server');
    for (const { id, why } of told.moves) must(text.includes(String(id)) && text.includes(why), `${id}: ${why}`);
    await walk.look('two_answers');
  },

  async 'compare two versions on recorded traffic'(walk) {
    await walk.tab('Compare').click();
    await walk.page.locator('[name="record"]').selectOption('monday.rec');
    await walk.page.locator('[name="with_version"]').selectOption('1');
    await walk.page.locator('#compare-traffic').press('Enter');
    await walk.says(/of 5 answers differ/);
    const first = join(scratch, 'first.json');
    writeFileSync(first, firstText);
    const told = JSON.parse(spawnSync(rankd, ['diff', 'home_feed', first, '--project', project, '--traffic',
      join(project, 'monday.rec'), '--json']).stdout).traffic;
    const text = await walk.text('#panel-compare');
    must(text.includes(`${told.equal} equal, ${told.different.all} different`), 'the counts are those of rankd diff');
    must(text.includes(`overlap@10 ${told.overlap.toFixed(4)}`), 'so is the overlap');
    must(told.changed[0].moves.every(({ why }) => text.includes(why)), 'and each sentence');
    await walk.look('recorded_traffic');
  },

  async 'change a weight in the source, compare, and save'(walk) {
    await walk.tab('Source').click();
    const area = walk.page.locator('#source-text');
    await area.waitFor();
    const text = await area.inputValue();
    must(text === readFileSync(source, 'utf8'), 'the source is that of the project');
    await area.fill(text.replace('score(80)', 'scor(80)'));
    await walk.says(/1 problems in/);
    must(/scor'/.test(await walk.text('#source-problems')), 'what is wrong is told');
    must(await walk.text('.source mark') === 'scor', 'and marked at its characters');
    const at = text.indexOf('Key.id');
    await area.fill(text);
    await area.evaluate((element, caret) => element.setSelectionRange(caret, caret), at + 'Key.'.length);
    await area.press('Control+Space');
    await walk.page.getByRole('option', { name: /^final_score/ }).waitFor();
    must(await walk.page.locator('#source-names li').count() > 3, 'names of the registry are listed');
    await area.press('Escape');
    await area.fill(text.replace('score(80)', 'score(180)'));
    await walk.says(/\d changes/);
    must(await walk.page.locator('#other').isVisible(), 'the graph of the text stands beside that of the plan');
    await walk.look('edited_plan');
    await walk.tab('Compare').click();
    must(await walk.page.locator('[name="with_version"]').inputValue() === 'draft', 'the text is chosen');
    await walk.page.locator('#compare-answers').click();
    await walk.says(/overlap@10/);
    must(/180/.test(await walk.text('#panel-compare')), 'the sentences name the new weight');
    must(readFileSync(source, 'utf8') === text, 'nothing is written before it is saved');
    await walk.tab('Source').click();
    await area.press('Control+s');
    await walk.says(/is saved, and served/);
    must(readFileSync(source, 'utf8').includes('score(180)'), 'the source is written');
    const built = execFileSync(process.execPath, [resolve(options.dslc), 'build', '--verify', '--project', project, source]);
    must(String(built) === '', 'the artifact has the bytes of dslc build');
    await area.fill(text);
    await walk.says(/\d changes/);
    await area.press('Control+s');
    await walk.says(/is saved, and served/);
    await walk.page.locator('#end-comparison').evaluate((element) => element.click());
  },

  async 'change options of a node in the graph, take one back, and save'(walk) {
    const text = readFileSync(source, 'utf8');
    await walk.choose('top');
    if (await walk.page.locator('#edit-options').count() > 0) await walk.page.locator('#edit-options').press('Enter');
    const area = walk.page.locator('#source-text');
    const count = walk.page.locator('#option-count');
    walk.expects = /status of 422/; // the browser writes down each refusal
    await walk.write('count', 'many');
    await walk.page.getByText('`many` is not a number').waitFor();
    walk.expects = null;
    must(await area.inputValue() === text, 'what is no number changes nothing');
    await walk.write('count', '12');
    await walk.changes(/→ 12/);
    must(await area.inputValue() === text.replace('count: 20', 'count: 12'), 'the text is changed at that place alone');
    must(await count.evaluate((field) => field === document.activeElement), 'the field keeps the focus');
    await walk.look('edited_node');
    await area.press('Control+z');
    await walk.page.waitForFunction(() => document.getElementById('option-count').value === '20');
    must(await area.inputValue() === text, 'it is taken back as what is typed');
    await walk.choose('score_recommended');
    await walk.write('expr', 'score(90) * 2');
    await walk.changes(/\* 2/);
    await walk.choose('best_first');
    await walk.page.locator('#option-order').selectOption('asc');
    await walk.changes(/desc → asc/);
    const wanted = text.replace('score(80)', 'score(90) * 2').replace('"desc"', '"asc"');
    must(await area.inputValue() === wanted, 'both changes are in the text');
    await walk.choose('viewer');
    must(/`endpoint` is defined elsewhere/.test(await walk.text('#node-options')), 'what cannot be changed here says why');
    await walk.page.locator('#node-options button').press('Enter');
    await walk.page.waitForFunction(() => document.activeElement.id === 'source-text');
    const caret = await area.evaluate((element) => element.selectionStart);
    must(wanted.slice(caret).startsWith('endpoint = EP.redis_default'), 'and leads to where it is');
    await area.press('Control+s');
    await walk.says(/is saved, and served/);
    must(readFileSync(source, 'utf8') === wanted, 'the source is written, all else as it was');
    const built = execFileSync(process.execPath, [resolve(options.dslc), 'build', '--verify', '--project', project, source]);
    must(String(built) === '', 'the artifact has the bytes of dslc build');
    await area.fill(text);
    await walk.says(/\d changes/);
    await area.press('Control+s');
    await walk.says(/is saved, and served/);
    await walk.page.locator('#end-comparison').evaluate((element) => element.click());
  },

  async 'see how soon the graph follows, by the worker and by the server'(walk) {
    const { address, token } = walk;
    for (const by of ['worker', 'server']) {
      const page = await walk.page.context().browser().newPage();
      page.setDefaultTimeout(120_000);
      const other = new Walk(page, { address, token }, walk.scheme);
      if (by === 'server') await page.route('**/ui/compiler.js', (route) => route.abort());
      await page.goto(`${address}/ui#home_feed&token=${token}`);
      await other.says(/nodes$/);
      for (const plan of ['home_feed', 'wide']) {
        await page.locator(`[data-plan="${plan}"]`).click();
        await other.says(new RegExp(`${plan}: \\d+ nodes`));
        await other.tab('Source').click();
        await page.waitForFunction((name) => new RegExp(`${name}.plan.ts`).test(document.getElementById('panel-source').textContent), plan);
        await other.compiled();
        if (by === 'worker') await other.worker();
        const times = await other.timesToFollow();
        const sorted = [...times].sort((a, b) => a - b);
        console.log(`${walk.scheme}: ${plan}: the graph follows after ${times.join(' ')} ms, by the ${by}: median ${sorted[5]} ms`);
        must(new RegExp(by === 'worker' ? 'in this browser' : 'by the server').test(await other.text('#source-compiler')), by);
        await page.locator('#discard-source').click();
        await other.compiled();
      }
      if (by === 'worker') {
        const worker = page.workers().find((each) => each.url().endsWith('/ui/compiler.js'));
        const reached = await worker.evaluate(async (url) => {
          const request = new XMLHttpRequest();
          request.open('GET', url);
          return await new Promise((done) => {
            request.onload = () => done('an answer');
            request.onerror = () => done('nothing');
            request.send();
          });
        }, `${address}/ui`);
        must(reached === 'nothing', 'the worker reaches nothing, not even its own server');
      }
      await page.close();
    }
  },

  async 'open a plan of 10 000 nodes'(walk) {
    await walk.tab('Nodes').click();
    await walk.page.evaluate(() => {
      globalThis.longest = 0;
      let last = performance.now();
      const watch = () => {
        const now = performance.now();
        globalThis.longest = Math.max(globalThis.longest, now - last);
        last = now;
        requestAnimationFrame(watch);
      };
      requestAnimationFrame(watch);
    });
    const begin = Date.now();
    await walk.page.locator('[data-plan="large"]').click();
    await walk.says(/large: 10000 nodes/);
    const took = Date.now() - begin;
    const canvas = walk.page.locator('#graph');
    await walk.page.locator('#fit').click();
    for (let i = 0; i < 20; i += 1) await canvas.press(i % 2 === 0 ? '+' : '-');
    await canvas.press('ArrowDown');
    await canvas.press('ArrowDown');
    must(/^t\d+|^viewer/.test(await walk.text('#node h3 >> nth=0')), 'arrow keys go along its edges');
    const longest = await walk.page.evaluate(() => Math.round(globalThis.longest));
    console.log(`${walk.scheme}: 10 000 nodes after ${took} ms; the longest time without a frame was ${longest} ms`);
    await walk.page.locator('[data-plan="home_feed"]').click();
    await walk.says(/home_feed: \d+ nodes/);
  },

  async 'read all tabs'(walk) {
    for (const name of ['Metrics', 'Nodes']) {
      await walk.page.getByRole('tab', { name }).click();
      await walk.page.waitForFunction((id) => document.querySelector(`#panel-${id} table, #panel-${id} li`) !== null,
        name.toLowerCase());
      await walk.look(name.toLowerCase());
    }
    await walk.page.setViewportSize({ width: 420, height: 900 });
    await walk.look('narrow');
  },
};

let firstText = ''; // of the artifact that is version 1

/** The plan with another id, another count and a formula of its own: what a second version differs in. */
function edit() {
  firstText = readFileSync(artifact, 'utf8');
  const plan = JSON.parse(firstText.replaceAll('"nearby"', '"from_near"'));
  plan.nodes.find((node) => node.op === 'core::take').params.count = 10;
  writeFileSync(artifact, JSON.stringify(plan));
}

/** `rankd studio` on a new project whose plan has two versions. */
async function startStudio(scheme) {
  await makeProject(scheme);
  const words = ['studio', project, '--listen', '127.0.0.1:0', '--dslc', resolve(options.dslc)];
  const { server, found } = await start(words, /open (\S+)\/ui#token=(\S+)\n/);
  const studio = { address: found[1], token: found[2] };
  edit();
  server.kill('SIGHUP');
  const walk = new Walk(null, studio, scheme);
  while ((await walk.ask('v1/plans/home_feed/versions')).versions.length < 2)
    await new Promise((done) => { setTimeout(done, 50); });
  return studio;
}

async function walkAll(browser, studio, scheme) {
  const { address, token } = studio;
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: scheme });
  page.on('console', (message) => {
    if (message.type() !== 'error' || walk.expects?.test(message.text())) return;
    complaints.push(`${scheme}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`${scheme}: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(address)) complaints.push(`${scheme}: the page asks for ${request.url()}`);
  });
  page.setDefaultTimeout(120_000); // dslc takes its time on a busy machine
  await page.goto(`${address}/ui#home_feed&token=${token}`);
  const walk = new Walk(page, studio, scheme);
  must(!page.url().includes(token), 'the token does not stay in the address');
  await walk.says(/nodes$/);
  await walk.look('plan');
  for (const [name, task] of Object.entries(tasks).filter(([each]) => each.includes(options.only))) {
    try {
      await task(walk);
      console.log(`${scheme}: ${name}: done`);
    } catch (error) {
      complaints.push(`${scheme}: ${name}: ${error.message}`);
    }
  }
  await page.close();
}

try {
  mkdirSync(options.out, { recursive: true });
  const browser = await chromium.launch({ executablePath: options.chromium, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    for (const scheme of options.scheme) await walkAll(browser, await startStudio(scheme), scheme);
  } finally {
    await browser.close();
  }
  for (const each of complaints) console.error(each);
  console.log(complaints.length === 0 ? `no complaint; pictures in ${options.out}` : `${complaints.length} complaints`);
  process.exitCode = complaints.length === 0 ? 0 : 1;
} finally {
  for (const server of running) await end(server);
  rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
