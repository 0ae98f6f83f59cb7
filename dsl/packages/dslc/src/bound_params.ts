// bound_params.ts: the engine's rules for options of nodes whose values params of requests give.
import { floatOf } from "./items.js";
import { ExactInteger } from "./json.js";
import type { Entry, OpParam, Registries } from "./project.js";
import { integerOf, isObject, type JsonObject, type Problem, pointerTo, Reader } from "./reader.js";

/** What a plan requires that binds options to params. */
export const boundParamsCapability = "cap.rfc.0003.bound_params.v1";

/** Whether a value of an artifact binds the option to a param. */
export function isBound(param: OpParam, value: unknown): value is JsonObject {
  return param.bindable === true && isObject(value);
}

/** Reads what binds an option; `readEnd` reads one of its numbers, in the range of the option. */
export function readBinding(
  params: Reader,
  param: OpParam,
  required: readonly string[],
  readEnd: (own: Reader, end: OpParam) => void,
): void {
  const value = params.value(param.name, "nullable") as JsonObject;
  const own = new Reader(value, pointerTo(params.pointer, param.name), params.problems);
  const before = params.problems.length;
  own.id("param_id", "required");
  for (const name of ["min", "max"]) readEnd(own, { ...param, name });
  own.refuseUnknownFields();
  if (params.problems.length !== before) return;
  if (isLess(value["max"], value["min"], param.kind))
    own.report("max", "out_of_range", "`max` must not be less than `min`");
  if (!required.includes(boundParamsCapability))
    params.report(
      param.name,
      "capability_not_required",
      `\`${param.name}\` is bound to a param, which belongs to a capability that the plan does not require`,
      `add \`${boundParamsCapability}\` to \`capabilities_required\``,
    );
}

function isLess(a: unknown, b: unknown, kind: string): boolean {
  return kind === "int" ? integerOf(a)! < integerOf(b)! : floatOf(a) < floatOf(b);
}

/** The least or the greatest value that any request can give an option of floats. */
export function endOf(value: unknown, end: "min" | "max"): unknown {
  return isObject(value) ? value[end] : value;
}

/** What is wrong with the params that the options of a node are bound to. */
export function checkBindings(
  node: { readonly id: string; readonly pointer: string; readonly params: JsonObject },
  options: readonly OpParam[],
  declared: Registries,
  problems: Problem[],
): void {
  for (const option of options) {
    const value = node.params[option.name];
    if (!isBound(option, value)) continue;
    const pointer = pointerTo(pointerTo(pointerTo(node.pointer, "params"), option.name), "param_id");
    const report = (code: string, message: string, hint = ""): void => {
      problems.push({ code, pointer, message, hint, node: node.id });
    };
    const id = Number(integerOf(value["param_id"]));
    const param = declared.params.find((each) => each.id === id);
    if (param === undefined)
      report("unknown_param", `there is no param ${id}`, "the params are declared in params.toml");
    else checkParam(param, option, value, report);
  }
}

function checkParam(
  param: Entry,
  option: OpParam,
  bound: JsonObject,
  report: (code: string, message: string, hint?: string) => void,
): void {
  const named = `the param \`${param.name}\``;
  if (param.status === "blocked")
    return report(
      "blocked_param",
      `${named} is blocked`,
      param.replacedBy === undefined ? "" : `use param ${param.replacedBy} instead`,
    );
  if (!param.read) return report("unreadable_param", `${named} may not be read`);
  if (param.type !== option.kind)
    return report(
      "wrong_param_type",
      `${named} is of type ${param.type}; \`${option.name}\` takes one of type ${option.kind}`,
    );
  const { min, max } = bound;
  const standard = param.standard;
  const isInside =
    standard !== undefined && !isLess(exact(standard), min, option.kind) && !isLess(max, exact(standard), option.kind);
  if (isInside) return;
  const said = standard === undefined ? "has no default" : `is ${String(standard)} by default`;
  report(
    "default_out_of_range",
    `${named} ${said}, and \`${option.name}\` takes from ${String(floatOf(min))} to ${String(floatOf(max))}`,
    "bind it to a param whose default lies within",
  );
}

/** A number of TOML, where large integers are bigints, as one of an artifact. */
function exact(value: unknown): unknown {
  return typeof value === "bigint" ? new ExactInteger(value.toString()) : value;
}
