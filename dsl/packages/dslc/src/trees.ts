// trees.ts: the engine's rules for expressions and predicates: their shape, then what they name.
import { RE2JS } from "re2js";

import { branchCapability, testsStringOfParam } from "./branches.js";
import type { Registries, TreeOp } from "./project.js";
import {
  didYouMean,
  isInt64,
  isObject,
  type JsonObject,
  numberProblem,
  type Problem,
  pointerTo,
  Reader,
} from "./reader.js";

const maxDepth = 200;
const mostProblems = 1000;
const longestPattern = 4096;
/** About what fits into the memory that the engine gives RE2; near the limit the engine has the last word. */
const mostInstructions = 2700;
const maxBuckets = 1_000_000n;
const comparisons = ["==", "!=", "<", "<=", ">", ">="];

/** Complains about the shape of a tree; `gives` is "value" for expressions and "truth" for predicates. */
export function checkShape(
  tree: unknown,
  pointer: string,
  gives: string,
  declared: Registries,
  problems: Problem[],
): void {
  const before = problems.length;
  let toldDepth = false;
  const visit = (value: unknown, at: string, wanted: string, depth: number): void => {
    if (problems.length - before >= mostProblems) return;
    if (depth > maxDepth) {
      if (!toldDepth)
        problems.push({
          code: "expr_too_deep",
          pointer: at,
          message: `the tree has more than ${maxDepth} levels`,
          hint: "",
          node: "",
        });
      toldDepth = true;
      return;
    }
    const fields = new Reader(value, at, problems);
    const op = opOf(fields, wanted, declared);
    if (op === undefined) return;
    const children: [unknown, string, string][] = [];
    for (const [name, kind] of op.fields) {
      if (kind !== "value" && kind !== "truth") checkField(fields, name, kind);
      else {
        const child = fields.value(name, "required");
        if (child !== undefined) children.push([child, pointerTo(at, name), kind]);
      }
    }
    fields.refuseUnknownFields();
    for (const [child, place, kind] of children) visit(child, place, kind, depth + 1);
  };
  visit(tree, pointer, gives, 1);
}

/** An op that not every plan may use, and where it stands. */
export interface FurtherOp {
  readonly name: string;
  readonly capability: string;
  readonly pointer: string;
}

const opsByName = new WeakMap<readonly TreeOp[], ReadonlyMap<string, TreeOp>>();

/** The op of that name; asked for at each part of each tree. */
function treeOpOf(name: unknown, { treeOps }: Registries): TreeOp | undefined {
  let ops = opsByName.get(treeOps);
  if (ops === undefined) opsByName.set(treeOps, (ops = new Map(treeOps.map((each) => [each.name, each]))));
  return ops.get(String(name));
}

/** The ops of a tree of the right shape that belong to capabilities, children before parents, from left to right. */
export function furtherOps(tree: unknown, pointer: string, declared: Registries): FurtherOp[] {
  const found: FurtherOp[] = [];
  const visit = (node: JsonObject, at: string): void => {
    const op = treeOpOf(node["op"], declared);
    for (const [name, kind] of op?.fields ?? []) {
      const child = node[name];
      if ((kind === "value" || kind === "truth") && isObject(child)) visit(child, pointerTo(at, name));
    }
    const capability = op !== undefined && testsStringOfParam(node) ? branchCapability : op?.capability;
    if (op !== undefined && capability !== undefined)
      found.push({ name: op.name, capability, pointer: pointerTo(at, "op") });
  };
  if (isObject(tree)) visit(tree, pointer);
  return found;
}

/** Complains about the first op of a tree of the right shape whose capability is not required. */
export function checkOps(
  tree: unknown,
  pointer: string,
  required: readonly string[],
  declared: Registries,
  problems: Problem[],
): void {
  const op = furtherOps(tree, pointer, declared).find((each) => !required.includes(each.capability));
  if (op === undefined) return;
  problems.push({
    code: "capability_not_required",
    pointer: op.pointer,
    message: `the op \`${op.name}\` belongs to a capability, which the plan does not require`,
    hint: `add \`${op.capability}\` to \`capabilities_required\``,
    node: "",
  });
}

function opOf(fields: Reader, wanted: string, declared: Registries): TreeOp | undefined {
  const name = fields.text("op", "required");
  if (name === undefined) return undefined;
  const op = declared.treeOps.find((each) => each.name === name);
  if (op?.gives === wanted) return op;
  const names = declared.treeOps.filter((each) => each.gives === wanted).map((each) => each.name);
  const [what, other] = wanted === "truth" ? ["predicate", "expressions"] : ["expression", "predicates"];
  fields.report(
    "op",
    "unknown_op",
    `no ${what} has the op \`${name}\``,
    op === undefined ? didYouMean(name, names) : `\`${name}\` is an op of ${other}`,
  );
  return undefined;
}

function checkField(fields: Reader, name: string, kind: string): void {
  switch (kind) {
    case "number": {
      const value = fields.value(name, "required");
      const wrong = value === undefined ? undefined : numberProblem(value, isInt64(value) ? "int" : "float");
      if (wrong) fields.report(name, wrong.code, `\`${name}\` ${wrong.message}`);
      return;
    }
    case "bool":
      fields.boolean(name, "required");
      return;
    case "key_id":
    case "param":
      fields.id(name, "required");
      return;
    case "cmp":
      fields.choice(name, "required", comparisons);
      return;
    case "flags":
      fields.choice(name, "optional", ["", "i"]);
      return;
    case "list":
      return checkList(fields, name);
    case "pattern":
      return checkPattern(fields, name, ["literal", "param"]);
    case "text":
      return checkPattern(fields, name, ["literal", "param", "key"]);
    case "count":
      fields.integer(name, "required", 1n, maxBuckets);
      return;
    case "seed":
      fields.text(name, "optional");
      return;
    case "string":
      fields.text(name, "required");
      return;
  }
}

function checkList(fields: Reader, name: string): void {
  const list = fields.array(name, "required") ?? [];
  const strings = typeof list[0] === "string";
  const parent = pointerTo(fields.pointer, name);
  for (const [index, item] of list.entries()) {
    const report = (code: string, message: string): void => {
      fields.problems.push({ code, pointer: pointerTo(parent, index), message, hint: "", node: "" });
    };
    const wrong = numberProblem(item, isInt64(item) ? "int" : "float");
    if (strings) {
      if (typeof item === "string") continue;
      if (wrong?.code === "wrong_type") report("wrong_type", "an element must be a string");
      else report("mixed_list", "a list that starts with a string holds strings only");
    } else if (typeof item === "string") report("mixed_list", "a list that starts with a number holds numbers only");
    else if (wrong) report(wrong.code, `an element ${wrong.message}`);
  }
}

function checkPattern(fields: Reader, name: string, kinds: readonly string[]): void {
  const object = fields.child(name, "required");
  if (object === undefined) return;
  const pattern = new Reader(object, pointerTo(fields.pointer, name), fields.problems);
  const kind = pattern.choice("kind", "required", kinds);
  if (kind === undefined) return;
  if (kind === "literal") pattern.text("value", "required");
  else pattern.id(`${kind}_id`, "required");
  pattern.refuseUnknownFields();
}

/** Complains about what a tree of the right shape names. Children come before their parents. */
export function checkNames(tree: unknown, pointer: string, declared: Registries, problems: Problem[]): void {
  if (!isObject(tree)) return;
  const op = declared.treeOps.find((each) => each.name === tree["op"]);
  for (const [name, kind] of op?.fields ?? [])
    if (kind === "value" || kind === "truth") checkNames(tree[name], pointerTo(pointer, name), declared, problems);
  const report = (code: string, below: string, message: string, hint = ""): void => {
    problems.push({ code, pointer: pointer + below, message, hint, node: "" });
  };
  const readable = (sort: "key" | "param", id: unknown, below: string) => {
    const entry = (sort === "key" ? declared.keys : declared.params).find((each) => each.id === id);
    if (entry === undefined) report(`unknown_${sort}`, below, `there is no ${sort} ${String(id)}`);
    else if (entry.status === "blocked")
      report(
        `blocked_${sort}`,
        below,
        `the ${sort} \`${entry.name}\` is blocked`,
        entry.replacedBy === undefined ? "" : `use ${sort} ${entry.replacedBy} instead`,
      );
    else if (!entry.read) report(`unreadable_${sort}`, below, `the ${sort} \`${entry.name}\` may not be read`);
    return entry;
  };
  if (tree["op"] === "key_ref") readable("key", tree["key_id"], "/key_id");
  if (tree["op"] === "param_ref") readable("param", tree["param_id"], "/param_id");
  if (tree["op"] === "in") checkListKey(tree, declared, report);
  for (const [name, kind] of op?.fields ?? []) {
    if (kind !== "text") continue;
    const source = tree[name] as JsonObject;
    const sort = source["kind"];
    if (sort !== "key" && sort !== "param") continue;
    const below = `/${name}/${sort}_id`;
    const entry = readable(sort, source[`${sort}_id`], below);
    if (entry !== undefined && entry.type !== "string")
      report("text_wants_string", below, `the ${sort} \`${entry.name}\` holds no string`);
  }
  if (tree["op"] !== "regex") return;
  const key = readable("key", tree["key_id"], "/key_id");
  if (key !== undefined && key.type !== "string")
    report("regex_wants_string_key", "/key_id", `the key \`${key.name}\` holds no strings`);
  const pattern = tree["pattern"] as Readonly<Record<string, unknown>>;
  if (pattern["kind"] === "param") {
    const param = readable("param", pattern["param_id"], "/pattern/param_id");
    if (param !== undefined && param.type !== "string")
      report("regex_wants_string_param", "/pattern/param_id", `the param \`${param.name}\` holds no string`);
    return;
  }
  const refusal = refusedPattern(String(pattern["value"]), tree["flags"] === "i");
  if (refusal !== undefined) report("bad_regex", "/pattern/value", `RE2 refuses the pattern: ${refusal}`);
}

/** Whether every value of an expression of the right shape and names is an integer or null. */
export function givesIntegers(tree: unknown, declared: Registries): boolean {
  if (!isObject(tree)) return false;
  switch (tree["op"]) {
    case "const_number":
      return isInt64(tree["value"]);
    case "const_null":
    case "bucket":
    case "bucket_text":
    case "length":
      return true;
    case "key_ref":
      return declared.keys.find((each) => each.id === tree["key_id"])?.type !== "float";
    case "param_ref":
      return declared.params.find((each) => each.id === tree["param_id"])?.type !== "float";
    case "coalesce":
    case "if":
    case "mod":
      return givesIntegers(tree["a"], declared) && givesIntegers(tree["b"], declared);
    default:
      return false;
  }
}

/** Complains about buckets of what may be a fraction. Children come before their parents. */
export function checkBuckets(tree: unknown, pointer: string, declared: Registries, problems: Problem[]): void {
  if (!isObject(tree)) return;
  const op = declared.treeOps.find((each) => each.name === tree["op"]);
  for (const [name, kind] of op?.fields ?? [])
    if (kind === "value" || kind === "truth") checkBuckets(tree[name], pointerTo(pointer, name), declared, problems);
  if (tree["op"] !== "bucket" || givesIntegers(tree["x"], declared)) return;
  problems.push({
    code: "bucket_wants_integer",
    pointer: pointerTo(pointer, "x"),
    message: "a bucket needs an integer, and this may be a fraction",
    hint: "use the bucket of an id",
    node: "",
  });
}

function checkListKey(
  tree: Readonly<Record<string, unknown>>,
  declared: Registries,
  report: (code: string, below: string, message: string) => void,
): void {
  const list = tree["list"] as readonly unknown[];
  const lhs = tree["lhs"] as Readonly<Record<string, unknown>>;
  if (typeof list[0] !== "string") return;
  const key = lhs["op"] === "key_ref" ? declared.keys.find((each) => each.id === lhs["key_id"]) : undefined;
  if (lhs["op"] === "key_ref" && key === undefined) return;
  if (lhs["op"] === "param_ref") {
    const param = declared.params.find((each) => each.id === lhs["param_id"]);
    if (param !== undefined && param.type !== "string")
      report("in_wants_string_key", "/lhs", `the param \`${param.name}\` holds no string for a list of them`);
    return;
  }
  if (key?.type !== "string")
    report("in_wants_string_key", "/lhs", "the left side of a list of strings must be a key or a param of strings");
}

function refusedPattern(pattern: string, ignoreCase: boolean): string | undefined {
  if (Buffer.byteLength(pattern) > longestPattern) return `pattern longer than ${longestPattern} bytes`;
  try {
    const compiled = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    return compiled.programSize() > mostInstructions ? "pattern too large" : undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
