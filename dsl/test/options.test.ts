// options.test.ts: options of nodes in the text of a plan: which can be changed where they stand, and how.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { changedOption, type NodeOption } from "../packages/dslc/dist/options.js";
import { Refusal } from "../packages/dslc/dist/project_error.js";
import { compilerFor, scratchFolder, writeFiles } from "./support.js";

const folder = scratchFolder();
const compiler = compilerFor(folder);

/** The offset of a line and a column. */
function offsetOf(text: string, line: number, column: number): number {
  const before = text.split("\n").slice(0, line - 1);
  return before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
}

/** The options of a plan whose body this is, by node and name. */
async function optionsOf(body: string, head = ""): Promise<{ text: string; options: Map<string, NodeOption> }> {
  const text = `import { definePlan, E, EP, Key, P } from "@rankd/plan";
${head}
export default definePlan({
  name: "edited",
  build: (ctx) => {
${body}
  },
});
`;
  const file = join(folder, "edited.plan.ts");
  const [compiled] = await compiler.compile([file], new Map([[file, text]]));
  assert.deepEqual(compiled!.diagnostics, []);
  return { text, options: new Map(compiled!.options!().map((each) => [`${each.node}.${each.option}`, each])) };
}

/** The text once an option has another value. */
function changed(text: string, { place, kind }: NodeOption, value: string): string {
  const from = offsetOf(text, place.line, place.column);
  const to = offsetOf(text, place.endLine, place.endColumn);
  const { insert } = changedOption(text, from, to, kind, value);
  return text.slice(0, from) + insert + text.slice(to);
}

const viewer = 'ctx.viewer({ as: "viewer", endpoint: EP.redis_default })';

test("literals, names of registries and formulas are changed in place, and all else stays byte for byte", async () => {
  const { text, options } = await optionsOf(`    // ünï; a comment with count: 20
    return ${viewer}
      .follow({ endpoint: EP.redis_default, /* so many */ fanout: 2_00 /* at most */ })
      .vm({ as: "scored", outKey: Key.final_score, expr: 1 - Key.id * (P.media_age_penalty_weight ?? 0.01) })
      .sort({ as: 'sorted', by: Key.final_score, order: "desc" })
      .take({ as: "top", count: 20, timeoutMs: 50 });`);
  const cases: [string, string, string, string, string][] = [
    ["follow.fanout", "number", "150", "fanout: 2_00 /*", "fanout: 150 /*"],
    ["scored.expr", "expression", "Key.id", "1 - Key.id * (P.media_age_penalty_weight ?? 0.01)", "Key.id"],
    ["scored.outKey", "expression", "Key.id", "outKey: Key.final_score", "outKey: Key.id"],
    ["sorted.order", "choice", "asc", 'order: "desc"', 'order: "asc"'],
    ["sorted.as", "string", `it's "so"`, "as: 'sorted'", `as: 'it\\'s "so"'`],
    ["top.as", "string", 'a"b', 'as: "top"', 'as: "a\\"b"'],
    ["top.count", "number", " 1e2 ", "count: 20, t", "count: 1e2, t"],
    ["top.timeoutMs", "number", "-5", "timeoutMs: 50", "timeoutMs: -5"],
  ];
  for (const [name, kind, value, before, after] of cases) {
    const option = options.get(name)!;
    assert.deepEqual([option.kind, option.why], [kind, ""], name);
    assert.equal(text.split(before).length, 2, `${name}: the text has it once`);
    assert.equal(changed(text, option, value), text.replace(before, after), name);
  }
  assert.deepEqual(options.get("sorted.order")!.choices, ["asc", "desc"]);
  assert.equal(options.get("follow.fanout")!.text, "2_00");
  assert.equal(options.get("sorted.as")!.text, "sorted");
  assert.equal(options.get("scored.outKey")!.text, "Key.final_score");
});

test("what the text at the place does not decide alone is not changed there, and the reason leads on", async () => {
  const { text, options } = await optionsOf(
    `    const takes = (as: string) => ${viewer.replace('"viewer"', 'as + "_viewer"')}
      .follow({ as, endpoint, fanout: 100 });
    const later = { as: "later", count: 7 };
    const rest: { count?: number } = { count: 9 };
    later.count = 8;
    const a = takes("a");
    return a.concat({ as: "both", rhs: takes("b") })
      .take({ as: "half", count: many / 2 })
      .take(later)
      .take({ as: "spread", count: 3, ...rest })
      .take({ count: 4, ...{ as: "named" } })
      .take(Object.fromEntries([["as", "made"], ["count", 5]]) as { as: string; count: number })
      .vm({ as: "scored", outKey: Key.final_score, expr: formula })
      .vm({ as: "called", outKey: Key.final_score, expr: twice(3) });`,
    "const endpoint = EP.redis_default;\nconst many = 10;\nconst formula = Key.id * 2;\nconst twice = (x: number) => Key.id * x;",
  );
  const why = (name: string): string => options.get(name)!.why;
  assert.equal(why("a.fanout"), "the same text gives it to b, too");
  assert.equal(why("b.fanout"), "the same text gives it to a, too");
  assert.equal(why("both.rhs"), "the option is an edge: its value is another set");
  assert.equal(why("half.count"), "it is computed");
  assert.equal(why("later.count"), "another statement changes it later");
  assert.equal(why("later.as"), "");
  assert.equal(why("spread.count"), "an object that is spread after it contains the option, too");
  assert.equal(why("named.count"), "");
  assert.equal(why("made.count"), "the option is not written as a field with its own name");
  assert.equal(why("scored.expr"), "`formula` is defined elsewhere");
  assert.equal(why("called.expr"), "");
  const leadsTo = (name: string): string | undefined => {
    const { definition } = options.get(name)!;
    return definition === null ? undefined : text.split("\n")[definition.line - 1]?.slice(definition.column - 1);
  };
  assert.equal(leadsTo("scored.expr"), "formula = Key.id * 2;");
  assert.equal(leadsTo("called.expr"), "twice = (x: number) => Key.id * x;");
  assert.equal(leadsTo("half.count"), undefined);
});

test("an option that another file gives is not changed here", async () => {
  writeFiles(folder, { "shared.ts": "export const common = { count: 5 };\n" });
  const { options } = await optionsOf(
    `    return ${viewer}.take({ as: "top", ...common });`,
    'import { common } from "./shared.js";',
  );
  assert.equal(options.get("top.count")!.why, "it is written in shared.ts");
  assert.equal(options.get("top.count")!.place.file, "shared.ts");
});

test("what is no value for the option is refused, and so is a place where none stands", () => {
  const text = 'f({ count: 20, order: "asc", is: true, expr: a + b });';
  const at = (value: string): [number, number] => [text.indexOf(value), text.indexOf(value) + value.length];
  const refused = (value: string, kind: NodeOption["kind"], given: string): string => {
    try {
      changedOption(text, ...at(value), kind, given);
    } catch (error) {
      if (error instanceof Refusal) return `${error.code}: ${error.message}`;
      throw error;
    }
    return "changed";
  };
  for (const wrong of ["", "many", "1, more: 2", "1 + 1", "--1", "1 }); g({ x: 1", "0x", "1 // so"])
    assert.equal(refused("20", "number", wrong), `bad_value: \`${wrong}\` is not a number`);
  for (const right of ["0", "-1.5", "1_000", "12345678901234567890n"])
    assert.equal(refused("20", "number", right), "changed");
  assert.equal(refused("true", "truth", "1"), "bad_value: `1` is neither true nor false");
  assert.equal(refused("true", "truth", "false"), "changed");
  for (const wrong of ["", "a,b", "a)", "(a", "a; b", "a /*", "/* a */ b", "a // b", "...a"])
    assert.equal(refused("a + b", "expression", wrong), `bad_value: \`${wrong}\` is not an expression`, wrong);
  for (const right of ["(a, b)", "a ? b : c", "f({ x: [1, 2] })", "a > /* so */ 1"])
    assert.equal(refused("a + b", "expression", right), "changed", right);
  assert.match(refused("order", "string", "x"), /^not_an_option: /);
  assert.match(refused('"asc', "string", "x"), /^not_an_option: /);
});
