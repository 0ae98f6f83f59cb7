// plan.ts: definePlan, and what the compiler runs to get the plan out of it.
import { type BuiltJson, Graph, type OperatorInfo } from "./builder.js";
import { argumentSpan, currentSpan, fieldSpans, inFrame, PlanError, type SpanId } from "./places.js";
import { wrongType } from "./tokens.js";

interface Definition {
  readonly name: string;
  readonly build: (context: never) => unknown;
  readonly span: SpanId;
  readonly spans: Readonly<Record<string, SpanId>>;
}

const definitions = new WeakSet<object>();

/** Checks what a plan is defined with. */
export function define(options: unknown): object {
  const given = options as Record<string | symbol, unknown> | null;
  if (typeof given !== "object" || given === null)
    throw wrongType("an object with name and build", options, argumentSpan(0));
  const spans = (given[fieldSpans] ?? {}) as Record<string, SpanId>;
  const { name, build } = given;
  if (typeof name !== "string") throw wrongType("the name of the plan", name, spans["name"] ?? 0);
  if (typeof build !== "function") throw wrongType("a function that builds the plan", build, spans["build"] ?? 0);
  for (const field of Object.keys(given))
    if (field !== "name" && field !== "build")
      throw new PlanError("unknown_field", `there is no field \`${field}\` here`, { span: spans[field] });
  const definition: Definition = { name, build: build as Definition["build"], span: currentSpan(), spans };
  definitions.add(definition);
  return definition;
}

/** Builds the plan that a file exports by default. */
export function buildPlan(exported: unknown, operators: readonly OperatorInfo[]): BuiltJson {
  if (typeof exported !== "object" || exported === null || !definitions.has(exported))
    throw new PlanError(
      "no_plan",
      "the file's default export is no plan: write `export default definePlan({ name, build })`",
    );
  const { name, build, span, spans } = exported as Definition;
  return inFrame(span, [], () => {
    const graph = new Graph(operators);
    const outputs = build(graph.context as never);
    if (outputs instanceof Promise)
      throw new PlanError("promise_refused", "a plan is built at once, so `build` is not async", {
        span: spans["build"],
      });
    return graph.finish(name, outputs, { name: spans["name"] ?? span, outputs: spans["build"] ?? span });
  });
}
