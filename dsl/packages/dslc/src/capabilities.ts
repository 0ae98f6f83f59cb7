// capabilities.ts: finds the capabilities that a plan requires, from the features that it uses.
import type { OpParam, Registries } from "./registries.js";
import type { Built } from "./sandbox_result.js";
import { isObject, type JsonObject, pointerTo } from "./json.js";

/** The capability for a plan that states which of its nodes come from fragments. */
export const fragmentCapability = "cap.rfc.0002.fragments.v1";
/** The capability for a plan that binds options to params. */
const boundParamsCapability = "cap.rfc.0003.bound_params.v1";
/** The field of an artifact that contains the uses of fragments. */
export const usesPointer = `${pointerTo("/extensions", fragmentCapability)}/uses`;
/** The capability for a plan with fallbacks of nodes or of the plan. */
const fallbackCapability = "cap.rfc.0004.fallback.v1";
/** The capability for a plan that chooses among nodes, or compares a param with strings. */
const branchCapability = "cap.rfc.0005.branch.v1";

/** The capabilities for optional fields of a node. */
const fieldCapabilities: Readonly<Record<string, string>> = {
  timeout_ms: "cap.rfc.0007.timeouts.v1",
  retries: "cap.rfc.0008.retries.v1",
  hedge_ms: "cap.rfc.0012.hedge.v1",
  capture: "cap.rfc.0010.capture.v1",
  cache: "cap.rfc.0011.cache.v1",
};

/** A part of a plan that requires a capability. */
export interface FurtherPart {
  readonly capability: string;
  readonly pointer: string;
}

/** Whether a value in an artifact binds the option to a param. */
export function isBound(param: OpParam, value: unknown): value is JsonObject {
  return param.bindable === true && isObject(value);
}

/** Whether a test compares a param with a list of strings. */
function testsStringOfParam({ op, lhs, list }: JsonObject): boolean {
  return (
    op === "in" && isObject(lhs) && lhs["op"] === "param_ref" && Array.isArray(list) && typeof list[0] === "string"
  );
}

/** The ops of a tree that require capabilities, children before parents, from left to right. */
function furtherOps(tree: unknown, pointer: string, declared: Registries): FurtherPart[] {
  const found: FurtherPart[] = [];
  const visit = (node: JsonObject, at: string): void => {
    const op = declared.treeOps.find((each) => each.name === node["op"]);
    for (const [name, kind] of op?.fields ?? []) {
      const child = node[name];
      if ((kind === "value" || kind === "truth") && isObject(child)) visit(child, pointerTo(at, name));
    }
    const capability = op !== undefined && testsStringOfParam(node) ? branchCapability : op?.capability;
    if (capability !== undefined) found.push({ capability, pointer: pointerTo(at, "op") });
  };
  if (isObject(tree)) visit(tree, pointer);
  return found;
}

/** The parts of a node that require a capability. */
function furtherParts(
  { op: name, params, limits, fallback }: Built["plan"]["nodes"][number],
  pointer: string,
  declared: Registries,
): FurtherPart[] {
  const op = declared.ops.find((each) => each.name === name);
  const given = (op?.params ?? []).filter((param) => (params[param.name] ?? undefined) !== undefined);
  const capabilityOf = (param: OpParam): string | undefined => {
    if (param.kind === "pred_ids") return branchCapability;
    return isBound(param, params[param.name]) ? boundParamsCapability : undefined;
  };
  const needed: [string | undefined, string][] = [
    [fallback === undefined ? undefined : fallbackCapability, "fallback"],
    ...Object.keys(limits).map((field): [string | undefined, string] => [fieldCapabilities[field], field]),
    ...Object.keys(limits.extensions ?? {}).map((id): [string, string] => [id, pointerTo("extensions", id)]),
    ...[capabilityOf, ({ capability }: OpParam) => capability].flatMap((of) =>
      given.map((param): [string | undefined, string] => [of(param), `params/${param.name}`]),
    ),
  ];
  return needed.flatMap(([capability, part]) =>
    capability === undefined ? [] : [{ capability, pointer: `${pointer}/${part}` }],
  );
}

/** Returns the capabilities that a plan requires, each once and in order, with the first part that requires it. */
export function requiredBy(built: Built["plan"], declared: Registries): FurtherPart[] {
  const all: FurtherPart[] = [
    ...(built.fragments.length === 0 ? [] : [{ capability: fragmentCapability, pointer: `${usesPointer}/0` }]),
    ...built.nodes.flatMap((node, index) => furtherParts(node, `/nodes/${index}`, declared)),
    ...(built.fallback_plan === undefined ? [] : [{ capability: fallbackCapability, pointer: "/fallback_plan" }]),
    ...built.capabilities.map(({ id }) => ({ capability: id, pointer: pointerTo("/extensions", id) })),
    ...(["expr_table", "pred_table"] as const).flatMap((field) =>
      Object.entries(built[field]).flatMap(([id, tree]) => furtherOps(tree, `/${field}/${id}`, declared)),
    ),
  ];
  const first = new Map<string, FurtherPart>();
  for (const part of all) if (!first.has(part.capability)) first.set(part.capability, part);
  return [...first.values()].sort((a, b) => (a.capability < b.capability ? -1 : 1));
}
