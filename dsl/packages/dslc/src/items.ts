// items.ts: what lists in params may hold, item by item, as the engine reads them.
import { Fraction } from "./exact_json.js";
import { integerOf, kindOf, numberProblem } from "./reader.js";

const longestName = 100;
const isName = (text: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) && text.length <= longestName;

/** What is wrong with an item. */
export interface ItemProblem {
  readonly code: string;
  readonly message: string;
}

/** What is wrong with a name. */
export function nameProblem(item: unknown): ItemProblem | undefined {
  if (typeof item !== "string") return { code: "wrong_type", message: `a name is a string, not ${kindOf(item)}` };
  if (isName(item)) return undefined;
  const rule = `at most ${longestName} letters, digits and \`_\` with no digit in front`;
  return { code: "bad_name", message: `\`${item}\` is not ${rule}` };
}

function textProblem(item: unknown): ItemProblem | undefined {
  if (typeof item === "string") return undefined;
  return { code: "wrong_type", message: `an item must be a string, not ${kindOf(item)}` };
}

function keyProblem(item: unknown): ItemProblem | undefined {
  const wrong = numberProblem(item, "int");
  if (wrong !== undefined) return { code: wrong.code, message: `the id of a key ${wrong.message}` };
  const key = integerOf(item)!;
  return key < 1n || key > 4294967295n ? { code: "out_of_range", message: "no key has this id" } : undefined;
}

/** What a list of this kind refuses of its items, which come one after the other; repeats are looked for elsewhere. */
export function itemRule(kind: string): (item: unknown) => ItemProblem | undefined {
  if (kind === "names") return nameProblem;
  if (kind === "key_ids") return keyProblem;
  if (kind === "texts") return textProblem;
  return kind === "ascending" ? ascendingRule() : literalRule();
}

/** Numbers, none of which is less than one before it. */
function ascendingRule(): (item: unknown) => ItemProblem | undefined {
  let before = -Infinity;
  return (item) => {
    const wrong = numberProblem(item, "float");
    if (wrong !== undefined) return { code: wrong.code, message: `an item ${wrong.message}` };
    const value = floatOf(item);
    if (value < before) return { code: "not_sorted", message: "it is less than the item before it" };
    before = value;
    return undefined;
  };
}

/** Integers or strings, whichever the first item is. */
function literalRule(): (item: unknown) => ItemProblem | undefined {
  let strings: boolean | undefined;
  return (item) => {
    strings ??= typeof item === "string";
    const isOther = strings ? integerOf(item) !== undefined : typeof item === "string";
    const rule = strings ? "starts with a string holds strings" : "starts with a number holds numbers";
    if (isOther) return { code: "mixed_list", message: `a list that ${rule} only` };
    if (strings)
      return typeof item === "string"
        ? undefined
        : { code: "wrong_type", message: `an item must be a string, not ${kindOf(item)}` };
    const wrong = numberProblem(item, "int");
    return wrong === undefined ? undefined : { code: wrong.code, message: `an item ${wrong.message}` };
  };
}

/** The float that a number of an artifact is. */
export function floatOf(item: unknown): number {
  return Number(item instanceof Fraction ? item.value : (integerOf(item) ?? item));
}

/** What makes two items of a list the same. */
export function itemValue(kind: string, item: unknown): unknown {
  return kind === "ascending" ? floatOf(item) : (integerOf(item) ?? item);
}
