// flags.test.ts: params and keys of type bool as predicates, bigints as numbers, and a trace that is null.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { E, Pred } from "../packages/plan/dist/expr.js";
import {
  keyToken,
  type KeyToken,
  paramToken,
  type ParamToken,
  toTruth,
  type Truth,
} from "../packages/plan/dist/tokens.js";
import { compilerFor, scratchFolder, writeFiles } from "./support.js";

const flag = paramToken<"bool">(7, "is_fresh", "bool");
const fresh = keyToken<"bool", { read: true }>(1502, "fresh", "bool");
const isOne = (a: object): object => ({ op: "cmp", cmp: "==", a, b: { op: "const_number", value: 1 } });
const treeOf = (made: unknown): unknown => JSON.parse(JSON.stringify((made as { toTree: () => unknown }).toTree()));

test("a bool is a predicate that holds where it is true", () => {
  const ofParam = isOne({ op: "param_ref", param_id: 7 });
  const ofKey = isOne({ op: "key_ref", key_id: 1502 });
  assert.deepEqual(treeOf(toTruth(flag, 0)), ofParam);
  assert.deepEqual(treeOf(E.if(flag, 1, 2)), {
    op: "if",
    pred: ofParam,
    a: { op: "const_number", value: 1 },
    b: { op: "const_number", value: 2 },
  });
  assert.deepEqual(treeOf(Pred.and(flag, fresh)), { op: "and", a: ofParam, b: ofKey });
  assert.deepEqual(treeOf(Pred.not(fresh)), { op: "not", x: ofKey });
  const score = keyToken<"float", { read: true }>(1001, "score", "float");
  assert.throws(() => toTruth(score, 0), /expected a predicate, got Key\.score/);
});

test("types take bools for predicates, and no other tokens", () => {
  const right: Truth[] = [flag, fresh, true];
  // @ts-expect-error -- a float is no predicate
  const wrong: Truth = {} as ParamToken<"float">;
  // @ts-expect-error -- nor is an int
  const other: Truth = {} as KeyToken<"int", { read: true }>;
  assert.equal(right.length, 3);
  assert.ok(wrong && other);
});

test("bigints are whole numbers in options, and a trace may be null", async () => {
  const folder = scratchFolder();
  const plan = (options: string): string =>
    `import { definePlan } from "@rankd/plan";\nexport default definePlan({ name: "big", build: (ctx) => ${options} });\n`;
  writeFiles(folder, {
    "big.plan.ts": plan("ctx.test.fixedSource({ rowCount: 5n, trace: null }).take({ count: 9007199254740993n })"),
  });
  const [made] = await compilerFor(folder).compile([join(folder, "big.plan.ts")]);
  assert.deepEqual(made!.diagnostics, []);
  const text = made!.artifact!;
  assert.match(text, /"row_count": 5, "trace": null/);
  assert.match(text, /"count": 9007199254740993/);
});
