// fragments.ts: the engine's rules for what an artifact says of the fragments that its nodes come from.
import { didYouMean, isObject, kindOf, type Problem, pointerTo, Reader, sortedFields } from "./reader.js";

/** What a plan requires that says which of its nodes come from fragments. */
export const fragmentCapability = "cap.rfc.0002.fragments.v1";

/** Where that is said. */
export const usesPointer = `${pointerTo("/extensions", fragmentCapability)}/uses`;

const separator = "__";
const maxNesting = 8;
const isWord = (text: string): boolean => /^[A-Za-z0-9_]+$/.test(text);

/** What an artifact says of a use. */
export interface FragmentUse {
  readonly id: string;
  readonly fragment: string;
  readonly version: string;
}

/** What the names in uses lead to. */
export interface Known {
  readonly nodes: ReadonlyMap<string, number>;
  readonly exprs: Readonly<Record<string, unknown>>;
  readonly readSpan: (value: unknown, pointer: string, problems: Problem[]) => void;
}

const unknownNode = (name: string, known: Known): { code: string; message: string; hint: string } => ({
  code: "unknown_node",
  message: `there is no node \`${name}\``,
  hint: didYouMean(name, [...known.nodes.keys()]),
});

function readText(use: Reader, field: string, pattern: RegExp, code: string, what: string): string | undefined {
  const text = use.text(field, "required");
  if (text !== undefined && !pattern.test(text)) use.report(field, code, `\`${field}\` is ${what}`);
  return text;
}

function readArguments(use: Reader, known: Known): void {
  for (const [name, value] of sortedFields(use.child("args", "required") ?? {})) {
    const pointer = pointerTo(pointerTo(use.pointer, "args"), name);
    const add = (at: string, code: string, message: string, hint = ""): void => {
      use.problems.push({ code, pointer: at, message, hint, node: "" });
    };
    if (!isWord(name)) add(pointer, "bad_name", `\`${name}\` is not letters, digits and \`_\``);
    if (Array.isArray(value) || value === null)
      add(pointer, "wrong_type", `an argument is a value, an expression or a node, not ${kindOf(value)}`);
    if (!isObject(value)) continue;
    const reference = new Reader(value, pointer, use.problems);
    const field = Object.hasOwn(value, "node") ? "node" : "expr";
    const target = reference.text(field, "required");
    reference.refuseUnknownFields();
    if (target === undefined) continue;
    const at = pointerTo(pointer, field);
    if (field === "expr" && !Object.hasOwn(known.exprs, target))
      add(at, "unknown_expr", `there is no expression \`${target}\``, didYouMean(target, Object.keys(known.exprs)));
    if (field === "node" && !known.nodes.has(target)) {
      const { code, message, hint } = unknownNode(target, known);
      add(at, code, message, hint);
    }
  }
}

/** The nodes that a use lists, each once and called after it. */
function readNodes(use: Reader, id: string | undefined, known: Known): readonly string[] {
  const list = use.array("nodes", "required");
  if (list?.length === 0) use.report("nodes", "too_few_items", "`nodes` needs at least 1 items");
  const seen = new Set<string>();
  for (const [index, item] of (list ?? []).entries()) {
    const pointer = pointerTo(pointerTo(use.pointer, "nodes"), index);
    const add = (problem: { code: string; message: string; hint?: string }): void => {
      use.problems.push({ hint: "", ...problem, pointer, node: "" });
    };
    if (typeof item !== "string")
      add({ code: "wrong_type", message: `an item is the id of a node, not ${kindOf(item)}` });
    else if (!known.nodes.has(item)) add(unknownNode(item, known));
    else if (seen.has(item)) add({ code: "duplicate_value", message: "it is listed twice" });
    else if (id !== undefined && !item.startsWith(id + separator))
      add({ code: "bad_name", message: `the nodes of the use \`${id}\` are called \`${id}${separator}\` and a name` });
    else seen.add(item);
  }
  return [...seen];
}

/** The uses that list each node, one inside of the other. */
class Owners {
  private readonly chains = new Map<string, string[]>();

  add(node: string, id: string): "first" | "within another" | "beside another" | "too deep" {
    const chain = this.chains.get(node) ?? [];
    this.chains.set(node, chain);
    const isBeside = chain.some((other) => !id.startsWith(other + separator) && !other.startsWith(id + separator));
    if (isBeside) return "beside another";
    if (chain.length === maxNesting) return "too deep";
    chain.push(id);
    return chain.length === 1 ? "first" : "within another";
  }
}

function readUse(value: unknown, pointer: string, known: Known, ids: Set<string>, owners: Owners, to: Problem[]): void {
  const use = new Reader(value, pointer, to);
  const before = to.length;
  const id = readText(use, "id", /^[A-Za-z0-9_]+$/, "bad_name", "letters, digits and `_`") || undefined;
  if (id !== undefined && ids.has(id)) use.report("id", "duplicate_value", `another use is already called \`${id}\``);
  if (id !== undefined) ids.add(id);
  readText(use, "fragment", /^[A-Za-z0-9_]+$/, "bad_name", "letters, digits and `_`");
  readText(use, "version", /^[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6}$/, "bad_value", "a version, as 2.1.0");
  readText(use, "sha256", /^[0-9a-f]{64}$/, "bad_value", "64 lower-case hexadecimal digits");
  readArguments(use, known);
  const nodes = readNodes(use, id, known);
  const result = use.text("result", "required");
  if (result !== undefined && to.length === before && !nodes.includes(result))
    use.report("result", "unknown_node", `\`${result}\` is none of the nodes of the use`, didYouMean(result, nodes));
  const place = use.value("place", "optional");
  if (place !== undefined) known.readSpan(place, pointerTo(pointer, "place"), to);
  use.refuseUnknownFields();
  if (to.length !== before) return;
  for (const [index, node] of nodes.entries()) {
    const found = owners.add(node, id!);
    const at = pointerTo(pointerTo(pointer, "nodes"), index);
    if (found === "beside another")
      to.push({ code: "duplicate_value", pointer: at, message: "another use has that node", hint: "", node: "" });
    if (found === "too deep")
      to.push({
        code: "fragments_too_deep",
        pointer: at,
        message: `a node lies in at most ${maxNesting} uses, each inside of the next`,
        hint: "",
        node: "",
      });
  }
}

/** Complains about what is said of fragments at the top of an artifact. */
export function checkFragments(extensions: unknown, known: Known, problems: Problem[]): void {
  if (!isObject(extensions) || !Object.hasOwn(extensions, fragmentCapability)) return;
  const top = new Reader(extensions[fragmentCapability], pointerTo("/extensions", fragmentCapability), problems);
  const ids = new Set<string>();
  const owners = new Owners();
  for (const [index, use] of (top.array("uses", "required") ?? []).entries())
    readUse(use, pointerTo(usesPointer, index), known, ids, owners, problems);
  top.refuseUnknownFields();
}

/** The uses of fragments that a right artifact has. */
export function usesOf(artifact: unknown): readonly FragmentUse[] {
  const extensions = isObject(artifact) ? artifact["extensions"] : undefined;
  const said = isObject(extensions) ? extensions[fragmentCapability] : undefined;
  return isObject(said) ? (said["uses"] as readonly FragmentUse[]) : [];
}
