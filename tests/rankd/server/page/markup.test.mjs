// markup.test.mjs: the page without a browser: what it refers to is there, and everything has a name.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { idFaults, must, tagsOf, violationLines } from '../../../../tests/page/checks.mjs';

const folder = new URL('../../../../rankd/server/page/', import.meta.url);
const read = (name) => readFileSync(new URL(name, folder), 'utf8');
const html = read('page.html');
const tags = tagsOf(html);

test('ids of the page are there once, and references lead to them', () => {
  assert.deepEqual(idFaults(tags), []);
  assert.deepEqual(idFaults(tagsOf('<p id="a"></p><p id="a"></p><label for="b">')),
    ['a is there twice', 'label: for names b, which is not there']);
});

test('each tab has a panel that it controls and that has its name, and one of them is open', () => {
  const tabs = tags.filter(({ attributes }) => attributes.role === 'tab').map(({ attributes }) => attributes);
  const panels = tags.filter(({ attributes }) => attributes.role === 'tabpanel').map(({ attributes }) => attributes);
  assert.ok(tabs.length >= 7);
  assert.deepEqual(tabs.map((tab) => tab['aria-controls']), panels.map((panel) => panel.id));
  assert.deepEqual(panels.map((panel) => panel['aria-labelledby']), tabs.map((tab) => tab.id));
  assert.equal(tabs.filter((tab) => tab.tabindex === undefined).length, 1);
  assert.deepEqual(panels.filter((panel) => panel.hidden === undefined).map((panel) => panel.id), ['panel-answer']);
});

test('canvases, fields and regions have names and can be reached by keyboard', () => {
  for (const { name, attributes } of tags) {
    if (name === 'canvas')
      assert.ok(attributes['aria-label'] && attributes['aria-describedby'] && attributes.tabindex === '0', attributes.id);
    if (name === 'section' || attributes.role === 'toolbar' || attributes.role === 'tablist')
      assert.ok(attributes['aria-label'] || attributes['aria-labelledby'], attributes.id);
  }
  for (const id of ['token', 'find']) assert.match(html, new RegExp(`(<label for="${id}">)|(<label[^>]*>[^<]*<input id="${id}")`));
  assert.equal(tags[0].attributes.lang, 'en');
});

test('scripts name only elements that the page or another script makes', () => {
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.mjs')).map(read);
  const made = new Set(tags.map(({ attributes }) => attributes.id));
  for (const text of scripts) for (const [, id] of text.matchAll(/\bid: '([a-z-]+)'/g)) made.add(id);
  const named = scripts.flatMap((text) => [...text.matchAll(/byId\('([a-z-]+)'\)/g)].map(([, id]) => id));
  assert.deepEqual(named.filter((id) => !made.has(id)), []);
});

test('every script that another imports is a file of the program', () => {
  const cmake = read('../page.cmake');
  for (const name of readdirSync(folder)) assert.ok(cmake.includes(`=${name}=`), `${name} is not in page.cmake`);
});

test('what breaks a rule is told with its place', () => {
  const rule = { id: 'label', impact: 'critical', help: 'Fields have labels', nodes: [{ target: [['#a', '.b']] }, { target: ['c'] }] };
  assert.deepEqual(violationLines('light plan', [rule]), [
    'light plan: label (critical): Fields have labels: #a .b', 'light plan: label (critical): Fields have labels: c',
  ]);
  assert.throws(() => must(false, 'x'), /not so: x/);
  must(true, 'x');
});
