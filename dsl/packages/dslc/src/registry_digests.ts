// registry_digests.ts: hashes of the declarations that an artifact uses. The artifact stays valid if other declarations
// change.
import { isBound } from "./capabilities.js";
import { canonicalJson, integerText, isObject, type Json, type JsonObject, sha256 } from "./json.js";
import type { EntryDigests, Registries } from "./registries.js";

/** The key that some operators add to their rows although no param names it. */
const countryKey = "country";
const withCountry: ReadonlySet<unknown> = new Set(["core::viewer", "core::follow", "core::recommendation"]);

/** The names in the holes of a key template, such as `hot:{country}:{P.surface}`. */
function holesOf(text: unknown): { name: string; registry: "keys" | "params" }[] {
  if (typeof text !== "string") return [];
  const plain = text.replaceAll("{{", "").replaceAll("}}", "");
  return [...plain.matchAll(/\{(P\.)?([A-Za-z_][A-Za-z0-9_]*)\}/g)].map(([, param, name]) => ({
    name: name!,
    registry: param === undefined ? "keys" : "params",
  }));
}

/** Describes how a registry is written, and which fields of its rows are a part of an entry's digest. */
interface Shape {
  readonly registry: string;
  readonly table: string;
  /** The first field is the id. */
  readonly fields: readonly string[];
  /** Default values. An entry with such a value has the same digest as an entry without the field. */
  readonly otherwise?: Readonly<Record<string, unknown>>;
}

const shapes: readonly Shape[] = [
  {
    registry: "keys",
    table: "key",
    fields: ["key_id", "name", "type", "nullable", "default", "dimensions"],
  },
  {
    registry: "params",
    table: "param",
    fields: ["param_id", "name", "type", "nullable", "default", "source", "required", "clock"],
    otherwise: { source: "override", required: false },
  },
  { registry: "capabilities", table: "capability", fields: ["id", "payload_schema"] },
  { registry: "endpoints", table: "endpoint", fields: ["endpoint_id", "name", "kind"] },
];

/**
 * Returns the digests of all entries. `documents` contains each registry's TOML, but only the shared part of endpoints.
 */
export function entryDigests(documents: Readonly<Record<string, JsonObject>>): EntryDigests {
  const digestsOf = ({ registry, table, fields, otherwise = {} }: Shape): Map<string, string> => {
    return new Map(
      listIn(documents[registry]?.[table]).map((each) => {
        const row = each as JsonObject;
        const meant = fields.filter(
          (field) => row[field] !== undefined && !(field in otherwise && row[field] === otherwise[field]),
        );
        const digest = sha256(canonicalJson(Object.fromEntries(meant.map((field) => [field, row[field]]))));
        return [String(row[fields[0]!]), digest];
      }),
    );
  };
  return new Map(shapes.map((shape) => [shape.registry, digestsOf(shape)]));
}

/** Returns the items of an array. Returns no items for any other value. */
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The ids of the entries that an artifact refers to, for each registry. */
class References {
  private readonly found = new Map(shapes.map(({ registry }) => [registry, new Set<string>()]));

  constructor(private readonly declared: Registries) {}

  add(registry: string, id: unknown): void {
    const text = typeof id === "string" ? id : integerText(id);
    if (text !== undefined) this.found.get(registry)!.add(text);
  }

  addNamed(registry: "keys" | "params", name: string): void {
    this.add(registry, this.declared[registry].find((each) => each.name === name)?.id);
  }

  addList(registry: string, ids: unknown): void {
    for (const id of listIn(ids)) this.add(registry, id);
  }

  /** Finds everything in an expression or predicate that has a `key_id` or a `param_id`. */
  addTree(tree: unknown): void {
    if (typeof tree !== "object" || tree === null) return;
    const { key_id: key, param_id: param } = tree as JsonObject;
    this.add("keys", key);
    this.add("params", param);
    for (const value of Object.values(tree)) this.addTree(value);
  }

  addNode(node: unknown): void {
    if (!isObject(node)) return;
    const op = this.declared.ops.find((each) => each.name === node["op"]);
    const params = isObject(node["params"]) ? node["params"] : {};
    for (const param of op?.params ?? []) {
      const value = params[param.name];
      if (isBound(param, value)) this.add("params", value["param_id"]);
      else if (param.kind === "key_id") this.add("keys", value);
      else if (param.kind === "key_ids") this.addList("keys", value);
      else if (param.kind === "endpoint_ref") this.add("endpoints", value);
      else if (param.kind === "key_template")
        for (const { name, registry } of holesOf(value)) this.addNamed(registry, name);
    }
    if (withCountry.has(node["op"])) this.addNamed("keys", countryKey);
    const { fallback, capture } = node;
    if (isObject(fallback)) this.addList("keys", fallback["nulls"]);
    if (isObject(capture)) this.addList("keys", capture["key_ids"]);
  }

  /** Keeps only the declared ids. Other diagnostics report those that are not declared. */
  digests(): Json {
    const entries = [...this.found].map(([registry, ids]) => {
      const digests = this.declared.entryDigests.get(registry);
      return [registry, [...ids].flatMap((id) => (digests?.has(id) ? [[id, digests.get(id)!] as const] : []))] as const;
    });
    return Object.fromEntries(
      entries.filter(([, found]) => found.length > 0).map(([registry, found]) => [registry, Object.fromEntries(found)]),
    );
  }
}

/**
 * Returns the digests for the artifact of a plan: those of the keys, params, capabilities and endpoints that it refers
 * to.
 */
export function digestsForPlan(artifact: JsonObject, declared: Registries): Json {
  const found = new References(declared);
  found.addNamed("keys", "id");
  found.addTree(artifact["expr_table"]);
  found.addTree(artifact["pred_table"]);
  found.addList("capabilities", artifact["capabilities_required"]);
  for (const node of listIn(artifact["nodes"])) found.addNode(node);
  return found.digests();
}

/**
 * Returns the digests for the artifact of a plan's tests: those of the entries that expectations refer to by number.
 */
export function digestsForTests(tests: unknown, declared: Registries): Json {
  const found = new References(declared);
  found.addNamed("keys", "id");
  for (const test of listIn(tests)) if (isObject(test)) found.addTree(test["expect"]);
  return found.digests();
}
