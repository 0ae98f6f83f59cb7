// limits.ts: the engine's rules for the time limit of a node, and for how often it is run again.
import type { Op } from "./project.js";
import type { Reader } from "./reader.js";

/** What a plan requires by each field of a node that not every node has. */
export const limitCapabilities: Readonly<Record<string, string>> = {
  timeout_ms: "cap.rfc.0007.timeouts.v1",
  retries: "cap.rfc.0008.retries.v1",
};

const maxTimeoutMs = 3_600_000n;
const maxRetries = 5n;

/** Whether a node of it may be run again. */
export const readsStore = (op: Op): boolean =>
  op.params.some((param) => param.kind === "endpoint_ref" && !(param.endpoint_kinds ?? []).includes("vectors"));

function requireCapability(node: Reader, field: string, required: readonly string[]): void {
  const capability = limitCapabilities[field]!;
  if (required.includes(capability)) return;
  const message = `\`${field}\` belongs to a capability, which the plan does not require`;
  node.report(field, "capability_not_required", message, `add \`${capability}\` to \`capabilities_required\``);
}

/** Reads `timeout_ms` and `retries` of a node. */
export function readLimits(node: Reader, op: Op | undefined, required: readonly string[]): void {
  if (node.integer("timeout_ms", "optional", 1n, maxTimeoutMs) !== undefined)
    requireCapability(node, "timeout_ms", required);
  if (node.integer("retries", "optional", 1n, maxRetries) === undefined) return;
  requireCapability(node, "retries", required);
  if (op !== undefined && !readsStore(op))
    node.report("retries", "bad_value", `\`${op.name}\` reads no store, so it fails again`, "leave out `retries`");
}
