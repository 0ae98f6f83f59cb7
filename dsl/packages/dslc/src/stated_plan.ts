// stated_plan.ts: a plan as its artifact states it: edges as positions, params and formulas as texts with names.
import { isBound } from "./bound_params.js";
import { Fraction } from "./exact_json.js";
import { type Fallback, linkFallbacks } from "./fallbacks.js";
import { fragmentCapability, usesOf } from "./fragments.js";
import { formulaText, floatText, inQuotes, keyText, numberText, paramText } from "./formula_text.js";
import { cacheText } from "./caches.js";
import { captureText } from "./captures.js";
import { type GraphNode, orderOf } from "./graph.js";
import { floatOf } from "./items.js";
import { canonicalJson, ExactInteger } from "./json.js";
import { limitCapabilities } from "./limits.js";
import type { Op, OpParam, Registries } from "./project.js";
import { integerOf, isObject, type JsonObject, sortedFields } from "./reader.js";

/** One param that a node gives, as text. */
export interface StatedField {
  /** `expr` and `pred` of formulas, as in the source of a plan. */
  readonly name: string;
  readonly text: string;
  /** The node that it names, of a param that is an edge. */
  readonly edge: number | undefined;
}

/** A node, with the positions of the nodes that it takes rows from: its inputs, then those that params name. */
export interface StatedNode extends GraphNode {
  readonly fallback: Fallback | undefined;
  readonly op: Op;
  readonly inputs: readonly number[];
  readonly params: JsonObject;
  /** In the order of the operator's description. */
  readonly fields: readonly StatedField[];
  readonly trace: string | undefined;
  /** Capability → what the artifact says under it, as canonical JSON. */
  readonly extensions: ReadonlyMap<string, string>;
}

/** A plan whose artifact was found right. */
export interface StatedPlan {
  readonly name: string;
  readonly nodes: readonly StatedNode[];
  readonly outputs: readonly number[];
  /** The plan that stands in for it, and for which failures. */
  readonly fallback: string | undefined;
  /** Sources before their users. */
  readonly order: readonly number[];
  readonly capabilities: readonly string[];
  readonly extensions: ReadonlyMap<string, string>;
  /** Uses of fragments → names and versions. */
  readonly fragments: ReadonlyMap<string, string>;
}

/** Reads an artifact as `parseExact` gives it, in which `validate` finds nothing wrong. */
export function statedPlan(artifact: unknown, declared: Registries): StatedPlan {
  const top = artifact as JsonObject;
  const stated = top["nodes"] as JsonObject[];
  const at = new Map(stated.map((node, index) => [String(node["node_id"]), index]));
  const texts = new FieldTexts(top, declared);
  const outputs = (top["outputs"] as string[]).map((id) => at.get(id)!);
  const nodes = stated.map((node): StatedNode & { readonly after: number[] } => {
    const op = declared.ops.find((each) => each.name === node["op"])!;
    const params = isObject(node["params"]) ? node["params"] : {};
    const inputs = (node["inputs"] as string[]).map((id) => at.get(id)!);
    const fields = op.params.flatMap((param): StatedField[] => {
      const value = params[param.name];
      if (value === undefined || value === null) return [];
      const edge = param.kind === "node_ref" ? at.get(String(value)) : undefined;
      return [{ name: shownNames[param.kind] ?? param.name, text: texts.of(param, value), edge }];
    });
    const fallback = fallbackOf(node["fallback"], at);
    const sources = [...inputs, ...fields.flatMap(({ edge }) => (edge === undefined ? [] : [edge]))];
    for (const field of Object.keys(limitCapabilities))
      if (node[field] !== undefined) fields.push({ name: field, text: numberText(node[field]), edge: undefined });
    if (fallback !== undefined)
      fields.push({ name: "fallback", text: fallbackText(node["fallback"] as JsonObject, declared), edge: undefined });
    const capture = captureText(node["capture"], numberText, (key) => keyText(key, declared));
    if (capture !== undefined) fields.push({ name: "capture", text: capture, edge: undefined });
    const cache = cacheText(node["cache"], numberText);
    if (cache !== undefined) fields.push({ name: "cache", text: cache, edge: undefined });
    return {
      id: String(node["node_id"]),
      pointer: "",
      op,
      inputs,
      sources,
      after: [],
      fallback,
      params,
      fields,
      trace: typeof params["trace"] === "string" ? params["trace"] : undefined,
      extensions: extensionsOf(node),
    };
  });
  linkFallbacks(nodes, outputs, []);
  return {
    name: String(top["plan_name"]),
    nodes,
    outputs,
    fallback: isObject(top["fallback_plan"]) ? planFallbackText(top["fallback_plan"]) : undefined,
    order: orderOf(nodes),
    capabilities: (top["capabilities_required"] ?? []) as string[],
    extensions: new Map([...extensionsOf(top)].filter(([capability]) => capability !== fragmentCapability)),
    fragments: new Map(usesOf(top).map(({ id, fragment, version }) => [id, `${fragment} ${version}`])),
  };
}

function fallbackOf(stated: unknown, at: ReadonlyMap<string, number>): Fallback | undefined {
  if (!isObject(stated)) return undefined;
  const use = stated["use"];
  return {
    use: isObject(use) ? at.get(String(use["node"]))! : (use as "input" | "empty"),
    nulls: ((stated["nulls"] ?? []) as unknown[]).map((key) => Number(integerOf(key))),
    pointer: "",
  };
}

/** `follow_2 on store_*, node_timeout`. */
function fallbackText(stated: JsonObject, declared: Registries): string {
  const use = stated["use"];
  const nulls = ((stated["nulls"] ?? []) as unknown[]).map((key) => keyText(key, declared));
  const text = `${String(isObject(use) ? use["node"] : use)} on ${(stated["on"] as string[]).join(", ")}`;
  return nulls.length === 0 ? text : `${text}, nulls [${nulls.join(", ")}]`;
}

const planFallbackText = (stated: JsonObject): string =>
  `${String(stated["plan"])} on ${(stated["on"] as string[]).join(", ")}, reserve_ms ${numberText(stated["reserve_ms"] ?? 0)}`;

const shownNames: Readonly<Record<string, string>> = { expr_id: "expr", pred_id: "pred", pred_ids: "preds" };

function extensionsOf(of: JsonObject): Map<string, string> {
  const all = isObject(of["extensions"]) ? sortedFields(of["extensions"]) : [];
  return new Map(all.map(([capability, payload]) => [capability, canonicalJson(plain(payload))]));
}

/** The value with numbers that canonical JSON has. */
function plain(value: unknown): unknown {
  if (value instanceof Fraction) return value.value;
  if (value instanceof ExactInteger) return BigInt(value.digits);
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  const out = Object.create(null) as Record<string, unknown>;
  for (const [name, field] of Object.entries(value)) out[name] = plain(field);
  return out;
}

class FieldTexts {
  constructor(
    private readonly top: JsonObject,
    private readonly declared: Registries,
  ) {}

  of(param: OpParam, value: unknown): string {
    if (isBound(param, value)) return this.boundText(param, value);
    switch (param.kind) {
      case "expr_id":
        return this.tree("expr_table", value);
      case "pred_id":
        return this.tree("pred_table", value);
      case "node_ref":
      case "choice":
        return String(value);
      case "endpoint_ref": {
        const endpoint = this.declared.endpoints.find((each) => each.id === value);
        return endpoint === undefined ? `EP[${String(value)}]` : `EP.${endpoint.name}`;
      }
      case "key_id":
        return keyText(value, this.declared);
      case "float":
        return floatText(floatOf(value));
      default:
        return Array.isArray(value) ? `[${value.map((item) => this.item(param, item)).join(", ")}]` : scalarText(value);
    }
  }

  private item(param: OpParam, item: unknown): string {
    if (param.kind === "key_ids") return keyText(item, this.declared);
    if (param.kind === "pred_ids") return this.tree("pred_table", item);
    return param.kind === "ascending" ? floatText(floatOf(item)) : scalarText(item);
  }

  private tree(table: string, id: unknown): string {
    return formulaText((this.top[table] as JsonObject)[String(id)], this.declared);
  }

  /** As authors write it: `P.page_size.within(1, 500)`. */
  private boundText(param: OpParam, value: JsonObject): string {
    const end = (of: unknown): string => (param.kind === "float" ? floatText(floatOf(of)) : numberText(of));
    return `${paramText(value["param_id"], this.declared)}.within(${end(value["min"])}, ${end(value["max"])})`;
  }
}

function scalarText(value: unknown): string {
  if (typeof value === "string") return inQuotes(value);
  return typeof value === "boolean" ? String(value) : numberText(value);
}
