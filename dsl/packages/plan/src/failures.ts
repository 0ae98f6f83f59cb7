// failures.ts: the failures of a node that a fallback can handle, as a plan names them.
import type { SpanId } from "./places.js";
import { fieldSpans, PlanError } from "./places.js";
import { wrongType } from "./tokens.js";

/** A failure of a node that a fallback can handle. A name that ends with `*` matches all codes with this prefix. */
export type NodeFailure =
  | "*"
  | "model_*"
  | "store_*"
  | "bad_regex"
  | "duplicate_join_key"
  | "missing_join_partner"
  | "model_bad_answer"
  | "model_overloaded"
  | "model_refused"
  | "model_timeout"
  | "model_unreachable"
  | "model_untrusted"
  | "node_timeout"
  | "non_finite_value"
  | "not_one_row"
  | "null_value"
  | "operator_failed"
  | "regex_pattern_null"
  | "store_bad_reply"
  | "store_corrupt"
  | "store_error"
  | "store_not_open"
  | "store_not_ready"
  | "store_overloaded"
  | "store_timeout"
  | "store_unauthorized"
  | "store_unreachable"
  | "store_untrusted"
  | "store_wrong_type"
  | "test_failure"
  | "too_few_rows"
  | "too_many_rows";

/** A failure of a whole plan that a fallback plan can handle. */
export type PlanFailure =
  | NodeFailure
  | "deadline_*"
  | "deadline_exceeded"
  | "memory_budget_exceeded"
  | "row_budget_exceeded"
  | "time_budget_exceeded";

/** The fallback plan, which answers a request if the request's own plan has failed. */
export interface FallbackPlan {
  /** The name of the plan. It must not have a fallback plan itself. */
  readonly plan: string;
  /** The failures after which it answers. */
  readonly on: readonly PlanFailure[];
  /** The part of a request's time, in milliseconds, that is reserved for this plan. */
  readonly reserveMs?: number;
}

/** Returns the fields of an object, with the source position of each. All other fields are refused. */
export function fieldsOf(
  value: unknown,
  wanted: string,
  known: readonly string[],
  span: SpanId,
): { given: Readonly<Record<string, unknown>>; spans: Readonly<Record<string, SpanId>> } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrongType(wanted, value, span);
  const given = value as Record<string | symbol, unknown>;
  const spans = (given[fieldSpans] ?? {}) as Record<string, SpanId>;
  for (const field of Object.keys(given))
    if (!known.includes(field))
      throw new PlanError("unknown_field", `there is no field \`${field}\` here`, { span: spans[field] ?? span });
  return { given, spans };
}

/** Returns the codes of failures, in the form of the artifact. */
export function failureCodes(value: unknown, span: SpanId): unknown[] {
  if (!Array.isArray(value)) throw wrongType("an array of codes of failures", value, span);
  return value.map((code: unknown) => {
    if (typeof code !== "string") throw wrongType("the code of a failure", code, span);
    return code;
  });
}
