// guide.test.ts: every example of docs/plans.md is cut from a plan that compiles and runs.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { compilerFor, rankd, repository, scratchFolder } from "./support.js";

const examples = join(repository, "dsl/examples");
const names = readdirSync(examples)
  .filter((name) => name.endsWith(".plan.ts"))
  .map((name) => name.replace(".plan.ts", ""));
const guide = readFileSync(join(repository, "docs/plans.md"), "utf8");

test("every TypeScript block of the guide is cut from an example", () => {
  const blocks = [...guide.matchAll(/^(.*)\n```(ts|typescript|js)$/gm)];
  assert.ok(blocks.length >= 7);
  // tools/check_docs holds the text of the block against the file.
  for (const [, before] of blocks)
    assert.match(before!, /^<!-- from: dsl\/examples\/(\w+\.plan|fragments\/\w+\/\d+\.fragment)\.ts#\w+ -->$/);
});

/** Rows of its own for the plan that takes them; the others rank for a user. */
const requestOf = (name: string): string =>
  name === "rerank"
    ? '{"candidates": {"id": [7, 8], "model_score_1": [0.5, 2], "country": ["US", "CA"]}}'
    : '{"user_id": 1}';

test("every example compiles, and runs", async () => {
  const folder = scratchFolder();
  for (const part of ["registry", "data/reference"])
    cpSync(join(repository, part), join(folder, part), { recursive: true });
  cpSync(join(examples, "models"), join(folder, "models"), { recursive: true });
  mkdirSync(join(folder, "plans"));
  writeFileSync(
    join(folder, "rankd.toml"),
    'name = "guide"\nenvironment = "test"\nregistry = "registry"\nplans = "plans"\nmodels = "models"\ndata = "data/reference"\n[cursor]\nkey = "the key of the guide"\n',
  );
  const compiled = await compilerFor(examples).compile(names.map((name) => join(examples, `${name}.plan.ts`)));
  for (const { name, artifact, diagnostics } of compiled) {
    assert.deepEqual(diagnostics, [], name);
    writeFileSync(join(folder, "plans", `${name}.json`), artifact!);
  }
  for (const { name } of compiled) {
    const done = spawnSync(rankd, ["rank", "--project", folder, "--plan", name, "--request", requestOf(name)], {
      encoding: "utf8",
    });
    assert.equal(done.status, 0, `${name}: ${done.stdout}`);
    assert.ok((JSON.parse(done.stdout) as { candidates: unknown[] }).candidates.length > 0, name);
  }
});

test("every code that the guide names is one that the compiler or TypeScript gives", () => {
  const sources = ["dslc", "plan"].flatMap((name) => {
    const folder = join(repository, "dsl/packages", name, "src");
    return readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
  });
  const table = guide.slice(guide.indexOf("| code | meaning |")).split("\n\n", 1)[0]!;
  const codes = [...table.matchAll(/`([a-z]+_[a-z_]+)`/g)].map((match) => match[1]!);
  assert.ok(codes.length > 12);
  for (const code of codes)
    assert.ok(
      sources.some((text) => text.includes(`"${code}"`)),
      code,
    );
});
