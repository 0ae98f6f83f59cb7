// plan_artifact.ts: builds the artifact of a plan from the sandbox's output.
import {
  builtBy,
  fieldsFromSandbox,
  fromSandbox,
  type JsonFields,
  type Places,
  plainTree,
  unlessEmpty,
} from "./artifact_parts.js";
import { fragmentCapability, requiredBy, usesPointer } from "./capabilities.js";
import type { FragmentVersion } from "./fragment_index.js";
import { type Json, pointerTo } from "./json.js";
import type { Registries } from "./registries.js";
import { digestsForPlan } from "./registry_digests.js";
import type { Built } from "./sandbox_result.js";

type Plan = Built["plan"];

/**
 * Returns the artifact, and stores the positions of its parts. `versions` are those of the plan's fragments, in order.
 */
export function planArtifact(
  built: Plan,
  places: Places,
  declared: Registries,
  versions: readonly FragmentVersion[],
): JsonFields {
  places.addFields("/fallback_plan", built.$fallback);
  places.add("/plan_name", built.$nameSpan);
  places.add("", built.$nameSpan);
  places.add("/outputs", built.$outputSpan);
  const treeSpans = Object.create(null) as Record<string, Json>;
  const table = (field: "expr_table" | "pred_table"): JsonFields =>
    Object.fromEntries(
      Object.entries(built[field]).map(([id, tree]) => [
        id,
        plainTree(tree, (path, span) => {
          Object.assign(treeSpans, places.add(`/${field}/${id}${path}`, span, id + path));
        }),
      ]),
    );
  const exprs = table("expr_table");
  const preds = table("pred_table");
  const extensions = extensionsOf(built, places, versions);
  const required = requiredBy(built, declared);
  for (const [index, { pointer }] of required.entries()) {
    const place = places.above(pointer);
    if (place !== undefined) places.byPointer.set(`/capabilities_required/${index}`, place);
  }
  const artifact = {
    schema_version: 1,
    plan_name: built.plan_name,
    built_by: builtBy,
    nodes: built.nodes.map((node, index) => nodeJson(node, `/nodes/${index}`, places)),
    outputs: built.outputs,
    ...(built.fallback_plan === undefined ? {} : { fallback_plan: fromSandbox(built.fallback_plan) }),
    source_files: places.sourceFiles(),
    ...unlessEmpty(
      "capabilities_required",
      required.map((each) => each.capability),
    ),
    ...unlessEmpty("extensions", extensions),
    ...unlessEmpty("expr_table", exprs),
    ...unlessEmpty("pred_table", preds),
    ...unlessEmpty("source_spans", treeSpans),
  };
  return { ...artifact, registry_digests: digestsForPlan(artifact, declared) };
}

function nodeJson(node: Plan["nodes"][number], pointer: string, places: Places): Json {
  const span = places.add(pointer, node.$span);
  for (const [field, fieldSpan] of Object.entries(node.$fields))
    places.add(field === "$as" ? `${pointer}/node_id` : `${pointer}/params/${field}`, fieldSpan);
  places.addFields(`${pointer}/fallback`, node.$fallback);
  places.addFields(pointer, node.$limits);
  return {
    node_id: node.node_id,
    op: node.op,
    inputs: node.inputs,
    params: fromSandbox(node.params),
    ...fieldsFromSandbox(node.limits),
    ...(node.fallback === undefined ? {} : { fallback: fromSandbox(node.fallback) }),
    ...span,
  };
}

/** Returns the uses of fragments, and the capabilities that the plan itself states. */
function extensionsOf(built: Plan, places: Places, versions: readonly FragmentVersion[]): JsonFields {
  const uses = built.fragments.map((use, index): Json => {
    const pointer = `${usesPointer}/${index}`;
    const place = places.add(pointer, use.$span, "place");
    places.addFields(`${pointer}/args`, use.$args);
    const { name, version, sha256 } = versions[index]!;
    const { id, nodes, result } = use;
    return { id, fragment: name, version, sha256, args: fromSandbox(use.args), nodes, result, ...place };
  });
  for (const { id, $span } of built.capabilities) places.add(pointerTo("/extensions", id), $span);
  const payloads = built.capabilities.flatMap((each) =>
    "payload" in each ? [[each.id, fromSandbox(each.payload)] as const] : [],
  );
  return Object.fromEntries([...(uses.length === 0 ? [] : [[fragmentCapability, { uses }] as const]), ...payloads]);
}
