// plan.ts: definePlan, and the function by which the compiler builds the plan of a file.
import { type BuiltJson, Graph } from "./builder.js";
import { failureCodes, fieldsOf } from "./failures.js";
import { whileBuilding } from "./fragments.js";
import type { OperatorInfo } from "./operators.js";
import { argumentSpan, currentSpan, fieldSpans, inFrame, PlanError, type SpanId } from "./places.js";
import { wrongType } from "./tokens.js";

interface Definition {
  readonly name: string;
  readonly build: (context: never) => unknown;
  readonly fallback: Pick<BuiltJson, "fallback_plan" | "$fallback">;
  readonly span: SpanId;
  readonly spans: Readonly<Record<string, SpanId>>;
}

const definitions = new WeakSet<object>();

/** Checks the definition of a plan. */
export function define(options: unknown): object {
  const given = options as Record<string | symbol, unknown> | null;
  if (typeof given !== "object" || given === null)
    throw wrongType("an object with name and build", options, argumentSpan(0));
  const spans = (given[fieldSpans] ?? {}) as Record<string, SpanId>;
  const { name, build } = given;
  if (typeof name !== "string") throw wrongType("the name of the plan", name, spans["name"] ?? 0);
  if (typeof build !== "function") throw wrongType("a function that builds the plan", build, spans["build"] ?? 0);
  for (const field of Object.keys(given))
    if (field !== "name" && field !== "build" && field !== "fallbackPlan")
      throw new PlanError("unknown_field", `there is no field \`${field}\` here`, { span: spans[field] });
  const definition: Definition = {
    name,
    build: build as Definition["build"],
    fallback: fallbackPlan(given["fallbackPlan"], spans["fallbackPlan"] ?? 0),
    span: currentSpan(),
    spans,
  };
  definitions.add(definition);
  return definition;
}

/** Returns the option that names the fallback plan, in the form of the artifact. */
function fallbackPlan(value: unknown, span: SpanId): Definition["fallback"] {
  if (value === undefined) return {};
  const { given, spans } = fieldsOf(value, "an object with plan and on", ["plan", "on", "reserveMs"], span);
  const { plan, reserveMs } = given;
  if (typeof plan !== "string") throw wrongType("the name of a plan", plan, spans["plan"] ?? span);
  if (reserveMs !== undefined && !Number.isSafeInteger(reserveMs))
    throw wrongType("a whole number of milliseconds", reserveMs, spans["reserveMs"] ?? span);
  const on = failureCodes(given["on"], spans["on"] ?? span);
  return {
    fallback_plan: { plan, on, ...(reserveMs === undefined ? {} : { reserve_ms: reserveMs }) },
    $fallback: {
      "": span,
      plan: spans["plan"] ?? span,
      on: spans["on"] ?? span,
      reserve_ms: spans["reserveMs"] ?? span,
    },
  };
}

/** Builds the plan that a file exports by default. */
export function buildPlan(exported: unknown, operators: readonly OperatorInfo[]): BuiltJson {
  if (typeof exported !== "object" || exported === null || !definitions.has(exported))
    throw new PlanError(
      "no_plan",
      "the file's default export must be a plan: write `export default definePlan({ name, build })`",
    );
  const { name, build, fallback, span, spans } = exported as Definition;
  return inFrame(span, [], () => {
    const graph = new Graph(operators);
    const outputs = whileBuilding(graph, () => build(graph.context as never));
    if (outputs instanceof Promise)
      throw new PlanError("promise_refused", "`build` must not be async, because a plan is built synchronously", {
        span: spans["build"],
      });
    return graph.finish(name, outputs, fallback, { name: spans["name"] ?? span, outputs: spans["build"] ?? span });
  });
}
