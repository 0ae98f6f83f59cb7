// feed.ts: what operators about a whole list ask of their params beyond their shapes, as the engine looks at it.
import type { ColumnNode } from "./columns.js";
import type { Entry, Registries } from "./project.js";
import { integerOf, type Problem, pointerTo } from "./reader.js";

const comparable: readonly string[] = ["int", "float", "string", "bool"];

/** The key that a node is given, if plans may read it. */
function readKey(value: unknown, declared: Registries): Entry | undefined {
  const key = declared.keys.find((each) => each.id === Number(integerOf(value)));
  return key === undefined || key.status === "blocked" || !key.read || !comparable.includes(key.type) ? undefined : key;
}

/** Complains where the params of a node do not fit each other; each of them has the right shape. */
export function checkFeed(node: ColumnNode, declared: Registries, problems: Problem[]): void {
  const params = pointerTo(node.pointer, "params");
  const report = (code: string, param: string, message: string): void => {
    const pointer = param === "" ? params : pointerTo(params, param);
    problems.push({ code, pointer, message, hint: "", node: node.id });
  };
  if (node.op?.name === "core::concat") checkSources(node, report);
  if (node.op?.name === "core::diversify") checkDiversify(node, declared, report);
}

function checkSources(node: ColumnNode, report: (code: string, param: string, message: string) => void): void {
  const [key, sources] = [node.params["out_key"] ?? undefined, node.params["sources"]];
  const isNamed = Array.isArray(sources);
  if (isNamed && key === undefined)
    report("unused_param", "sources", "`sources` means something only beside `out_key`");
  else if (!isNamed && key !== undefined)
    report("missing_field", "", "the field `sources` is missing: `out_key` needs names for it");
  else if (isNamed && sources.length > 2) report("too_many_items", "sources", "`sources` has more than two names");
}

function checkDiversify(
  node: ColumnNode,
  declared: Registries,
  report: (code: string, param: string, message: string) => void,
): void {
  const [most, window] = [integerOf(node.params["at_most"]), integerOf(node.params["window"])];
  if (most !== undefined && window !== undefined && most >= window)
    report("out_of_range", "at_most", "`at_most` must be less than `window`");
  const [by, values] = [readKey(node.params["by"], declared), node.params["values"]];
  if (by === undefined || !Array.isArray(values)) return;
  const named = `key ${by.id} (${by.name}) is of type ${by.type}`;
  if (by.type !== "int" && by.type !== "string")
    return report("wrong_key_type", "by", `${named}; \`quota\` takes one of: int, string`);
  const areStrings = typeof values[0] === "string";
  if (areStrings !== (by.type === "string"))
    report("wrong_type", "values", `\`values\` must be ${areStrings ? "integers" : "strings"}, as ${named}`);
}

/** Complains about each node but the first that gives pages: a cursor has one position. */
export function checkPages(nodes: readonly ColumnNode[], problems: Problem[]): void {
  for (const node of nodes.filter((each) => each.op?.name === "core::paginate").slice(1))
    problems.push({
      code: "too_many_pages",
      pointer: node.pointer,
      message: "a plan has one `core::paginate` at most: a cursor has one position",
      hint: "",
      node: node.id,
    });
}
