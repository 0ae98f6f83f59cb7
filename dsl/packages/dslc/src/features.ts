// features.ts: what extract_features asks of its params beyond their shapes, as the engine looks at it.
import { endOf } from "./bound_params.js";
import type { ColumnNode } from "./columns.js";
import { floatOf } from "./items.js";
import type { Registries } from "./project.js";
import { integerOf, type Problem, pointerTo } from "./reader.js";

const numbers: readonly string[] = ["int", "float"];
/** The types of which each transform takes keys. */
const typesOf: Readonly<Record<string, readonly string[]>> = {
  bucket: numbers,
  clip: numbers,
  is_null: ["int", "float", "string", "bool"],
  log1p: numbers,
  one_hot: ["int", "float", "string"],
};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Complains where the params of a node do not fit each other; each of them has the right shape. */
export function checkExtract(node: ColumnNode, declared: Registries, problems: Problem[]): void {
  const name = String(node.params["transform"]);
  const params = pointerTo(node.pointer, "params");
  const report = (code: string, pointer: string, message: string): void => {
    problems.push({ code, pointer, message, hint: "", node: node.id });
  };
  const keys = listOf(node.params["keys"]).map((id) => {
    const key = declared.keys.find((each) => each.id === Number(integerOf(id)));
    return key === undefined || key.status === "blocked" || !key.read || key.type === "vector" ? undefined : key;
  });
  const wanted = typesOf[name] ?? [];
  for (const [index, key] of keys.entries())
    if (key !== undefined && !wanted.includes(key.type))
      report(
        "wrong_key_type",
        pointerTo(pointerTo(params, "keys"), index),
        `key ${key.id} (${key.name}) is of type ${key.type}; \`${name}\` takes one of: ${wanted.join(", ")}`,
      );

  const outKeys = listOf(node.params["out_keys"]).length;
  const values = listOf(node.params["values"]);
  const isListed = name === "one_hot";
  if (isListed && keys.length !== 1)
    report("too_many_items", pointerTo(params, "keys"), `\`${name}\` takes one key; \`keys\` has ${keys.length}`);
  const [other, length] = isListed ? ["values", values.length] : ["keys", keys.length];
  if (outKeys !== length)
    report(
      "wrong_length",
      pointerTo(params, "out_keys"),
      `\`out_keys\` has ${outKeys} items, and \`${other}\` has ${length}`,
    );

  const [min, max] = [node.params["min"] ?? undefined, node.params["max"] ?? undefined];
  if (name === "clip" && min === undefined && max === undefined)
    report("missing_field", params, `\`${name}\` takes \`min\`, \`max\` or both, and has neither`);
  if (min !== undefined && max !== undefined && floatOf(endOf(max, "min")) < floatOf(endOf(min, "max")))
    report("out_of_range", pointerTo(params, "max"), "`max` must not be less than `min`");

  const key = keys.length === 1 ? keys[0] : undefined;
  const areStrings = typeof values[0] === "string";
  if (isListed && key !== undefined && key.type !== "bool" && areStrings !== (key.type === "string"))
    report(
      "wrong_type",
      pointerTo(params, "values"),
      `\`values\` must be ${areStrings ? "integers" : "strings"}, as key ${key.id} (${key.name}) is of type ${key.type}`,
    );
}
