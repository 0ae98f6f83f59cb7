// endpoints.ts: the engine's rules for params of operators that name an endpoint.
import type { OpParam, Registries } from "./project.js";
import { didYouMean } from "./reader.js";

/** Complains where there is no such endpoint, or its kind is another one. */
export function bindEndpoint(
  id: string,
  param: OpParam,
  declared: Registries,
  report: (code: string, message: string, hint?: string) => void,
): void {
  const endpoint = declared.endpoints.find((each) => each.id === id);
  if (endpoint === undefined) {
    const known = declared.endpoints.map((each) => each.id);
    return report("unknown_endpoint", `no endpoint has the id \`${id}\``, didYouMean(id, known));
  }
  const kinds = param.endpoint_kinds ?? [];
  if (!kinds.includes(endpoint.kind))
    report(
      "wrong_endpoint_kind",
      `endpoint \`${id}\` (${endpoint.name}) is of kind ${endpoint.kind}`,
      `name an endpoint of kind ${kinds.join(" or ")}`,
    );
}
