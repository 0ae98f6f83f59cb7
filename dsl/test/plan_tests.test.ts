// plan_tests.test.ts: tests of plans: what they compile to, what is refused with its place, and how dslc runs them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { loadProject } from "@rankd/dslc";

import { testsOf } from "../packages/dslc/dist/folder.js";
import { compilerFor, dslc, expectedIn, patient, rankd, repository, scratchFolder, writeFiles } from "./support.js";

const command = join(repository, "dsl/packages/dslc/bin/dslc.js");
const head = 'import { defineTests, EP, Key } from "@rankd/plan";\n';
const whole = `${head}export default defineTests("feed", ({ store, test }) => {
  store.hash("user:1", { country: "US", age: 3, big: 9007199254740993n, new: true, taste: [0.5, -1] });
  test("one", ({ store, request, fault, expect }) => {
    store.list("follow:1", [2, "x"]);
    store.set("seen:1", [2]);
    store.sortedSet("hot", { "2": 0.5 });
    store.string("banner", "b");
    fault(EP.redis_default, "store_timeout", { keys: "follow:" });
    request({ user_id: 1, param_overrides: { page_size: 3 }, candidates: { id: [1], country: [null] } });
    expect.error("store_timeout", { node: "follow" });
  });
  test("two", ({ request, expect }) => {
    request({ user_id: 9007199254740993n });
    expect.ids([2, 9007199254740993n]);
    expect.count({ min: 1 });
    expect.atMost(2, Key.country, { window: 10 });
    expect.every(Key.final_score >= 0.5 && Key.country == "US");
    expect.sorted(Key.final_score, "desc");
  });
});
`;

const folder = scratchFolder();
const compiler = compilerFor(folder);

async function compile(text: string, name = "feed.test.ts") {
  writeFiles(folder, { [name]: text });
  const [compiled] = await compiler.compile([join(folder, name)]);
  return compiled!;
}

/** The document, and where it says that its parts were written, which is taken out. */
function withoutPlaces(value: unknown, places: string[]): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutPlaces(each, places));
  if (typeof value !== "object" || value === null) return value;
  const { source_span: span, ...fields } = value as Record<string, unknown>;
  if (span !== undefined) places.push(`${(span as { line: number }).line}:${(span as { column: number }).column}`);
  return Object.fromEntries(Object.entries(fields).map(([name, each]) => [name, withoutPlaces(each, places)]));
}

test("tests compile to records, requests, faults and expectations, each with its place", async () => {
  const compiled = await compile(whole);
  assert.deepEqual(compiled.diagnostics, []);
  assert.match(compiled.artifact!, /"user_id": 9007199254740993\b/);
  const places: string[] = [];
  const document = withoutPlaces(JSON.parse(compiled.artifact!), places) as Record<string, unknown>;
  assert.equal(document["tests_of"], "feed");
  assert.equal(document["schema_version"], 1);
  assert.deepEqual(document["records"], [
    {
      record: {
        hash: "user:1",
        fields: { country: "US", age: "3", big: "9007199254740993", new: "true", taste: [0.5, -1] },
      },
    },
  ]);
  const [one, two] = document["tests"] as Record<string, unknown>[];
  assert.deepEqual(one, {
    name: "one",
    records: [
      { record: { list: "follow:1", values: [2, "x"] } },
      { record: { set: "seen:1", members: [2] } },
      { record: { sorted_set: "hot", scores: { "2": 0.5 } } },
      { record: { string: "banner", value: "b" } },
    ],
    faults: [{ endpoint: "ep_0001", code: "store_timeout", key_prefix: "follow:" }],
    request: { user_id: 1, param_overrides: { page_size: 3 }, candidates: { id: [1], country: [null] } },
    expect: [{ kind: "error", code: "store_timeout", node: "follow" }],
  });
  const expected = two!["expect"] as Record<string, unknown>[];
  assert.deepEqual(expected.slice(1, 3), [
    { kind: "count", min: 1 },
    { kind: "at_most", count: 2, key_id: 3001, window: 10 },
  ]);
  assert.deepEqual((expected[3]!["pred"] as { op: string }).op, "and");
  assert.deepEqual(expected[4], { kind: "sorted", key_id: 2001, order: "desc" });
  for (const place of ["3:9", "4:3", "5:11", "9:5", "11:12", "13:3", "15:12"]) assert.ok(places.includes(place), place);
});

test("stubs of models and vectors compile to their data, and wrong ones are refused", async () => {
  const stubs = (body: string): string => `${head}export default defineTests("feed", ({ model, vectors, test }) => {
  ${body}
  test("one", ({ request, expect }) => { request({}); expect.count(1); });
});
`;
  const good = await compile(
    stubs('model("buys", { final_score: 2, id: -0.5 }, { intercept: 1 });\n  model("other", {});'),
  );
  assert.deepEqual(good.diagnostics, []);
  const document = withoutPlaces(JSON.parse(good.artifact!), []) as Record<string, unknown>;
  assert.deepEqual(document["models"], [
    {
      name: "buys",
      intercept: 1,
      weights: [
        { key: "final_score", weight: 2, when_null: 0 },
        { key: "id", weight: -0.5, when_null: 0 },
      ],
    },
    { name: "other", intercept: 0, weights: [] },
  ]);
  const cases = [
    'model("a", {}); model(/*!duplicate_value*/"a", {});',
    'model("a", { /*!type_error*/nothing: 1 });',
    'model(/*!wrong_type*/"", {});',
    'model("a", { id: /*!wrong_type*/1 / 0 });',
    'model("a", {}, /*!wrong_type*/{ intercept: 0 / 0 });',
    "/*!wrong_endpoint_kind*/vectors(EP.redis_default, { 7: [0.5, -1], [-3]: [1, 0] });",
    "vectors(EP.redis_default, /*!wrong_type*/{});",
    "vectors(EP.redis_default, /*!wrong_type*/{ 1: [1 / 0] });",
    'vectors(EP.redis_default, /*!wrong_type*/{ "": [1] });',
    "vectors(EP.redis_default, { 1: [1] }); vectors(/*!duplicate_value*/EP.redis_default, { 1: [1] });",
  ];
  for (const each of cases) {
    const text = stubs(each);
    const { diagnostics } = await compile(text);
    const said = diagnostics.map(({ code, place }) => `${code} ${place.line}:${place.column}`);
    assert.deepEqual(said, expectedIn(text), `${text}\n${JSON.stringify(diagnostics, null, 1)}`);
  }
});

test("what is wrong with tests is said with its code and place", async () => {
  const one = (body: string): string =>
    `${head}export default defineTests("feed", ({ store, test }) => {\n  test("one", ({ store, request, fault, expect }) => {\n    ${body}\n  });\n});\n`;
  const cases: readonly (readonly [string, string?])[] = [
    [one("request({ user_id: 1 }); expect.ids(/*!wrong_type*/[1.5]);")],
    [one("expect.count(1);").replace('  test("', '  /*!missing_field*/test("')],
    [one("request({});").replace('  test("', '  /*!no_expectations*/test("')],
    [one("request({}); /*!duplicate_value*/request({}); expect.count(1);")],
    [one('request({}); expect.error("x"); expect./*!bad_value*/count(1);')],
    [one('store.list("a", [1]); store.set(/*!duplicate_key*/"a", [1]); request({}); expect.count(1);')],
    [one('request({}); fault(EP.redis_default, /*!type_error*/"store_tired"); expect.count(1);')],
    [one("request({ param_overrides: { /*!type_error*/page: 1 } }); expect.count(1);")],
    [one("request({ user_id: /*!runtime_value*/Key.id }); expect.count(1);")],
    [one("request({}); expect.count(/*!wrong_type*/-1);")],
    [one("request({}); expect.atMost(/*!wrong_type*/0, Key.id);")],
    [one("request({}); expect.every(Key.model_score_1 > 1 && Math./*!not_in_sandbox*/random() > 2);")],
    [`${head}export default defineTests(/*!no_tests*/"feed", () => {});\n`],
    [`${head}/*!no_tests*/export default 3;\n`],
    [whole.replace('"feed"', '/*!name_mismatch*/"other"')],
    [whole.replace('"feed"', '/*!name_mismatch*/"feed"'), "other.test.ts"],
    [whole.replace("export default", "/*!no_plan*/export default"), "feed.plan.ts"],
  ];
  for (const [text, name] of cases) {
    const { diagnostics } = await compile(text, name);
    const said = diagnostics.map(({ code, place }) => `${code} ${place.line}:${place.column}`);
    assert.deepEqual(said, expectedIn(text), `${text}\n${JSON.stringify(diagnostics, null, 1)}`);
  }
});

const plan = `import { definePlan } from "@rankd/plan";
export default definePlan({ name: "feed", build: (ctx) => ctx.test.fixedSource({ rowCount: 3 }) });
`;
const small = `${head}export default defineTests("feed", ({ test }) => {
  test("rows", ({ request, expect }) => { request({}); expect.ids([1, 2, 3]); });
});
`;

/** A project with a plan and its tests, and a program in place of rankd that checks, and otherwise prints its arguments. */
function projectFolder(): string {
  const made = scratchFolder();
  cpSync(join(repository, "registry"), join(made, "registry"), { recursive: true });
  writeFiles(made, {
    "rankd.toml": 'name = "x"\nenvironment = "test"\nregistry = "registry"\nplans = "plans"\n',
    "plans/feed.plan.ts": plan,
    "plans/feed.test.ts": small,
    fake: `#!/bin/sh\n[ "$1" != check ] || exec '${rankd}' "$@"\necho "$@"\nexit 7\n`,
  });
  chmodSync(join(made, "fake"), 0o755);
  return made;
}

/** A process of its own: what rankd prints goes to its output. */
function processOf(cwd: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const done = spawnSync(process.execPath, [command, ...patient(args)], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, RANKD: "", ...env },
  });
  return { status: done.status, out: done.stdout, err: done.stderr };
}

test("build writes tests beside plans, and the index lists plans alone", async () => {
  const made = projectFolder();
  const built = await dslc(made, "build");
  assert.equal(built.err, "dslc: wrote 2 of 2 files to plans\n");
  assert.deepEqual(
    readdirSync(join(made, "plans")).filter((name) => name.endsWith(".json")),
    ["feed.json", "feed.tests.json", "index.json"],
  );
  assert.doesNotMatch(readFileSync(join(made, "plans/index.json"), "utf8"), /tests/);
  assert.equal((await dslc(made, "build", "--verify")).status, 0);
  writeFileSync(join(made, "plans/feed.test.ts"), small.replace("[1, 2, 3]", "[1, 2]"));
  assert.match((await dslc(made, "build", "--verify")).err, /feed\.tests\.json differs from what its source/);
  assert.match(
    (await dslc(made, "check", "plans/feed.tests.json")).err,
    /has tests, which rankd test checks, and no plan/,
  );
});

test("test compiles, and then runs rankd, whose status is its own", () => {
  const made = projectFolder();
  const all = processOf(made, ["test", "--engine", "./fake"]);
  assert.deepEqual([all.status, all.err, all.out], [7, "", `test --project ${made}\n`]);
  assert.ok(existsSync(join(made, "plans/feed.tests.json")));
  const one = processOf(made, ["test", "plans/feed.test.ts", "--only", "rows", "--json"], {
    RANKD: join(made, "fake"),
  });
  assert.equal(one.out, `test --project ${made} feed --only=rows --json\n`);
});

test("test says why it cannot run", async () => {
  const made = projectFolder();
  const missing = await dslc(made, "test", "--engine", "./none");
  assert.equal(missing.status, 1);
  assert.match(missing.err, /^dslc: \.\/none, which checks plans, does not exist; pass the path of rankd with/);
  assert.match((await dslc(made, "test", "plans/feed.plan.ts")).err, /feed\.plan\.ts defines no tests/);
  assert.equal((await dslc(made, "test", "--out", "x")).status, 2);
  assert.equal((await dslc(made, "build", "--only", "x")).status, 2);
  writeFileSync(join(made, "plans/feed.test.ts"), small.replace("[1, 2, 3]", "1"));
  const wrong = await dslc(made, "test", "--engine", "./fake");
  assert.deepEqual([wrong.status, wrong.out], [1, ""]);
  assert.match(wrong.err, /^plans\/feed\.test\.ts:3:67: type_error: /);
});

test("tests are found where plans are, or beside those of the manifest", () => {
  const made = projectFolder();
  writeFiles(made, { "plans/more/b.test.ts": small, "plans/c.plan.ts": plan });
  const named = (): string[] => testsOf(loadProject(made)).map((file) => file.slice(made.length + 1));
  assert.deepEqual(named(), ["plans/feed.test.ts", "plans/more/b.test.ts"]);
  writeFiles(made, { "plans/manifest.json": '{"plans": ["plans/feed.plan.ts", "plans/c.plan.ts"]}' });
  assert.deepEqual(named(), ["plans/feed.test.ts"]);
});
