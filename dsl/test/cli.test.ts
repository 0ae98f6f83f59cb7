// cli.test.ts: the commands of dslc.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import type { Compiled } from "../packages/dslc/dist/plan_compilation.js";
import { watch } from "../packages/dslc/dist/watch.js";
import { compilerFor, dslc, patient, repository, scratchFolder, writeFiles } from "./support.js";

const command = join(repository, "dsl/packages/dslc/bin/dslc.js");
const plan = (name: string, count = 3): string => `import { definePlan, Key } from "@rankd/plan";
import { score } from "./shared.js";
export default definePlan({
  name: "${name}",
  build: (ctx) => ctx.test.fixedSource({ rowCount: 9 }).vm({ outKey: Key.final_score, expr: score(2), as: "score" }).take({ count: ${count} }),
});
`;

function projectFolder(): string {
  const folder = scratchFolder();
  cpSync(join(repository, "registry"), join(folder, "registry"), { recursive: true });
  writeFiles(folder, {
    "rankd.toml": 'name = "x"\nenvironment = "test"\nregistry = "registry"\nplans = "plans/compiled"\n',
    "plans/a.plan.ts": plan("a"),
    "plans/b.plan.ts": plan("b"),
    "plans/shared.ts": 'import { Key } from "@rankd/plan";\nexport const score = (n: number) => Key.id * n;\n',
    "plans/manifest.json": '{"plans": ["plans/a.plan.ts", "plans/b.plan.ts"]}',
    "plans/compiled/index.json": "{}",
  });
  return folder;
}

/** A command line, and the error about it. */
const wrongUsage: readonly (readonly [string, string])[] = [
  [
    "biuld",
    "there is no command `biuld`; the commands are build, check, watch, test, diff, publish, outdated, serve, bindings",
  ],
  [
    "bindings --colour",
    "`dslc bindings` has no option --colour; its options are --out, --project, --engine, --help, --version",
  ],
  ["check --verify", "`dslc check` has no option --verify; it is an option of build"],
  ["test --out x", "`dslc test` has no option --out; it is an option of build, watch, bindings"],
  ["build --only x", "`dslc build` has no option --only; it is an option of test"],
  ["build --out", "--out needs a value: `--out DIR`, or `--out=DIR`"],
  ["bindings --out --json", "--out needs a value: `--out FILE`, or `--out=FILE`"],
  ["build --out=", "the value of --out must not be empty; write `--out DIR`"],
  ["build --engine EMPTY", "the value of --engine must not be empty; write `--engine FILE`"],
  ["build --json=yes", "--json takes no value, got `yes`"],
  ["build --time-limit-ms 0", "--time-limit-ms must be an integer from 1 to 86400000, got `0`"],
  ["build --time-limit-ms 1e99", "--time-limit-ms must be an integer from 1 to 86400000, got `1e99`"],
  ["check --time-limit-ms 86400001", "--time-limit-ms must be an integer from 1 to 86400000, got `86400001`"],
  ["check --time-limit-ms=-1", "--time-limit-ms must be an integer from 1 to 86400000, got `-1`"],
  ["check --memory-limit-mb NaN", "--memory-limit-mb must be an integer from 1 to 2032, got `NaN`"],
  ["check --memory-limit-mb 1.5", "--memory-limit-mb must be an integer from 1 to 2032, got `1.5`"],
  ["check --memory-limit-mb 2033", "--memory-limit-mb must be an integer from 1 to 2032, got `2033`"],
  [
    "test --memory-limit-mb 9223372036854775808",
    "--memory-limit-mb must be an integer from 1 to 2032, got `9223372036854775808`",
  ],
  ["diff a", "`dslc diff` needs two plans, got 1; write `dslc diff BEFORE AFTER`"],
  ["publish a", "`dslc publish` accepts no files, got `a`; it is about the whole project"],
];

test("the help of a command has its own options only", async () => {
  const folder = projectFolder();
  const helpOf = async (...args: string[]): Promise<string> => {
    const { status, out, err } = await dslc(folder, ...args, "--help");
    assert.deepEqual([status, err], [0, ""]);
    return out;
  };
  const named = (text: string): string[] => [...text.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name!);
  const all = await helpOf();
  for (const [, command] of all.matchAll(/^ {2}([a-z]+) /gm)) {
    const own = await helpOf(command!);
    assert.match(own, new RegExp(`^usage: dslc ${command!} \\[OPTIONS\\]`));
    // Each option of the help is one that the command accepts: without its value, or with a wrong one.
    for (const name of named(own).filter((each) => each !== "help"))
      assert.doesNotMatch((await dslc(folder, command!, `--${name}=`)).err, /has no option/);
    const others = named(all).filter((each) => !named(own).includes(each));
    for (const name of others) assert.match((await dslc(folder, command!, `--${name}=`)).err, /has no option/);
  }
  assert.deepEqual(named(await helpOf("bindings")), ["out", "project", "engine", "help", "version"]);
  assert.match(await helpOf("diff"), /^Exit status: 0 the plans do the same, 1 they differ, 2 an error\.$/m);
  for (const line of all.split("\n")) assert.ok(line.length <= 120, line);
});

test("the version is that of the package", async () => {
  const { version } = JSON.parse(readFileSync(join(dirname(command), "../package.json"), "utf8")) as {
    version: string;
  };
  const folder = scratchFolder(); // no project is needed
  for (const args of [["--version"], ["build", "--version"]])
    assert.deepEqual(await dslc(folder, ...args), { status: 0, out: `dslc ${version}\n`, err: "" });
});

test("what is wrong with a command line is one sentence", async () => {
  const folder = projectFolder();
  assert.equal((await dslc(folder)).status, 2);
  for (const [line, error] of wrongUsage) {
    const args = line.split(" ").map((each) => each.replace("EMPTY", ""));
    assert.deepEqual(await dslc(folder, ...args), { status: 2, out: "", err: `dslc: ${error}\n` }, line);
  }
  const unknown = await dslc(folder, "biuld");
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, "biuld"], { cwd: folder, encoding: "utf8" });
  assert.deepEqual({ status, out: stdout, err: stderr }, unknown);
  assert.equal((await dslc(scratchFolder(), "build")).status, 1);
});

test("build writes artifacts and their index, and verify finds what is stale", async () => {
  const folder = projectFolder();
  const built = await dslc(folder, "build");
  assert.equal(built.status, 0, built.err);
  const { plans } = JSON.parse(readFileSync(join(folder, "plans/compiled/index.json"), "utf8")) as {
    plans: { name: string }[];
  };
  assert.deepEqual(
    plans.map((each) => each.name),
    ["a", "b"],
  );
  assert.deepEqual(
    (
      JSON.parse(readFileSync(join(folder, "plans/compiled/a.json"), "utf8")) as { source_files: string[] }
    ).source_files.map((each) => each.split("#")[0]),
    ["plans/a.plan.ts", "plans/shared.ts"],
  );
  assert.equal((await dslc(folder, "build", "--verify")).status, 0);
  writeFileSync(join(folder, "plans/b.plan.ts"), plan("b", 4));
  const stale = await dslc(folder, "build", "--verify");
  assert.equal(stale.status, 1);
  assert.match(stale.err, /b\.json differs from what its source compiles to/);
  assert.equal((await dslc(folder, "build", "--out", "other", "plans/a.plan.ts")).status, 0);
  assert.equal(
    readFileSync(join(folder, "other/a.json"), "utf8"),
    readFileSync(join(folder, "plans/compiled/a.json"), "utf8"),
  );
});

test("what cannot be read or written is told in a line, and what was there before stays", async () => {
  const folder = projectFolder();
  const built = await dslc(folder, "build");
  assert.match(built.err, /^dslc: wrote 2 of 2 plans to plans\/compiled\n$/);
  const file = join(folder, "plans/compiled/a.json");
  const before = readFileSync(file, "utf8");
  writeFileSync(join(folder, "plans/a.plan.ts"), plan("a", 4));
  // No file may become larger than a block: the disk is as good as full.
  const full = spawnSync(
    "sh",
    ["-c", `trap '' XFSZ; ulimit -f 0; exec "$0" "$@"`, process.execPath, command, "build"],
    {
      cwd: folder,
      encoding: "utf8",
    },
  );
  assert.equal(full.status, 1, full.stderr);
  assert.match(full.stderr, /^dslc: \S+a\.json cannot be written: EFBIG: file too large\n$/);
  assert.equal(readFileSync(file, "utf8"), before);
  assert.deepEqual(readdirSync(join(folder, "plans/compiled")).sort(), ["a.json", "b.json", "index.json"]);

  const told = async (...args: string[]): Promise<string> => {
    const wrong = await dslc(folder, ...args);
    assert.equal(wrong.status, 1);
    return wrong.err;
  };
  const outIsWrong = async (...args: string[]): Promise<string> => {
    const { status, out, err } = await dslc(folder, ...args);
    assert.deepEqual([status, out], [2, ""]);
    return err;
  };
  assert.match(
    await outIsWrong("build", "--out", "/dev/null"),
    /^dslc: --out \/dev\/null: \/dev\/null\/a\.json cannot be written: \S+: .*; name a folder that exists or can be created\n$/,
  );
  assert.match(
    await outIsWrong("bindings", "--out", "/dev/null/types.ts"),
    /^dslc: --out \/dev\/null\/types\.ts: .* cannot be written: \S+: .*; name a file in a folder that exists or can be created\n$/,
  );
  assert.match(
    await outIsWrong("bindings", "--out", "plans"),
    /^dslc: --out plans: .*; name a file in a folder that exists or can be created\n$/,
  );
  assert.equal(await told("build", "plans/none.plan.ts"), "dslc: plans/none.plan.ts does not exist\n");
  assert.equal(
    await told("check", "plans"),
    "dslc: plans is a folder; name files in it, or no file for all plans of the project\n",
  );
  assert.equal(
    await told("check", "rankd.toml"),
    "dslc: `dslc check` cannot use rankd.toml; expected NAME.plan.ts, NAME.test.ts or an artifact NAME.json\n",
  );
  assert.equal(
    await told("build", "plans/compiled/a.json"),
    "dslc: `dslc build` cannot use plans/compiled/a.json; expected NAME.plan.ts or NAME.test.ts\n",
  );
  assert.match(await told("check", "plans.json"), /^dslc: plans\.json does not exist\n$/);
  writeFileSync(join(folder, "plans/manifest.json"), '{"plans": 3}');
  assert.match(await told("build"), /manifest\.json: `plans` must list the sources of plans, as in \{.*\}\n$/);
});

test("a folder of plans that is none is told in a line, and a pipe among plans is not read", async () => {
  const folder = projectFolder();
  rmSync(join(folder, "plans/manifest.json"));
  assert.equal(spawnSync("mkfifo", [join(folder, "plans/pipe.plan.ts")]).status, 0);
  assert.deepEqual([(await dslc(folder, "check")).status, (await dslc(folder, "check")).err], [0, ""]);
  rmSync(join(folder, "plans"), { recursive: true });
  writeFiles(folder, { plans: "" });
  const { status, out, err } = await dslc(folder, "check");
  assert.deepEqual([status, out], [1, ""]);
  assert.match(err, /^dslc: ENOTDIR: not a directory, \S+ '\S+plans'\n$/);
});

test("of a file that is gone no text is known, so that watch does not wait for another", async () => {
  const folder = projectFolder();
  const compiler = compilerFor(folder);
  const file = join(folder, "plans/a.plan.ts");
  const [there] = await compiler.compile([file]);
  assert.ok(there!.texts!.has(file));
  rmSync(file);
  const [gone] = await compiler.compile([file]);
  assert.equal(gone!.diagnostics[0]!.code, "unreadable_file");
  assert.deepEqual([...gone!.texts!], []);
});

test("what a plan says cannot steer the terminal that shows it", async () => {
  const folder = projectFolder();
  writeFiles(folder, { "plans/a.plan.ts": 'throw new Error("x\\u001b[31m\\u202e\\u0085y");\n' });
  const { err } = await dslc(folder, "check", "plans/a.plan.ts");
  assert.match(err, /x\\u\{1b\}\[31m\\u\{202e\}\\u\{85\}y/);
  assert.doesNotMatch(err, /[\u001b\u202e\u0085]/);
});

test("a folder whose plans are all built gets an index", async () => {
  const folder = projectFolder();
  assert.equal((await dslc(folder, "build", "--out", "some", "plans/a.plan.ts")).status, 0);
  assert.deepEqual(readdirSync(join(folder, "some")), ["a.json"]);
  assert.equal((await dslc(folder, "build", "--out", "all")).status, 0);
  assert.deepEqual(readdirSync(join(folder, "all")).sort(), ["a.json", "b.json", "index.json"]);
});

test("check says what is wrong with plans and artifacts, for people and for programs, and writes nothing", async () => {
  const folder = projectFolder();
  writeFiles(folder, { "plans/a.plan.ts": plan("a", 0), "x.json": '{"schema_version": 1.0}', "y.json": "[" });
  const people = await dslc(folder, "check", "plans/a.plan.ts", "x.json", "y.json");
  assert.equal(people.status, 1);
  assert.match(people.err, /^plans\/a\.plan\.ts:5:125: type_error: /m);
  assert.match(people.err, /^x\.json:1:1: wrong_type: \/schema_version: /m);
  assert.match(people.err, /^y\.json:1:1: json_syntax: line 1, column 2: /m);
  const programs = JSON.parse((await dslc(folder, "check", "--json", "plans/a.plan.ts", "plans/b.plan.ts")).out) as {
    plans: { name: string; diagnostics: { code: string }[] }[];
  };
  assert.deepEqual(
    programs.plans.map((each) => [each.name, each.diagnostics.map(({ code }) => code)]),
    [
      ["a", ["type_error"]],
      ["b", []],
    ],
  );
  assert.ok(!existsSync(join(folder, "plans/compiled/b.json")));
});

test("diff compares sources and artifacts, and its status is that of rankd diff", async () => {
  const folder = projectFolder();
  assert.equal((await dslc(folder, "build")).status, 0);
  writeFiles(folder, {
    "plans/shared.ts":
      '// A comment.\nimport { Key } from "@rankd/plan";\nexport const score = (n: number) => Key.id * n;\n',
  });
  assert.deepEqual(await dslc(folder, "diff", "plans/compiled/a.json", "plans/a.plan.ts"), {
    status: 0,
    out: "",
    err: "",
  });
  writeFiles(folder, {
    "plans/a.plan.ts": plan("a", 5)
      .replace("score(2)", "score(2) + 1")
      .replace(', as: "score"', ', as: "points", trace: "t"'),
    "yesterday.json": readFileSync(join(folder, "plans/compiled/a.json"), "utf8"),
  });
  assert.deepEqual(await dslc(folder, "diff", "yesterday.json", "plans/a.plan.ts"), {
    status: 1,
    out:
      "renamed  score → points\nchanged  points: expr: Key.id * 2 → Key.id * 2 + 1\n" +
      "changed  points: trace: (none) → t\nchanged  take: count: 3 → 5\n",
    err: "",
  });
  const programs = await dslc(folder, "diff", "--json", "yesterday.json", "plans/b.plan.ts");
  assert.equal(programs.status, 0);
  assert.equal((JSON.parse(programs.out) as { after: { plan: string } }).after.plan, "b");
  writeFiles(folder, { "torn.json": "{", "plans/b.plan.ts": "export default 3;\n" });
  for (const wrong of ["torn.json", "plans/b.plan.ts", "none.json"]) {
    const { status, out, err } = await dslc(folder, "diff", "yesterday.json", wrong);
    assert.deepEqual([status, out], [2, ""], wrong);
    assert.match(err, new RegExp(wrong.replace(/.*\//, "").replace(".", "\\.")));
  }
});

test("limits come from the command line", async () => {
  const folder = projectFolder();
  writeFiles(folder, {
    "plans/a.plan.ts": plan("a")
      .replace("(ctx) =>", "(ctx) => { for (;;) {} return")
      .replace("}),\n});", "}); },\n});"),
  });
  const stopped = await dslc(folder, "check", "--time-limit-ms", "100", "plans/a.plan.ts");
  assert.equal(stopped.status, 1);
  assert.match(stopped.err, /time_limit: .* within 100 ms/);
});

test("watch compiles again what a change concerns", async () => {
  const folder = projectFolder();
  const watcher = spawn(process.execPath, [command, ...patient(["watch"])], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  const hear = async (wanted: RegExp): Promise<void> => {
    const until = Date.now() + 60_000;
    while (!wanted.test(said)) {
      assert.ok(Date.now() < until, said);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    said = "";
  };
  watcher.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  await hear(/2 of 2 plans compiled in \d+ ms/);
  writeFileSync(join(folder, "plans/b.plan.ts"), plan("b", 7));
  await hear(/1 of 1 plan compiled in \d+ ms/);
  assert.match(readFileSync(join(folder, "plans/compiled/b.json"), "utf8"), /"count": 7/);
  writeFileSync(
    join(folder, "plans/shared.ts"),
    'import { Key } from "@rankd/plan";\nexport const score = (n: number) => Key.id * n + 1;\n',
  );
  await hear(/2 of 2 plans compiled in \d+ ms/);
  writeFileSync(join(folder, "plans/a.plan.ts"), "export default 3;\n");
  await hear(/no_plan.*[^]*0 of 1 plan compiled/);
  const ended = new Promise((resolve) => watcher.once("exit", resolve));
  watcher.kill("SIGTERM");
  assert.equal(await ended, 0);
});

test("tokens follow a change of a registry: names, documentation, what may be written", async () => {
  const folder = projectFolder();
  const keys = readFileSync(join(folder, "registry/keys.toml"), "utf8");
  const added = `
[[key]]
key_id = 5001
name = "age_days"
type = "float"
nullable = true
doc = "Age."
status = "deprecated"
replaced_by = 1

[[key]]
key_id = 5002
name = "frozen"
type = "float"
nullable = true
allow_write = false

[[key]]
key_id = 5003
name = "gone"
type = "float"
nullable = true
status = "blocked"
`;
  writeFileSync(join(folder, "registry/keys.toml"), keys + added);
  assert.equal((await dslc(folder, "bindings", "--out", "generated.ts")).status, 0);
  const generated = readFileSync(join(folder, "generated.ts"), "utf8");
  assert.match(
    generated,
    /\/\*\* Age\. Key 5001, float, may be null\. @deprecated use key 1 instead \*\/\n {2}age_days: keyToken/,
  );
  assert.doesNotMatch(generated, /gone/);

  const using = async (from: string, to: string): Promise<string> => {
    writeFileSync(join(folder, "plans/a.plan.ts"), plan("a").replace(from, to));
    return (await dslc(folder, "check", "plans/a.plan.ts")).err;
  };
  // No node writes them, of which there are warnings.
  assert.doesNotMatch(await using("score(2)", "Key.age_days * Key.frozen"), /^(?!\S+ warning: column_missing: ).+/m);
  assert.match(await using("outKey: Key.final_score", "outKey: Key.frozen"), /^plans\/a\.plan\.ts:5:62: type_error: /);
  assert.match(await using("score(2)", "Key.gone * 2"), /^plans\/a\.plan\.ts:5:97: type_error: .*'gone'/);
});

test("a param of the context is a token like any other, whose documentation says where its value comes from", async () => {
  const folder = projectFolder();
  const file = join(folder, "registry/params.toml");
  const row = (id: number, name: string, more: string): string =>
    `\n[[param]]\nparam_id = ${id}\nname = "${name}"\ntype = "int"\nnullable = true\nsource = "context"\n${more}\n`;
  writeFileSync(file, readFileSync(file, "utf8") + row(71, "hour", "required = true") + row(72, "day", 'doc = "Day."'));
  assert.equal((await dslc(folder, "bindings", "--out", "generated.ts")).status, 0);
  const generated = readFileSync(join(folder, "generated.ts"), "utf8");
  assert.match(generated, /\/\*\* The params that requests give or override\. \*\//);
  assert.match(
    generated,
    /\/\*\* Param 71, int, of the context, required\. \*\/\n {2}hour: paramToken<"int">\(71, "hour", "int"\)/,
  );
  assert.match(generated, /\/\*\* Day\. Param 72, int, of the context\. \*\//);

  const using = async (from: string, to: string): Promise<string> => {
    writeFileSync(join(folder, "plans/a.plan.ts"), plan("a").replace("Key }", "Key, P }").replace(from, to));
    return (await dslc(folder, "check", "plans/a.plan.ts")).err;
  };
  assert.equal(await using("score(2)", "P.hour + (P.day ?? 1)"), "");
  assert.match(await using("score(2)", "P.huor * 2"), /type_error: .*'huor'/);
});

test("what changes while plans are compiled is compiled once more", { timeout: 120_000 }, async () => {
  const folder = scratchFolder();
  const file = join(folder, "a.plan.ts");
  const change = (): void => writeFiles(folder, { "a.plan.ts": "// changed" });
  change();
  const ended = (): Compiled => ({ file, name: "a", artifact: "", diagnostics: [], warnings: [], sources: [file] });
  let runs = 0;
  const status = await watch([file], async () => {
    runs += 1;
    if (runs === 1) setTimeout(change, 100);
    if (runs === 2) {
      change();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    if (runs === 3) process.emit("SIGTERM");
    return [ended()];
  });
  assert.equal(status, 0);
  assert.equal(runs, 3);
});

test(
  "watch loses no edit of a file that it has read, and no file that an import looks for",
  { timeout: 120_000 },
  async () => {
    const folder = scratchFolder();
    const [file, other, shared] = ["a.plan.ts", "b.plan.ts", "lib/shared.ts"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFiles(folder, { "a.plan.ts": "1", "b.plan.ts": "1", "lib/shared.ts": "1" });
    const text = (path: string): string => readFileSync(path, "utf8");
    const said: string[] = [];
    const status = await watch([file, other], async (plans) => {
      said.push(plans.map((each) => each.slice(folder.length + 1)).join(" "));
      await Promise.resolve();
      const texts = new Map([file, other, shared].map((path) => [path, text(path)]));
      const compiled = plans.map((each): Compiled => {
        const diagnostics = each === other && said.length < 4 ? [{ code: "type_error" } as never] : [];
        const sources = each === file ? [file, shared] : [other];
        return { file: each, name: each, artifact: "", diagnostics, warnings: [], sources, texts };
      });
      // Behind the back of the compiler, and in a folder that nothing watches yet.
      if (said.length === 1) writeFiles(folder, { "lib/shared.ts": "2" });
      if (said.length === 2) writeFiles(folder, { "missing.ts": "1" });
      if (said.length === 3) {
        setTimeout(() => {
          writeFiles(folder, { "a.plan.ts": "3" });
        }, 200);
        throw new Error("the disk is full");
      }
      if (said.length === 4) process.emit("SIGTERM");
      return compiled;
    });
    assert.equal(status, 0);
    // The change of the first plan, the missing file for the second, and what failed once more with whatever changes.
    assert.deepEqual(said, ["a.plan.ts b.plan.ts", "a.plan.ts", "b.plan.ts", "a.plan.ts"]);
  },
);

test("a registry that the engine would refuse is refused with its line, and no plan is compiled", async () => {
  const folder = projectFolder();
  const keys = join(folder, "registry/keys.toml");
  writeFileSync(keys, readFileSync(keys, "utf8").replace('type = "float"', 'type = "flaot"'));
  const refused = await dslc(folder, "build");
  assert.equal(refused.status, 1);
  assert.match(
    refused.err,
    /^registry\/keys\.toml:26:1: bad_value: `type` is `flaot`; expected one of: .*`float`\?\n$/,
  );
  assert.ok(!existsSync(join(folder, "plans/compiled/a.json")));
  const { plans, diagnostics } = JSON.parse((await dslc(folder, "check", "--json")).out) as {
    plans: unknown[];
    diagnostics: { code: string; place: { line: number } }[];
  };
  assert.deepEqual([plans.length, diagnostics[0]!.code, diagnostics[0]!.place.line], [0, "bad_value", 26]);
});

test("what is most likely a mistake is a warning, of a plan and of an artifact, and the plan is built", async () => {
  const folder = projectFolder();
  writeFiles(folder, {
    "plans/b.plan.ts": `import { definePlan, Key } from "@rankd/plan";
export default definePlan({
  name: "b",
  build: (ctx) =>
    ctx
      .test.fixedSource({ rowCount: 9 })
      .filter({ pred: Key.country == "US", as: "near" })
      .sort({ by: Key.model_score_1, order: "desc", as: "best" }),
});
`,
  });
  const built = await dslc(folder, "build");
  assert.equal(built.status, 0, built.err);
  const missing = (node: string, key: string): string =>
    `warning: column_missing: node \`${node}\` reads key ${key}, but no earlier node writes this key, so its value is null in every row\n`;
  assert.equal(
    built.err,
    `plans/b.plan.ts:7:8: ${missing("near", "3001 (country)")}` +
      `plans/b.plan.ts:8:8: ${missing("best", "1001 (model_score_1)")}` +
      "dslc: wrote 2 of 2 plans to plans/compiled\n",
  );
  const checked = await dslc(folder, "check", "plans/compiled/b.json");
  assert.equal(checked.status, 0);
  assert.match(
    checked.err,
    /^plans\/compiled\/b\.json:1:1: warning: column_missing: \/nodes\/1: reads key 3001 \(country\)/,
  );
  const { plans } = JSON.parse((await dslc(folder, "check", "--json")).out) as {
    plans: { warnings?: { code: string }[] }[];
  };
  assert.deepEqual(
    plans.map(({ warnings }) => warnings?.map(({ code }) => code)),
    [undefined, ["column_missing", "column_missing"]],
  );
});

test("what is left of a source that is gone is named by verify and removed by build, with its entry in the index", async () => {
  const folder = projectFolder();
  rmSync(join(folder, "plans/manifest.json"));
  writeFiles(folder, {
    "plans/compiled/hand.json": '{"schema_version": 1, "source_files": ["plans/gone.plan.ts"]}',
    "plans/b.test.ts": `import { defineTests } from "@rankd/plan";
export default defineTests("b", ({ test }) => {
  test("three", ({ request, expect }) => {
    request({});
    expect.count(3);
  });
});
`,
  });
  const built = await dslc(folder, "build");
  assert.equal(built.status, 0, built.err);
  assert.equal((await dslc(folder, "build", "--verify")).status, 0);
  const artifacts = (): string[] => readdirSync(join(folder, "plans/compiled")).sort();
  assert.deepEqual(artifacts(), ["a.json", "b.json", "b.tests.json", "hand.json", "index.json"]);
  rmSync(join(folder, "plans/b.plan.ts"));
  rmSync(join(folder, "plans/b.test.ts"));
  // A build of one plan says nothing of the others.
  assert.equal((await dslc(folder, "build", "plans/a.plan.ts")).status, 0);
  assert.ok(artifacts().includes("b.json"));
  const stale = await dslc(folder, "build", "--verify");
  assert.equal(stale.status, 1);
  assert.match(stale.err, /compiled\/b\.json remains, but its source plans\/b\.plan\.ts is gone; run dslc build\n/);
  assert.match(
    stale.err,
    /compiled\/b\.tests\.json remains, but its source plans\/b\.test\.ts is gone; run dslc build\n/,
  );
  const rebuilt = await dslc(folder, "build");
  assert.equal(rebuilt.status, 0, rebuilt.err);
  assert.match(rebuilt.err, /^dslc: removed plans\/compiled\/b\.json: its source plans\/b\.plan\.ts is gone\n/);
  assert.deepEqual(artifacts(), ["a.json", "hand.json", "index.json"]);
  const index = join(folder, "plans/compiled/index.json");
  assert.deepEqual(readFileSync(index, "utf8").match(/\w+\.json/g), ["a.json", "hand.json"]);
  assert.equal((await dslc(folder, "build", "--verify")).status, 0);
  rmSync(join(folder, "plans/compiled/hand.json"));
  assert.match((await dslc(folder, "build", "--verify")).err, /index\.json does not list the artifacts beside it/);
});

test("a build deletes no artifact of an existing source, whatever --root is", async () => {
  const folder = projectFolder();
  rmSync(join(folder, "plans/manifest.json"));
  assert.equal((await dslc(folder, "build")).status, 0);
  const artifacts = (): string[] => readdirSync(join(folder, "plans/compiled")).sort();
  const before = artifacts();
  for (const root of ["registry", "plans", "/usr", "nowhere"]) {
    const refused = await dslc(folder, "build", "--root", root);
    assert.equal(refused.status, 2, root);
    assert.match(refused.err, new RegExp(`^dslc: --root ${root} must be a folder that contains the project .+\n`));
    assert.deepEqual(artifacts(), before);
  }
  for (const root of ["..", "/", "."]) {
    const built = await dslc(folder, "build", "--root", root);
    assert.equal(built.status, 0, built.err);
    assert.doesNotMatch(built.err, /removed/);
    assert.deepEqual(artifacts(), before);
  }
});
