// integer_ids.ts: the engine's rule for operators that take only ids that are integers.
import type { ColumnNode } from "./columns.js";
import type { Registries } from "./project.js";
import type { Problem } from "./reader.js";

const idKey = 1;

/** What reads a list by the id of a row, and the beginning of its key. */
const lists: ReadonlyMap<string, string> = new Map([
  ["core::follow", "follow:"],
  ["core::recommendation", "recommendation:"],
  ["core::media", "media:"],
]);

/** What to write in place of a node that takes only integers; nothing for one that takes any ids. */
function hintFor({ op, params }: ColumnNode): string | undefined {
  if (op === undefined) return undefined;
  const prefix = lists.get(op.name);
  if (prefix !== undefined) return `core::list reads the same by \`key\`: ${prefix}{id}`;
  if (op.name === "core::nearest") return "vectors of a file have integers as their ids";
  if (op.name === "test::fixed_source") return "";
  if (op.name !== "core::fetch_features" || (params["by"] ?? undefined) !== undefined) return undefined;
  return `core::hash reads the same by \`key\`: ${String(params["hash"] ?? "features")}:{id}`;
}

/** Complains about an operator that takes only integers where the ids of the project are strings. */
export function checkIds(node: ColumnNode, declared: Registries, problems: Problem[]): void {
  if (declared.keys.find((each) => each.id === idKey)?.type !== "string") return;
  const hint = hintFor(node);
  if (hint === undefined) return;
  const message = `operator \`${node.op!.name}\` is for ids that are integers; those of this project are strings`;
  problems.push({ code: "string_ids", pointer: node.pointer, message, hint, node: node.id });
}
