#!/usr/bin/env node
// tools/page/walk.mjs: walks through the page of plans in Chromium as a stranger would, holds what it shows to what the
// server answers, checks accessibility by axe-core at each step, and keeps pictures for docs/page.md.
//
//   (cd tools/page && npm ci)
//   node tools/page/walk.mjs [--rankd build/release/bin/rankd] [--chromium /usr/bin/chromium] [--out docs/page]
//
// Status 1 where a task cannot be done, where axe-core finds a violation, or where the page writes an error to the console
// or breaks its policy. Not in the gate, which has no browser.
import { execFileSync, spawn } from 'node:child_process';
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
  },
});
const scratch = mkdtempSync(join(tmpdir(), 'rankd-walk-'));
const project = join(scratch, 'demo');
const artifact = join(project, 'plans/home_feed.json');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const shown = new Set(['slow_node', 'missing_item', 'changed_weight', 'two_versions']); // in docs/page.md
const complaints = [];
let server;

/** Starts `rankd serve --ui` on a new demo and gives the address of its page. */
async function serve() {
  const rankd = resolve(options.rankd);
  execFileSync(rankd, ['init', 'demo', project], { stdio: 'ignore' });
  server = spawn(rankd, ['serve', '--ui', '--project', project, '--listen', '127.0.0.1:0'],
    { stdio: ['ignore', 'pipe', 'ignore'] });
  for await (const text of server.stdout) {
    const found = /listening on (\S+)/.exec(String(text));
    if (found) return found[1];
  }
  throw new Error('rankd did not start');
}

/** The page with what a walk does again and again. */
class Walk {
  constructor(page, address, scheme) {
    Object.assign(this, { page, address, scheme });
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
    await walk.page.getByRole('tab', { name: 'Compare' }).click();
    must(/\d+ in place, \d+ up, \d+ down/.test(await walk.text('#panel-compare')), 'both answers are counted');
    must(await walk.page.locator('#panel-compare tr.up, #panel-compare tr.new').count() > 0, 'the weight moves candidates');
    must(/0\.5[\s\S]*-1/.test(await walk.text('#panel-compare')), 'both requests are shown');
    await walk.look('changed_weight');
    await walk.page.locator('[name="param.media_age_penalty_weight"]').fill('');
  },

  async 'compare two versions'(walk) {
    await walk.page.getByRole('tab', { name: 'Answer' }).focus();
    for (let i = 0; i < 4; i += 1) await walk.page.keyboard.press('ArrowRight');
    must(await walk.page.getByRole('tab', { name: 'Versions', selected: true }).isVisible(), 'arrow keys open the tab');
    await walk.page.waitForFunction(() => document.querySelectorAll('[name="with_version"] option').length === 3);
    await walk.page.locator('[name="with_version"]').selectOption('1');
    await walk.page.locator('#compare-versions').press('Enter');
    await walk.says(/\d changes/);
    const told = await (await fetch(`${walk.address}/v1/plans/home_feed/diff?with_version=1`)).json();
    const rows = await walk.page.locator('#panel-versions tbody tr').allInnerTexts();
    must(rows.length === told.changes.length, 'there is a row for each change');
    told.changes.forEach(({ kind, node }, at) => must(rows[at].includes(kind) && rows[at].includes(node), `row ${at}`));
    must(await walk.page.locator('#other').isVisible(), 'both graphs are seen');
    await walk.page.locator('#panel-versions td button').first().press('Enter');
    must(/In the second graph/.test(await walk.text('#node')), 'the node says what is different of it');
    await walk.look('two_versions');
    await walk.page.locator('#end-comparison').click();
    must(!await walk.page.locator('#other').isVisible(), 'one graph is left');
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

/** The plan with another id, another count and a formula of its own: what a second version differs in. */
function edit() {
  const plan = JSON.parse(readFileSync(artifact, 'utf8').replaceAll('"nearby"', '"from_near"'));
  plan.nodes.find((node) => node.op === 'core::take').params.count = 10;
  writeFileSync(artifact, JSON.stringify(plan));
}

async function walkAll(browser, address, scheme) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: scheme });
  page.on('console', (message) => { if (message.type() === 'error') complaints.push(`${scheme}: ${message.text()}`); });
  page.on('pageerror', (error) => complaints.push(`${scheme}: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(address)) complaints.push(`${scheme}: the page asks for ${request.url()}`);
  });
  page.setDefaultTimeout(30_000);
  await page.goto(`${address}/ui#home_feed`);
  const walk = new Walk(page, address, scheme);
  await walk.says(/nodes$/);
  await walk.look('plan');
  for (const [name, task] of Object.entries(tasks)) {
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
  const address = await serve();
  edit();
  server.kill('SIGHUP');
  while ((await (await fetch(`${address}/v1/plans/home_feed/versions`)).json()).versions.length < 2)
    await new Promise((done) => { setTimeout(done, 50); });
  const browser = await chromium.launch({ executablePath: options.chromium, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    for (const scheme of ['light', 'dark']) await walkAll(browser, address, scheme);
  } finally {
    await browser.close();
  }
  for (const each of complaints) console.error(each);
  console.log(complaints.length === 0 ? `no complaint; pictures in ${options.out}` : `${complaints.length} complaints`);
  process.exitCode = complaints.length === 0 ? 0 : 1;
} finally {
  if (server) {
    server.kill();
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  }
  rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
