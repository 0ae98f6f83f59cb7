// columns.ts: which columns the rows of each node may have, and what nodes add to them, as the engine looks at it.
import type { Fallback } from "./fallbacks.js";
import { type GraphNode, orderOf } from "./graph.js";
import { holesOf } from "./key_template.js";
import type { Op, Registries } from "./project.js";
import { integerOf, type JsonObject, type Problem, pointerTo } from "./reader.js";

/** A node as far as columns go. */
export interface ColumnNode extends GraphNode {
  readonly fallback: Fallback | undefined;
  readonly op: Op | undefined;
  readonly params: JsonObject;
}

const joinName = "core::join";
/** Operators that add columns and write over none, and the params that list them: the first that is given counts. */
const addingOps: Readonly<Record<string, { readonly params: readonly string[]; readonly hint: string }>> = {
  [joinName]: { params: ["map", "select"], hint: "rename the key by `map`" },
  "core::call_models": { params: ["out_keys"], hint: "write the scores under a key that no node before has written" },
  "core::extract_features": { params: ["out_keys"], hint: "write the features under keys that no node before has written" },
  "core::fetch_features": { params: ["keys"], hint: "fetch a feature once, before any other node writes its key" },
  "core::hash": { params: ["keys"], hint: "read a field once, and before its key is written" },
};
/** Sources whose rows have an id and the columns that their params name. */
const namedColumns: ReadonlySet<string> = new Set([
  "core::candidates",
  "core::list",
  "core::media",
  "core::nearest",
  "core::set",
  "core::sorted_set",
  "test::fixed_source",
]);
const withCountry: ReadonlySet<string> = new Set(["core::viewer", "core::follow", "core::recommendation"]);
/** The key that the rows of some sources have without naming it. */
export const countryKey = "country";
/** Whether an operator gives its rows that key. */
export const namesCountry = (op: string): boolean => withCountry.has(op);
const idKey = 1;

function keysOf(node: ColumnNode, param: string): number[] | undefined {
  const value = node.params[param];
  return Array.isArray(value) ? value.map((key: unknown) => Number(integerOf(key))) : undefined;
}

const paramPointer = (node: ColumnNode, param: string): string => pointerTo(pointerTo(node.pointer, "params"), param);

/** Complains where `map` of a join does not fit its `select`, or the keys not its nulls; both hold known keys. */
export function checkMap(node: ColumnNode, declared: Registries, problems: Problem[]): void {
  const [select, map] = [keysOf(node, "select"), keysOf(node, "map")];
  if (node.op?.name !== joinName || select === undefined) return;
  if (map === undefined) return checkMissing(node, "select", select, declared, problems);
  const before = problems.length;
  const hint = "`map` says, for each key of `select` in turn, the key that its values get";
  const pointer = paramPointer(node, "map");
  if (select.length !== map.length) {
    const message = `\`map\` has ${map.length} keys, and \`select\` has ${select.length}`;
    problems.push({ code: "wrong_length", pointer, message, hint, node: node.id });
    return;
  }
  const entryOf = (id: number): { name: string; type: string } => declared.keys.find((key) => key.id === id)!;
  for (const [index, id] of map.entries()) {
    const [from, to] = [entryOf(select[index]!), entryOf(id)];
    if (from.type === to.type) continue;
    const message = `key ${id} (${to.name}) is of type ${to.type}, and the key of \`select\` that goes there of type ${from.type}`;
    problems.push({ code: "wrong_key_type", pointer: pointerTo(pointer, index), message, hint, node: node.id });
  }
  if (problems.length === before) checkMissing(node, "map", map, declared, problems);
}

/** Complains where rows that a join keeps without a partner would have null under a key that allows none. */
function checkMissing(
  node: ColumnNode,
  param: string,
  targets: readonly number[],
  declared: Registries,
  problems: Problem[],
): void {
  if (!["left", "broadcast"].includes(String(node.params["how"])) || (node.params["on_missing"] ?? "null") !== "null")
    return;
  for (const [index, id] of targets.entries()) {
    const key = declared.keys.find((each) => each.id === id)!;
    if (key.nullable) continue;
    problems.push({
      code: "null_in_key",
      pointer: pointerTo(paramPointer(node, param), index),
      message: `rows without a partner would have null under key ${id} (${key.name}), which is not nullable`,
      hint: "`on_missing` is default or error, or `map` leads to a key that is nullable",
      node: node.id,
    });
  }
}

/**
 * Complains where the models have fewer keys for their scores than there are models. Whether the models are there, and
 * which of them give several scores, the engine says.
 */
export function checkModels(node: ColumnNode, problems: Problem[]): void {
  const [models, keys] = [node.params["models"], node.params["out_keys"]];
  if (!Array.isArray(models) || !Array.isArray(keys) || models.length <= keys.length) return;
  const message = `\`out_keys\` has ${keys.length} items, and \`models\` has ${models.length}`;
  problems.push({ code: "wrong_length", pointer: paramPointer(node, "out_keys"), message, hint: "", node: node.id });
}

/** The param of a node that is a template of keys. */
const templateOf = (node: ColumnNode): string | undefined =>
  node.op?.params.find((param) => param.kind === "key_template")?.name;

/** A problem for each hole that no row has a value for. */
function holeProblems(
  node: ColumnNode,
  has: ReadonlySet<number> | undefined,
  nodes: readonly ColumnNode[],
  declared: Registries,
): Problem[] {
  const param = templateOf(node);
  if (param === undefined) return [];
  const source = nodes[node.sources[0] ?? -1]?.id;
  const problems: Problem[] = [];
  for (const { name, from } of holesOf(node.params[param])) {
    if (from === "param" || has?.has(declared.keys.find((key) => key.name === name)!.id) === true) continue;
    const rows =
      source === undefined
        ? "a node without input has no columns"
        : `the rows of \`${source}\` have no column \`${name}\``;
    problems.push({
      code: "unknown_column",
      pointer: paramPointer(node, param),
      message: `{${name}} has no value: ${rows}`,
      hint: "add the column before, or read the value from a param: {P.NAME}",
      node: node.id,
    });
  }
  return problems;
}

/** What the rows of a node may have, or those of what stands in for it; nothing where there is no node. */
function givenBy(
  nodes: readonly ColumnNode[],
  columns: readonly ReadonlySet<number>[],
  at: number | undefined,
): ReadonlySet<number> | undefined {
  if (at === undefined) return undefined;
  const fallback = nodes[at]!.fallback;
  if (fallback === undefined || fallback.use === "empty") return columns[at]!;
  const other = givenBy(nodes, columns, fallback.use === "input" ? nodes[at]!.sources[0] : fallback.use)!;
  return new Set([...columns[at]!, ...other]);
}

/** What is wrong where what stands in for a node lacks columns of its rows. */
function substituteProblem(
  node: ColumnNode,
  own: ReadonlySet<number>,
  nodes: readonly ColumnNode[],
  columns: readonly ReadonlySet<number>[],
  declared: Registries,
): Problem | undefined {
  const { fallback } = node;
  if (fallback === undefined || fallback.use === "empty") return undefined;
  const given = givenBy(nodes, columns, fallback.use === "input" ? node.sources[0] : fallback.use)!;
  const lacking = declared.keys.filter(({ id }) => own.has(id) && !given.has(id) && !fallback.nulls.includes(id));
  if (lacking.length === 0) return undefined;
  const named = lacking.map(({ id, name }) => `${id} (${name})`).join(", ");
  return {
    code: "fallback_lacks_column",
    pointer: pointerTo(fallback.pointer, "use"),
    message: `the fallback does not provide these columns of the node: ${named}`,
    hint: "list them in `nulls`: they are null then",
    node: node.id,
  };
}

/** The keys that the params of a node say it writes. */
function writtenKeys(node: ColumnNode): number[] {
  const given = node.op!.params.filter((param) => param.use === "write").map((param) => node.params[param.name]);
  return given
    .filter((value) => value !== undefined && value !== null)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .map((key: unknown) => Number(integerOf(key)));
}

/** What a walk through a plan found: the keys that the rows of each node may have, and what is wrong at which node. */
interface Walk {
  readonly columns: readonly ReadonlySet<number>[];
  readonly found: { node: number; problem: Problem }[];
}

/** The inputs whose columns the rows of a node keep. */
function passedOn(node: ColumnNode): readonly number[] {
  if (node.op!.columns === "written") return [];
  return node.op!.name === joinName || node.op!.columns === "first_input" ? node.sources.slice(0, 1) : node.sources;
}

function walk(nodes: readonly ColumnNode[], declared: Registries): Walk {
  const country = declared.keys.find((key) => key.name === countryKey)?.id ?? idKey;
  const columns = nodes.map(() => new Set<number>());
  const found: { node: number; problem: Problem }[] = [];
  for (const at of orderOf(nodes)) {
    const node = nodes[at]!;
    const name = node.op!.name;
    const own = columns[at]!;
    own.add(idKey);
    for (const problem of holeProblems(node, givenBy(nodes, columns, node.sources[0]), nodes, declared))
      found.push({ node: at, problem });
    if (withCountry.has(name)) own.add(country);
    if (withCountry.has(name)) continue;
    if (namedColumns.has(name)) {
      for (const key of keysOf(node, "keys") ?? []) own.add(key);
      const scores = integerOf(node.params["out_key"]);
      if (scores !== undefined) own.add(Number(scores));
      continue;
    }
    for (const source of passedOn(node)) for (const key of givenBy(nodes, columns, source)!) own.add(key);
    for (const key of Object.hasOwn(addingOps, name) ? [] : writtenKeys(node)) own.add(key);
    for (const problem of addColumns(node, own, declared)) found.push({ node: at, problem });
  }
  for (const [at, node] of nodes.entries()) {
    const problem = substituteProblem(node, columns[at]!, nodes, columns, declared);
    if (problem !== undefined) found.push({ node: at, problem });
  }
  return { columns, found };
}

/** Adds the columns of an operator that writes over none, and gives a problem for each that is there already. */
function addColumns(node: ColumnNode, own: Set<number>, declared: Registries): Problem[] {
  const name = node.op!.name;
  const adds = Object.hasOwn(addingOps, name) ? addingOps[name] : undefined;
  const param = adds?.params.find((each) => keysOf(node, each) !== undefined);
  if (adds === undefined || param === undefined) return [];
  return keysOf(node, param)!.flatMap((key, index) => {
    const isThere = own.has(key);
    own.add(key);
    if (!isThere) return [];
    return {
      code: "column_exists",
      pointer: pointerTo(paramPointer(node, param), index),
      message: `the rows may have key ${key} (${declared.keys.find((each) => each.id === key)!.name}) already, and \`${name}\` overwrites no column`,
      hint: adds.hint,
      node: node.id,
    };
  });
}

/** The keys that the rows of each node may have; nothing is wrong with the nodes. */
export function columnsOf(nodes: readonly ColumnNode[], declared: Registries): readonly ReadonlySet<number>[] {
  return walk(nodes, declared).columns;
}

/** Complains where a hole of a key has no value, and where a node adds a column that the rows of its input may have, and its operator writes over none. */
export function checkColumns(nodes: readonly ColumnNode[], declared: Registries, problems: Problem[]): void {
  const matters = (node: ColumnNode): boolean =>
    Object.hasOwn(addingOps, node.op?.name ?? "") || templateOf(node) !== undefined || node.fallback !== undefined;
  if (!nodes.some(matters)) return;
  const { found } = walk(nodes, declared);
  found.sort((a, b) => a.node - b.node);
  problems.push(...found.map((each) => each.problem));
}

/** Every key that a tree reads. */
function keysIn(tree: unknown): number[] {
  if (Array.isArray(tree)) return (tree as unknown[]).flatMap(keysIn);
  if (typeof tree !== "object" || tree === null) return [];
  const own = integerOf((tree as JsonObject)["key_id"]);
  return [...(own === undefined ? [] : [Number(own)]), ...Object.values(tree).flatMap(keysIn)];
}

/** The keys that a node reads besides `id`, which all rows have; each once, ascending. */
function readKeys(node: ColumnNode, trees: Trees, declared: Registries): number[] {
  const found = node.op!.params.flatMap((param) => {
    const value = node.params[param.name];
    if (param.kind === "expr_id") return keysIn(trees.exprs[String(value)]);
    if (param.kind === "pred_id") return keysIn(trees.preds[String(value)]);
    if (param.kind === "key_template")
      return holesOf(value).flatMap(({ name, from }) =>
        from === "key" ? (declared.keys.find((key) => key.name === name)?.id ?? []) : [],
      );
    if (param.use === "write" || value === undefined || value === null) return [];
    if (param.kind === "key_id") return [Number(integerOf(value))];
    return param.kind === "key_ids" ? keysOf(node, param.name)! : [];
  });
  return [...new Set(found)].filter((key) => key !== idKey).sort((a, b) => a - b);
}

/** The formulas of a plan by their ids. */
export interface Trees {
  readonly exprs: JsonObject;
  readonly preds: JsonObject;
}

/** A warning for each key that a node reads and that the rows of none of its sources can have; nothing is wrong with the nodes. */
export function missingColumns(nodes: readonly ColumnNode[], trees: Trees, declared: Registries): Problem[] {
  const { columns } = walk(nodes, declared);
  return nodes.flatMap((node) => {
    if (node.sources.length === 0) return [];
    const given = node.sources.map((source) => givenBy(nodes, columns, source)!);
    return readKeys(node, trees, declared)
      .filter((key) => !given.some((has) => has.has(key)))
      .map((key) => ({
        code: "column_missing",
        pointer: node.pointer,
        message: `reads key ${key} (${declared.keys.find((each) => each.id === key)!.name}), which no node before it writes: it is null in every row`,
        hint: "",
        node: node.id,
      }));
  });
}
