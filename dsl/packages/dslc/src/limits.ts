// limits.ts: the engine's rules for the time limit of a node, how often it is run again, and when it is asked twice.
import type { Op } from "./project.js";
import type { Reader } from "./reader.js";

/** What a plan requires by each field of a node that not every node has. */
export const limitCapabilities: Readonly<Record<string, string>> = {
  timeout_ms: "cap.rfc.0007.timeouts.v1",
  retries: "cap.rfc.0008.retries.v1",
  hedge_ms: "cap.rfc.0012.hedge.v1",
};

const maxTimeoutMs = 3_600_000n;
const maxRetries = 5n;

const asksOtherThan = (op: Op, kind: string): boolean =>
  op.params.some((param) => param.kind === "endpoint_ref" && !(param.endpoint_kinds ?? []).includes(kind));

/** Whether a node of it may be run again. */
export const readsStore = (op: Op): boolean => asksOtherThan(op, "vectors");

/** Whether what a node of it reads may be asked a second time. */
export const mayHedge = (op: Op): boolean => readsStore(op) && asksOtherThan(op, "http");

function requireCapability(node: Reader, field: string, required: readonly string[]): void {
  const capability = limitCapabilities[field]!;
  if (required.includes(capability)) return;
  const message = `\`${field}\` belongs to a capability, which the plan does not require`;
  node.report(field, "capability_not_required", message, `add \`${capability}\` to \`capabilities_required\``);
}

function readHedge(node: Reader, op: Op | undefined, required: readonly string[], timeout: bigint | undefined): void {
  const after = node.integer("hedge_ms", "optional", 1n, maxTimeoutMs);
  if (after === undefined) return;
  requireCapability(node, "hedge_ms", required);
  if (op !== undefined && !mayHedge(op))
    node.report(
      "hedge_ms",
      "bad_value",
      `\`${op.name}\` reads no store that could be asked again`,
      "leave out `hedge_ms`",
    );
  else if (timeout !== undefined && after >= timeout)
    node.report("hedge_ms", "bad_value", "the time of the node is over by then", "choose less than its `timeout_ms`");
}

/** Reads `timeout_ms`, `retries` and `hedge_ms` of a node. */
export function readLimits(node: Reader, op: Op | undefined, required: readonly string[]): void {
  const timeout = node.integer("timeout_ms", "optional", 1n, maxTimeoutMs);
  if (timeout !== undefined) requireCapability(node, "timeout_ms", required);
  readHedge(node, op, required, timeout);
  if (node.integer("retries", "optional", 1n, maxRetries) === undefined) return;
  requireCapability(node, "retries", required);
  if (op !== undefined && !readsStore(op))
    node.report("retries", "bad_value", `\`${op.name}\` reads no store, so it fails again`, "leave out `retries`");
}
