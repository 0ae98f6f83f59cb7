// meaning.test.ts: natural expressions, builders, a small evaluator and the engine agree on random formulas and rows.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { Compiler, loadProject } from "@rankd/dslc";

import { compilerFor, engineFor, rankd, repository, scratchFolder, writeFiles } from "./support.js";

interface Row {
  id: number;
  final_score: number | null;
  country: string | null;
  weight: number | null;
}

/** A formula in both spellings, and what it means. */
interface Formula<Value> {
  natural: string;
  builder: string;
  of: (row: Row) => Value;
}
type Num = Formula<number | null>;
type Truth = Formula<boolean>;

/** The bucket of a string as decision 0017 has it. */
function bucketOf(text: string, count: number, seed: string): number {
  const word = 2n ** 64n - 1n;
  const hashed = (of: string): bigint =>
    Buffer.from(of).reduce((hash, byte) => ((hash ^ BigInt(byte)) * 1099511628211n) & word, 14695981039346656037n);
  const mixed = (of: bigint): bigint => {
    let out = (of + 11400714819323198485n) & word;
    out = ((out ^ (out >> 30n)) * 13787848793156543929n) & word;
    out = ((out ^ (out >> 27n)) * 10723151780598845931n) & word;
    return out ^ (out >> 31n);
  };
  return Number(mixed(hashed(seed) ^ mixed(hashed(text))) % BigInt(count));
}

/** Numbers that depend on the seed alone (Mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const finite = (x: number): number | null => (Number.isFinite(x) ? x : null);

class Maker {
  constructor(
    private readonly next: () => number,
    private readonly strings: "with strings" | "numbers only",
  ) {}

  private pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.next() * items.length)]!;
  }

  number(depth: number): Num {
    const kind =
      depth === 0
        ? this.pick(["constant", "key", "param"])
        : this.pick([
            ...["add", "sub", "mul", "neg", "coalesce", "key", "constant", "named", "helper"],
            ...["div", "extreme", "function", "of_library", "power", "clamp", "if"],
            ...(this.strings === "with strings" ? ["length", "bucket"] : []),
          ]);
    const a = depth === 0 ? undefined : this.number(depth - 1);
    const b = depth === 0 ? undefined : this.number(depth - 1);
    const both = (f: (x: number, y: number) => number | null) => (row: Row) => {
      const [x, y] = [a!.of(row), b!.of(row)];
      return x === null || y === null ? null : f(x, y);
    };
    switch (kind) {
      case "add":
        return {
          natural: `(${a!.natural} + ${b!.natural})`,
          builder: `E.add(${a!.builder}, ${b!.builder})`,
          of: both((x, y) => x + y),
        };
      case "sub":
        return {
          natural: `(${a!.natural} - ${b!.natural})`,
          builder: `E.sub(${a!.builder}, ${b!.builder})`,
          of: both((x, y) => x - y),
        };
      case "mul":
        return {
          natural: `(${a!.natural} * ${b!.natural})`,
          builder: `E.mul(${a!.builder}, ${b!.builder})`,
          of: both((x, y) => x * y),
        };
      case "div":
        return {
          natural: `(${a!.natural} / ${b!.natural})`,
          builder: `E.div(${a!.builder}, ${b!.builder})`,
          of: both((x, y) => finite(x / y)),
        };
      case "extreme": {
        const which = this.pick(["min", "max"] as const);
        const text = (spelling: "natural" | "builder") => `E.${which}(${a![spelling]}, ${b![spelling]})`;
        return { natural: text("natural"), builder: text("builder"), of: both((x, y) => Math[which](x, y)) };
      }
      case "function": {
        const which = this.pick(["abs", "floor", "ceil", "sqrt"] as const);
        const text = (spelling: "natural" | "builder") => `E.${which}(${a![spelling]})`;
        const of = (row: Row) => {
          const x = a!.of(row);
          return x === null ? null : finite(Math[which](x));
        };
        return { natural: text("natural"), builder: text("builder"), of };
      }
      case "of_library": {
        // Where the result is exact: otherwise the last bit is that of the C library.
        const [text, value] = this.pick([
          ["E.exp(E.const(0))", 1],
          ["E.log(E.const(1))", 0],
          ["E.log1p(E.const(0))", 0],
          ["E.log(E.const(0))", null],
          ["E.exp(E.const(1000))", null],
        ] as const);
        return { natural: text, builder: text, of: () => value };
      }
      case "power":
        return {
          natural: `(${this.key().natural} ** 2)`,
          builder: `E.pow(E.key(Key.id), E.const(2))`,
          of: (row) => row.id ** 2,
        };
      case "clamp": {
        const [low, high] = this.pick([
          [0, 3.5],
          [-7, 2],
          [3, 1],
        ] as const);
        const text = (spelling: "natural" | "builder") => `E.clamp(${a![spelling]}, ${low}, ${high})`;
        const of = (row: Row) => {
          const x = a!.of(row);
          return x === null || low > high ? null : Math.min(Math.max(x, low), high);
        };
        return { natural: text("natural"), builder: text("builder"), of };
      }
      case "if": {
        const pred = this.truth(depth - 1);
        const text = (spelling: "natural" | "builder") => `E.if(${pred[spelling]}, ${a![spelling]}, ${b![spelling]})`;
        const of = (row: Row) => (pred.of(row) ? a!.of(row) : b!.of(row));
        return { natural: text("natural"), builder: text("builder"), of };
      }
      case "length": {
        const text = this.text(2);
        const of = (row: Row) => {
          const value = text.of(row);
          return value === null ? null : [...value].length;
        };
        return { natural: `${text.natural}.length`, builder: `E.length(${text.builder})`, of };
      }
      case "bucket": {
        const [text, count, seed] = [this.text(2), this.pick([2, 1000]), this.pick(["", "layout"])];
        const spelled = (spelling: "natural" | "builder") => `E.bucket(${text[spelling]}, ${count}, "${seed}")`;
        const of = (row: Row) => {
          const value = text.of(row);
          return value === null ? null : bucketOf(value, count, seed);
        };
        return { natural: spelled("natural"), builder: spelled("builder"), of };
      }
      case "neg":
        return { natural: `(-${this.key().natural})`, builder: `E.neg(E.key(Key.id))`, of: (row) => -row.id };
      case "coalesce": {
        const natural = this.pick([`coalesce(${a!.natural}, ${b!.natural})`, `(P.esr_cutoff ?? ${b!.natural})`]);
        if (natural.startsWith("(P"))
          return {
            natural,
            builder: `E.coalesce(E.param(P.esr_cutoff), ${b!.builder})`,
            of: (row) => row.weight ?? b!.of(row),
          };
        return { natural, builder: `E.coalesce(${a!.builder}, ${b!.builder})`, of: (row) => a!.of(row) ?? b!.of(row) };
      }
      case "named":
        return {
          natural: `(HALF * ${a!.natural})`,
          builder: `E.mul(E.const(0.5), ${a!.builder})`,
          of: (row) => (a!.of(row) === null ? null : 0.5 * a!.of(row)!),
        };
      case "helper":
        return {
          natural: `plusOne(${a!.natural})`,
          builder: `E.add(${a!.builder}, E.const(1))`,
          of: (row) => (a!.of(row) === null ? null : a!.of(row)! + 1),
        };
      case "param":
        return { natural: "P.esr_cutoff", builder: "E.param(P.esr_cutoff)", of: (row) => row.weight };
      case "key":
        return this.next() < 0.5 || this.strings === "numbers only"
          ? { natural: "Key.id", builder: "E.key(Key.id)", of: (row) => row.id }
          : { natural: "Key.final_score", builder: "E.key(Key.final_score)", of: (row) => row.final_score };
      default: {
        const value = this.pick([0, 1, 2, 0.25, 3.5, 100, 7]);
        // Two constants are computed while the plan is built, so one that stands alone is made a node.
        return { natural: `E.const(${value})`, builder: `E.const(${value})`, of: () => value };
      }
    }
  }

  text(depth: number): Formula<string | null> {
    if (depth === 0) return { natural: "Key.country", builder: "Key.country", of: (row) => row.country };
    const [a, fixed] = [this.text(depth - 1), this.pick(["", "US", "\u00e9\u{1f600}"])];
    const quoted = JSON.stringify(fixed);
    switch (this.pick(["before", "after", "both", "coalesce", "if"])) {
      case "before":
        return {
          natural: `(${quoted} + ${a.natural})`,
          builder: `E.concat(${quoted}, ${a.builder})`,
          of: (row) => (a.of(row) === null ? null : fixed + a.of(row)!),
        };
      case "after":
        return {
          natural: `(${a.natural} + ${quoted})`,
          builder: `E.concat(${a.builder}, ${quoted})`,
          of: (row) => (a.of(row) === null ? null : a.of(row)! + fixed),
        };
      case "both":
        return {
          natural: `(${a.natural} + Key.country)`,
          builder: `E.concat(${a.builder}, Key.country)`,
          of: (row) => (a.of(row) === null || row.country === null ? null : a.of(row)! + row.country),
        };
      case "coalesce":
        return {
          natural: `coalesce(${a.natural}, ${quoted})`,
          builder: `E.coalesce(${a.builder}, ${quoted})`,
          of: (row) => a.of(row) ?? fixed,
        };
      default: {
        const pred = this.truth(0);
        const text = (spelling: "natural" | "builder") => `E.if(${pred[spelling]}, ${a[spelling]}, ${quoted})`;
        const of = (row: Row) => (pred.of(row) ? a.of(row) : fixed);
        return { natural: text("natural"), builder: text("builder"), of };
      }
    }
  }

  private key(): Num {
    return { natural: "Key.id", builder: "E.key(Key.id)", of: (row) => row.id };
  }

  truth(depth: number): Truth {
    const kinds =
      depth === 0
        ? ["cmp", "in"]
        : [
            "and",
            "or",
            "not",
            "cmp",
            "in",
            "null",
            ...(this.strings === "with strings" ? ["text", "text_in", "text_null"] : []),
          ];
    switch (this.pick(kinds)) {
      case "and":
      case "or": {
        const [a, b, isAnd] = [this.truth(depth - 1), this.truth(depth - 1), this.next() < 0.5];
        return {
          natural: `(${a.natural} ${isAnd ? "&&" : "||"} ${b.natural})`,
          builder: `Pred.${isAnd ? "and" : "or"}(${a.builder}, ${b.builder})`,
          of: (row) => (isAnd ? a.of(row) && b.of(row) : a.of(row) || b.of(row)),
        };
      }
      case "not": {
        const a = this.truth(depth - 1);
        return { natural: `!${a.natural}`, builder: `Pred.not(${a.builder})`, of: (row) => !a.of(row) };
      }
      case "in": {
        const [a, list] = [this.number(depth), [this.pick([1, 2, 3]), this.pick([0.5, 10]), 7]];
        return {
          natural: `(${a.natural} in ${JSON.stringify(list)})`,
          builder: `Pred.in(${a.builder}, ${JSON.stringify(list)})`,
          of: (row) => list.includes(a.of(row) ?? NaN),
        };
      }
      case "null": {
        const [a, isNull] = [this.number(depth), this.next() < 0.5];
        return {
          natural: `(${a.natural} ${isNull ? "==" : "!="} null)`,
          builder: `Pred.${isNull ? "isNull" : "notNull"}(${a.builder})`,
          of: (row) => (a.of(row) === null) === isNull,
        };
      }
      case "text": {
        const [text, isEqual] = [this.pick(["US", "CA", ""]), this.next() < 0.5];
        return {
          natural: `(Key.country ${isEqual ? this.pick(["==", "==="]) : this.pick(["!=", "!=="])} ${JSON.stringify(text)})`,
          builder: `Pred.cmp("${isEqual ? "==" : "!="}", Key.country, ${JSON.stringify(text)})`,
          of: (row) => row.country !== null && (row.country === text) === isEqual,
        };
      }
      case "text_in":
        return {
          natural: `(Key.country in NEAR)`,
          builder: `Pred.in(Key.country, ["US", "CA"])`,
          of: (row) => row.country === "US" || row.country === "CA",
        };
      case "text_null":
        return {
          natural: `(Key.country != null)`,
          builder: `Pred.notNull(Key.country)`,
          of: (row) => row.country !== null,
        };
      default: {
        const [a, b] = [this.number(depth), this.number(depth === 0 ? 0 : depth - 1)];
        const how = this.pick(["==", "!=", "<", "<=", ">", ">="] as const);
        const compare = {
          "==": (x: number, y: number) => x === y,
          "!=": (x: number, y: number) => x !== y,
          "<": (x: number, y: number) => x < y,
          "<=": (x: number, y: number) => x <= y,
          ">": (x: number, y: number) => x > y,
          ">=": (x: number, y: number) => x >= y,
        }[how];
        return {
          natural: `(${a.natural} ${how} ${b.natural})`,
          builder: `Pred.cmp("${how}", ${a.builder}, ${b.builder})`,
          of: (row) => {
            const [x, y] = [a.of(row), b.of(row)];
            return x !== null && y !== null && compare(x, y);
          },
        };
      }
    }
  }
}

type Tree = Record<string, unknown> & { op: string };

/** The engine's rules for trees, for one row. */
function evaluate(tree: Tree, row: Row): number | string | boolean | null {
  const of = (field: string): number | string | boolean | null => evaluate(tree[field] as Tree, row);
  const numbers = (
    f: (x: number, y: number) => number | boolean | null,
    otherwise: null | false,
  ): number | boolean | null => {
    const [x, y] = [of("a"), of("b")];
    return typeof x !== "number" || typeof y !== "number" ? otherwise : f(x, y);
  };
  switch (tree.op) {
    case "const_number":
    case "const_bool":
      return tree["value"] as number | boolean;
    case "const_null":
      return null;
    case "key_ref":
      return { 1: row.id, 2001: row.final_score, 3001: row.country }[tree["key_id"] as 1 | 2001 | 3001];
    case "param_ref":
      return row.weight;
    case "const_text":
      return tree["value"] as string;
    case "concat":
      return of("a") === null || of("b") === null ? null : `${of("a") as string}${of("b") as string}`;
    case "length":
      return of("x") === null ? null : [...(of("x") as string)].length;
    case "bucket_text":
      return of("x") === null ? null : bucketOf(of("x") as string, tree["count"] as number, tree["seed"] as string);
    case "add":
      return numbers((x, y) => x + y, null);
    case "sub":
      return numbers((x, y) => x - y, null);
    case "mul":
      return numbers((x, y) => x * y, null);
    case "neg":
      return of("x") === null ? null : -(of("x") as number);
    case "div":
      return numbers((x, y) => finite(x / y), null);
    case "pow":
      return numbers((x, y) => finite(x ** y), null);
    case "min":
    case "max": {
      const { op } = tree;
      return numbers((x, y) => Math[op](x, y), null);
    }
    case "abs":
    case "floor":
    case "ceil":
    case "sqrt":
    case "exp":
    case "log":
    case "log1p":
      return of("x") === null ? null : finite(Math[tree.op](of("x") as number));
    case "clamp": {
      const [x, lo, hi] = [of("x"), of("lo"), of("hi")] as (number | null)[];
      return x === null || lo === null || hi === null || lo! > hi! ? null : Math.min(Math.max(x!, lo!), hi!);
    }
    case "if":
      return of(of("pred") === true ? "a" : "b");
    case "coalesce":
      return of("a") ?? of("b");
    case "and":
      return (of("a") as boolean) && of("b");
    case "or":
      return (of("a") as boolean) || of("b");
    case "not":
      return !(of("x") as boolean);
    case "is_null":
      return of("x") === null;
    case "not_null":
      return of("x") !== null;
    case "in":
      return (tree["list"] as unknown[]).includes(of("lhs"));
    case "cmp":
      return numbers(
        (x, y) =>
          ({ "==": x === y, "!=": x !== y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y })[tree["cmp"] as "=="],
        false,
      );
    default:
      throw new Error(`the evaluator knows no ${tree.op}`);
  }
}

const head = `import { coalesce, definePlan, E, Key, P, Pred } from "@rankd/plan";
export const HALF = 0.5;
export const NEAR = ["US", "CA"];
export const plusOne = (x: number) => x + 1;
export const used = [coalesce, E, Pred, P];
`;

function planOf(
  name: string,
  spelling: "natural" | "builder",
  values: readonly Num[],
  truths: readonly Truth[],
): string {
  const nodes = [
    ...values.map((each, i) => `  set = set.vm({ as: "v${i}", outKey: Key.model_score_1, expr: ${each[spelling]} });`),
    ...truths.map((each, i) => `  set = set.filter({ as: "t${i}", pred: ${each[spelling]} });`),
  ];
  return `${head}export default definePlan({ name: "${name}", build: (ctx) => {\n  let set = ctx.test.fixedSource();\n${nodes.join("\n")}\n  return set;\n} });\n`;
}

const seed = Number(process.env["SEED"] ?? 1);

test("natural expressions and builders mean the same on ten thousand rows", async () => {
  const next = random(seed);
  const maker = new Maker(next, "with strings");
  const values = Array.from({ length: 60 }, () => maker.number(3));
  const truths = Array.from({ length: 60 }, () => maker.truth(3));
  const folder = scratchFolder();
  writeFiles(folder, {
    "natural.plan.ts": planOf("natural", "natural", values, truths),
    "builder.plan.ts": planOf("builder", "builder", values, truths),
  });
  const compiled = await compilerFor(folder).compile(
    ["natural", "builder"].map((name) => join(folder, `${name}.plan.ts`)),
  );
  assert.deepEqual(
    compiled.flatMap((each) => each.diagnostics),
    [],
    `seed ${seed}`,
  );
  const [natural, builder] = compiled.map(
    (each) => JSON.parse(each.artifact!) as { expr_table: Record<string, Tree>; pred_table: Record<string, Tree> },
  );
  const some = <Item>(items: readonly Item[]): Item => items[Math.floor(next() * items.length)]!;
  const rows = Array.from({ length: 10_000 }, (): Row => ({
    id: 1 + Math.floor(next() * 20),
    final_score: some([null, 0, 0.5, 2, 7.25]),
    country: some([null, "US", "CA", "MX", ""]),
    weight: some([null, 0.5, 3]),
  }));
  for (const row of rows) {
    for (const [table, prefix, formulas] of [
      ["expr_table", "e_v", values],
      ["pred_table", "p_t", truths],
    ] as const)
      for (let i = 0; i < formulas.length; i++) {
        const expected = formulas[i]!.of(row);
        const id = `${prefix}${i}`;
        const [a, b] = [evaluate(natural![table][id]!, row), evaluate(builder![table][id]!, row)];
        if (!Object.is(a, expected) && a !== expected)
          assert.fail(
            `seed ${seed}: ${formulas[i]!.natural} of ${JSON.stringify(row)} is ${String(expected)}, not ${String(a)}`,
          );
        if (!Object.is(b, expected) && b !== expected)
          assert.fail(
            `seed ${seed}: ${formulas[i]!.builder} of ${JSON.stringify(row)} is ${String(expected)}, not ${String(b)}`,
          );
      }
  }
});

test("limits of a node stand beside its params, each with its capability", async () => {
  const folder = scratchFolder();
  const plan = (name: string, limits: string): string =>
    `import { definePlan, EP } from "@rankd/plan";\nexport default definePlan({ name: "${name}", build: (ctx) =>\n  ctx.viewer({ endpoint: EP.redis_default, ${limits} }) });\n`;
  writeFiles(folder, {
    "late.plan.ts": plan("late", "timeoutMs: 40"),
    "again.plan.ts": plan("again", "timeoutMs: 40, retries: 2, hedgeMs: 8"),
    "plain.plan.ts": plan("plain", "trace: null"),
    "kept.plan.ts": plan("kept", "capture: { sample: 0.5, keys: [], maxRows: 7 }"),
    "cached.plan.ts": plan("cached", 'cache: { ttlMs: 30_000, staleMs: 5, by: ["user"] }'),
  });
  const files = ["late", "again", "plain", "kept", "cached"].map((name) => join(folder, `${name}.plan.ts`));
  const built = (await compilerFor(folder).compile(files)).map(
    (each) => JSON.parse(each.artifact!) as { capabilities_required?: string[]; nodes: { [field: string]: unknown }[] },
  );
  assert.deepEqual(
    built.map(({ nodes, capabilities_required: required }) => [
      nodes[0]!["timeout_ms"],
      nodes[0]!["retries"],
      nodes[0]!["hedge_ms"],
      required,
    ]),
    [
      [40, undefined, undefined, ["cap.rfc.0007.timeouts.v1"]],
      [40, 2, 8, ["cap.rfc.0007.timeouts.v1", "cap.rfc.0008.retries.v1", "cap.rfc.0012.hedge.v1"]],
      [undefined, undefined, undefined, undefined],
      [undefined, undefined, undefined, ["cap.rfc.0010.capture.v1"]],
      [undefined, undefined, undefined, ["cap.rfc.0011.cache.v1"]],
    ],
  );
  assert.deepEqual(built[4]!.nodes[0]!["cache"], { ttl_ms: 30_000, stale_ms: 5 });
  assert.deepEqual(built[3]!.nodes[0]!["capture"], { sample: 0.5, key_ids: [], max_rows: 7 });
  assert.deepEqual(built[1]!.nodes[0]!["params"], { endpoint: "ep_0001" });
});

test("a plan names the capability that its formulas need, and no other plan does", async () => {
  const folder = scratchFolder();
  const plan = (name: string, expr: string): string =>
    `${head}export default definePlan({ name: "${name}", build: (ctx) =>\n  ctx.test.fixedSource().vm({ outKey: Key.final_score, expr: ${expr} }) });\n`;
  writeFiles(folder, {
    "plain.plan.ts": plan("plain", "Key.id * 2"),
    "further.plan.ts": plan("further", "Key.id / 2 + E.floor(E.sqrt(Key.id))"),
    "within.plan.ts": plan("within", "1 + E.if(Key.id > 3, 1, 2)"),
  });
  const files = ["plain", "further", "within"].map((name) => join(folder, `${name}.plan.ts`));
  const required = (await compilerFor(folder).compile(files)).map(
    (each) => (JSON.parse(each.artifact!) as { capabilities_required?: string[] }).capabilities_required,
  );
  assert.deepEqual(required, [undefined, ["cap.rfc.0001.arithmetic.v1"], ["cap.rfc.0001.arithmetic.v1"]]);

  cpSync(join(repository, "registry"), join(folder, "registry"), { recursive: true });
  writeFiles(folder, {
    "rankd.toml": 'name = "bare"\nenvironment = "test"\nregistry = "registry"\nplans = "plans"\n',
    "registry/capabilities.toml": "",
  });
  const compiler = new Compiler(loadProject(folder), { checker: engineFor(folder) });
  const [, refused, inside] = await compiler.compile(files);
  await compiler.close();
  assert.deepEqual(
    [refused!, inside!].map(({ diagnostics }) =>
      diagnostics.map(({ code, place }) => `${code} ${place.line}:${place.column}`),
    ),
    [["unsupported_capability 7:62"], ["unsupported_capability 7:68"]],
  );
});

test("the engine computes what the formulas say", async () => {
  const maker = new Maker(random(seed + 1), "numbers only");
  const folder = scratchFolder();
  for (const part of ["registry", "data/reference"])
    cpSync(join(repository, part), join(folder, part), { recursive: true });
  mkdirSync(join(folder, "plans"));
  writeFileSync(
    join(folder, "rankd.toml"),
    'name = "formulas"\nenvironment = "test"\nregistry = "registry"\nplans = "plans"\ndata = "data/reference"\n',
  );
  const formulas = Array.from({ length: 12 }, () => ({ value: maker.number(3), truth: maker.truth(2) }));
  const text = (name: string, spelling: "natural" | "builder", i: number): string =>
    `${head}export default definePlan({ name: "${name}", build: (ctx) => ctx.test.fixedSource({ rowCount: 1000 })\n  .vm({ outKey: Key.final_score, expr: coalesce(${formulas[i]!.value[spelling]}, -1) })\n  .filter({ pred: ${formulas[i]!.truth[spelling]} }) });\n`;
  const names = formulas.flatMap((_, i) => [`natural_${i}`, `builder_${i}`]);
  writeFiles(
    join(folder, "plans"),
    Object.fromEntries(
      names.map((name) => [
        `${name}.plan.ts`,
        text(name, name.startsWith("natural") ? "natural" : "builder", Number(name.split("_")[1])),
      ]),
    ),
  );
  const compiled = await compilerFor(folder).compile(names.map((name) => join(folder, "plans", `${name}.plan.ts`)));
  assert.deepEqual(
    compiled.flatMap((each) => each.diagnostics),
    [],
    `seed ${seed}`,
  );
  for (const each of compiled) writeFileSync(join(folder, "plans", `${each.name}.json`), each.artifact!);
  for (const name of names) {
    for (const weight of [null, 0.5]) {
      const request = { user_id: 1, param_overrides: weight === null ? {} : { esr_cutoff: weight } };
      const done = spawnSync(
        rankd,
        ["rank", "--project", folder, "--plan", name, "--request", JSON.stringify(request)],
        { encoding: "utf8", maxBuffer: 1 << 28 },
      );
      assert.equal(done.status, 0, `${name}: ${done.stdout}`);
      const { candidates } = JSON.parse(done.stdout) as {
        candidates: { id: number; fields: { final_score: number } }[];
      };
      const { value, truth } = formulas[Number(name.split("_")[1])]!;
      const rows = Array.from({ length: 1000 }, (_, i): Row => ({
        id: i + 1,
        final_score: null,
        country: null,
        weight,
      }));
      const expected = rows.filter((row) => truth.of(row)).map((row) => [row.id, (value.of(row) ?? -1) + 0]);
      assert.deepEqual(
        candidates.map(({ id, fields }) => [id, fields.final_score + 0]),
        expected,
        `seed ${seed}: ${name} ${readFileSync(join(folder, "plans", `${name}.plan.ts`), "utf8")}`,
      );
    }
  }
});

test("a bucket that is known while a plan is built is that of the engine", async () => {
  const folder = scratchFolder();
  const list = '[bucketOf("US", 1000, "layout"), bucketOf("", 1000, "layout"), bucketOf("caf\u00e9", 1000, "layout")]';
  writeFiles(folder, {
    "b.plan.ts": `import { bucketOf, definePlan, Key } from "@rankd/plan";
export default definePlan({ name: "b", build: (ctx) => ctx.test.fixedSource().filter({ pred: Key.id in ${list} }) });
`,
  });
  const [compiled] = await compilerFor(folder).compile([join(folder, "b.plan.ts")]);
  assert.deepEqual(compiled!.diagnostics, []);
  // The same numbers stand in tests/rankd/expr/strings_test.cpp.
  assert.match(compiled!.artifact!, /"list":\s*\[\s*711,\s*313,\s*606\s*\]/);
});
