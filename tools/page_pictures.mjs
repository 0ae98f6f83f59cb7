#!/usr/bin/env node
// tools/page_pictures.mjs: pictures of the page of plans, light and dark, by headless Chromium. Not a test.
//
//   node tools/page_pictures.mjs --rankd build/release/bin/rankd [--out build/pictures] [--project DIR]
//   node tools/page_pictures.mjs --url http://127.0.0.1:8080/ui [--out build/pictures]
//
// Without --project it makes a demo project. Complains, with status 1, of what the page writes to the console and of
// what its policy refused. Wants `chromium` in the path.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    rankd: { type: 'string', default: 'build/release/bin/rankd' }, out: { type: 'string', default: 'build/pictures' },
    project: { type: 'string' }, url: { type: 'string' },
  },
});
const scratch = mkdtempSync(join(tmpdir(), 'rankd-pictures-'));
const started = [];

/** Starts `rankd serve --ui` and gives the address of its page. */
function serve() {
  const rankd = resolve(options.rankd);
  const project = options.project ?? join(scratch, 'demo');
  if (!options.project) execFileSync(rankd, ['init', 'demo', project], { stdio: 'ignore' });
  const server = spawn(rankd, ['serve', '--ui', '--project', project, '--listen', '127.0.0.1:0'],
    { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(server);
  return new Promise((done, fail) => {
    server.stdout.on('data', (text) => {
      const found = /listening on (\S+)/.exec(String(text));
      if (found) done(`${found[1]}/ui`);
    });
    server.on('exit', () => fail(new Error('rankd did not start')));
  });
}

/** Chromium behind its debugging pipe: `call(method, params)`, and `heard(method)` for what it tells by itself. */
function browser() {
  const chromium = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe',
    `--user-data-dir=${join(scratch, 'chromium')}`, '--no-first-run', '--disable-background-networking'],
  { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  started.push(chromium);
  const waiting = new Map();
  const listeners = [];
  let last = 0;
  let text = '';
  chromium.stdio[4].on('data', (piece) => {
    text += piece;
    for (let end = text.indexOf('\0'); end >= 0; end = text.indexOf('\0')) {
      const message = JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
      if (message.id === undefined) listeners.forEach((each) => each(message));
      else {
        const { done, fail } = waiting.get(message.id);
        if (message.error) fail(new Error(message.error.message));
        else done(message.result);
      }
    }
  });
  const call = (method, params = {}, sessionId = undefined) => new Promise((done, fail) => {
    last += 1;
    waiting.set(last, { done, fail });
    chromium.stdio[3].write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
  });
  return { call, listen: (listener) => listeners.push(listener) };
}

async function open(url) {
  const { call, listen } = browser();
  const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await call('Target.attachToTarget', { targetId, flatten: true });
  const page = (method, params) => call(method, params, sessionId);
  const complaints = [];
  listen(({ method, params }) => {
    if (method === 'Runtime.exceptionThrown') complaints.push(params.exceptionDetails.exception?.description);
    if (method === 'Log.entryAdded' && params.entry.level === 'error')
      complaints.push(`${params.entry.text} ${params.entry.url ?? ''}`);
  });
  await page('Runtime.enable');
  await page('Log.enable');
  await page('Page.enable');
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await page('Runtime.evaluate', { expression, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception.description);
    return result.value;
  };
  /** Waits until an expression holds, for at most a minute. */
  const until = async (expression) => {
    for (let i = 0; i < 600; i += 1) {
      if (await evaluate(`Boolean(${expression})`)) return;
      await new Promise((done) => { setTimeout(done, 100); });
    }
    throw new Error(`never: ${expression}; the page says ${await evaluate('document.body.innerText')}`);
  };
  const picture = async (name) => {
    await evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    const { data } = await page('Page.captureScreenshot', { format: 'png' });
    writeFileSync(join(options.out, `${name}.png`), Buffer.from(data, 'base64'));
  };
  await page('Page.navigate', { url });
  return { page, evaluate, until, picture, complaints };
}

/** Whether the page has the answer to its run of that number. */
const hasRun = (count) => `document.querySelectorAll('#panel-answer tbody tr').length > 0 &&
  /candidates in/.test(document.getElementById('said').textContent) &&
  (${count} < 2 || document.querySelectorAll('#panel-compare option').length > 2)`;

async function look({ page, evaluate, until, picture }, scheme) {
  await page('Emulation.setDeviceMetricsOverride', { width: 1440, height: 900, deviceScaleFactor: 1, mobile: false });
  await page('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
  await page('Page.reload');
  await until(`document.getElementById('said')?.textContent.includes('nodes')`);
  await picture(`${scheme}-plan`);
  await evaluate(`{
    const form = document.getElementById('request');
    if (form.elements.user) form.elements.user.value = '1';
    form.elements.ids.value = '4, 42';
    form.requestSubmit();
  }`);
  await until(hasRun(1));
  await picture(`${scheme}-missing`);
  await evaluate(`document.querySelector('#panel-answer td button').click()`);
  await until(`document.querySelector('#panel-fate h2').textContent !== 'Candidate 4'`);
  await picture(`${scheme}-candidate`);
  await evaluate(`document.querySelector('#panel-fate button').click(); document.getElementById('tab-times').click();
    document.querySelector('#panel-times td button').click()`);
  await picture(`${scheme}-times`);
  await evaluate(`document.getElementById('request').elements.user.value = '2';
    document.getElementById('request').requestSubmit()`);
  await until(hasRun(2));
  await evaluate(`document.getElementById('tab-compare').click()`);
  await until(`document.querySelectorAll('#panel-compare tbody tr').length > 0`);
  await picture(`${scheme}-compare`);
  await evaluate(`document.getElementById('tab-metrics').click()`);
  await until(`document.querySelectorAll('#panel-metrics tbody tr').length > 0`);
  await picture(`${scheme}-metrics`);
  await evaluate(`document.getElementById('tab-nodes').click()`);
  await picture(`${scheme}-nodes`);
  await page('Emulation.setDeviceMetricsOverride', { width: 420, height: 900, deviceScaleFactor: 1, mobile: false });
  await picture(`${scheme}-narrow`);
}

try {
  mkdirSync(options.out, { recursive: true });
  const shown = await open(options.url ?? await serve());
  for (const scheme of ['light', 'dark']) await look(shown, scheme);
  for (const each of shown.complaints) console.error(each);
  process.exitCode = shown.complaints.length === 0 ? 0 : 1;
  console.log(`pictures in ${options.out}`);
} finally {
  for (const each of started) {
    each.kill();
    if (each.exitCode === null && each.signalCode === null) await once(each, 'exit');
  }
  rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
