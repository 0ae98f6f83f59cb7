// branches.ts: the engine's rules for nodes that choose among their inputs by params of requests.
import type { Op, Registries } from "./project.js";
import { isObject, type JsonObject, type Problem, pointerTo } from "./reader.js";

/** What a plan requires that chooses among nodes, or compares a param with strings. */
export const branchCapability = "cap.rfc.0005.branch.v1";
const mostConditions = 64;

/** A node as far as its conditions go. */
export interface ChoosingNode {
  readonly id: string;
  readonly pointer: string;
  readonly op: Op | undefined;
  readonly params: JsonObject;
  readonly inputs: number;
}

/** What is wrong with an item of a list of predicates. */
export function predProblem(item: unknown, preds: JsonObject): { code: string; message: string } | undefined {
  if (typeof item !== "string") return { code: "wrong_type", message: "an item is the name of a predicate" };
  return Object.hasOwn(preds, item)
    ? undefined
    : { code: "unknown_pred", message: `there is no predicate \`${item}\`` };
}

const conditionsOf = (node: ChoosingNode): { name: string; ids: readonly string[] } | undefined => {
  const name = node.op?.params.find((param) => param.kind === "pred_ids")?.name;
  const ids = name === undefined ? undefined : node.params[name];
  return name !== undefined && Array.isArray(ids) ? { name, ids: ids as string[] } : undefined;
};

/** What is wrong with the conditions of a node; each names a predicate. */
export function checkConditions(
  node: ChoosingNode,
  preds: JsonObject,
  declared: Registries,
  problems: Problem[],
): void {
  const own = conditionsOf(node);
  if (own === undefined) return;
  const pointer = pointerTo(pointerTo(node.pointer, "params"), own.name);
  if (own.ids.length + 1 !== node.inputs)
    problems.push({
      code: "wrong_length",
      pointer,
      message: `\`${own.name}\` has ${own.ids.length} items, and ${node.inputs} inputs take one less than they are`,
      hint: "",
      node: node.id,
    });
  for (const id of own.ids) {
    const place = rowValue(preds[id], pointerTo("/pred_table", id), declared);
    if (place === undefined) continue;
    problems.push({
      code: "row_value_in_condition",
      pointer: place,
      message: "a condition is decided before there are rows, and a key is a value of rows",
      hint: "use params of the request, or put the choice into an expression of rows (if)",
      node: node.id,
    });
  }
}

/** The first part of a tree, children before parents, that reads a column. */
function rowValue(tree: unknown, pointer: string, declared: Registries): string | undefined {
  if (!isObject(tree)) return undefined;
  const op = declared.treeOps.find((each) => each.name === tree["op"]);
  for (const [name, kind] of op?.fields ?? []) {
    if (kind !== "value" && kind !== "truth") continue;
    const found = rowValue(tree[name], pointerTo(pointer, name), declared);
    if (found !== undefined) return found;
  }
  for (const [name, kind] of op?.fields ?? []) {
    const source = tree[name];
    if (kind === "text" && isObject(source) && source["kind"] === "key")
      return pointerTo(pointerTo(pointer, name), "key_id");
  }
  return tree["op"] === "key_ref" || tree["op"] === "regex" ? pointerTo(pointer, "key_id") : undefined;
}

/** Complains where the nodes of a plan have too many conditions, each counted once. */
export function checkConditionCount(nodes: readonly ChoosingNode[], problems: Problem[]): void {
  const all = new Set<string>();
  for (const node of nodes) {
    const own = conditionsOf(node);
    for (const id of own?.ids ?? []) all.add(id);
    if (own === undefined || all.size <= mostConditions) continue;
    problems.push({
      code: "too_many_conditions",
      pointer: pointerTo(pointerTo(node.pointer, "params"), own.name),
      message: `the nodes of a plan have at most ${mostConditions} conditions together`,
      hint: "",
      node: node.id,
    });
    return;
  }
}

/** Whether a part of a tree compares the string of a param, which not every plan may. */
export function testsStringOfParam(tree: JsonObject): boolean {
  const { op, lhs, list } = tree;
  return (
    op === "in" && isObject(lhs) && lhs["op"] === "param_ref" && Array.isArray(list) && typeof list[0] === "string"
  );
}
