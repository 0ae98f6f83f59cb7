// registry_digests.ts: digests of what an artifact refers to, so that other changes of the registries leave it valid.
import { isBound } from "./bound_params.js";
import { countryKey, namesCountry } from "./columns.js";
import { canonicalJson, type Json, sha256 } from "./json.js";
import { holesOf } from "./key_template.js";
import type { Registries } from "./project.js";
import { integerOf, isObject, type JsonObject, type Problem, Reader, sortedFields } from "./reader.js";

/** What one entry of a registry means to the plans that refer to it. */
export interface EntryDigest {
  /** As artifacts have it: a number in decimal digits, or the id of a capability or an endpoint. */
  readonly id: string;
  /** Of a feature with its stage; of a capability empty. */
  readonly name: string;
  readonly sha256: string;
}

/** Registry → its entries, by id. */
export type EntryDigests = ReadonlyMap<string, ReadonlyMap<string, EntryDigest>>;

/** How a registry is written, and which fields of its rows the digest of an entry covers. */
interface Shape {
  readonly registry: string;
  readonly word: string;
  readonly table: string;
  /** The first is the id. */
  readonly fields: readonly string[];
  /** Values with which the entry may as well not have the field. */
  readonly otherwise?: Readonly<Record<string, unknown>>;
}

const shapes: readonly Shape[] = [
  {
    registry: "keys",
    word: "key",
    table: "key",
    fields: ["key_id", "name", "type", "nullable", "default", "dimensions"],
  },
  {
    registry: "params",
    word: "param",
    table: "param",
    fields: ["param_id", "name", "type", "nullable", "default", "source", "required", "clock"],
    otherwise: { source: "override", required: false },
  },
  {
    registry: "features",
    word: "feature",
    table: "feature",
    fields: ["feature_id", "stage", "name", "type", "nullable"],
  },
  { registry: "capabilities", word: "capability", table: "capability", fields: ["id", "payload_schema"] },
  { registry: "endpoints", word: "endpoint", table: "endpoint", fields: ["endpoint_id", "name", "kind"] },
];

function nameOf(registry: string, row: JsonObject): string {
  if (registry === "capabilities") return "";
  return (registry === "features" ? `${String(row["stage"])}.` : "") + String(row["name"]);
}

/** The digests of all entries; `documents` has the TOML of each registry, that of the endpoints as environments share it. */
export function entryDigests(documents: Readonly<Record<string, JsonObject>>): EntryDigests {
  const digestsOf = ({ registry, table, fields, otherwise = {} }: Shape): Map<string, EntryDigest> => {
    const rows = documents[registry]?.[table];
    return new Map(
      (Array.isArray(rows) ? (rows as JsonObject[]) : []).map((row) => {
        const meant = fields.filter(
          (field) => row[field] !== undefined && !(field in otherwise && row[field] === otherwise[field]),
        );
        const id = String(row[fields[0]!]);
        const digest = sha256(canonicalJson(Object.fromEntries(meant.map((field) => [field, row[field]]))));
        return [id, { id, name: nameOf(registry, row), sha256: digest }];
      }),
    );
  };
  return new Map(shapes.map((shape) => [shape.registry, digestsOf(shape)]));
}

/** The ids of entries that an artifact refers to, by registry. */
class References {
  private readonly found = new Map(shapes.map(({ registry }) => [registry, new Set<string>()]));

  constructor(private readonly declared: Registries) {}

  add(registry: string, id: unknown): void {
    const text = typeof id === "string" ? id : Number.isSafeInteger(id) ? String(id) : integerOf(id)?.toString();
    if (text !== undefined) this.found.get(registry)!.add(text);
  }

  addNamed(registry: "keys" | "params", name: string): void {
    this.add(registry, this.declared[registry].find((each) => each.name === name)?.id);
  }

  addList(registry: string, ids: unknown): void {
    for (const id of Array.isArray(ids) ? (ids as unknown[]) : []) this.add(registry, id);
  }

  /** Whatever has a `key_id` or a `param_id` in an expression or a predicate. */
  addTree(tree: unknown): void {
    if (Array.isArray(tree)) for (const each of tree as unknown[]) this.addTree(each);
    if (!isObject(tree)) return;
    this.add("keys", tree["key_id"]);
    this.add("params", tree["param_id"]);
    for (const value of Object.values(tree)) this.addTree(value);
  }

  addNode(node: JsonObject): void {
    const op = this.declared.ops.find((each) => each.name === node["op"]);
    const params = isObject(node["params"]) ? node["params"] : {};
    for (const param of op?.params ?? []) {
      const value = params[param.name];
      if (isBound(param, value)) this.add("params", value["param_id"]);
      else if (param.kind === "key_id") this.add("keys", value);
      else if (param.kind === "key_ids") this.addList("keys", value);
      else if (param.kind === "endpoint_ref") this.add("endpoints", value);
      else if (param.kind === "key_template")
        for (const { name, from } of holesOf(value)) this.addNamed(from === "key" ? "keys" : "params", name);
    }
    if (namesCountry(String(node["op"]))) this.addNamed("keys", countryKey);
    const { fallback, capture } = node;
    if (isObject(fallback)) this.addList("keys", fallback["nulls"]);
    if (isObject(capture)) this.addList("keys", capture["key_ids"]);
  }

  /** Those that are declared: of the others there is something else to say. */
  digests(): Json {
    const of = (registry: string): [string, string][] =>
      [...this.found.get(registry)!].flatMap((id) => {
        const entry = this.declared.entryDigests.get(registry)?.get(id);
        return entry === undefined ? [] : [[id, entry.sha256]];
      });
    return Object.fromEntries(
      shapes
        .map(({ registry }) => [registry, Object.fromEntries(of(registry))] as const)
        .filter(([, entries]) => Object.keys(entries).length > 0),
    );
  }
}

/** The digests for the artifact of a plan: of the keys, params, capabilities and endpoints that it refers to. */
export function digestsForPlan(artifact: JsonObject, declared: Registries): Json {
  const found = new References(declared);
  found.addNamed("keys", "id");
  found.addTree(artifact["expr_table"]);
  found.addTree(artifact["pred_table"]);
  found.addList("capabilities", artifact["capabilities_required"]);
  for (const node of Array.isArray(artifact["nodes"]) ? (artifact["nodes"] as unknown[]) : [])
    if (isObject(node)) found.addNode(node);
  return found.digests();
}

/** The digests for the artifact of a plan's tests: of what their expectations have by number. */
export function digestsForTests(tests: unknown, declared: Registries): Json {
  const found = new References(declared);
  found.addNamed("keys", "id");
  for (const test of Array.isArray(tests) ? (tests as unknown[]) : [])
    if (isObject(test)) found.addTree(test["expect"]);
  return found.digests();
}

function readDigest(of: Reader, field: string): string | undefined {
  const text = of.text(field, "optional");
  if (text === undefined || /^[0-9a-f]{64}$/.test(text)) return text;
  of.report(field, "bad_value", "a digest is 64 lower-case hexadecimal digits");
  return undefined;
}

function readEntry(of: Reader, id: string, { registry, word }: Shape, declared: Registries): void {
  const theirs = readDigest(of, id);
  if (theirs === undefined) return;
  const ours = declared.entryDigests.get(registry)?.get(id);
  if (ours === undefined)
    of.report(
      id,
      "registry_changed",
      `${word} \`${id}\`, with which the plan was built, is no longer declared`,
      "declare it again, or build without it",
    );
  else if (ours.sha256 !== theirs)
    of.report(
      id,
      "registry_changed",
      `${word} \`${id}\`${ours.name === "" ? "" : ` (${ours.name})`} is not declared as it was when the plan was built`,
      "build again with `dslc build`, or declare it as it was",
    );
}

/** Holds `registry_digests` of an artifact against the registries: of each of them one digest, or one of each entry. */
export function checkDigests(top: Reader, declared: Registries, problems: Problem[]): void {
  const value = top.child("registry_digests", "optional");
  if (value === undefined) return;
  const digests = new Reader(value, "/registry_digests", problems);
  for (const shape of shapes) {
    const { registry } = shape;
    const stated = digests.value(registry, "optional");
    if (isObject(stated)) {
      const entries = new Reader(stated, `/registry_digests/${registry}`, problems);
      for (const [id] of sortedFields(stated)) readEntry(entries, id, shape, declared);
      continue;
    }
    const theirs = readDigest(digests, registry);
    if (theirs !== undefined && theirs !== declared.digests[registry])
      digests.report(
        registry,
        "registry_changed",
        `the plan was built against another registry of ${registry}`,
        "build again with `dslc build`",
      );
  }
  digests.refuseUnknownFields();
}
