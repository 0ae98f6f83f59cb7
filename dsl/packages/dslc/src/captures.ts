// captures.ts: the engine's rules for nodes that capture rows.
import { type ColumnNode, columnsOf } from "./columns.js";
import { readKeys } from "./fallbacks.js";
import { floatOf } from "./items.js";
import type { Registries } from "./project.js";
import { isObject, type JsonObject, numberProblem, type Problem, pointerTo, Reader } from "./reader.js";

/** What a plan requires of which a node captures rows. */
export const captureCapability = "cap.rfc.0010.capture.v1";

const maxRows = 10_000n;
const idKey = 1;
const sides = ["out", "in", "both"] as const;

/** What a node captures. */
export interface Capture {
  readonly keys: readonly number[];
  readonly side: (typeof sides)[number];
  readonly pointer: string;
}

/** Reads `capture` of a node; nothing where there is none. */
export function readCapture(node: Reader, required: readonly string[]): Capture | undefined {
  const stated = node.child("capture", "optional");
  if (stated === undefined) return undefined;
  if (!required.includes(captureCapability)) {
    const message = "`capture` belongs to a capability, which the plan does not require";
    node.report(
      "capture",
      "capability_not_required",
      message,
      `add \`${captureCapability}\` to \`capabilities_required\``,
    );
  }
  const own = new Reader(stated, pointerTo(node.pointer, "capture"), node.problems);
  const sample = own.value("sample", "optional");
  const wrong = sample === undefined ? undefined : numberProblem(sample, "float");
  if (wrong !== undefined) own.report("sample", wrong.code, `\`sample\` ${wrong.message}`);
  else if (sample !== undefined && (floatOf(sample) < 0 || floatOf(sample) > 1))
    own.report("sample", "out_of_range", "`sample` must lie between 0 and 1");
  const keys = readKeys(own, "key_ids");
  own.integer("max_rows", "optional", 1n, maxRows);
  const side = own.choice("side", "optional", sides) as Capture["side"] | undefined;
  own.refuseUnknownFields();
  return { keys, side: side ?? "out", pointer: own.pointer };
}

interface CapturingNode extends ColumnNode {
  readonly capture: Capture | undefined;
}

/** Complains about keys that the captured rows cannot have, or that must not be read. */
export function checkCaptures(nodes: readonly CapturingNode[], declared: Registries, problems: Problem[]): void {
  if (!nodes.some((node) => (node.capture?.keys ?? []).length > 0)) return;
  const columns = columnsOf(nodes, declared);
  for (const [at, node] of nodes.entries()) {
    const { capture } = node;
    if (capture === undefined) continue;
    const seen = [...(capture.side === "in" ? [] : [at]), ...(capture.side === "out" ? [] : node.sources)];
    for (const [index, id] of capture.keys.entries()) {
      const pointer = pointerTo(pointerTo(capture.pointer, "key_ids"), index);
      const report = (code: string, message: string, hint = ""): void => {
        problems.push({ code, pointer, message, hint, node: node.id });
      };
      const key = declared.keys.find((each) => each.id === id);
      if (key === undefined) report("unknown_key", `no key has the number ${id}`, "the keys are declared in keys.toml");
      else if (key.status === "blocked") report("blocked_key", `key \`${key.name}\` is blocked`);
      else if (!key.read) report("unreadable_key", `key \`${key.name}\` must not be read`);
      else if (id !== idKey && !seen.some((each) => columns[each]!.has(id)))
        report("unknown_column", `the rows of node \`${node.id}\` that are captured cannot have \`${key.name}\``);
    }
  }
}

/** `{sample: 0.01, side: both, max_rows: 500, keys: [Key.id]}`. */
export function captureText(
  stated: unknown,
  numberText: (value: unknown) => string,
  keyText: (key: unknown) => string,
): string | undefined {
  if (!isObject(stated)) return undefined;
  const { sample, side, max_rows: rows, key_ids: keys }: JsonObject = stated;
  const parts = [`sample: ${numberText(sample ?? 1)}`, `side: ${String(side ?? "out")}`];
  parts.push(`max_rows: ${numberText(rows ?? 500)}`);
  if (Array.isArray(keys)) parts.push(`keys: [${keys.map((key: unknown) => keyText(key)).join(", ")}]`);
  return `{${parts.join(", ")}}`;
}
