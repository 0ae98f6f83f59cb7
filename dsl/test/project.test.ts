// project.test.ts: which plans a project has, which operators, and what editors are told of it.
import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { bindings, loadProject, loadRegistries, type Project } from "@rankd/dslc";
import ts from "typescript";

import { Compiler } from "../packages/dslc/dist/compile.js";
import { sourcesOf, writeIndex } from "../packages/dslc/dist/folder.js";
import { writeTypes } from "../packages/dslc/dist/types.js";
import { engineFor, repository, scratchFolder, writeFiles } from "./support.js";

const plan = `import { definePlan, Key } from "@rankd/plan";
export default definePlan({
  name: "a",
  build: (ctx) => ctx.test.fixedSource({ rowCount: 9 }).sort({ by: Key.final_score, order: "desc" }),
});
`;

function newProject(files: Readonly<Record<string, string>> = { "plans/a.plan.ts": plan }): Project {
  const folder = scratchFolder();
  cpSync(join(repository, "registry"), join(folder, "registry"), { recursive: true });
  rmSync(join(folder, "registry/ops.toml"));
  const settings = 'name = "x"\nenvironment = "test"\nregistry = "registry"\nplans = "plans"\n';
  writeFiles(folder, { "rankd.toml": settings, ...files });
  return loadProject(folder);
}

const named = (project: Project): string[] => sourcesOf(project).map((file) => file.slice(project.root.length + 1));

test("without a manifest a project has all plans below its folder of plans", () => {
  const project = newProject({});
  assert.throws(() => sourcesOf(project), /there is no plan to compile: \S+plans has no file NAME\.plan\.ts$/);
  writeFiles(project.root, {
    "plans/b.plan.ts": "",
    "plans/more/a.plan.ts": "",
    "plans/shared.ts": "",
    "plans/node_modules/c.plan.ts": "",
    "plans/.hidden/c.plan.ts": "",
  });
  assert.deepEqual(named(project), ["plans/b.plan.ts", "plans/more/a.plan.ts"]);
  writeFiles(project.root, { "plans/manifest.json": '{"plans": ["plans/b.plan.ts"]}' });
  assert.deepEqual(named(project), ["plans/b.plan.ts"]);
  rmSync(join(project.root, "plans/manifest.json"));
  writeFiles(project.root, { "plans/more/b.plan.ts": "" });
  assert.throws(
    () => sourcesOf(project),
    /plans\/b\.plan\.ts and plans\/more\/b\.plan\.ts would have the same artifact/,
  );
});

test("where ids are strings an operator for integers is refused at its call", async () => {
  const text = `import { definePlan, EP, Key } from "@rankd/plan";
export default definePlan({
  name: "a",
  build: (ctx) =>
    ctx
      .viewer({ endpoint: EP.redis_default })
      .follow({ endpoint: EP.redis_default, fanout: 2 })
      .fetchFeatures({ endpoint: EP.redis_default, keys: [Key.model_score_1] })
      .sort({ by: Key.model_score_1, order: "desc" }),
});
`;
  const { root } = newProject({ "plans/a.plan.ts": text });
  const keys = join(root, "registry/keys.toml");
  const declared = readFileSync(keys, "utf8");
  writeFileSync(keys, declared.replace(/(name = "id"\ntype = )"int"/, '$1"string"'));
  const limits = { timeMs: 20_000, memoryMb: 64 };
  const compiler = new Compiler(loadProject(root), { limits, checker: engineFor(root) });
  const [compiled] = await compiler.compile([join(root, "plans/a.plan.ts")]);
  await compiler.close();
  const refused = (op: string, line: number, hint: string): unknown[] => [
    "string_ids",
    `operator \`${op}\` needs integer ids, but the ids of this project are strings`,
    hint,
    line,
    8,
  ];
  assert.deepEqual(
    compiled!.diagnostics.map(({ code, message, hint, place }) => [code, message, hint, place.line, place.column]),
    [
      refused("core::follow", 7, "use core::list with `key`: follow:{id}"),
      refused("core::fetch_features", 8, "use core::hash with `key`: features:{id}"),
    ],
  );
});

test("an index lists artifacts, and no list of other things", () => {
  const folder = scratchFolder();
  writeFiles(folder, { "a.json": "{}", "index.json": "{}", "manifest.json": "{}" });
  writeIndex(folder);
  assert.deepEqual(readFileSync(join(folder, "index.json"), "utf8").match(/\w+\.json/g), ["a.json"]);
});

test("a plan is not called as a list of plans is", async () => {
  const project = newProject({ "plans/index.plan.ts": plan });
  const compiler = new Compiler(project);
  const [compiled] = await compiler.compile(sourcesOf(project));
  await compiler.close();
  assert.deepEqual(
    compiled!.diagnostics.map(({ code }) => code),
    ["reserved_name"],
  );
});

test("the operators are known without a file of the project, which counts where it is there", () => {
  const project = newProject();
  assert.ok(project.declared.ops.some(({ name }) => name === "core::sort"));
  writeFiles(project.root, { "registry/ops.toml": '[[op]]\nname = "core::only"\ninputs = 0\n' });
  const own = loadProject(project.root).declared;
  assert.deepEqual(
    own.ops.map(({ name }) => name),
    ["core::only"],
  );
});

test("operators of the project's own come beside those of rankd, and change the digest", () => {
  const project = newProject();
  const before = project.declared;
  writeFiles(project.root, {
    "registry/own_ops.toml":
      '[[op]]\nname = "geo::near_by"\ninputs = 1\n[[op.param]]\nname = "max_km"\nkind = "float"\n' +
      'required = true\nbindable = true\n[[op]]\nname = "core::sort"\ninputs = 1\n',
  });
  const after = loadProject(project.root).declared;
  assert.equal(after.ops.length, before.ops.length + 1);
  assert.equal(after.treeOps.length, before.treeOps.length);
  assert.notEqual(after.opsDigest, before.opsDigest);
  const text = bindings(after);
  assert.match(text, /readonly geo: \{\n {4}nearBy\(options: GeoNearByOptions\): CandidateSet;/);
  assert.match(text, /readonly maxKm: number \| bigint \| BoundParam<"float">;/);
});

test("operators of the project's own are sources, and take the rows of other nodes", async () => {
  const op = (name: string, inputs: number, more: string, params = ""): string =>
    `[[op]]\nname = "mine::${name}"\ninputs = ${inputs}\n${more}${params}`;
  const others = '[[op.param]]\nname = "others"\nkind = "node_ref"\nrequired = true\n';
  const outKey = '[[op.param]]\nname = "out_key"\nkind = "key_id"\nrequired = true\nuse = "write"\n';
  const sorted = (rows: string, key: string, name: string): string =>
    `${rows}.sort({ by: Key.${key}, order: "desc", as: "${name}" })`;
  const scores = "ctx.mine.grid({ outKey: Key.model_score_1 })";
  const lookup = `ctx.mine.grid({ outKey: Key.final_score }).mine.lookup({ others: ${scores} })`;
  const both = `ctx.mine.grid({ outKey: Key.final_score }).mine.both({ others: ${scores} })`;
  const project = newProject({
    "registry/own_ops.toml":
      op("grid", 0, 'columns = "written"\n', outKey) +
      op("twins", 1, 'columns = "written"\n') +
      op("lookup", 1, 'columns = "first_input"\n', others) +
      op("both", 1, "", others),
    "plans/a.plan.ts": `import { definePlan, Key } from "@rankd/plan";
export default definePlan({
  name: "a",
  build: (ctx) => [
    ${sorted(scores, "model_score_1", "grid_has")},
    ${sorted(scores, "final_score", "grid_lacks")},
    ${sorted(`${scores}.mine.twins()`, "model_score_1", "twins_lack")},
    ${sorted(lookup, "final_score", "lookup_has")},
    ${sorted(lookup, "model_score_1", "lookup_lacks")},
    ${sorted(both, "final_score", "both_have")},
    ${sorted(both, "model_score_1", "both_have_too")},
  ],
});
`,
  });
  const text = bindings(project.declared);
  assert.match(
    text,
    /interface PlanContext \{[^]*readonly mine: \{\n {4}grid\(options: MineGridOptions\): CandidateSet;\n {2}\};/,
  );
  assert.match(text, /interface MineLookupOptions extends NodeOptions \{\n[^}]*readonly others: CandidateSet;/);
  const compiler = new Compiler(project, { limits: { timeMs: 20_000, memoryMb: 64 } });
  const [compiled] = await compiler.compile(sourcesOf(project));
  await compiler.close();
  assert.deepEqual(compiled!.diagnostics, []);
});

test("a file that every project has is missed with a word on where to get it", () => {
  const project = newProject();
  rmSync(join(project.root, "registry/params.toml"));
  const wanted = /params\.toml is missing; every project has that file, and `rankd init empty DIR` writes a project/;
  assert.throws(() => loadRegistries(project.registry, "test"), wanted);
});

/** What tsc and an editor say of a project's plans. */
function typesOf({ root }: Project): string[] {
  const config = ts.getParsedCommandLineOfConfigFile(join(root, "tsconfig.json"), undefined, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (said) => assert.fail(ts.flattenDiagnosticMessageText(said.messageText, " ")),
  })!;
  const program = ts.createProgram({ rootNames: config.fileNames, options: config.options });
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
}

test("editors are given the tokens of the project, and of no other", () => {
  const [one, other] = [newProject(), newProject()];
  const keys = join(other.registry, "keys.toml");
  writeFileSync(keys, readFileSync(keys, "utf8").replace('"final_score"', '"last_score"'));
  for (const { root } of [one, other]) {
    writeFiles(root, { "tsconfig.json": '{ "extends": "./.rankd/tsconfig.json", "include": ["plans/*.ts"] }' });
    const project = loadProject(root);
    writeTypes(project, bindings(project.declared));
  }
  assert.deepEqual(typesOf(one), []);
  assert.match(typesOf(other).join(), /^Property 'final_score' does not exist on type /);
  assert.equal(readFileSync(join(one.root, ".rankd/.gitignore"), "utf8"), "*\n");
  const declared = readFileSync(join(one.root, ".rankd/plan/generated.d.ts"), "utf8");
  assert.match(declared, /\/\*\* The score that decides the order of the answer\. Key 2001, float\. \*\//);
});

test("what editors are given is written anew after a change alone", () => {
  const project = newProject();
  const file = join(project.root, ".rankd/plan/index.d.ts");
  writeTypes(project, bindings(project.declared));
  rmSync(file);
  writeTypes(project, bindings(project.declared));
  assert.ok(!existsSync(file));
  writeTypes(project, `${bindings(project.declared)}// changed\n`);
  assert.ok(existsSync(file));
});
