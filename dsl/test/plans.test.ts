// plans.test.ts: the plans of the repository compile to the bytes that are there, twice, and fast once the compiler runs.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { bindings, sha256 } from "@rankd/dslc";

import { compilerFor, dslc, project, rankd, repository, scratchFolder, writeFiles } from "./support.js";

const plans = [
  ...(JSON.parse(readFileSync(join(repository, "plans/manifest.json"), "utf8")) as { plans: string[] }).plans.map(
    (source) => ({
      source,
      root: repository,
      artifact: join("plans/compiled", source.replace(/^.*\//, "").replace(".plan.ts", ".json")),
    }),
  ),
  {
    source: "rankd/cli/demo/plans/home_feed.plan.ts",
    root: join(repository, "rankd/cli/demo"),
    artifact: "rankd/cli/demo/plans/home_feed.json",
  },
  {
    source: "rankd/cli/demo/plans/home_feed.test.ts",
    root: join(repository, "rankd/cli/demo"),
    artifact: "rankd/cli/demo/plans/home_feed.tests.json",
  },
];

for (const { source, root, artifact } of plans)
  test(`${source} compiles twice to the bytes of ${artifact}`, async () => {
    const expected = readFileSync(join(repository, artifact), "utf8");
    for (const compiler of [compilerFor(root), compilerFor(root)]) {
      const [compiled] = await compiler.compile([join(repository, source)]);
      assert.deepEqual(compiled!.diagnostics, []);
      assert.equal(compiled!.artifact, expected);
    }
  });

test("a method of a set may be taken out and used later, for another node than the last one", async () => {
  const folder = scratchFolder();
  const plan = (body: string): string => `import { definePlan, EP } from "@rankd/plan";
export default definePlan({
  name: "kept",
  build: (ctx) => {
    const viewer = ctx.viewer({ as: "viewer", endpoint: EP.redis_default });
    const first = viewer.take({ as: "first", count: 5 });
    ${body}
  },
});
`;
  const compiler = compilerFor(folder);
  const nodesOf = async (body: string): Promise<unknown> => {
    const file = join(folder, "kept.plan.ts");
    const [compiled] = await compiler.compile([file], new Map([[file, plan(body)]]));
    assert.deepEqual(compiled!.diagnostics, []);
    const { nodes } = JSON.parse(compiled!.artifact!) as { nodes: { node_id: string; op: string; inputs: string[] }[] };
    return nodes.map(({ node_id: id, op, inputs }) => [id, op, inputs]);
  };
  const wanted = [
    ["viewer", "core::viewer", []],
    ["first", "core::take", ["viewer"]],
    ["second", "core::take", ["viewer"]],
    ["both", "core::concat", ["first"]],
  ];
  const both = `.concat({ as: "both", rhs: second })`;
  const kept = `const { take } = viewer; const second = take({ as: "second", count: 3 }); return first${both};`;
  assert.deepEqual(await nodesOf(kept), wanted);
  assert.deepEqual(
    await nodesOf(`const second = viewer.take({ as: "second", count: 3 }); return first${both};`),
    wanted,
  );
});

test("the plans of the films compile to the bytes that are there, and so do their request and their data", async () => {
  const films = join(repository, "examples/films");
  for (const [made, ...command] of [
    ["request.json", "request.mjs", "some_films.json", "varied"],
    ["data/films.ndjson", "data.mjs", "some_films.json"],
  ] as const) {
    const done = spawnSync(process.execPath, command, { cwd: films, encoding: "utf8" });
    assert.equal(done.stdout, readFileSync(join(films, made), "utf8"));
  }
  const { status, err } = await dslc(films, "build", "--verify");
  assert.equal(status, 0, err);
});

for (const folder of [".", "rankd/cli/empty", "rankd/cli/shop"])
  test(`no artifact of ${folder} is older than its source or its registries`, async () => {
    const { status, err } = await dslc(join(repository, folder), "build", "--verify", "--time-limit-ms", "60000");
    assert.equal(status, 0, err);
  });

const library = join(dirname(rankd), "../lib/librankd_geo_operators.so");
const noLibrary = existsSync(library) ? false : "the library of the example is not built";

test("a plan with operators of a library compiles to the bytes that are there", { skip: noLibrary }, async () => {
  const folder = join(scratchFolder(), "places");
  cpSync(join(repository, "examples/places"), folder, { recursive: true });
  const without = await dslc(folder, "build", "--verify");
  assert.equal(without.status, 1);
  assert.match(without.err, /^operators\/libgeo\.so:1:1: unreadable_file: there is no such file$/m);
  cpSync(library, join(folder, "operators/libgeo.so"));
  const { status, err } = await dslc(folder, "build", "--verify");
  assert.equal(status, 0, err);
});

test("the artifact says which source it was made of", () => {
  for (const { source, root, artifact } of plans) {
    const { source_files } = JSON.parse(readFileSync(join(repository, artifact), "utf8")) as { source_files: string[] };
    const shown = join(repository, source).slice(root.length + 1);
    assert.deepEqual(source_files, [`${shown}#sha256=${sha256(readFileSync(join(repository, source)))}`]);
  }
});

test("the bindings are those of the registries", () => {
  assert.equal(
    readFileSync(join(repository, "dsl/packages/plan/src/generated.ts"), "utf8"),
    bindings(project.declared),
  );
});

test("a hundred plans compile together, and one alone", async () => {
  const folder = scratchFolder();
  const text = readFileSync(join(repository, "plans/reels_plan_a.plan.ts"), "utf8");
  const names = Array.from({ length: 100 }, (_, i) => `plan_${i}`);
  writeFiles(
    folder,
    Object.fromEntries(names.map((name) => [`${name}.plan.ts`, text.replace('"reels_plan_a"', `"${name}"`)])),
  );
  const compiler = compilerFor(folder);
  const begin = Date.now();
  await compiler.compile([join(folder, "plan_0.plan.ts")]);
  const cold = Date.now();
  const compiled = await compiler.compile(names.map((name) => join(folder, `${name}.plan.ts`)));
  const batch = Date.now();
  writeFiles(folder, { "plan_7.plan.ts": text.replace('"reels_plan_a"', '"plan_7"').replace("0.6", "0.7") });
  const [changed] = await compiler.compile([join(folder, "plan_7.plan.ts")]);
  console.log(`cold ${cold - begin} ms, a hundred ${batch - cold} ms, one more ${Date.now() - batch} ms`);
  assert.deepEqual(
    compiled.flatMap((each) => each.diagnostics),
    [],
  );
  assert.match(changed!.artifact!, /0\.7/);
});

test("the engine accepts the plans, and names the author's file when it refuses one", () => {
  const folder = scratchFolder();
  const valid = spawnSync(rankd, ["validate", "--project", repository], { encoding: "utf8" });
  assert.equal(valid.status, 0, valid.stdout + valid.stderr);
  const wrong = readFileSync(join(repository, "plans/compiled/reels_plan_a.json"), "utf8").replace(
    '"out_key": 2001',
    '"out_key": 1',
  );
  writeFiles(folder, { "reels_plan_a.json": wrong });
  const refused = spawnSync(rankd, ["validate", "--project", repository, join(folder, "reels_plan_a.json")], {
    encoding: "utf8",
  });
  assert.equal(refused.status, 1);
  assert.match(refused.stdout, /unwritable_key/);
  assert.match(refused.stdout, /\(plans\/reels_plan_a\.plan\.ts:10:8\)/);
});

test("the sources are formatted", async () => {
  const { check, getFileInfo, resolveConfig } = await import("prettier");
  const ignorePath = join(repository, "dsl/.prettierignore");
  const listed = spawnSync("git", ["ls-files", "*.ts", "*.js"], { cwd: repository, encoding: "utf8" });
  const options = await resolveConfig(join(repository, "dsl/package.json"));
  for (const file of listed.stdout.split("\n").filter((name) => name !== "" && existsSync(join(repository, name)))) {
    const path = join(repository, file);
    if ((await getFileInfo(path, { ignorePath })).ignored) continue;
    assert.ok(
      await check(readFileSync(path, "utf8"), { ...options, ...(await resolveConfig(path)), filepath: path }),
      `${file} is not formatted: npm run format`,
    );
  }
});
