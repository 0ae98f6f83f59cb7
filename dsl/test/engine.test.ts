// engine.test.ts: how the compiler finds the engine, asks it, and goes on without it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";

import { Engine, findEngine } from "@rankd/dslc";

import { EngineError } from "../packages/dslc/dist/project_error.js";
import { engineFor, patient, rankd, repository, scratchFolder, writeFiles } from "./support.js";

const command = join(repository, "dsl/packages/dslc/bin/dslc.js");
const plan = (name: string, count = 3): string => `import { definePlan } from "@rankd/plan";
export default definePlan({
  name: "${name}",
  build: (ctx) => ctx.test.fixedSource({ rowCount: 9 }).take({ count: ${count} }),
});
`;

function projectFolder(): string {
  const folder = scratchFolder();
  cpSync(join(repository, "registry"), join(folder, "registry"), { recursive: true });
  writeFiles(folder, {
    "rankd.toml": 'name = "x"\nenvironment = "test"\nregistry = "registry"\nplans = "plans"\n',
    "plans/a.plan.ts": plan("a"),
    "plans/b.plan.ts": plan("b"),
  });
  return folder;
}

/** A program in a folder, which may be run. */
function script(folder: string, name: string, text: string): string {
  writeFiles(folder, { [name]: `#!/bin/sh\n${text}` });
  chmodSync(join(folder, name), 0o755);
  return join(folder, name);
}

/** A process of its own, that finds no engine but those that `env` or `args` name. */
function run(folder: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const done = spawnSync(process.execPath, [command, ...patient(args)], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, RANKD: "", PATH: "/nowhere", ...env },
  });
  return { status: done.status, out: done.stdout, err: done.stderr };
}

const unchecked =
  "dslc: nothing was checked, because there is no rankd: install @rankd/engine-linux-x64, or pass the program's path with --engine\n";

test("without an engine plans are compiled, one line says that nothing was checked, and the status is 3", () => {
  const folder = projectFolder();
  const checked = run(folder, ["build"], { RANKD: rankd });
  assert.deepEqual(checked, { status: 0, out: "", err: "dslc: wrote 2 of 2 plans to plans\n" });
  const bytes = readFileSync(join(folder, "plans/a.json"), "utf8");
  rmSync(join(folder, "plans/a.json"));
  const built = run(folder, ["build"]);
  assert.deepEqual([built.status, built.err], [3, `${unchecked}dslc: wrote 2 of 2 plans to plans\n`]);
  assert.equal(readFileSync(join(folder, "plans/a.json"), "utf8"), bytes);
  assert.equal(run(folder, ["build", "--verify"]).status, 3);
  const json = run(folder, ["check", "--json"]);
  assert.equal(json.status, 3);
  assert.equal((JSON.parse(json.out) as { checked: boolean }).checked, false);
  assert.equal(run(folder, ["check", "plans/a.json"]).status, 3);
  assert.deepEqual([run(folder, ["outdated"]).status, run(folder, ["bindings"]).status], [3, 0]);

  // A plan that only the engine would refuse is built; one that the compiler refuses is not.
  writeFiles(folder, { "plans/a.plan.ts": plan("other"), "plans/b.plan.ts": "export default 3;\n" });
  const wrong = run(folder, ["build"]);
  assert.equal(wrong.status, 1);
  assert.match(wrong.err, /^plans\/b\.plan\.ts:1:1: no_plan: /m);
  assert.doesNotMatch(wrong.err, /name_mismatch/);
  assert.match(run(folder, ["build"], { RANKD: rankd }).err, /^plans\/a\.plan\.ts:3:9: name_mismatch: /m);
});

test("what cannot do without the engine says so", () => {
  const folder = projectFolder();
  writeFiles(folder, { "plans/a.json": "{}" });
  const tests = run(folder, ["test"]);
  assert.deepEqual([tests.status, tests.out], [1, ""]);
  assert.match(tests.err, /^dslc: there is no rankd to run tests: install @rankd\/engine-linux-x64, or pass the/);
  const diff = run(folder, ["diff", "plans/a.json", "plans/a.json"]);
  assert.equal(diff.status, 2);
  assert.match(diff.err, /^dslc: there is no rankd to compare plans: /);
});

test("the engine is the one that is named, or that of the package, or the one in the path", () => {
  const folder = scratchFolder();
  const { RANKD: before, PATH: path } = process.env;
  try {
    delete process.env["RANKD"];
    process.env["PATH"] = ["", join(folder, "gone"), folder].join(delimiter);
    assert.equal(findEngine(undefined, folder), undefined);
    writeFiles(folder, { rankd: "no program" });
    assert.equal(findEngine(undefined, folder), undefined);
    assert.equal(findEngine(undefined, folder), undefined);
    script(folder, "rankd", "");
    assert.equal(findEngine(undefined, folder), join(folder, "rankd"));
    const packaged = `node_modules/@rankd/engine-${process.platform}-${process.arch}`;
    writeFiles(folder, { [`${packaged}/package.json`]: '{"name": "e", "version": "1.0.0"}' });
    assert.equal(findEngine(undefined, folder), join(folder, packaged, "bin/rankd"));
    process.env["RANKD"] = "named";
    assert.equal(findEngine(undefined, folder), "named");
    assert.equal(findEngine("given", folder), "given");
  } finally {
    process.env["PATH"] = path;
    process.env["RANKD"] = before;
  }
});

test("a build starts the engine once, for plans, tests and registries", () => {
  const folder = projectFolder();
  const counting = script(folder, "counting", `echo "$@" >> '${folder}/started'\nexec '${rankd}' "$@"\n`);
  assert.equal(run(folder, ["build", "--engine", counting]).status, 0);
  assert.equal(readFileSync(join(folder, "started"), "utf8"), "check --stdin\n");
});

test("an engine that is not there, that is too old or that dies is an error with its name", async () => {
  const folder = projectFolder();
  const gone = run(folder, ["build", "--engine", "./gone"]);
  assert.deepEqual([gone.status, gone.out], [1, ""]);
  assert.match(
    gone.err,
    /^dslc: \.\/gone, which checks plans, does not exist; pass the path of rankd with --engine, or set RANKD to it$/m,
  );
  script(folder, "old", "echo 'rankd: there is no command `check`' >&2\nexit 2\n");
  const old = run(folder, ["build", "--engine", "./old"]);
  assert.equal(old.status, 1);
  assert.match(old.err, /^dslc: \.\/old, which checks plans, ended by status 2: rankd: there is no command `check`; /);
  assert.ok(!existsSync(join(folder, "plans/a.json")));

  // It answers once, and is gone then: the project is opened again for the next question.
  const brief = new Engine(script(folder, "brief", `head -n 1 | '${rankd}' check --stdin\n`), folder);
  assert.deepEqual(await brief.open(), []);
  await assert.rejects(brief.plan("{}", undefined), EngineError);
  brief.close();
  const own = engineFor(folder);
  own.close();
  assert.equal((await own.plan("{}", undefined)).problems[0]!.code, "missing_field");
});

test("a message that the engine would not read is refused here", async () => {
  const own = engineFor(projectFolder());
  const { problems } = await own.plan("x".repeat(17 << 20), undefined);
  assert.deepEqual(
    problems.map(({ code }) => code),
    ["file_too_large"],
  );
});

/** Programs that are no engine, each with what is said of it. `$id` is the number of the question. */
const impostors: readonly (readonly [string, string, RegExp])[] = [
  [
    "rubbish",
    "read -r line; echo 'what?'; cat >/dev/null",
    /printed `what\?`, which is not a valid answer; pass the path of rankd with/,
  ],
  ["flood", "yes rubbish", /printed `rubbish`, which is not a valid answer/],
  ["null", "read -r line; echo null; cat >/dev/null", /printed `null`, which is not a valid answer/],
  ["other", `read -r line; echo '{"id":77}'; cat >/dev/null`, /printed `\{"id":77\}`, which is not a valid answer/],
  [
    "empty",
    `read -r line; echo '{"id":1}'; cat >/dev/null`,
    /gave an answer without a valid `diagnostics`; pass the path of rankd with/,
  ],
  [
    "wrong",
    `read -r line; echo '{"id":1,"diagnostics":[null]}'; cat >/dev/null`,
    /answer without a valid `diagnostics`/,
  ],
  ["silent", "exec sleep 600", /has not answered for 0\.1 s/],
  ["noisy", "exec yes >&2", /has not answered for 0\.1 s/],
];

for (const [name, body, said] of impostors)
  test(`a program that is no engine is an error: ${name}`, async () => {
    const folder = scratchFolder();
    const silenceMs = body.startsWith("exec ") ? 100 : undefined; // the others answer, however late on a busy machine
    const made = new Engine(script(folder, name, `${body}\n`), folder, silenceMs);
    try {
      await assert.rejects(made.open(), (error) => error instanceof EngineError && said.test(error.message));
    } finally {
      made.close();
    }
  });

test("a comparison that is none is an error", async () => {
  const folder = scratchFolder();
  const answers = `read -r line; echo '{"id":1,"diagnostics":[]}'; read -r line; echo '{"id":2,"before":[],"after":[]}'`;
  const made = new Engine(script(folder, "engine", `${answers}; cat >/dev/null\n`), folder);
  await assert.rejects(made.diff({ artifact: "{}" }, { artifact: "{}" }), /without a valid `comparison`/);
  made.close();
});

test("an engine that does not end when its input does is left behind", () => {
  const folder = projectFolder();
  const stays = script(folder, "stays", `echo $$ > pid\ntrap '' PIPE HUP\n'${rankd}' check --stdin\nexec sleep 600\n`);
  try {
    assert.equal(run(folder, ["check", "--engine", stays], { PATH: process.env["PATH"]! }).status, 0);
  } finally {
    process.kill(Number(readFileSync(join(folder, "pid"), "utf8")));
  }
});
