// package.test.ts: the tarballs for npm give an empty folder a compiler, without a network.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { rankd, repository, scratchFolder, writeFiles } from "./support.js";

const dsl = join(repository, "dsl");
const fresh = join(repository, "rankd/cli/empty");

/** An environment in which no rankd is named. */
function withoutEngine(): NodeJS.ProcessEnv {
  const { RANKD: _, LD_LIBRARY_PATH: __, ...env } = process.env;
  return env;
}

function run(folder: string, command: string, ...args: string[]): string {
  const done = spawnSync(command, args, { cwd: folder, encoding: "utf8", env: withoutEngine() });
  assert.equal(done.status, 0, `${command} ${args.join(" ")}: ${done.stderr}${done.stdout}`);
  return done.stderr;
}

const hasNpm = spawnSync("npm", ["--version"]).status === 0;

test("a project with nothing but the tarballs compiles its plans", { skip: hasNpm ? false : "no npm" }, () => {
  const folder = scratchFolder();
  run(dsl, process.execPath, "pack.js", "tarballs", join(folder, "tarballs"), rankd);
  const tarballs = readdirSync(join(folder, "tarballs")).map((name) => join(folder, "tarballs", name));
  assert.equal(tarballs.length, 3);

  const project = join(folder, "project");
  cpSync(fresh, project, { recursive: true });
  writeFiles(project, { "package.json": readFileSync(join(repository, "rankd/cli/project/package.json"), "utf8") });
  // TypeScript is the one package that comes from elsewhere: a folder is linked.
  const quiet = ["--offline", "--no-audit", "--no-fund", "--cache", join(folder, "cache")];
  run(project, "npm", "install", ...quiet, ...tarballs, join(dsl, "node_modules/typescript"));

  const plan = readFileSync(join(repository, "rankd/cli/empty/plans/first.json"), "utf8");
  const dslc = join(project, "node_modules/.bin/dslc");
  run(project, dslc, "build", "--verify", "--time-limit-ms", "20000");
  run(project, dslc, "bindings");
  // The engine of the package checked the plan: a rule that is the engine's alone refuses another one.
  const source = join(project, "plans/first.plan.ts");
  const right = readFileSync(source, "utf8");
  writeFiles(project, { "plans/first.plan.ts": right.replace('name: "first"', 'name: "second"') });
  const wrong = spawnSync(dslc, ["check", "--time-limit-ms", "20000"], {
    cwd: project,
    encoding: "utf8",
    env: withoutEngine(),
  });
  assert.equal(wrong.status, 1, wrong.stderr);
  assert.match(wrong.stderr, /^plans\/first\.plan\.ts:\d+:\d+: name_mismatch: /m);
  writeFiles(project, { "plans/first.plan.ts": right });
  run(project, dslc, "test", "--time-limit-ms", "20000");
  assert.ok(existsSync(join(project, ".rankd/plan/generated.d.ts")));
  assert.equal(readFileSync(join(project, "plans/first.json"), "utf8"), plan);
  // The package itself knows the operators, and no project.
  const generated = readFileSync(join(project, "node_modules/@rankd/plan/src/generated.ts"), "utf8");
  assert.match(generated, /^export const Key = \{\} as const;$/m);
  assert.match(generated, /sort\(options: SortOptions\)/);
});
