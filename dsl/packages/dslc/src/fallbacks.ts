// fallbacks.ts: the engine's rules for what stands in for nodes and plans that fail.
import { itemRule, itemValue } from "./items.js";
import type { Registries } from "./project.js";
import { didYouMean, isObject, kindOf, type Problem, pointerTo, Reader } from "./reader.js";

/** What a plan requires that says what stands in for a node that fails, or for the plan. */
export const fallbackCapability = "cap.rfc.0004.fallback.v1";

const ofNodes: readonly string[] = [
  "bad_regex",
  "duplicate_join_key",
  "missing_join_partner",
  "model_bad_answer",
  "model_overloaded",
  "model_refused",
  "model_timeout",
  "model_unreachable",
  "model_untrusted",
  "node_timeout",
  "non_finite_value",
  "not_one_row",
  "null_value",
  "operator_failed",
  "regex_pattern_null",
  "store_bad_reply",
  "store_corrupt",
  "store_error",
  "store_not_open",
  "store_not_ready",
  "store_overloaded",
  "store_timeout",
  "store_unauthorized",
  "store_unreachable",
  "store_untrusted",
  "store_wrong_type",
  "test_failure",
  "too_many_rows",
];
const ofPlans: readonly string[] = [
  ...ofNodes,
  "deadline_exceeded",
  "memory_budget_exceeded",
  "row_budget_exceeded",
  "time_budget_exceeded",
].sort();
const maxReserveMs = 3_600_000n;
const maxEdges = 100_000;

/** What stands in for a node. */
export interface Fallback {
  /** The number of another node. */
  readonly use: number | "input" | "empty";
  readonly nulls: readonly number[];
  readonly pointer: string;
}

/** A node as far as fallbacks go. */
export interface FallbackNode {
  readonly id: string;
  readonly sources: readonly number[];
  readonly fallback: Fallback | undefined;
  /** Filled with the nodes that this one waits for without taking their rows. */
  readonly after: number[];
}

const standsFor = (pattern: string, code: string): boolean =>
  pattern.endsWith("*") ? code.startsWith(pattern.slice(0, -1)) : pattern === code;

function requireCapability(required: readonly string[], pointer: string, problems: Problem[]): void {
  if (required.includes(fallbackCapability)) return;
  problems.push({
    code: "capability_not_required",
    pointer,
    message: "`fallback` belongs to a capability, which the plan does not require",
    hint: `add \`${fallbackCapability}\` to \`capabilities_required\``,
    node: "",
  });
}

function readPatterns(fallback: Reader, known: readonly string[]): void {
  const list = fallback.array("on", "required");
  if (list === undefined) return;
  if (list.length === 0) fallback.report("on", "too_few_items", "`on` needs at least 1 items");
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const report = (code: string, message: string, hint = ""): void => {
      const pointer = pointerTo(pointerTo(fallback.pointer, "on"), index);
      fallback.problems.push({ code, pointer, message, hint, node: "" });
    };
    if (typeof item !== "string") {
      report("wrong_type", `an item is the code of a failure, not ${kindOf(item)}`);
      continue;
    }
    if (seen.has(item)) report("duplicate_value", "it is listed twice");
    else if (!known.some((code) => standsFor(item, code)))
      report("unknown_code", `\`${item}\` matches no failure that can have a fallback`, didYouMean(item, known));
    seen.add(item);
  }
}

function readUse(fallback: Reader, inputs: number, numbers: ReadonlyMap<string, number>): Fallback["use"] | undefined {
  const use = fallback.value("use", "required");
  if (use === undefined) return undefined;
  if (!isObject(use)) {
    const chosen = fallback.choice("use", "required", ["input", "empty"]);
    if (chosen === "input" && inputs === 0)
      fallback.report("use", "bad_value", "the node has no input whose rows it could pass on", "let another node stand in");
    return chosen as "input" | "empty" | undefined;
  }
  const own = new Reader(use, pointerTo(fallback.pointer, "use"), fallback.problems);
  const name = own.text("node", "required");
  const number = name === undefined ? undefined : numbers.get(name);
  if (name !== undefined && number === undefined)
    own.report("node", "unknown_node", `there is no node \`${name}\``, didYouMean(name, [...numbers.keys()]));
  own.refuseUnknownFields();
  return number;
}

/** Reads the ids of keys, each once. */
export function readKeys(from: Reader, field: string): number[] {
  const seen = new Set<unknown>();
  const ruleOf = itemRule("key_ids");
  for (const [index, item] of (from.array(field, "optional") ?? []).entries()) {
    let wrong = ruleOf(item);
    if (wrong === undefined) {
      const value = itemValue("key_ids", item);
      if (!seen.has(value)) {
        seen.add(value);
        continue;
      }
      wrong = { code: "duplicate_value", message: "it is listed twice" };
    }
    const pointer = pointerTo(pointerTo(from.pointer, field), index);
    from.problems.push({ ...wrong, pointer, hint: "", node: "" });
  }
  return [...seen].map(Number);
}

/** Reads `fallback` of a node; nothing where there is none, or a wrong one. */
export function readFallback(
  node: Reader,
  inputs: number,
  numbers: ReadonlyMap<string, number>,
  required: readonly string[],
): Fallback | undefined {
  const value = node.child("fallback", "optional");
  if (value === undefined) return undefined;
  const before = node.problems.length;
  const pointer = pointerTo(node.pointer, "fallback");
  const fallback = new Reader(value, pointer, node.problems);
  readPatterns(fallback, ofNodes);
  const use = readUse(fallback, inputs, numbers);
  const nulls = readKeys(fallback, "nulls");
  fallback.refuseUnknownFields();
  if (node.problems.length !== before || use === undefined) return undefined;
  requireCapability(required, pointer, node.problems);
  return { use, nulls, pointer };
}

/** Reads `fallback_plan`. */
export function readPlanFallback(top: Reader, planName: unknown, required: readonly string[]): void {
  const value = top.child("fallback_plan", "optional");
  if (value === undefined) return;
  const before = top.problems.length;
  const fallback = new Reader(value, "/fallback_plan", top.problems);
  const name = fallback.text("plan", "required");
  if (name !== undefined && !/^[A-Za-z0-9_]+$/.test(name))
    fallback.report("plan", "bad_name", `\`${name}\` is not letters, digits and \`_\``);
  else if (name !== undefined && name === planName)
    fallback.report("plan", "bad_value", "a plan cannot be its own fallback", "name another plan");
  readPatterns(fallback, ofPlans);
  fallback.integer("reserve_ms", "optional", 1n, maxReserveMs);
  fallback.refuseUnknownFields();
  if (top.problems.length === before) requireCapability(required, "/fallback_plan", top.problems);
}

const substitute = (node: FallbackNode): number | undefined =>
  typeof node.fallback?.use === "number" ? node.fallback.use : undefined;

/** The nodes that outputs need without any substitute. */
function liveNodes(nodes: readonly FallbackNode[], outputs: readonly number[]): ReadonlySet<number> {
  const live = new Set<number>();
  const open = [...outputs];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (live.has(at)) continue;
    live.add(at);
    open.push(...nodes[at]!.sources);
  }
  return live;
}

/** Complains where a node would stand in for itself. */
function checkChains(nodes: readonly FallbackNode[], problems: Problem[]): void {
  const seenFrom = new Map<number, number>();
  for (let start = 0; start < nodes.length; ++start) {
    let at = start;
    for (let next = substitute(nodes[at]!); next !== undefined && !seenFrom.has(at); next = substitute(nodes[at]!)) {
      seenFrom.set(at, start);
      at = next;
    }
    if (seenFrom.get(at) !== start) continue;
    const { id, fallback } = nodes[at]!;
    const pointer = pointerTo(fallback!.pointer, "use");
    problems.push({ code: "cycle", pointer, message: `\`${id}\` is its own fallback`, hint: "", node: id });
  }
}

/** Gives nodes the edges that fallbacks make: see the engine's `fallback_edges`. */
export function linkFallbacks(nodes: readonly FallbackNode[], outputs: readonly number[], problems: Problem[]): void {
  if (nodes.every((node) => node.fallback === undefined)) return;
  checkChains(nodes, problems);
  const live = liveNodes(nodes, outputs);
  let edges = nodes.reduce((sum, node) => sum + node.sources.length, 0);
  const addEdge = (from: number, to: number): void => {
    if (nodes[to]!.after.includes(from)) return;
    nodes[to]!.after.push(from);
    ++edges;
  };
  for (const [from, node] of nodes.entries()) {
    const first = substitute(node);
    const seen = new Set<number>();
    const open = first === undefined ? [] : [first];
    for (let at = open.pop(); at !== undefined && edges <= maxEdges; at = open.pop()) {
      if (live.has(at) || seen.has(at)) continue;
      seen.add(at);
      const { sources } = nodes[at]!;
      open.push(...sources);
      addEdge(from, at);
      ++edges;
    }
  }
  for (const [at, node] of nodes.entries()) {
    const seen = new Set<number>();
    for (const source of node.sources) {
      let from = source;
      for (
        let next = substitute(nodes[from]!);
        next !== undefined && !seen.has(from);
        next = substitute(nodes[from]!)
      ) {
        seen.add(from);
        from = next;
        if (edges <= maxEdges) addEdge(from, at);
      }
    }
  }
  if (edges > maxEdges)
    problems.push({
      code: "too_many_edges",
      pointer: "/nodes",
      message: `a plan has at most ${maxEdges} edges, with those that its fallbacks add`,
      hint: "",
      node: "",
    });
}

/** Complains about keys that are not declared. */
export function checkNulls(node: FallbackNode, declared: Registries, problems: Problem[]): void {
  for (const [index, key] of (node.fallback?.nulls ?? []).entries())
    if (!declared.keys.some((each) => each.id === key))
      problems.push({
        code: "unknown_key",
        pointer: pointerTo(pointerTo(node.fallback!.pointer, "nulls"), index),
        message: `no key has the number ${key}`,
        hint: "the keys are declared in keys.toml",
        node: node.id,
      });
}
