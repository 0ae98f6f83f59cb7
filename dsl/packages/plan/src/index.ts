// index.ts: what plans import.
import type { FallbackPlan } from "./failures.js";
import type { CandidateSet, PlanContext } from "./generated.js";
import { define } from "./plan.js";

export { bucketOf } from "./buckets.js";
export { coalesce, type Comparison, E, type Pattern, Pred, regex } from "./expr.js";
export type { FallbackPlan, NodeFailure, PlanFailure } from "./failures.js";
export * from "./generated.js";
export {
  defineTests,
  type Expectations,
  type FaultCode,
  type Id,
  type PlanTest,
  type PlanTests,
  type RequestValue,
  type StoredText,
  type TestRequest,
  type TestStore,
} from "./tests.js";
export type {
  BoundParam,
  EndpointToken,
  Expr,
  FeatureToken,
  KeyToken,
  KeyUse,
  ParamToken,
  Predicate,
  TextExpr,
  Truth,
  ValueType,
} from "./tokens.js";

/** A plan: its name, which is the file's as well, and the function that builds it. */
export interface PlanDefinition {
  /** Letters, digits and `_`; the file is called NAME.plan.ts. */
  readonly name: string;
  /** Makes the nodes, and returns the sets of candidates that are the answer, one behind the other. */
  readonly build: (context: PlanContext) => CandidateSet | readonly CandidateSet[];
  /** The plan that requests are given to when this one fails. */
  readonly fallbackPlan?: FallbackPlan;
}

/** Defines a plan. The default export of NAME.plan.ts is what this returns. */
export function definePlan(plan: PlanDefinition): PlanDefinition {
  return define(plan) as unknown as PlanDefinition;
}
