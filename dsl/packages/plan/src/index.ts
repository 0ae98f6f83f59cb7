// index.ts: the names that plans import.
import type { FallbackPlan } from "./failures.js";
import { type Arguments, defineFragmentNode, type Fragment, type FragmentDefinition } from "./fragments.js";
import type { CandidateSet, PlanContext } from "./generated.js";
import { define } from "./plan.js";

export { bucketOf } from "./buckets.js";
export { coalesce, type Comparison, E, type Pattern, Pred, regex } from "./expr.js";
export type { FallbackPlan, NodeFailure, PlanFailure } from "./failures.js";
export {
  arg,
  type Argument,
  type Arguments,
  type ArgumentValues,
  type Fragment,
  type FragmentDefinition,
  type FragmentUse,
} from "./fragments.js";
export * from "./generated.js";
export type { NodeCache, NodeCapture, NodeOptions, ServerNodeOptions, StoreNodeOptions } from "./node_options.js";
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
  KeyToken,
  KeyUse,
  ParamToken,
  Payload,
  Predicate,
  TextExpr,
  Truth,
  ValueType,
} from "./tokens.js";

/** A plan: its name, which is also the name of its file, and the function that builds it. */
export interface PlanDefinition {
  /** Letters, digits and `_`. The file is called NAME.plan.ts. */
  readonly name: string;
  /** Creates the nodes, and returns the sets of candidates that form the answer, one after the other. */
  readonly build: (context: PlanContext) => CandidateSet | readonly CandidateSet[];
  /** The plan that answers requests if this plan has failed. */
  readonly fallbackPlan?: FallbackPlan;
}

/** Defines a plan. The result must be the default export of NAME.plan.ts. */
export function definePlan(plan: PlanDefinition): PlanDefinition {
  return define(plan) as unknown as PlanDefinition;
}

/** Defines a fragment. The result must be the default export of fragments/NAME/MAJOR.fragment.ts. */
export function defineFragment<const Args extends Arguments>(fragment: FragmentDefinition<Args>): Fragment<Args> {
  return defineFragmentNode(fragment) as Fragment<Args>;
}
