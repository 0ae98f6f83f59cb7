// vectors.ts: the engine's rules for products of vectors, and for params of operators that belong to a capability.
import type { OpParam, Registries } from "./project.js";
import { isObject, type Problem, pointerTo, type Reader } from "./reader.js";

/** Ops that multiply two vectors. */
const products: readonly unknown[] = ["dot", "cosine"];

/** Whether the children of a node of a tree are vectors. */
export const multiplies = (tree: { readonly op?: unknown }): boolean => products.includes(tree.op);

/** The dimensions of a key of vectors that a tree consists of; 0 for any other tree. */
export function dimensionsOf(tree: unknown, declared: Registries): number {
  if (!isObject(tree) || tree["op"] !== "key_ref") return 0;
  return declared.keys.find((each) => each.id === tree["key_id"])?.dimensions ?? 0;
}

/** What is multiplied and is no vector. */
export function noVector(pointer: string): Problem {
  return {
    code: "wants_vector",
    pointer,
    message: "expected a key of type vector",
    hint: "vectors are keys of type vector, as keys.toml declares them",
    node: "",
  };
}

/** Complains about products of vectors that do not fit each other. Children come before their parents. */
export function checkDimensions(tree: unknown, pointer: string, declared: Registries, problems: Problem[]): void {
  if (!isObject(tree)) return;
  const op = declared.treeOps.find((each) => each.name === tree["op"]);
  for (const [name, kind] of op?.fields ?? [])
    if (kind === "value" || kind === "truth") checkDimensions(tree[name], pointerTo(pointer, name), declared, problems);
  if (!multiplies(tree)) return;
  const [a, b] = [dimensionsOf(tree["a"], declared), dimensionsOf(tree["b"], declared)];
  if (a === 0 || b === 0 || a === b) return;
  problems.push({
    code: "dimensions_differ",
    pointer,
    message: `the vectors have ${a} and ${b} dimensions`,
    hint: "multiply vectors of the same dimensions",
    node: "",
  });
}

/** Complains where a param is given that belongs to a capability which the plan does not require. */
export function requireCapability(
  params: Reader,
  { name }: OpParam,
  capability: string | undefined,
  required: readonly string[],
): void {
  if (capability === undefined || required.includes(capability) || params.value(name, "nullable") === undefined) return;
  params.report(
    name,
    "capability_not_required",
    `\`${name}\` belongs to a capability, which the plan does not require`,
    `add \`${capability}\` to \`capabilities_required\``,
  );
}
