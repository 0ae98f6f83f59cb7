// hooks.ts: the functions that compiled plans call in place of operators, conditions and calls.
import { binary, coalesced, compared, joined, listed } from "./expr.js";
import { fieldSpans, inFrame, PlanError, type SpanId } from "./places.js";
import { mayBeText, runTimeValue, toNumber, toTruth, TreeNode, TruthNode, ValueNode } from "./tokens.js";

const arithmetic: Readonly<Record<string, string>> = {
  "+": "add",
  "-": "sub",
  "*": "mul",
  "/": "div",
  "%": "mod",
  "**": "pow",
};
const comparisons: Readonly<Record<string, string>> = {
  "<": "<",
  "<=": "<=",
  ">": ">",
  ">=": ">=",
  "==": "==",
  "===": "==",
  "!=": "!=",
  "!==": "!=",
};

/* eslint-disable eqeqeq -- these are the operators of the plan */
const native: Readonly<Record<string, (a: never, b: never) => unknown>> = {
  "+": (a: number, b: number) => a + b,
  "-": (a: number, b: number) => a - b,
  "*": (a: number, b: number) => a * b,
  "/": (a: number, b: number) => a / b,
  "%": (a: number, b: number) => a % b,
  "**": (a: number, b: number) => a ** b,
  "<": (a: number, b: number) => a < b,
  "<=": (a: number, b: number) => a <= b,
  ">": (a: number, b: number) => a > b,
  ">=": (a: number, b: number) => a >= b,
  "==": (a: unknown, b: unknown) => a == b,
  "!=": (a: unknown, b: unknown) => a != b,
  "===": (a: unknown, b: unknown) => a === b,
  "!==": (a: unknown, b: unknown) => a !== b,
  in: (a: string, b: object) => a in b,
};
/* eslint-enable eqeqeq */

/** The object that compiled plans use as `$rankd`. */
export const hooks = {
  /** A binary operator. */
  op(sign: string, a: unknown, b: unknown, span: SpanId, spanA: SpanId, spanB: SpanId): unknown {
    if (!(a instanceof TreeNode) && !(b instanceof TreeNode)) return native[sign]!(a as never, b as never);
    if (sign === "+" && mayBeText(a) && mayBeText(b)) return joined(a, b, span, spanA, spanB);
    // A text cannot be appended to a value that is known only while a request runs.
    if (sign === "+" && (typeof a === "string" || typeof b === "string"))
      throw runTimeValue((a instanceof TreeNode ? a : b) as TreeNode, a instanceof TreeNode ? spanA : spanB);
    const op = arithmetic[sign];
    if (op !== undefined) return binary(op, a, b, span, spanA, spanB);
    const how = comparisons[sign];
    if (how !== undefined) return compared(how, a, b === undefined ? null : b, span, spanA, spanB);
    if (sign === "in") return listed(a, b, span, spanA, spanB);
    throw new PlanError("unknown_operator", `expressions have no operator ${sign}`, { span });
  },

  /** `a && b` */
  and(a: unknown, b: () => unknown, span: SpanId, spanA: SpanId, spanB: SpanId): unknown {
    if (!(a instanceof TreeNode)) return a && b();
    return new TruthNode("and", { a: toTruth(a, spanA), b: toTruth(b(), spanB) }, span);
  },

  /** `a || b` */
  or(a: unknown, b: () => unknown, span: SpanId, spanA: SpanId, spanB: SpanId): unknown {
    if (!(a instanceof TreeNode)) return a || b();
    return new TruthNode("or", { a: toTruth(a, spanA), b: toTruth(b(), spanB) }, span);
  },

  /** `a ?? b` */
  coalesce(a: unknown, b: () => unknown, span: SpanId, spanA: SpanId, spanB: SpanId): unknown {
    if (!(a instanceof TreeNode)) return a ?? b();
    return coalesced(a, b(), span, spanA, spanB);
  },

  /** `!x` */
  not(x: unknown, span: SpanId, spanX: SpanId): unknown {
    return x instanceof TreeNode ? new TruthNode("not", { x: toTruth(x, spanX) }, span) : !x;
  },

  /** `-x` */
  neg(x: unknown, span: SpanId, spanX: SpanId): unknown {
    if (typeof x === "bigint") return -x;
    return x instanceof TreeNode ? new ValueNode("neg", { x: toNumber(x, spanX) }, span) : -(x as number);
  },

  /** `+x` */
  plus(x: unknown, _span: SpanId, spanX: SpanId): unknown {
    return x instanceof TreeNode ? toNumber(x, spanX) : +(x as number);
  },

  /**
   * Converts a value that affects the plan while it is built: the condition of an `if`, a part of a template, or an
   * index.
   */
  plain(x: unknown, span: SpanId): unknown {
    if (x instanceof TreeNode) throw runTimeValue(x, span);
    return x;
  },

  /** `target.name(...args)` */
  call(span: SpanId, target: unknown, name: PropertyKey, args: unknown[], spans: readonly SpanId[]): unknown {
    return inFrame(span, spans, () => {
      const method = (target as Record<PropertyKey, unknown>)[name];
      if (typeof method !== "function")
        throw new PlanError("not_a_function", `there is no method \`${String(name)}\` here`);
      return Reflect.apply(method, target, args) as unknown;
    });
  },

  /** `fn(...args)` */
  apply(span: SpanId, fn: unknown, args: unknown[], spans: readonly SpanId[]): unknown {
    return inFrame(span, spans, () => {
      if (typeof fn !== "function") throw new PlanError("not_a_function", "this is not a function");
      return Reflect.apply(fn, undefined, args) as unknown;
    });
  },

  /** An object literal, which stores the source positions of its fields. */
  fields<Literal extends object>(object: Literal, spans: Readonly<Record<string, SpanId>>): Literal {
    const before = (object as Record<symbol, unknown>)[fieldSpans];
    (object as Record<symbol, unknown>)[fieldSpans] = { ...(before as object | undefined), ...spans };
    return object;
  },
};
