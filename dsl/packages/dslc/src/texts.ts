// texts.ts: where expressions give strings and where numbers, as the engine looks at it.
import type { ColumnNode } from "./columns.js";
import type { Registries } from "./project.js";
import { integerOf, isObject, type JsonObject, type Problem, pointerTo } from "./reader.js";
import { givesIntegers } from "./trees.js";
import { checkDimensions, dimensionsOf, multiplies, noVector } from "./vectors.js";

/** What the value of an expression is taken for. */
export type Reading = "number" | "text" | "vector";

/** Whether every value of an expression of the right shape and names is a string or null. */
export function givesStrings(tree: unknown, declared: Registries): boolean {
  if (!isObject(tree)) return false;
  switch (tree["op"]) {
    case "const_null":
    case "const_text":
    case "concat":
      return true;
    case "key_ref":
      return declared.keys.find((each) => each.id === tree["key_id"])?.type === "string";
    case "param_ref":
      return declared.params.find((each) => each.id === tree["param_id"])?.type === "string";
    case "coalesce":
    case "if":
      return givesStrings(tree["a"], declared) && givesStrings(tree["b"], declared);
    default:
      return false;
  }
}

const readingBelow = (op: unknown, ofParent: Reading): Reading => {
  if (multiplies({ op })) return "vector";
  if (op === "concat" || op === "length" || op === "bucket_text") return "text";
  return op === "coalesce" || op === "if" ? ofParent : "number";
};

/** What is misread in a tree whose root is taken for one or the other; children come before their parents. */
function misread(tree: JsonObject, pointer: string, wanted: Reading, declared: Registries): Problem[] {
  const op = declared.treeOps.find((each) => each.name === tree["op"]);
  const found = (op?.fields ?? []).flatMap(([name, kind]) => {
    const child = tree[name];
    if ((kind !== "value" && kind !== "truth") || !isObject(child)) return [];
    return misread(child, pointerTo(pointer, name), readingBelow(tree["op"], wanted), declared);
  });
  if (op?.gives !== "value") return found;
  const choice = tree["op"] === "coalesce" || tree["op"] === "if";
  if (wanted === "vector" && dimensionsOf(tree, declared) === 0) found.push(noVector(pointer));
  else if (wanted === "number" && (tree["op"] === "concat" || tree["op"] === "const_text"))
    found.push({
      code: "string_in_arithmetic",
      pointer,
      message: "expected a number, got a string",
      hint: "its length and its bucket are numbers",
      node: "",
    });
  else if (wanted === "text" && !choice && !givesStrings(tree, declared))
    found.push({
      code: "text_wants_string",
      pointer,
      message: "expected a string, got another value",
      hint: "",
      node: "",
    });
  return found;
}

/** Complains about strings where numbers are wanted, and the reverse. The root of an expression may be either. */
export function checkTexts(
  tree: unknown,
  pointer: string,
  root: "expression" | "predicate",
  declared: Registries,
  problems: Problem[],
): void {
  if (!isObject(tree)) return;
  const taken = root === "expression" && givesStrings(tree, declared) ? "text" : "number";
  problems.push(...misread(tree, pointer, taken, declared));
  checkDimensions(tree, pointer, declared, problems);
}

/** Complains where the expression of a vm does not give what its key holds. */
export function checkResult(
  node: ColumnNode,
  exprs: Readonly<Record<string, unknown>>,
  declared: Registries,
  problems: Problem[],
): void {
  const key = declared.keys.find((each) => each.id === Number(integerOf(node.params["out_key"])));
  const tree = exprs[String(node.params["expr_id"])];
  if (key === undefined || key.status === "blocked" || !key.write || !isObject(tree)) return;
  const report = (code: string, gives: string, hint: string): void => {
    problems.push({
      code,
      pointer: pointerTo(pointerTo(node.pointer, "params"), "expr_id"),
      message: `the key \`${key.name}\` is of type ${key.type}, and the expression ${gives}`,
      hint,
      node: node.id,
    });
  };
  const ofNumbers = key.type === "float" || key.type === "int";
  if (ofNumbers && misread(tree, "", "number", declared).length > 0)
    report("expr_not_number", "gives strings", "write strings under a key of type string");
  else if (key.type === "int" && !givesIntegers(tree, declared))
    report(
      "expr_not_integer",
      "may give fractions",
      "integers are int keys and params, integer literals, %, buckets, lengths, and choices among these",
    );
  else if (key.type === "string" && !givesStrings(tree, declared))
    report(
      "expr_not_string",
      "gives numbers",
      "strings are string keys and params, string literals, concat, and choices among these",
    );
}
