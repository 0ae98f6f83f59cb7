// tokens.ts: the objects that represent keys, params, endpoints, expressions and predicates while a plan is built.
import { argumentSpan, currentSpan, PlanError, type SpanId } from "./places.js";

declare const info: unique symbol;

/**
 * Marks a type with the declarations of the registry. The mark does not exist at run time. The fields of `Info` are
 * optional, so that tokens of different types can be compared with each other. The mark itself is not optional.
 */
interface Token<Info> {
  readonly [info]: Info;
}

/** The types of keys and params. */
export type ValueType = "int" | "float" | "string" | "bool" | "vector";

/** The ways in which plans may use a key. */
export interface KeyUse {
  readonly read?: true;
  readonly write?: true;
}

/** The form of a registry type's values in natural expressions. A bool is 1 or 0. */
type Natural<Type extends ValueType> = Type extends "string" ? string : Type extends "vector" ? object : number;

/** A key: a column of rows. In an expression, it stands for its value in each row. */
export type KeyToken<Type extends ValueType, Use extends KeyUse> = Natural<Type> &
  Token<{ readonly sort?: "key"; readonly type?: Type; readonly use?: Use }>;

/** An integer. Literals that are not integers do not type-check. Computed values are checked later. */
export type Integer<N extends number | bigint> = `${N}` extends `${string}.${string}` | `${string}e-${string}`
  ? Wanted<"a whole number">
  : N;

/** The value of a node's option that each request may set by a param. It is the result of `within`. */
export interface BoundParam<Type extends "int" | "float"> extends Token<{
  readonly sort: "bound";
  readonly type: Type;
}> {}

/** Only a param with a default has this method. Otherwise, an option that the param sets could have no value. */
interface Bindable<Type extends ValueType> {
  /**
   * Uses the value in the request for an option of a node. Requests with a value below `min` or above `max` are
   * refused.
   */
  readonly within: Type extends "int"
    ? <Min extends number | bigint, Max extends number | bigint>(
        min: Min & Integer<Min>,
        max: Max & Integer<Max>,
      ) => BoundParam<"int">
    : Type extends "float"
      ? (min: number | bigint, max: number | bigint) => BoundParam<"float">
      : Wanted<"a param of numbers">;
}

/** A param: a value that a request may override. In an expression, it stands for the value in the request. */
export type ParamToken<Type extends ValueType, Default extends "default" | "none" = "none"> = Natural<Type> &
  Token<{ readonly sort?: "param"; readonly type?: Type }> &
  (Default extends "default" ? Bindable<Type> : unknown);

/** An endpoint: a source of data. */
export interface EndpointToken<Kind extends string> extends Token<{ readonly sort: "endpoint"; readonly kind: Kind }> {}

/** An expression: a number for each row, or null. Natural operators and the builders of `E` create expressions. */
export type Expr = number;

/**
 * A string for each row, or null: a key or param of type string, a text, or a combination of these by `+`, `??`,
 * `E.concat` and `E.if`.
 */
export type TextExpr = string;

/** The values that can be written under a key: strings for a string key, numbers for all other keys. */
export type ExprFor<Key> = Key extends string ? TextExpr : Expr;

/** A predicate: true or false for each row. Natural operators and the builders of `Pred` create predicates. */
export type Predicate = boolean;

/** A truth value for each row: a predicate, or a param or key of type bool. Null counts as false. */
export type Truth = Predicate | ParamToken<"bool"> | KeyToken<"bool", { read: true }>;

/** The payload of a capability in `extensions` of an artifact. A field that is undefined is left out. */
export type Payload =
  null | boolean | number | bigint | string | undefined | readonly Payload[] | { readonly [field: string]: Payload };

/** A type that no value has. It is used so that a diagnostic names the expected type. */
export interface Wanted<What extends string> {
  readonly [info]: What;
}

/**
 * An integer of at least `Least`. Literals that are not integers do not type-check. Computed values are checked later.
 */
export type Whole<N extends number | bigint, Least extends 0 | 1> = `${N}` extends
  `-${string}` | `${string}.${string}` | `${string}e-${string}` | (Least extends 1 ? "0" : never)
  ? Wanted<`a whole number of at least ${Least}`>
  : N;

/** A node of a tree in the form of the artifact. The compiler removes `$span`. */
export interface TreeJson {
  readonly op: string;
  readonly $span?: SpanId;
  readonly [field: string]: unknown;
}

/** The maximum depth of a tree that the engine reads. */
export const maxDepth = 200;
/**
 * The maximum size of a tree. Helper functions that use the same part several times could otherwise make it grow
 * without limit.
 */
const maxSize = 100_000;

/** A part of an expression or predicate. It has no value while the plan is built. */
export abstract class TreeNode {
  readonly depth: number;
  readonly size: number;

  constructor(
    readonly op: string,
    readonly fields: Readonly<Record<string, unknown>>,
    readonly span: SpanId,
  ) {
    const children = Object.values(fields).filter((field): field is TreeNode => field instanceof TreeNode);
    this.depth = 1 + Math.max(0, ...children.map((child) => child.depth));
    this.size = 1 + children.reduce((sum, child) => sum + child.size, 0);
    if (this.depth > maxDepth)
      throw new PlanError("expr_too_deep", `the tree has more than ${maxDepth} levels`, { span });
    if (this.size > maxSize) throw new PlanError("expr_too_large", `the tree has more than ${maxSize} parts`, { span });
  }

  abstract readonly what: string;

  toTree(span: SpanId = this.span): TreeJson {
    const tree: Record<string, unknown> = { op: this.op };
    for (const [name, field] of Object.entries(this.fields))
      tree[name] = field instanceof TreeNode ? field.toTree() : field;
    if (span !== 0) tree["$span"] = span;
    return tree as unknown as TreeJson;
  }

  [Symbol.toPrimitive](): never {
    throw runTimeValue(this, 0);
  }
  toJSON(): never {
    throw runTimeValue(this, 0);
  }
}

/** A node of an expression. */
export class ValueNode extends TreeNode {
  readonly what: string = "an expression";

  /** For a string: the number of its Unicode code points. */
  get length(): ValueNode {
    return new ValueNode("length", { x: toText(this, this.span) }, this.span);
  }
}

/** A node of a predicate. */
export class TruthNode extends TreeNode {
  readonly what = "a predicate";
}

/** The registry's declaration of a key. */
export interface KeyInfo {
  readonly id: number;
  readonly name: string;
  readonly type: ValueType;
}

/** A string of the plan, of rows or of the request, in the form that tests of strings use. */
export function textSource(value: unknown, span: SpanId): Readonly<Record<string, unknown>> {
  if (typeof value === "string") return { kind: "literal", value };
  if (value instanceof KeyNode && value.info.type === "string") return { kind: "key", key_id: value.info.id };
  if (value instanceof ParamNode && value.info.type === "string") return { kind: "param", param_id: value.info.id };
  throw wrongType("a string, or a key or param of strings", value, span);
}

/** A key or param. If it is a string, it has these methods of strings. */
abstract class NamedNode extends ValueNode {
  startsWith(text: unknown, ...more: unknown[]): TruthNode {
    return this.tested("starts_with", text, more);
  }
  endsWith(text: unknown, ...more: unknown[]): TruthNode {
    return this.tested("ends_with", text, more);
  }
  includes(text: unknown, ...more: unknown[]): TruthNode {
    return this.tested("contains", text, more);
  }

  private tested(op: string, text: unknown, more: readonly unknown[]): TruthNode {
    if (more.length > 0)
      throw new PlanError("too_many_arguments", "the string methods of keys and params have one argument", {
        span: argumentSpan(1),
      });
    return new TruthNode(
      op,
      { a: textSource(this, currentSpan()), b: textSource(text, argumentSpan(0)) },
      currentSpan(),
    );
  }
}

/** The node of a KeyToken. */
export class KeyNode extends NamedNode {
  override readonly what: string;
  constructor(
    readonly info: KeyInfo,
    span: SpanId = 0,
  ) {
    super("key_ref", { key_id: info.id }, span);
    this.what = `Key.${info.name}`;
  }
}

/** The node of a ParamToken. */
export class ParamNode extends NamedNode {
  override readonly what: string;
  constructor(
    readonly info: KeyInfo,
    span: SpanId = 0,
  ) {
    super("param_ref", { param_id: info.id }, span);
    this.what = `P.${info.name}`;
  }

  within(min: unknown, max: unknown): BoundNode {
    return new BoundNode(this, numberArgument(min, 0), numberArgument(max, 1));
  }
}

/** The value of a BoundParam. Expressions cannot contain it; only options of nodes accept it. */
export class BoundNode {
  constructor(
    readonly param: ParamNode,
    readonly min: unknown,
    readonly max: unknown,
  ) {}

  /** The value in the form of the artifact. */
  toJson(): Readonly<Record<string, unknown>> {
    return { param_id: this.param.info.id, min: this.min, max: this.max };
  }
}

/** A number that is known while the plan is built, in the form of the artifact. */
function numberArgument(value: unknown, index: number): unknown {
  const span = argumentSpan(index);
  if (typeof value === "number" || typeof value === "bigint") return literal(value, span);
  if (value instanceof TreeNode) throw runTimeValue(value, span);
  throw wrongType("a number", value, span);
}

/** The value of an EndpointToken. */
export class NameToken {
  constructor(
    readonly sort: "endpoint",
    readonly id: string | number,
    readonly name: string,
  ) {}
}

/** The token of a key. */
export function keyToken<Type extends ValueType, Use extends KeyUse>(
  id: number,
  name: string,
  type: Type,
): KeyToken<Type, Use> {
  return new KeyNode({ id, name, type }) as unknown as KeyToken<Type, Use>;
}

/** The token of a param. */
export function paramToken<Type extends ValueType, Default extends "default" | "none" = "none">(
  id: number,
  name: string,
  type: Type,
): ParamToken<Type, Default> {
  return new ParamNode({ id, name, type }) as unknown as ParamToken<Type, Default>;
}

/** The token of an endpoint. */
export function endpointToken<Kind extends string>(id: string, name: string): EndpointToken<Kind> {
  return new NameToken("endpoint", id, name) as unknown as EndpointToken<Kind>;
}

/** Returns the diagnostic about a run-time value that is used as if it were known while the plan is built. */
export function runTimeValue(node: TreeNode, span: SpanId): PlanError {
  return new PlanError(
    "runtime_value",
    `${node.what} has a value only while a request runs; a plan is built once, before any request`,
    {
      span,
      hint: "put the choice into an expression (E.if) or a predicate; to choose between sets by a param, use ctx.choose",
    },
  );
}

const least64 = -(2n ** 63n);
const most64 = 2n ** 63n - 1n;

/** A literal in the artifact. A bigint is a 64-bit integer, because large integers do not fit into a number. */
export function literal(value: number | bigint, span: SpanId): unknown {
  if (typeof value === "bigint") {
    if (value < least64 || value > most64)
      throw new PlanError("out_of_range", `${value} does not fit into 64 bits`, { span });
    return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
      ? Number(value)
      : { $int: value.toString() };
  }
  if (!Number.isFinite(value)) throw new PlanError("non_finite_number", `${value} is not a finite number`, { span });
  return value === 0 ? 0 : value;
}

function kindOf(value: unknown): string {
  if (value instanceof TreeNode) return value.what;
  if (value instanceof NameToken) return `the ${value.sort} ${value.name}`;
  if (value instanceof BoundNode) return `${value.param.what}.within(…)`;
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object"
    ? "an object"
    : typeof value === "function"
      ? "a function"
      : `the ${typeof value} ${String(value)}`;
}

/** Returns the diagnostic about a value of the wrong type. */
export function wrongType(wanted: string, value: unknown, span: SpanId): PlanError {
  return new PlanError("wrong_type", `expected ${wanted}, got ${kindOf(value)}`, { span });
}

/** Converts a value that may be a number for each row to a node. Leaves get the span of their use. */
export function toValue(value: unknown, span: SpanId): ValueNode {
  if (value instanceof KeyNode) return new KeyNode(value.info, span || value.span);
  if (value instanceof ParamNode) return new ParamNode(value.info, span || value.span);
  if (value instanceof ValueNode) return value;
  if (value === null) return new ValueNode("const_null", {}, span);
  if (typeof value === "number" || typeof value === "bigint")
    return new ValueNode("const_number", { value: literal(value, span) }, span);
  throw wrongType("an expression", value, span);
}

/** Works like the function above, for a value that is used in arithmetic or compared. Strings are not allowed there. */
export function toNumber(value: unknown, span: SpanId): ValueNode {
  const node = toValue(value, span);
  if (givesText(node))
    throw new PlanError(
      "string_in_arithmetic",
      `${node.what} is a string, which is null in arithmetic and in comparisons of numbers`,
      {
        span,
        hint: "compare it with a string",
      },
    );
  return node;
}

/** Whether every value of an expression is a string or null. */
export function givesText(node: unknown): boolean {
  if (!(node instanceof ValueNode)) return false;
  if (node.op === "concat" || node.op === "const_text") return true;
  if (node.op !== "coalesce" && node.op !== "if") return isText(node);
  const sides = [node.fields["a"], node.fields["b"]];
  return sides.some(givesText) && sides.every((side) => givesText(side) || (side as TreeNode).op === "const_null");
}

/** Whether a value may be a string for each row, and is not only null. */
export const mayBeText = (value: unknown): boolean => typeof value === "string" || givesText(value);

/** Converts a value that may be a string for each row to a node. */
export function toText(value: unknown, span: SpanId): ValueNode {
  if (typeof value === "string") return new ValueNode("const_text", { value }, span);
  const node = toValue(value, span);
  if (givesText(node) || value === null) return node;
  throw new PlanError("text_wants_string", `${node.what} gives no strings`, { span });
}

/** Whether a node is a string key or string param. */
export function isText(node: TreeNode): node is KeyNode | ParamNode {
  return (node instanceof KeyNode || node instanceof ParamNode) && node.info.type === "string";
}

/** Whether a node is a bool key or bool param, which counts as 1 or 0. */
export function isFlag(node: TreeNode): boolean {
  return (node instanceof KeyNode || node instanceof ParamNode) && node.info.type === "bool";
}

/** Converts a value that may be true or false for each row to a node. */
export function toTruth(value: unknown, span: SpanId): TruthNode {
  if (value instanceof TruthNode) return value;
  if (typeof value === "boolean") return new TruthNode("const_bool", { value }, span);
  if (value instanceof TreeNode && isFlag(value)) {
    const one = new ValueNode("const_number", { value: 1 }, span);
    return new TruthNode("cmp", { cmp: "==", a: toValue(value, span), b: one }, span);
  }
  throw wrongType("a predicate", value, span);
}

/** Returns a string among the arguments of the running call of the plan. */
export const textArgument = (value: unknown, index: number): ValueNode => toText(value, argumentSpan(index));
/** Returns a number among these arguments. */
export const valueArgument = (value: unknown, index: number): ValueNode => toNumber(value, argumentSpan(index));
/** Returns a predicate among these arguments. */
export const truthArgument = (value: unknown, index: number): TruthNode => toTruth(value, argumentSpan(index));
