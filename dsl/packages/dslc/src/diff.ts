// diff.ts: what distinguishes two plans: nodes, params and formulas, not bytes.
import { canonicalJson } from "./json.js";

interface Node {
  readonly node_id: string;
  readonly op: string;
  readonly inputs: readonly string[];
  readonly params?: Readonly<Record<string, unknown>> | null;
}
interface Artifact {
  readonly nodes: readonly Node[];
  readonly outputs: readonly string[];
  readonly expr_table?: Readonly<Record<string, unknown>>;
  readonly pred_table?: Readonly<Record<string, unknown>>;
}

const signs: Readonly<Record<string, string>> = {
  add: "+",
  sub: "-",
  mul: "*",
  div: "/",
  pow: "**",
  and: "&&",
  or: "||",
  coalesce: "??",
  mod: "%",
  concat: "+",
};
const functions = new Set(["min", "max", "abs", "floor", "ceil", "sqrt", "exp", "log", "log1p", "clamp", "if"]);
const operands = ["pred", "x", "lo", "hi", "a", "b"];

/** The string that a test of strings has on one side. */
function text(source: unknown): string {
  const { kind, value, key_id, param_id } = source as Record<string, unknown>;
  return kind === "literal" ? JSON.stringify(value) : `${String(kind)} ${String(kind === "key" ? key_id : param_id)}`;
}

/** A tree as its author would write it, with keys and params by number. */
export function formula(tree: unknown): string {
  const { op, a, b, x, value, key_id, param_id, cmp, lhs, list, pattern, flags, count, seed } = tree as Record<
    string,
    unknown
  >;
  const sign = signs[String(op)];
  if (sign !== undefined) return `(${formula(a)} ${sign} ${formula(b)})`;
  if (functions.has(String(op))) {
    const all = tree as Record<string, unknown>;
    return `${String(op)}(${operands
      .filter((name) => name in all)
      .map((name) => formula(all[name]))
      .join(", ")})`;
  }
  switch (op) {
    case "const_text":
      return JSON.stringify(value);
    case "length":
      return `length(${formula(x)})`;
    case "const_number":
    case "const_bool":
      return String(value);
    case "const_null":
      return "null";
    case "key_ref":
      return `key ${String(key_id)}`;
    case "param_ref":
      return `param ${String(param_id)}`;
    case "neg":
      return `-${formula(x)}`;
    case "not":
      return `!${formula(x)}`;
    case "cmp":
      return `(${formula(a)} ${String(cmp)} ${formula(b)})`;
    case "is_null":
      return `(${formula(x)} == null)`;
    case "not_null":
      return `(${formula(x)} != null)`;
    case "in":
      return `(${formula(lhs)} in ${JSON.stringify(list)})`;
    case "bucket":
    case "bucket_text":
      return `bucket(${formula(x)}, ${String(count)}, ${JSON.stringify(seed ?? "")})`;
    case "cmp_text":
      return `(${text(a)} ${String(cmp)} ${text(b)})`;
    case "starts_with":
    case "ends_with":
    case "contains":
      return `${op}(${text(a)}, ${text(b)})`;
    case "regex":
      return `regex(key ${String(key_id)}, ${canonicalJson(pattern)}, ${JSON.stringify(flags ?? "")})`;
    default:
      return canonicalJson(tree);
  }
}

/** The fields of a node as text, trees written out. */
function fieldsOf(node: Node, plan: Artifact): Map<string, string> {
  const fields = new Map([
    ["op", node.op],
    ["inputs", node.inputs.join(", ")],
  ]);
  for (const [name, value] of Object.entries(node.params ?? {})) {
    const tree =
      typeof value === "string"
        ? (name === "expr_id" ? plan.expr_table : name === "pred_id" ? plan.pred_table : undefined)?.[value]
        : undefined;
    fields.set(name, tree === undefined ? canonicalJson(value) : formula(tree));
  }
  return fields;
}

/** One line for each difference; nothing where the plans mean the same. */
export function difference(before: unknown, after: unknown): string {
  const [a, b] = [before as Artifact, after as Artifact];
  const lines: string[] = [];
  const old = new Map(a.nodes.map((node) => [node.node_id, node]));
  const now = new Map(b.nodes.map((node) => [node.node_id, node]));
  for (const node of a.nodes) if (!now.has(node.node_id)) lines.push(`- ${node.node_id}: ${node.op}`);
  for (const node of b.nodes) {
    const was = old.get(node.node_id);
    if (was === undefined) {
      lines.push(`+ ${node.node_id}: ${[...fieldsOf(node, b)].map(([name, value]) => `${name} ${value}`).join("; ")}`);
      continue;
    }
    const [theirs, ours] = [fieldsOf(was, a), fieldsOf(node, b)];
    for (const name of new Set([...theirs.keys(), ...ours.keys()]))
      if (theirs.get(name) !== ours.get(name))
        lines.push(`~ ${node.node_id}: ${name} ${theirs.get(name) ?? "(none)"} → ${ours.get(name) ?? "(none)"}`);
  }
  if (a.outputs.join() !== b.outputs.join()) lines.push(`~ outputs ${a.outputs.join(", ")} → ${b.outputs.join(", ")}`);
  return lines.map((line) => `${line}\n`).join("");
}
