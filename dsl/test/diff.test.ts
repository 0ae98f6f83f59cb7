// diff.test.ts: dslc says of two plans what rankd says of them, to the byte.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import type { Comparison, Engine } from "../packages/dslc/dist/engine.js";
import { dslc, engineFor, rankd, repository, scratchFolder } from "./support.js";

const tables = join(repository, "tests/rankd/tables");

/** The project of the table of differences. */
function tableProject(): string {
  const folder = scratchFolder();
  for (const name of ["registry", "models"]) cpSync(join(tables, name), join(folder, name), { recursive: true });
  cpSync(join(repository, "registry/ops.toml"), join(folder, "registry/ops.toml"));
  cpSync(join(tables, "diffs.toml"), join(folder, "rankd.toml"));
  return folder;
}

/** Compares two artifacts without faults. */
async function compared(own: Engine, before: string, after: string): Promise<Comparison> {
  const found = await own.diff({ artifact: before }, { artifact: after });
  assert.deepEqual([found.before, found.after], [[], []]);
  return found;
}

test("each row of the table is said as rankd says it", async () => {
  const own = engineFor(tableProject());
  const rows = readFileSync(join(tables, "diffs.ndjson"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { case: string; base: string; replace: [string, string][]; said: string[] });
  for (const row of rows) {
    const before = readFileSync(join(tables, row.base), "utf8");
    const after = row.replace.reduce((text, [from, to]) => {
      assert.ok(text.includes(from), row.case);
      return text.replace(from, () => to);
    }, before);
    const found = await compared(own, before, after);
    assert.deepEqual(found.lines, row.said.map((line) => `${line}\n`).join(""), row.case);
    assert.equal(found.comparison!.equal, row.said.length === 0, row.case);
  }
  assert.ok(rows.length >= 30);
});

test("dslc diff prints the bytes of rankd diff", async () => {
  const folder = tableProject();
  const plan = readFileSync(join(tables, "good_branches.json"), "utf8");
  writeFileSync(join(folder, "a.json"), plan);
  writeFileSync(join(folder, "b.json"), plan.replace(/"count": \d+/, '"count": 77'));
  for (const form of [[], ["--json"]]) {
    const args = ["diff", "a.json", "b.json", ...form];
    const done = spawnSync(rankd, args, { cwd: folder, encoding: "utf8" });
    assert.equal(done.status, 1);
    assert.deepEqual(await dslc(folder, ...args), { status: 1, out: done.stdout, err: "" });
  }
});

/** Of the same numbers the same choices. */
function chooser(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("a large plan of which all is renamed and shuffled is the same plan", async () => {
  const own = engineFor(tableProject());
  const choose = chooser(7);
  const nodes = Array.from({ length: 300 }, (_, at) => ({
    node_id: `n${at}`,
    op: at === 0 ? "core::viewer" : "core::follow",
    inputs: at === 0 ? [] : [`n${choose(at)}`],
    params: at === 0 ? { endpoint: "ep_0001" } : { endpoint: "ep_0001", fanout: choose(5) + 1 },
  }));
  const plan = { schema_version: 1, plan_name: "large", nodes, outputs: nodes.map((node) => node.node_id) };
  const text = JSON.stringify(plan);
  const renamed = JSON.parse(text.replaceAll('"n', '"m').replaceAll('"mode', '"node')) as typeof plan;
  renamed.nodes.reverse();
  const { comparison } = await compared(own, text, JSON.stringify(renamed));
  const { changes } = comparison as unknown as { changes: { kind: string }[] };
  assert.equal(changes.filter(({ kind }) => kind === "renamed").length, 300);
});
