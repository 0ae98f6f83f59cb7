// diff.test.ts: dslc says of two plans what rankd says of them, to the byte.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import {
  comparePlans,
  comparisonJson,
  comparisonText,
  loadProject,
  parseExact,
  type Project,
  type RightArtifact,
  validate,
} from "@rankd/dslc";

import { compilerFor, rankd, repository, scratchFolder } from "./support.js";

const tables = join(repository, "tests/rankd/tables");
/** The project of the table of differences. */
function tableProject(): Project {
  const folder = scratchFolder();
  for (const name of ["registry", "models"]) cpSync(join(tables, name), join(folder, name), { recursive: true });
  cpSync(join(repository, "registry/ops.toml"), join(folder, "registry/ops.toml"));
  cpSync(join(tables, "diffs.toml"), join(folder, "rankd.toml"));
  return loadProject(folder);
}

function right(bytes: Buffer, project: Project, name: string): RightArtifact {
  const { value, problems } = parseExact(bytes);
  assert.deepEqual(problems, [], name);
  assert.deepEqual(validate(value, { declared: project.declared }), [], name);
  return { bytes, value };
}

test("each row of the table is said as rankd says it", { skip: !existsSync(tables) }, () => {
  const project = tableProject();
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
    const [old, now] = [before, after].map((text) => right(Buffer.from(text), project, row.case));
    const found = comparePlans(old!, now!, project);
    assert.deepEqual(comparisonText(found), row.said.map((line) => `${line}\n`).join(""), row.case);
    assert.equal(found.equal, row.said.length === 0, row.case);
  }
  assert.ok(rows.length >= 30);
});

/** Of the same numbers the same choices. */
function chooser(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Loose {
  nodes: {
    node_id: string;
    inputs: string[];
    params?: Record<string, unknown> | null;
    fallback?: { use: string | { node: string } };
  }[];
  outputs: string[];
}

/** The plan with some nodes renamed, all in another order, and counts and edges changed. Uses of fragments name nodes. */
function edited(text: string, choose: (below: number) => number): string {
  const plan = JSON.parse(text) as Loose;
  const keeps = text.includes('"cap.rfc.0002.fragments.v1":');
  const names = new Map(
    plan.nodes.map(({ node_id: id }) => [id, choose(3) === 0 && !keeps ? `${id}_x${choose(9)}` : id]),
  );
  for (const node of plan.nodes) {
    node.node_id = names.get(node.node_id)!;
    node.inputs = node.inputs.map((input) => names.get(input)!);
    const use = node.fallback?.use;
    if (typeof use === "object") use.node = names.get(use.node)!;
    for (const [name, value] of Object.entries(node.params ?? {})) {
      if (name === "rhs") node.params![name] = names.get(String(value));
      if (["count", "fanout", "row_count"].includes(name) && typeof value === "number" && choose(4) === 0)
        node.params![name] = value + 1;
    }
  }
  plan.outputs = plan.outputs.map((output) => names.get(output)!);
  for (let at = plan.nodes.length - 1; at > 0; --at) {
    const other = choose(at + 1);
    [plan.nodes[at], plan.nodes[other]] = [plan.nodes[other]!, plan.nodes[at]!];
  }
  return JSON.stringify(plan);
}

/** The folders of the repository that hold a project. */
const projects = [
  ".",
  ...readdirSync(join(repository, "examples"))
    .map((name) => join("examples", name))
    .filter((folder) => existsSync(join(repository, folder, "rankd.toml")))
    // Where libraries and files of vectors were built, rankd's digest of a plan is one of theirs as well.
    .filter((folder) => !["operators", "vectors"].some((name) => existsSync(join(repository, folder, name)))),
];

/** The artifact without the plan that stands in for it, which rankd looks for beside it. */
function alone(text: string): string {
  if (!text.includes('"fallback_plan"')) return text;
  const plan = JSON.parse(text) as Record<string, unknown>;
  delete plan["fallback_plan"];
  return JSON.stringify(plan);
}

/** Every artifact of a project: those that it has, its examples compiled, and some that are edited by chance. */
async function artifactsOf(folder: string, project: Project): Promise<string[]> {
  const texts = readdirSync(project.plans)
    .filter((name) => name.endsWith(".json") && !/^(index|manifest)\.json$|\.tests\.json$/.test(name))
    .map((name) => readFileSync(join(project.plans, name), "utf8"));
  if (folder === ".") {
    texts.push(readFileSync(join(repository, "rankd/cli/demo/plans/home_feed.json"), "utf8"));
    const examples = readdirSync(join(repository, "dsl/examples")).filter((name) => name.endsWith(".plan.ts"));
    const compiled = await compilerFor(join(repository, "dsl"), { types: "without types" }).compile(
      examples.map((name) => join(repository, "dsl/examples", name)),
    );
    texts.push(...compiled.map(({ artifact, file }) => (assert.ok(artifact, file), artifact)));
  }
  for (const [index, text] of texts.entries()) texts[index] = alone(text);
  const choose = chooser(texts.length);
  return [...texts, ...texts.flatMap((text) => [edited(text, choose)])];
}

for (const folder of projects)
  test(`all pairs of plans of ${folder} are told as rankd tells them`, { skip: rankd === undefined }, async () => {
    const own = loadProject(join(repository, folder));
    const scratch = scratchFolder();
    cpSync(own.registry, join(scratch, "registry"), { recursive: true });
    const models = folder === "." ? join(repository, "dsl/examples/models") : own.models;
    if (models !== undefined) cpSync(models, join(scratch, "models"), { recursive: true });
    writeFileSync(
      join(scratch, "rankd.toml"),
      `name = "pairs"\nenvironment = "${folder === "." ? "test" : "dev"}"\nregistry = "registry"\nplans = "plans"\n` +
        (models === undefined ? "" : 'models = "models"\n'),
    );
    const texts = await artifactsOf(folder, own);
    const project = loadProject(scratch);
    const files = texts.map((text, at) => {
      writeFileSync(join(scratch, `${at}.json`), text);
      return right(Buffer.from(text), project, text.slice(0, 200));
    });
    const half = files.length / 2;
    let count = 0;
    for (let a = 0; a < half; ++a)
      for (let b = a; b < half; ++b) {
        const other = (a + b) % 2 === 0 ? b : b + half; // a plan or one that was edited
        const done = spawnSync(rankd!, ["diff", `${a}.json`, `${other}.json`, "--json"], {
          cwd: scratch,
          encoding: "utf8",
        });
        const found = comparePlans(files[a]!, files[other]!, project);
        assert.equal(comparisonJson(found), done.stdout, `${a} and ${other}: ${done.stderr}`);
        assert.equal(done.status, found.equal ? 0 : 1);
        ++count;
      }
    assert.ok(count > 0);
  });

test("a large plan of which all is renamed and shuffled is the same plan", () => {
  const project = tableProject();
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
  const sides = [text, JSON.stringify(renamed)].map((each) => right(Buffer.from(each), project, "large"));
  const { changes } = comparePlans(sides[0]!, sides[1]!, project);
  assert.equal(changes.filter(({ kind }) => kind === "renamed").length, 300);
});
