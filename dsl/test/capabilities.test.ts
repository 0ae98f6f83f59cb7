// capabilities.test.ts: capabilities and extensions that a plan states itself, and options that are undefined.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import type { Compiled } from "../packages/dslc/dist/plan_compilation.js";
import { compilerFor, scratchFolder, writeFiles } from "./support.js";

const folder = scratchFolder();
const compiler = compilerFor(folder);
const loose = compilerFor(folder, { types: "without types" });
const unchecked = compilerFor(folder, { checks: "nothing" });

async function compile(body: string, by = compiler): Promise<Compiled> {
  const text = `import { definePlan, E, Key, P } from "@rankd/plan";\nexport default definePlan({ name: "a", build: (ctx) => {\n${body}\n} });\n`;
  writeFiles(folder, { "a.plan.ts": text });
  const [compiled] = await by.compile([join(folder, "a.plan.ts")]);
  return compiled!;
}

const artifactOf = async (body: string, by = compiler): Promise<Record<string, unknown>> => {
  const { artifact, diagnostics } = await compile(body, by);
  assert.deepEqual(diagnostics, []);
  return JSON.parse(artifact!) as Record<string, unknown>;
};

const source = "ctx.test.fixedSource({ rowCount: 1 })";
const arithmetic = "cap.rfc.0001.arithmetic.v1";
const timeouts = "cap.rfc.0007.timeouts.v1";

test("a plan requires capabilities, and says something of them, at the top and at nodes", async () => {
  assert.equal((await artifactOf(`return ${source};`))["capabilities_required"], undefined);
  const stated = await artifactOf(
    `ctx.requireCapability("${timeouts}");\nctx.requireCapability("${arithmetic}", null);\nctx.requireCapability("${arithmetic}");\nreturn ${source};`,
  );
  assert.deepEqual(stated["capabilities_required"], [arithmetic, timeouts]);
  assert.deepEqual(stated["extensions"], { [arithmetic]: null });
  const node = await artifactOf(
    `return ctx.test.fixedSource({ rowCount: 1, timeoutMs: 5, extensions: { "${arithmetic}": { a: [1, 2n ** 60n, { b: "x", c: undefined }] } } });`,
    unchecked, // the registry allows no payload of that capability
  );
  assert.deepEqual(node["capabilities_required"], [arithmetic, timeouts]);
  const { artifact } = await compile(
    `return ctx.test.fixedSource({ rowCount: 1, extensions: { "${arithmetic}": { a: [1, 2n ** 60n, { b: "x", c: undefined }] } } });`,
    unchecked, // the registry allows no payload of that capability
  );
  assert.match(
    artifact!.replaceAll(/\s+/g, ""),
    /"extensions":\{"cap\.rfc\.0001\.arithmetic\.v1":\{"a":\[1,1152921504606846976,\{"b":"x"\}\]\}\}/,
  );
});

test("a capability that the engine does not have, and a payload that cannot be stated, are diagnostics at their places", async () => {
  const cases: readonly (readonly [body: string, code: string, line: number])[] = [
    ['ctx.requireCapability("cap.rfc.9999.none.v1");', "unsupported_capability", 3],
    ['ctx.requireCapability("arithmetic");', "bad_capability_id", 3],
    ['ctx.requireCapability("cap.rfc.0002.fragments.v1", {});', "bad_value", 3],
    [`ctx.requireCapability("${arithmetic}", 1);\nctx.requireCapability("${arithmetic}", 2);`, "duplicate_value", 4],
    [`(ctx as any).requireCapability(3);`, "wrong_type", 3],
    [`ctx.requireCapability("${arithmetic}", { a: Key.id as never });`, "runtime_value", 3],
    [`ctx.requireCapability("${arithmetic}", { a: () => 1 } as never);`, "wrong_type", 3],
    ["void ctx.test.fixedSource({ rowCount: 1, extensions: [] as never });", "wrong_type", 3],
  ];
  for (const [body, code, line] of cases) {
    const { diagnostics } = await compile(`${body}\nreturn ${source};`);
    assert.deepEqual([diagnostics[0]?.code, diagnostics[0]?.place.line], [code, line], body);
  }
});

test("an option that is undefined counts as absent, whichever it is", async () => {
  const options =
    "as: undefined, trace: undefined, timeoutMs: undefined, capture: undefined, cache: undefined, extensions: undefined";
  const without = await artifactOf(`return ${source}.vm({ outKey: Key.final_score, expr: Key.id });`);
  const given = await artifactOf(
    `return ctx.test.fixedSource({ rowCount: 1, ${options} }).vm({ outKey: Key.final_score, expr: Key.id, ${options} });`,
  );
  const nodesOf = (artifact: Record<string, unknown>): unknown =>
    (artifact["nodes"] as Record<string, unknown>[]).map(({ source_span: _, ...rest }) => rest);
  assert.deepEqual(nodesOf(given), nodesOf(without));
  const parts = await artifactOf(
    `return ctx.test.fixedSource({ rowCount: 1, cache: { ttlMs: 5, staleMs: undefined, maxRows: undefined, by: undefined }, capture: { sample: undefined, keys: undefined, maxRows: undefined, side: undefined } });`,
  );
  const [node] = parts["nodes"] as Record<string, unknown>[];
  assert.deepEqual([node!["cache"], node!["capture"]], [{ ttl_ms: 5 }, {}]);
  // One that a node needs is missing then.
  const { diagnostics } = await compile(`return ${source}.take({ count: undefined as never });`, loose);
  assert.deepEqual(
    diagnostics.map(({ code }) => code),
    ["missing_field"],
  );
});

test("a param of type bool that is compared with true is told to be a predicate", async () => {
  for (const [by, code] of [
    [compiler, "type_error"],
    [loose, "wrong_type"],
  ] as const) {
    const chosen = `return ctx.choose(P.new_model === true, () => ${source}, () => ${source});`;
    const { diagnostics } = await compile(chosen, by);
    assert.deepEqual([diagnostics[0]!.code, diagnostics[0]!.place.line], [code, 3]);
    assert.match(diagnostics[0]!.hint, /write `?P\.(name|new_model)`?, or `?!P\.(name|new_model)/);
  }
});
