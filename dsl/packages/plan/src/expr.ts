// expr.ts: functions that build expressions and predicates. The compiler also turns JavaScript operators into calls of
// them.
import { argumentSpan, currentSpan, PlanError, type SpanId } from "./places.js";
import {
  type Expr,
  givesText,
  isFlag,
  isText,
  KeyNode,
  type KeyToken,
  type KeyUse,
  literal,
  mayBeText,
  ParamNode,
  type ParamToken,
  type Predicate,
  textArgument,
  type TextExpr,
  textSource,
  toNumber,
  toText,
  toTruth,
  toValue,
  type Truth,
  TruthNode,
  truthArgument,
  ValueNode,
  type ValueType,
  valueArgument,
  wrongType,
} from "./tokens.js";

/** A comparison operator for two expressions. */
export type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=";

const comparisons: readonly string[] = ["==", "!=", "<", "<=", ">", ">="];
const shown = <Shown>(node: ValueNode | TruthNode): Shown => node as unknown as Shown;

/** `a op b` of numbers. */
export function binary(op: string, a: unknown, b: unknown, span: SpanId, spanA: SpanId, spanB: SpanId): ValueNode {
  return new ValueNode(op, { a: toNumber(a, spanA), b: toNumber(b, spanB) }, span);
}

/** `a` if it is not null, otherwise `b`. */
export function coalesced(a: unknown, b: unknown, span: SpanId, spanA: SpanId, spanB: SpanId): ValueNode {
  if (areTexts(a, b)) return new ValueNode("coalesce", { a: toText(a, spanA), b: toText(b, spanB) }, span);
  return binary("coalesce", a, b, span, spanA, spanB);
}

/** Concatenates strings. */
export function joined(a: unknown, b: unknown, span: SpanId, spanA: SpanId, spanB: SpanId): ValueNode {
  return new ValueNode("concat", { a: toText(a, spanA), b: toText(b, spanB) }, span);
}

/** Whether both values are strings (of the plan, of rows or of requests), or one is a string and the other null. */
const areTexts = (a: unknown, b: unknown): boolean =>
  mayBeText(a) ? mayBeText(b) || isNull(b) : isNull(a) && mayBeText(b);
const isNull = (value: unknown): boolean => value === null || (value instanceof ValueNode && value.op === "const_null");

/** A comparison of numbers, of strings, or with null. */
export function compared(how: string, a: unknown, b: unknown, span: SpanId, spanA: SpanId, spanB: SpanId): TruthNode {
  const isEquality = how === "==" || how === "!=";
  for (const [side, other, at] of [
    [a, b, spanB],
    [b, a, spanA],
  ] as const)
    if (typeof other === "boolean" && side instanceof ValueNode && isFlag(side))
      throw new PlanError("wrong_type", `${side.what} is true or false itself, and cannot be compared with ${other}`, {
        span: at,
        hint: `write ${side.what}, or !${side.what}`,
      });
  if (isEquality && (a === null || b === null)) {
    const tested = a === null ? toValue(b, spanB) : toValue(a, spanA);
    if (givesText(tested) && !isText(tested)) throw notCompared(tested, a === null ? spanB : spanA);
    return new TruthNode(how === "==" ? "is_null" : "not_null", { x: tested }, span);
  }
  if (isEquality && (typeof a === "string" || typeof b === "string")) {
    const [key, text, keySpan] = typeof a === "string" ? [b, a, spanB] : [a, b as string, spanA];
    return equalsText(how, stringOperand(key, keySpan), text, span);
  }
  for (const [side, at] of [
    [a, spanA],
    [b, spanB],
  ] as const)
    if (givesText(side) && !isText(side as ValueNode)) throw notCompared(side as ValueNode, at);
  if (mayBeText(a) && mayBeText(b))
    return new TruthNode("cmp_text", { cmp: how, a: textSource(a, spanA), b: textSource(b, spanB) }, span);
  if (typeof a === "string") stringOperand(b, spanB);
  if (typeof b === "string") stringOperand(a, spanA);
  return new TruthNode("cmp", { cmp: how, a: toNumber(a, spanA), b: toNumber(b, spanB) }, span);
}

/** Tests accept the strings of keys, params and the plan, but no computed strings. */
function notCompared(value: ValueNode, span: SpanId): PlanError {
  return new PlanError("string_in_arithmetic", `${value.what} computes a string, which cannot be compared`, {
    span,
    hint: "write it to a key of strings with vm, and compare that key",
  });
}

/** A null equals no string and differs from no string, as in every comparison. */
function equalsText(how: string, key: KeyNode | ParamNode, text: string, span: SpanId): TruthNode {
  const equal = new TruthNode("in", { lhs: key, list: [text] }, span);
  if (how === "==") return equal;
  return new TruthNode(
    "and",
    { a: new TruthNode("not_null", { x: key }, span), b: new TruthNode("not", { x: equal }, span) },
    span,
  );
}

/** Whether the string of a param is `text`. False if the param is null. */
export function stringParamIs(param: ParamNode, text: string, span: SpanId): TruthNode {
  return equalsText("==", stringOperand(param, span), text, span);
}

function stringOperand(value: unknown, span: SpanId): KeyNode | ParamNode {
  if (value instanceof KeyNode && value.info.type === "string") return new KeyNode(value.info, span);
  if (value instanceof ParamNode && value.info.type === "string") return new ParamNode(value.info, span);
  if (value instanceof ValueNode && givesText(value)) throw notCompared(value, span);
  if (value instanceof KeyNode || value instanceof ValueNode)
    throw new PlanError("in_wants_string_key", `${value.what} holds no strings to compare with a string`, { span });
  throw wrongType("a key of strings", value, span);
}

/** `lhs in list`. The numbers or strings in the list are known while the plan is built. */
export function listed(lhs: unknown, list: unknown, span: SpanId, spanA: SpanId, spanB: SpanId): TruthNode {
  if (!Array.isArray(list)) throw wrongType("an array of numbers or strings", list, spanB);
  const strings = list.length > 0 && typeof list[0] === "string";
  const items = list.map((item: unknown) => {
    if (item instanceof ValueNode || item instanceof TruthNode)
      throw new PlanError(
        "runtime_value",
        `${item.what} has a value only while a request runs; a list holds what is known before`,
        { span: spanB },
      );
    if (strings ? typeof item === "string" : typeof item === "number" || typeof item === "bigint")
      return typeof item === "string" ? item : literal(item as number, spanB);
    if (typeof item === "string" || typeof item === "number")
      throw new PlanError("mixed_list", "a list holds either numbers or strings", { span: spanB });
    throw wrongType("a number or a string", item, spanB);
  });
  const left = toValue(lhs, spanA);
  if (strings) return new TruthNode("in", { lhs: stringOperand(lhs, spanA), list: items }, span);
  if (givesText(left) && items.length > 0)
    throw new PlanError("string_in_arithmetic", `${left.what} is a string and equals no number`, { span: spanA });
  return new TruthNode("in", { lhs: left, list: items }, span);
}

const one = (op: string, x: unknown): Expr => shown(new ValueNode(op, { x: valueArgument(x, 0) }, currentSpan()));
const two = (op: string, a: unknown, b: unknown): Expr =>
  shown(binary(op, a, b, currentSpan(), argumentSpan(0), argumentSpan(1)));

const maxBuckets = 1_000_000;

function bucketOf(x: unknown, count: unknown, seed: unknown): ValueNode {
  if (typeof count !== "number") throw wrongType("a number", count, argumentSpan(1));
  if (!Number.isInteger(count) || count < 1 || count > maxBuckets)
    throw new PlanError("out_of_range", `\`count\` is ${count}; it must be from 1 to ${maxBuckets}`, {
      span: argumentSpan(1),
    });
  if (typeof seed !== "string") throw wrongType("a string", seed, argumentSpan(2));
  if (mayBeText(x)) return new ValueNode("bucket_text", { x: textArgument(x, 0), count, seed }, currentSpan());
  return new ValueNode("bucket", { x: valueArgument(x, 0), count, seed }, currentSpan());
}

function chosen(pred: Truth, a: Expr, b: Expr): Expr;
function chosen(pred: Truth, a: TextExpr | null, b: TextExpr | null): TextExpr;
function chosen(pred: unknown, a: unknown, b: unknown): unknown {
  const sides = areTexts(a, b)
    ? { a: textArgument(a, 1), b: textArgument(b, 2) }
    : { a: valueArgument(a, 1), b: valueArgument(b, 2) };
  return new ValueNode("if", { pred: truthArgument(pred, 0), ...sides }, currentSpan());
}

function concatenated(first: TextExpr, ...more: TextExpr[]): TextExpr {
  let out = textArgument(first, 0);
  for (const [index, each] of more.entries())
    out = joined(out, each, currentSpan(), argumentSpan(0), argumentSpan(index + 1));
  return out as unknown as TextExpr;
}

function multiplied(op: string, a: unknown, b: unknown): Expr {
  const side = (value: unknown, index: number): ValueNode => {
    if (!(value instanceof KeyNode)) throw wrongType("a key of vectors", value, argumentSpan(index));
    if (value.info.type !== "vector")
      throw new PlanError("wants_vector", `${value.what} holds no vectors`, { span: argumentSpan(index) });
    return toValue(value, argumentSpan(index));
  };
  return shown(new ValueNode(op, { a: side(a, 0), b: side(b, 1) }, currentSpan()));
}

/** A key of type vector that plans may read. */
type VectorKey = KeyToken<"vector", { read: true }>;

/** Builders of expressions: each computes a number for each row, or null if an operand is null. */
export const E = {
  /** A number. A bigint is a 64-bit integer. */
  const: (value: number | bigint): Expr => {
    if (typeof value !== "number" && typeof value !== "bigint") throw wrongType("a number", value, argumentSpan(0));
    return shown(toValue(value, currentSpan()));
  },
  /** Null. */
  null: (): Expr => shown(new ValueNode("const_null", {}, currentSpan())),
  /** The value of a key in the row. */
  key: (key: KeyToken<"int" | "float" | "bool", { read: true }>): Expr => {
    if (!((key as unknown) instanceof KeyNode)) throw wrongType("a key", key, argumentSpan(0));
    return shown(toValue(key, currentSpan()));
  },
  /** The value of a param in the request. */
  param: (param: ParamToken<"int" | "float" | "bool">): Expr => {
    if (!((param as unknown) instanceof ParamNode)) throw wrongType("a param", param, argumentSpan(0));
    return shown(toValue(param, currentSpan()));
  },
  /** a + b */
  add: (a: Expr, b: Expr): Expr => two("add", a, b),
  /** a - b */
  sub: (a: Expr, b: Expr): Expr => two("sub", a, b),
  /** a * b */
  mul: (a: Expr, b: Expr): Expr => two("mul", a, b),
  /** -x */
  neg: (x: Expr): Expr => one("neg", x),
  /** `a` if it is not null, otherwise `b`. */
  coalesce,
  /** a / b, also for integers. Null if `b` is 0. */
  div: (a: Expr, b: Expr): Expr => two("div", a, b),
  /** The smaller of both numbers. */
  min: (a: Expr, b: Expr): Expr => two("min", a, b),
  /** The greater of both numbers. */
  max: (a: Expr, b: Expr): Expr => two("max", a, b),
  /** The absolute value of `x`. */
  abs: (x: Expr): Expr => one("abs", x),
  /** The greatest integer that is not above `x`. */
  floor: (x: Expr): Expr => one("floor", x),
  /** The smallest integer that is not below `x`. */
  ceil: (x: Expr): Expr => one("ceil", x),
  /** The square root. Null if `x` is negative. */
  sqrt: (x: Expr): Expr => one("sqrt", x),
  /** e to the power of `x`. Null if the result is not a finite number. */
  exp: (x: Expr): Expr => one("exp", x),
  /** The natural logarithm. Null if `x` is not above 0. */
  log: (x: Expr): Expr => one("log", x),
  /** The natural logarithm of 1 + `x`. Null if `x` is not above -1. */
  log1p: (x: Expr): Expr => one("log1p", x),
  /** `a` to the power of `b`. Null if the result is not a finite number. */
  pow: (a: Expr, b: Expr): Expr => two("pow", a, b),
  /** The number from `lo` to `hi` that is closest to `x`. Null if `lo` is above `hi`. */
  clamp: (x: Expr, lo: Expr, hi: Expr): Expr =>
    shown(
      new ValueNode(
        "clamp",
        { x: valueArgument(x, 0), lo: valueArgument(lo, 1), hi: valueArgument(hi, 2) },
        currentSpan(),
      ),
    ),
  /** The remainder of `a` divided by `b`, with the sign of `a`. Exact for integers. Null if `b` is 0. */
  mod: (a: Expr, b: Expr): Expr => two("mod", a, b),
  /** The concatenation of strings. Null if a string is null, or if the result has more than 65 536 bytes. */
  concat: concatenated,
  /** The number of Unicode code points in a string. */
  length: (x: TextExpr): Expr => shown(new ValueNode("length", { x: textArgument(x, 0) }, currentSpan())),
  /** The bucket of an integer or a string, from 0 to `count` - 1. Another seed distributes the same ids differently. */
  bucket: (x: Expr | TextExpr, count: number, seed = ""): Expr => shown(bucketOf(x, count, seed)),
  /** The dot product of two vectors with the same dimensions. Null if one of the vectors is null. */
  dot: (a: VectorKey, b: VectorKey): Expr => multiplied("dot", a, b),
  /** The cosine of the angle between two vectors. 0 if the length of one vector is 0. */
  cosine: (a: VectorKey, b: VectorKey): Expr => multiplied("cosine", a, b),
  /** `a` if `pred` is true, otherwise `b`. Null only if the chosen value is null. */
  if: chosen,
} as const;

/** A pattern of RE2: the text itself, or a param of type string. */
export type Pattern = string | ParamToken<"string">;

function matched(key: unknown, pattern: unknown, flags: string): TruthNode {
  if (!(key instanceof KeyNode)) throw wrongType("a key of strings", key, argumentSpan(0));
  if (flags !== "" && flags !== "i")
    throw new PlanError("bad_value", `\`flags\` is \`${String(flags)}\`; expected one of: "", "i"`, {
      span: argumentSpan(2),
    });
  const fields =
    pattern instanceof ParamNode
      ? { kind: "param", param_id: pattern.info.id }
      : typeof pattern === "string"
        ? { kind: "literal", value: pattern }
        : undefined;
  if (fields === undefined) throw wrongType("a pattern, or a param that contains one", pattern, argumentSpan(1));
  return new TruthNode("regex", { key_id: key.info.id, pattern: fields, flags }, currentSpan());
}

/** Builders of predicates: each is true or false for each row. */
export const Pred = {
  /** A predicate with the same result for every row. */
  const: (value: boolean): Predicate => {
    if (typeof value !== "boolean") throw wrongType("true or false", value, argumentSpan(0));
    return shown(new TruthNode("const_bool", { value }, currentSpan()));
  },
  /** A comparison. False if one side is null. If one side is the literal `null`, `==` and `!=` test for null. */
  cmp: (how: Comparison, a: Expr | string | null, b: Expr | string | null): Predicate => {
    if (!comparisons.includes(how))
      throw new PlanError("bad_value", `\`cmp\` is \`${how}\`; expected one of: ${comparisons.join(", ")}`, {
        span: argumentSpan(0),
      });
    return shown(compared(how, a, b, currentSpan(), argumentSpan(1), argumentSpan(2)));
  },
  /** Whether all predicates are true. True if there are none. */
  and: (a: Truth, b: Truth): Predicate =>
    shown(new TruthNode("and", { a: truthArgument(a, 0), b: truthArgument(b, 1) }, currentSpan())),
  /** Whether at least one predicate is true. */
  or: (a: Truth, b: Truth): Predicate =>
    shown(new TruthNode("or", { a: truthArgument(a, 0), b: truthArgument(b, 1) }, currentSpan())),
  /** Whether `x` is false. */
  not: (x: Truth): Predicate => shown(new TruthNode("not", { x: toTruth(x, argumentSpan(0)) }, currentSpan())),
  /** Whether the value is in the list. False for null. */
  in: (lhs: Expr | string, list: readonly (number | bigint)[] | readonly string[]): Predicate =>
    shown(listed(lhs, list, currentSpan(), argumentSpan(0), argumentSpan(1))),
  /** Whether the value is null. */
  isNull: (x: Expr | string | object): Predicate =>
    shown(new TruthNode("is_null", { x: toValue(x, argumentSpan(0)) }, currentSpan())),
  /** Whether the value is not null. */
  notNull: (x: Expr | string | object): Predicate =>
    shown(new TruthNode("not_null", { x: toValue(x, argumentSpan(0)) }, currentSpan())),
  /** Whether RE2 finds the pattern in the string. The flag "i" ignores case. */
  regex: (key: KeyToken<"string", { read: true }>, pattern: Pattern, flags: "" | "i" = ""): Predicate =>
    shown(matched(key, pattern, flags)),
} as const;

/** `a` if it is not null, otherwise `b`. For use within natural expressions. */
export function coalesce(a: Expr, b: Expr): Expr;
export function coalesce(a: TextExpr | null, b: TextExpr | null): TextExpr;
export function coalesce(a: unknown, b: unknown): unknown {
  return coalesced(a, b, currentSpan(), argumentSpan(0), argumentSpan(1));
}

/** Whether RE2 finds the pattern in the string. For use within natural predicates. */
export function regex(key: KeyToken<"string", { read: true }>, pattern: Pattern, flags: "" | "i" = ""): Predicate {
  return shown(matched(key, pattern, flags));
}

export type { KeyUse, ValueType };
