// attacks.test.ts: no plan ends the compiler, changes another plan or reads outside of its project. Types are off where
// a plan does what they would refuse: the compiler holds alone.
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Completer } from "../packages/dslc/dist/completions.js";
import { BadResult, readFailure, readResult } from "../packages/dslc/dist/sandbox_result.js";
import { compilerFor, scratchFolder, writeFiles } from "./support.js";

const head = 'import { definePlan, E, EP, Key, P } from "@rankd/plan";\n';
const plan = (name: string, body: string): string =>
  `${head}export default definePlan({ name: "${name}", build: (ctx) => {\nconst it: any = (() => { ${body} })();\nreturn ctx.test.fixedSource({ rowCount: 1, trace: String(it) });\n} });\n`;
const fine = (name: string): string => plan(name, "return [1, 2].map((n) => n * 2).join();");

/** A plan whose one set is `set`. */
const ofSet = (name: string, body: string): string =>
  `${head}export default definePlan({ name: "${name}", build: (ctx) => {\nconst set: any = ctx.test.fixedSource({ rowCount: 1 });\n(() => { ${body} })();\nreturn set;\n} });\n`;

/** Each forges what the sandbox returns, with the codes of the diagnostics that it may end with; none: an artifact. */
const forgeries: Readonly<Record<string, readonly [body: string, ...codes: string[]]>> = {
  to_json_of_outcome: [
    "(Object.prototype as any).toJSON = function () { delete (Object.prototype as any).toJSON; return { built: 'not json' }; }; return 1;",
    "plan_threw",
  ],
  to_json_defined: [
    "Object.defineProperty(Object.prototype, 'toJSON', { value: () => 3, configurable: true }); return 1;",
    "plan_threw",
  ],
  to_json_of_arrays: ["(Array.prototype as any).toJSON = () => ({ length: 3 }); return 1;", "plan_threw"],
  to_json_of_a_part: ["set.draft.id = { toJSON: () => 7 }; return 1;", "bad_result"],
  name_of_node: ["set.draft.id = [1]; return 1;", "bad_result"],
  no_node: ["set.graph.drafts.push(null); return 1;", "plan_threw"],
  span_of_node: ["set.draft.span = { file: '/etc/passwd' }; return 1;", "bad_result"],
  span_of_others: ["set.draft.span = 2; return 1;", ""],
  integer_of_zeros: [
    "(BigInt.prototype as any).toString = () => '007'; set.draft.options.rowCount = 2n ** 60n; return 1;",
    "wrong_type",
  ],
  trees: [
    "(Object.getPrototypeOf(Object.getPrototypeOf(Object.getPrototypeOf(Key.id))) as any).toTree = () => 3; set.draft.options.trace = 'x'; return set.vm({ outKey: Key.final_score, expr: E.add(1, Key.id), as: 'score' });",
    "bad_result",
  ],
  entries: [
    "(Object as any).entries = () => [['__proto__', 1]]; return 1;",
    "bad_result",
    "plan_threw",
    "unknown_param",
    "missing_param",
    "missing_field",
    "unknown_field",
    "",
  ],
  map_of_arrays: ["Array.prototype.map = (() => 'x') as any; return 1;", "bad_result", "plan_threw"],
  iterator: [
    "(Array.prototype as any)[Symbol.iterator] = function* () { yield { toString: 1 }; }; return 1;",
    "bad_result",
    "plan_threw",
    "",
  ],
  stringify: ["(JSON as any).stringify = () => '3'; return 1;", ""],
  reflect: ["(Reflect as any).apply = () => ({}); return 1;", "bad_result", "plan_threw", "wrong_type", ""],
  maps: [
    "(Map.prototype as any).get = () => ({}); (Map.prototype as any).has = () => true; return 1;",
    "bad_result",
    "plan_threw",
    "",
    "unknown_field",
    "bad_value",
  ],
  is_a_set: [
    "Object.defineProperty(Object.getPrototypeOf(Object.getPrototypeOf(set)).constructor, Symbol.hasInstance, { value: () => true }); return 1;",
    "bad_result",
    "plan_threw",
    "",
  ],
  thrown_parts: [
    "throw { get name(): any { return { toString: 3 }; }, message: { a: 1 }, stack: 5, span: [] };",
    "plan_threw",
  ],
  thrown_getter: ["throw { get message() { throw new Error('again'); } };", "plan_threw"],
  thrown_proxy: ["throw new Proxy({}, { get: () => () => { throw 1; }, has: () => { throw 2; } });", "plan_threw"],
  thrown_symbol: ["throw Symbol('x');", "plan_threw"],
  thrown_nothing: ["throw undefined;", "plan_threw"],
  changed_error: [
    "try { (E as any).const('x'); } catch (e: any) { for (const name of ['code', 'message', 'hint', 'stack', 'span']) Object.defineProperty(e, name, { value: { name } }); throw e; } return 1;",
    "plan_threw",
  ],
  stack_trace: [
    "(Error as any).prepareStackTrace = () => ({ length: 3, matchAll: 3 }); throw new Error('x');",
    "plan_threw",
  ],
  promises: ["(Promise.prototype as any).then = () => 3; (Promise as any).resolve = 3; return 1;", ""],
  code_of_error: [
    "try { (E as any).const('x'); } catch (e: any) { Object.defineProperty(e, 'code', { value: '\\n\\u001b[2J' }); throw e; } return 1;",
    "plan_threw",
  ],
};

test("what a plan forges ends in its own diagnostics, and the other plans of the build are compiled", async () => {
  const folder = scratchFolder();
  const compiler = compilerFor(folder, { types: "without types" });
  const names = Object.keys(forgeries);
  writeFiles(folder, Object.fromEntries(names.map((name) => [`${name}.plan.ts`, ofSet(name, forgeries[name]![0])])));
  writeFiles(folder, { "before.plan.ts": fine("before"), "after.plan.ts": fine("after") });
  const path = (name: string): string => join(folder, `${name}.plan.ts`);
  const alone = await compiler.compile([path("after")]);
  const compiled = await compiler.compile(["before", ...names, "after"].map(path));
  assert.equal(compiled.length, names.length + 2);
  const wrong: string[] = [];
  for (const { name, artifact, diagnostics } of compiled.slice(1, -1)) {
    const [, ...codes] = forgeries[name]!;
    const said = diagnostics.map((each) => `${each.code}: ${each.message}`).join("; ");
    const code = artifact === undefined ? diagnostics[0]!.code : "";
    if (!codes.includes(code)) wrong.push(`${name}: ${said || "an artifact"}`);
    if (artifact !== undefined) {
      assert.equal((JSON.parse(artifact) as { plan_name: string }).plan_name, name);
      assert.doesNotMatch(artifact, /"line": [01],/, name);
    }
  }
  assert.deepEqual(wrong, []);
  assert.deepEqual(compiled[0]!.diagnostics, []);
  assert.equal(compiled.at(-1)!.artifact, alone[0]!.artifact);
});

test("a result of another form than the authoring package gives is refused", () => {
  const right = {
    plan_name: "x",
    nodes: [{ node_id: "a", op: "o", inputs: [], params: {}, limits: {}, $span: 1, $fields: {}, $limits: {} }],
    outputs: ["a"],
    expr_table: {},
    pred_table: {},
    fragments: [],
    capabilities: [],
    $nameSpan: 1,
    $outputSpan: 1,
  };
  const read = (value: unknown): Record<string, unknown> => readResult(JSON.stringify(value), "plan");
  const made = read({ ...right, expr_table: { e: JSON.parse('{"op": "x", "__proto__": {"op": "y"}}') as unknown } });
  assert.equal(Object.getPrototypeOf(made), null);
  assert.deepEqual(Object.keys((made["expr_table"] as { e: object }).e), ["op", "__proto__"]);
  const node = right.nodes[0]!;
  for (const wrong of [
    null,
    [],
    3,
    {},
    { ...right, nodes: {} },
    { ...right, nodes: [null] },
    { ...right, nodes: [{ ...node, inputs: 9 }] },
    { ...right, nodes: [{ ...node, params: null }] },
    { ...right, nodes: [{ ...node, $span: -1 }] },
    { ...right, nodes: [{ ...node, $fields: { a: "1" } }] },
    { ...right, nodes: [{ ...node, built_by: "x" }] },
    { ...right, outputs: [1] },
    { ...right, expr_table: { a: 3 } },
    { ...right, expr_table: { a: { op: "x", $span: {} } } },
    { ...right, fragments: [{}] },
    { ...right, toString: 1 },
  ])
    assert.throws(() => read(wrong), BadResult, JSON.stringify(wrong));
  const text = JSON.stringify({ ...right, fallback_plan: {} });
  assert.throws(() => readResult(text.replace("{}}", `${"[".repeat(2000)}${"]".repeat(2000)}}`), "plan"), BadResult);
  assert.throws(() => readResult(text.replace("{}}", '{"a": 1e999}}'), "plan"), /a number is not finite/);
  for (const other of [undefined, "undefined", "{"]) assert.throws(() => readResult(other, "plan"), BadResult);
  assert.throws(() => readResult("{}", "tests"), BadResult);
  assert.throws(() => readResult("{}", "fragment"), BadResult);
  const unknown = {
    code: "plan_threw",
    message: "the plan threw a value that cannot be shown",
    hint: "",
    span: 0,
    stack: "",
  };
  for (const said of [null, 3, [], {}, { code: {}, message: 1, hint: [], span: "1", stack: {} }, { code: "A b" }])
    assert.deepEqual(readFailure(said), unknown);
  assert.equal(readFailure({ message: "x".repeat(1_000_000) }).message.length, 10_001);
});

const deep = (opening: string, inner: string, closing = ""): string =>
  `return ${opening.repeat(60_000)}${inner}${closing.repeat(60_000)};`;
const deepTexts: Readonly<Record<string, string>> = {
  parentheses: deep("(", "1", ")"),
  terms: deep("1+", "1"),
  signs: deep("!", "1"),
  arrays: deep("[", "1", "]"),
  calls: `return "a"${".trim()".repeat(60_000)};`,
  choices: deep("1?2:", "1"),
  statements: `${"{".repeat(60_000)}${"}".repeat(60_000)} return 1;`,
  types: `const x: ${"Array<".repeat(60_000)}1${">".repeat(60_000)} = []; return x;`,
};

test("a text that nests too deeply is a diagnostic, and the other plans of the build are compiled", async () => {
  const folder = scratchFolder();
  const compiler = compilerFor(folder);
  const names = Object.keys(deepTexts);
  writeFiles(folder, Object.fromEntries(names.map((name) => [`${name}.plan.ts`, plan(name, deepTexts[name]!)])));
  // As deep as plans are allowed to be, which none of the steps behind the parser overflows at.
  writeFiles(folder, { "most.plan.ts": plan("most", `return ${"(".repeat(780)}1${")".repeat(780)};`) });
  const all = [...names, "most"];
  const compiled = await compiler.compile(all.map((name) => join(folder, `${name}.plan.ts`)));
  for (const { name, diagnostics } of compiled.slice(0, -1))
    assert.deepEqual(
      diagnostics.map(({ code }) => code),
      ["text_too_deep"],
      name,
    );
  assert.deepEqual(compiled.at(-1)!.diagnostics, []);
});

test("a value that nests too deeply, or that no artifact can hold, is a diagnostic", async () => {
  const folder = scratchFolder();
  const compiler = compilerFor(folder, { types: "without types" });
  const source = (name: string, value: string): string =>
    `${head}let x: any = 1; for (let i = 0; i < 1500; ++i) x = [x];\nexport default definePlan({ name: "${name}", build: (ctx) => ctx.test.fixedSource({ rowCount: 1, trace: ${value} }) });\n`;
  writeFiles(folder, { "nested.plan.ts": source("nested", "x"), "flat.plan.ts": source("flat", '"1"') });
  const [nested, flat] = await compiler.compile(["nested", "flat"].map((name) => join(folder, `${name}.plan.ts`)));
  assert.ok(["bad_result", "stack_limit"].includes(nested!.diagnostics[0]!.code), nested!.diagnostics[0]!.message);
  assert.deepEqual(flat!.diagnostics, []);
});

/** What would change the types or the library of other files, and the place of the diagnostic about it. */
const strangers: Readonly<Record<string, readonly [before: string, after: string]>> = {
  no_default_lib: ['/// <reference no-default-lib="true" />\n', ""],
  other_lib: ['/// <reference lib="dom" />\n', ""],
  path: ['/// <reference path="/etc/passwd" />\n', ""],
  types: ['/// <reference types="node" />\n', ""],
  unchecked: ["// @ts-nocheck\n", ""],
  global: ["", "declare global { interface Array<T> { map: never } }\n"],
  augmented: ["", 'declare module "@rankd/plan" { interface PlanDefinition { readonly more: 1 } }\n'],
  ambient: ["", 'declare module "x" { export const y: 1 }\n'],
  as_namespace: ["", "export as namespace Everything;\n"],
};

test("a plan does not change the types of other plans", async () => {
  const folder = scratchFolder();
  const compiler = compilerFor(folder);
  const names = Object.keys(strangers);
  const texts = names.map((name) => [
    `${name}.plan.ts`,
    strangers[name]![0] + plan(name, "return 1;") + strangers[name]![1],
  ]);
  writeFiles(folder, Object.fromEntries(texts) as Record<string, string>);
  // Names of a file without imports and exports are its own as well.
  writeFiles(folder, {
    "script.plan.ts": "interface Array<T> { map: never }\nconst head = 1;\n",
    "after.plan.ts": fine("after").replace("definePlan({", "definePlan({ ") + "const head = 2;\nvoid head;\n",
  });
  const all = [...names, "script", "after"];
  const compiled = await compiler.compile(all.map((name) => join(folder, `${name}.plan.ts`)));
  for (const { name, diagnostics } of compiled.slice(0, names.length)) {
    assert.deepEqual(
      diagnostics.map(({ code }) => code),
      ["not_in_plan"],
      name,
    );
    assert.equal(diagnostics[0]!.place.line, strangers[name]![0] === "" ? 6 : 1, name);
  }
  assert.deepEqual(compiled.at(-1)!.diagnostics, []);
});

test("a link leads no plan out of its project", async () => {
  const outside = scratchFolder();
  const folder = scratchFolder();
  writeFiles(outside, {
    "secret.ts": "export const SECRETWORD = nothing.like.it;\n",
    "secret.plan.ts": `${fine("secret")}SECRETWORD;\n`,
    "own/plans/shared.ts": "export const own = 1;\n",
  });
  writeFiles(folder, {
    "real/shared.ts": "export const own = 1;\n",
    ...Object.fromEntries(
      [
        ["by_file", "./link.js"],
        ["by_folder", "./linked/secret.js"],
        ["by_chain", "./chain.js"],
        ["by_name", "../../../../../../../../etc/hosts"],
        ["inside", "./inner.js"],
      ].map(([name, from]) => [
        `plans/${name}.plan.ts`,
        `import { ${name === "inside" ? "own" : "SECRETWORD"} as x } from "${from}";\n${plan(name!, "return x;")}`,
      ]),
    ),
  });
  const plans = join(folder, "plans");
  symlinkSync(join(outside, "secret.ts"), join(plans, "link.ts"));
  symlinkSync(outside, join(plans, "linked"));
  symlinkSync("link.ts", join(plans, "chain.ts"));
  symlinkSync("../real/shared.ts", join(plans, "inner.ts"));
  symlinkSync(join(outside, "secret.plan.ts"), join(plans, "plan_itself.plan.ts"));
  const names = ["by_file", "by_folder", "by_chain", "by_name", "plan_itself", "inside"];
  const paths = names.map((name) => join(plans, `${name}.plan.ts`));
  for (const types of ["with types", "without types"] as const) {
    const compiled = await compilerFor(folder, { types }).compile(paths);
    for (const { name, diagnostics, sources } of compiled.slice(0, -1)) {
      const code =
        name === "plan_itself" ? "outside_project" : types === "with types" ? "type_error" : "foreign_import";
      assert.equal(diagnostics[0]?.code, code, `${name} ${types}`);
      assert.doesNotMatch(JSON.stringify(diagnostics), /nothing\.like|'nothing'/, name);
      assert.deepEqual(sources.length, 1, name);
    }
    assert.deepEqual(compiled.at(-1)!.diagnostics, [], types);
  }
  // What a page asks while a plan is written reads no more than that.
  const text = 'import * as x from "./link.js";\nx.';
  const { entries } = new Completer(folder, "export {};\n").at(paths[0]!, text, text.length);
  assert.deepEqual(entries, []);
});

test("the folder of a project may be a link itself", async () => {
  const folder = scratchFolder();
  mkdirSync(join(folder, "real"));
  symlinkSync("real", join(folder, "link"));
  writeFiles(join(folder, "real"), {
    "a.plan.ts": `import { own } from "./shared.js";\n${plan("a", "return own;")}`,
    "shared.ts": "export const own = 1;\n",
  });
  const [linked] = await compilerFor(join(folder, "link")).compile([join(folder, "link", "a.plan.ts")]);
  assert.deepEqual(linked!.diagnostics, []);
  const [real] = await compilerFor(join(folder, "real")).compile([join(folder, "real", "a.plan.ts")]);
  assert.equal(linked!.artifact, real!.artifact);
});
