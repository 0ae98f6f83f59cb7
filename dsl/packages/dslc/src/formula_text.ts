// formula_text.ts: numbers, strings and trees as rankd prints them for people: names of the project, few parentheses.
import { Fraction } from "./exact_json.js";
import type { Entry, Registries } from "./project.js";
import { integerOf, isObject, type JsonObject } from "./reader.js";

/** How strongly the outermost operator of a text binds, weakest first, as in JavaScript. */
const binding = {
  coalesce: 0,
  either: 1,
  both: 2,
  equality: 3,
  order: 4,
  sum: 5,
  product: 6,
  sign: 7,
  power: 8,
  whole: 9,
} as const;

/** The text of a tree's part. */
interface Part {
  readonly text: string;
  readonly binds: number;
}

/** An operator between two operands: how strongly it binds, and what its operands must do at least. */
interface Infix {
  readonly sign: string;
  readonly binds: number;
  readonly left: number;
  readonly right: number;
}

const infix = (sign: string, binds: number, left: number, right: number): Infix => ({ sign, binds, left, right });
const infixes: ReadonlyMap<string, Infix> = new Map([
  ["add", infix("+", binding.sum, binding.sum, binding.product)],
  ["concat", infix("+", binding.sum, binding.sum, binding.product)],
  ["sub", infix("-", binding.sum, binding.sum, binding.product)],
  ["mul", infix("*", binding.product, binding.product, binding.sign)],
  ["div", infix("/", binding.product, binding.product, binding.sign)],
  ["mod", infix("%", binding.product, binding.product, binding.sign)],
  ["pow", infix("**", binding.power, binding.whole, binding.sign)],
  ["coalesce", infix("??", binding.coalesce, binding.coalesce, binding.equality)],
  ["and", infix("&&", binding.both, binding.both, binding.equality)],
  ["or", infix("||", binding.either, binding.either, binding.both)],
]);
const methods: ReadonlyMap<string, string> = new Map([
  ["starts_with", "startsWith"],
  ["ends_with", "endsWith"],
  ["contains", "includes"],
]);

const whole = (text: string): Part => ({ text, binds: binding.whole });

/** The text, in parentheses where it binds less than is wanted. */
const operand = (part: Part, wanted: number): string => (part.binds < wanted ? `(${part.text})` : part.text);

function join(left: Part, { sign, binds, left: leftWants, right: rightWants }: Infix, right: Part): Part {
  return { text: `${operand(left, leftWants)} ${sign} ${operand(right, rightWants)}`, binds };
}

/** The shortest text that reads back as the same float, without an exponent unless that is shorter: as std::to_chars. */
export function floatText(value: number): string {
  if (Object.is(value, -0)) return "-0.0"; // readers take -0 for an integer, which has no sign
  if (value < 0) return `-${floatText(-value)}`;
  const [mantissa = "", power = ""] = value.toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const behind = Number(power) - digits.length + 1; // the power of ten of the last digit
  const alone = digits.length === 1 ? 1 : 0;
  if (behind > 5 - alone || behind < alone - digits.length - 3) {
    const size = Math.abs(Number(power)).toString().padStart(2, "0");
    return `${mantissa}e${Number(power) < 0 ? "-" : "+"}${size}`;
  }
  // A large whole number has all its digits, and not those alone that tell it from others.
  if (behind >= 0) return BigInt(value).toString();
  const padded = digits.padStart(1 - behind, "0");
  return `${padded.slice(0, behind)}.${padded.slice(behind)}`;
}

/** What JSON writes as an integer is printed as one. */
export function numberText(value: unknown): string {
  if (value instanceof Fraction) return floatText(value.value);
  return integerOf(value)?.toString() ?? floatText(Number(value));
}

/** A string of JSON; control characters without a letter of their own are written by number. */
export function inQuotes(text: string): string {
  const short: Readonly<Record<string, string>> = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  const spelled = (found: string): string =>
    short[found] ?? `\\u00${found.charCodeAt(0).toString(16).padStart(2, "0")}`;
  // eslint-disable-next-line no-control-regex
  return `"${text.replace(/["\\\u0000-\u001f\u007f]/g, spelled)}"`;
}

function nameText(prefix: string, id: unknown, all: readonly Entry[]): string {
  const number = Number(integerOf(id));
  const entry = all.find((each) => each.id === number);
  return entry === undefined ? `${prefix}[${String(number)}]` : `${prefix}.${entry.name}`;
}

/** `Key.final_score`; of one that is not declared, `Key[9]`. */
export const keyText = (id: unknown, declared: Registries): string => nameText("Key", id, declared.keys);

/** `P.weight`; of one that is not declared, `P[9]`. */
export const paramText = (id: unknown, declared: Registries): string => nameText("P", id, declared.params);

/** A tree of the right shape as its author would write it. */
export function formulaText(tree: unknown, declared: Registries): string {
  return new Printer(declared).print(tree as JsonObject).text;
}

class Printer {
  constructor(private readonly declared: Registries) {}

  print(node: JsonObject): Part {
    const child = (name: string): Part => this.print(node[name] as JsonObject);
    const op = String(node["op"]);
    const between = infixes.get(op);
    if (between !== undefined) return join(child("a"), between, child("b"));
    switch (op) {
      case "const_number": {
        const text = numberText(node["value"]);
        return { text, binds: text.startsWith("-") ? binding.sign : binding.whole };
      }
      case "const_null":
        return whole("null");
      case "const_bool":
        return whole(String(node["value"]));
      case "key_ref":
        return whole(keyText(node["key_id"], this.declared));
      case "param_ref":
        return whole(paramText(node["param_id"], this.declared));
      case "neg":
        return { text: `-${operand(child("x"), binding.whole)}`, binds: binding.sign };
      case "not":
        return { text: `!${operand(child("x"), binding.whole)}`, binds: binding.sign };
      case "cmp":
        return this.compared(node, child("a"), child("b"));
      case "cmp_text":
        return this.compared(node, whole(this.source(node["a"])), whole(this.source(node["b"])));
      case "is_null":
      case "not_null": {
        const sign = op === "is_null" ? "==" : "!=";
        return { text: `${operand(child("x"), binding.sum)} ${sign} null`, binds: binding.equality };
      }
      case "in": {
        const items = (node["list"] as unknown[]).map((item) =>
          typeof item === "string" ? inQuotes(item) : numberText(item),
        );
        return { text: `${operand(child("lhs"), binding.sum)} in [${items.join(", ")}]`, binds: binding.order };
      }
      case "regex":
        return whole(this.regex(node));
      case "const_text":
        return whole(inQuotes(String(node["value"])));
      case "bucket":
      case "bucket_text": {
        const seed = typeof node["seed"] === "string" && node["seed"] !== "" ? `, ${inQuotes(node["seed"])}` : "";
        return whole(`E.bucket(${child("x").text}, ${numberText(node["count"])}${seed})`);
      }
      default:
        return whole(this.call(op, node));
    }
  }

  private compared(node: JsonObject, a: Part, b: Part): Part {
    const sign = String(node["cmp"]);
    const binds = sign === "==" || sign === "!=" ? binding.equality : binding.order;
    return join(a, infix(sign, binds, binding.sum, binding.sum), b);
  }

  /** The string that a test of strings has on one side. */
  private source(value: unknown): string {
    const of = value as JsonObject;
    if (of["kind"] === "literal") return inQuotes(String(of["value"]));
    return of["kind"] === "key" ? keyText(of["key_id"], this.declared) : paramText(of["param_id"], this.declared);
  }

  private regex(node: JsonObject): string {
    const flags = node["flags"] === "i" ? ', "i"' : "";
    return `regex(${keyText(node["key_id"], this.declared)}, ${this.source(node["pattern"])}${flags})`;
  }

  /** A method of a string, or one of the ops that authors write as functions of `E`. */
  private call(op: string, node: JsonObject): string {
    const method = methods.get(op);
    if (method !== undefined) return `${this.source(node["a"])}.${method}(${this.source(node["b"])})`;
    const fields = this.declared.treeOps.find((each) => each.name === op)?.fields ?? [];
    const operands = fields.flatMap(([name]) => (isObject(node[name]) ? [this.print(node[name]).text] : []));
    return `E.${op}(${operands.join(", ")})`;
  }
}
