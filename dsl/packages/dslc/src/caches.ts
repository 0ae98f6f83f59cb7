// caches.ts: the engine's rules for nodes whose rows are kept for other requests.
import { isBound } from "./bound_params.js";
import { type Capture, readCapture } from "./captures.js";
import type { ColumnNode } from "./columns.js";
import { holesOf } from "./key_template.js";
import type { Entry, Registries } from "./project.js";
import { integerOf, isObject, type JsonObject, type Problem, pointerTo, Reader } from "./reader.js";

/** What a plan requires of which a node has a cache. */
export const cacheCapability = "cap.rfc.0011.cache.v1";

const maxCaches = 64;
const maxAgeMs = 86_400_000n;
const maxRows = 1_000_000n;

/** The cache of a node. */
export interface Cache {
  readonly pointer: string;
}

/** What is kept of the rows of a node: as data, or for other requests. */
export interface KeptRows {
  readonly capture: Capture | undefined;
  readonly cache: Cache | undefined;
}

/** The tables of a plan. */
export interface Trees {
  readonly exprs: JsonObject;
  readonly preds: JsonObject;
}

/** Reads `capture` and `cache` of a node. */
export function readKept(node: Reader, required: readonly string[]): KeptRows {
  return { capture: readCapture(node, required), cache: readCache(node, required) };
}

function readCache(node: Reader, required: readonly string[]): Cache | undefined {
  const stated = node.child("cache", "optional");
  if (stated === undefined) return undefined;
  if (!required.includes(cacheCapability)) {
    const message = "`cache` belongs to a capability, which the plan does not require";
    node.report("cache", "capability_not_required", message, `add \`${cacheCapability}\` to \`capabilities_required\``);
  }
  const own = new Reader(stated, pointerTo(node.pointer, "cache"), node.problems);
  own.integer("ttl_ms", "required", 1n, maxAgeMs);
  own.integer("stale_ms", "optional", 1n, maxAgeMs);
  own.integer("max_rows", "optional", 1n, maxRows);
  own.refuseUnknownFields();
  return { pointer: own.pointer };
}

type CachingNode = ColumnNode & KeptRows;

/** The node at a position and all that its rows are made of, ascending. */
function partOf(nodes: readonly CachingNode[], at: number): CachingNode[] {
  const part = new Set<number>();
  const open = [at];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (part.has(next)) continue;
    part.add(next);
    open.push(...nodes[next]!.sources);
  }
  return nodes.filter((_, index) => part.has(index));
}

/** Adds the ids of the params that a tree reads. */
function addParams(tree: unknown, ids: Set<number>): void {
  if (Array.isArray(tree)) for (const each of tree) addParams(each, ids);
  if (!isObject(tree)) return;
  for (const [field, value] of Object.entries(tree))
    if (field === "param_id") ids.add(Number(integerOf(value)));
    else addParams(value, ids);
}

/** The params that nodes read, in formulas, in keys, and as options: in the order of their ids. */
function paramsOf(part: readonly CachingNode[], { exprs, preds }: Trees, declared: Registries): Entry[] {
  const ids = new Set<number>();
  for (const { op, params } of part)
    for (const param of op?.params ?? []) {
      const value = params[param.name];
      if (param.kind === "expr_id") addParams(exprs[String(value)], ids);
      if (param.kind === "pred_id") addParams(preds[String(value)], ids);
      if (param.kind === "pred_ids" && Array.isArray(value))
        for (const id of value as string[]) addParams(preds[id], ids);
      if (param.kind === "key_template")
        for (const { name, from } of holesOf(value))
          if (from === "param") ids.add(declared.params.find((each) => each.name === name)?.id ?? 0);
      if (isBound(param, value)) addParams(value, ids);
    }
  return declared.params.filter(({ id }) => ids.has(id)).sort((a, b) => a.id - b.id);
}

interface Obstacle {
  readonly message: string;
  readonly hint: string;
}

function obstacleOfNode(node: CachingNode, cached: CachingNode): Obstacle | undefined {
  const name = `\`${node.id}\``;
  const isSelf = node === cached;
  if (node.cache !== undefined && !isSelf)
    return {
      message: `the rows are computed from those of ${name}, which has a cache itself`,
      hint: "leave out one of the two caches",
    };
  if (node.fallback !== undefined)
    return {
      message: `${isSelf ? "the node" : `the rows are computed from those of ${name}, which`} has a fallback, whose rows must not be cached`,
      hint: "leave out the fallback, or the cache",
    };
  if (node.op?.name === "core::candidates")
    return {
      message: `the rows are made of the candidates of the request, which ${name} reads`,
      hint: "leave out the cache",
    };
  if (node.op?.name === "core::paginate")
    return {
      message: `the rows depend on the cursor of the request, which ${name} reads`,
      hint: "put the cache on a node before it",
    };
  return undefined;
}

function obstacleOf(part: readonly CachingNode[], cached: CachingNode, params: readonly Entry[]): Obstacle | undefined {
  for (const node of part) {
    const found = obstacleOfNode(node, cached);
    if (found !== undefined) return found;
  }
  const clock = params.find((each) => each.clock);
  return (
    clock && {
      message: `the rows depend on the time of the request, which param \`${clock.name}\` has`,
      hint: "read the param behind the node with the cache",
    }
  );
}

/** Complains about nodes that cannot have a cache, and about keys other than `stated`, by node, says they are. */
export function checkCaches(
  nodes: readonly CachingNode[],
  trees: Trees,
  declared: Registries,
  stated: ReadonlyMap<string, readonly string[]> | undefined,
  problems: Problem[],
): void {
  let count = 0;
  for (const [at, node] of nodes.entries()) {
    if (node.cache === undefined) continue;
    const { pointer } = node.cache;
    const report = (code: string, { message, hint }: Obstacle): void => {
      problems.push({ code, pointer, message, hint, node: node.id });
    };
    if (++count > maxCaches)
      return report("too_many_caches", { message: `a plan has at most ${maxCaches} nodes with a cache`, hint: "" });
    const part = partOf(nodes, at);
    const params = paramsOf(part, trees, declared);
    const found = obstacleOf(part, node, params);
    if (found !== undefined) {
      report("uncacheable", found);
      continue;
    }
    const readsUser = part.some(({ op }) => op?.name === "core::viewer");
    const key = [...(readsUser ? ["user"] : []), ...params.map(({ name }) => `P.${name}`)];
    const by = stated?.get(node.id);
    if (by === undefined || (by.length === key.length && key.every((each) => by.includes(each)))) continue;
    const named = (all: readonly string[]): string => (all.length === 0 ? "nothing" : all.join(", "));
    report("cache_key_mismatch", {
      message: `\`by\` says that the rows depend on ${named(by)}, and they depend on ${named(key)}`,
      hint: `write by: [${key.map((each) => (each === "user" ? '"user"' : each)).join(", ")}]`,
    });
  }
}

/** `{ttl_ms: 30000, stale_ms: 60000, max_rows: 10000}`. */
export function cacheText(stated: unknown, numberText: (value: unknown) => string): string | undefined {
  if (!isObject(stated)) return undefined;
  const { ttl_ms: ttl, stale_ms: stale, max_rows: rows }: JsonObject = stated;
  const parts = [`ttl_ms: ${numberText(ttl)}`];
  if (stale !== undefined) parts.push(`stale_ms: ${numberText(stale)}`);
  return `{${[...parts, `max_rows: ${numberText(rows ?? 10_000)}`].join(", ")}}`;
}
