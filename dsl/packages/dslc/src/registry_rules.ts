// registry_rules.ts: the engine's rules for the files of registries, so that what dslc builds with also loads.
import { TomlDate } from "smol-toml";

import { Fraction } from "./exact_json.js";
import { ExactInteger } from "./json.js";
import {
  isObject,
  type JsonObject,
  kindOf,
  numberProblem,
  type Presence,
  type Problem,
  pointerTo,
  Reader,
} from "./reader.js";

/** The names of environments, each of which has a file of endpoints. */
export const environments: readonly string[] = ["dev", "test", "prod"];

const valueTypes = ["int", "float", "string", "bool"];
const statuses = ["active", "deprecated", "blocked"];
const isIdentifier = (text: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text);
const isCapability = (text: string): boolean => /^cap\.rfc\.[0-9]{4}\.[a-z][a-z0-9_]*\.v[1-9][0-9]*$/.test(text);

/** A registry's file: its document as `toValues` gives it, and what is wrong with it. */
export interface Section {
  readonly document: unknown;
  readonly problems: Problem[];
}

/** A document of TOML as the readers of JSON take it, where integers and fractions differ; dates are refused. */
export function toValues(value: unknown, pointer: string, problems: Problem[]): unknown {
  if (typeof value === "bigint") {
    const small = Number(value);
    return Number.isSafeInteger(small) ? small : new ExactInteger(value.toString());
  }
  if (typeof value === "number") return new Fraction(value);
  if (value instanceof TomlDate) {
    problems.push({
      code: "unsupported_value",
      pointer,
      message: "dates and times have no meaning here",
      hint: "",
      node: "",
    });
    return null;
  }
  if (Array.isArray(value)) return value.map((item, at) => toValues(item, pointerTo(pointer, at), problems));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, toValues(field, pointerTo(pointer, name), problems)]),
  );
}

/** Remembers which row was the first to use a value, and complains about later ones. */
class UsedOnce {
  private readonly first = new Map<string, string>();

  constructor(private readonly code: string) {}

  claim(row: Reader, field: string, value: string): void {
    const place = this.first.get(value);
    if (place === undefined) this.first.set(value, row.pointer);
    else row.report(field, this.code, `this value is already used by ${place}`);
  }

  has(value: string): boolean {
    return this.first.has(value);
  }
}

/** Calls `read` for each table of an array, then refuses the fields that no rule has read. */
function eachRow(from: Section, table: string, read: (row: Reader, at: JsonObject) => void): void {
  const top = new Reader(from.document, "", from.problems);
  for (const [index, value] of (top.array(table, "optional") ?? []).entries()) {
    const row = new Reader(value, `/${table}/${index}`, from.problems);
    read(row, isObject(value) ? value : {});
    row.refuseUnknownFields();
  }
  top.refuseUnknownFields();
}

function readName(row: Reader): string | undefined {
  const name = row.text("name", "required");
  if (name === undefined || isIdentifier(name)) return name;
  row.report("name", "bad_name", `\`${name}\` is not letters, digits and \`_\` with no digit in front`);
  return undefined;
}

function readDefault(row: Reader, type: string | undefined): void {
  const value = row.value("default", "optional");
  if (value === undefined || type === undefined) return;
  const refuse = (code: string, message: string): void => {
    row.report("default", code, `\`default\` ${message}`);
  };
  if (type === "vector") refuse("wrong_type", "cannot be given: JSON has no form for a single vector");
  else if (type === "string" && typeof value !== "string")
    refuse("wrong_type", `must be a string, not ${kindOf(value)}`);
  else if (type === "bool" && typeof value !== "boolean")
    refuse("wrong_type", `must be true or false, not ${kindOf(value)}`);
  const problem = type === "int" || type === "float" ? numberProblem(value, type) : undefined;
  if (problem !== undefined) refuse(problem.code, problem.message);
}

/** What is known of a key or a param once its own fields are read. */
interface Row {
  readonly id: number | undefined;
  readonly name: string | undefined;
  readonly type: string;
  readonly nullable: boolean;
  readonly status: string;
  readonly read: boolean;
  readonly write: boolean;
  readonly context: boolean;
  readonly required: boolean;
  readonly clock: boolean;
}

/** Reads the fields that keys and params share, those of either, and then what `check` looks at. */
function readEntries(
  from: Section,
  table: "key" | "param",
  types: readonly string[],
  check: (row: Reader, entry: Row) => void,
): readonly number[] {
  const idField = `${table}_id`;
  const ids = new UsedOnce("duplicate_id");
  const names = new UsedOnce("duplicate_name");
  const found: number[] = [];
  const replaced: { pointer: string; by: number; self: number | undefined }[] = [];
  eachRow(from, table, (row) => {
    const id = row.id(idField, "required");
    const name = readName(row);
    const type = row.choice("type", "required", types);
    const nullable = row.boolean("nullable", "required") ?? true;
    readDefault(row, type);
    row.text("doc", "optional");
    const status = row.choice("status", "optional", statuses) ?? "active";
    const read = row.boolean("allow_read", "optional") ?? true;
    const write = row.boolean("allow_write", "optional");
    const by = row.id("replaced_by", "optional");
    const own = table === "key" ? readOfKey(row) : readOfParam(row);
    if (id !== undefined) {
      ids.claim(row, idField, String(id));
      found.push(id);
    }
    if (name !== undefined) names.claim(row, "name", name);
    if (by !== undefined) replaced.push({ pointer: pointerTo(row.pointer, "replaced_by"), by, self: id });
    if (type !== undefined)
      check(row, { id, name, type, nullable, status, read, write: write ?? !own.context, ...own });
  });
  for (const { pointer, by, self } of replaced) {
    const report = (message: string): void => {
      from.problems.push({ code: "unknown_replacement", pointer, message, hint: "", node: "" });
    };
    if (by === self) report("it cannot be replaced by itself");
    else if (!ids.has(String(by))) report(`nothing with the id ${by} is declared`);
  }
  return found;
}

function readOfKey(row: Reader): { context: boolean; required: boolean; clock: boolean } {
  row.integer("dimensions", "optional", 1n, 4096n);
  return { context: false, required: false, clock: false };
}

function readOfParam(row: Reader): { context: boolean; required: boolean; clock: boolean } {
  const context = row.choice("source", "optional", ["override", "context"]) === "context";
  const required = row.boolean("required", "optional") ?? false;
  const clock = row.choice("clock", "optional", ["seconds", "milliseconds"]) !== undefined;
  return { context, required, clock };
}

/** Whether a row has a field, of whatever type. */
const has = (row: Reader, field: string, need: Presence = "optional"): boolean => row.value(field, need) !== undefined;

function checkIdKey(row: Reader, key: Row): void {
  const demand = (holds: boolean, field: string, message: string): void => {
    if (!holds) row.report(field, "bad_id_key", `key 1 ${message}`);
  };
  demand(key.name === "id", "name", "is called `id`");
  demand(key.type === "int" || key.type === "string", "type", "is an int or a string");
  demand(!key.nullable, "nullable", "is on every row, so not nullable");
  demand(!has(row, "default"), "default", "has no default: every row has its own");
  demand(key.status === "active", "status", "is always active");
  demand(key.read, "allow_read", "can always be read");
  demand(!key.write, "allow_write", "is never written");
}

function checkKey(row: Reader, key: Row): void {
  if (key.id === 1) return checkIdKey(row, key);
  if (key.type === "vector") {
    has(row, "dimensions", "required");
    if (!key.nullable) row.report("nullable", "bad_value", "a vector has no default, so that it is nullable");
    return;
  }
  if (has(row, "dimensions")) row.report("dimensions", "bad_value", "only a key of type vector has `dimensions`");
  if (!key.nullable && !has(row, "default"))
    row.report("default", "missing_default", "a key that is not nullable needs a default");
}

/** What is wrong with keys.toml is added to its problems. */
export function checkKeys(from: Section): void {
  const ids = readEntries(from, "key", [...valueTypes, "vector"], checkKey);
  if (!ids.includes(1))
    from.problems.push({
      code: "missing_id_key",
      pointer: "/key",
      message: "key 1, the `id` of rows, is missing",
      hint: "",
      node: "",
    });
}

function checkParam(row: Reader, param: Row): void {
  const hasDefault = has(row, "default");
  if (param.clock) {
    if (!param.context)
      row.report("clock", "bad_clock", "only a param whose source is context can have the time of the clock");
    else if (param.type !== "int")
      row.report("clock", "bad_clock", "a param that has the time of the clock is of type int");
    else if (hasDefault || param.required)
      row.report("clock", "bad_clock", "a param that has the time of the clock is not required and has no default");
  } else if (param.required && !param.context)
    row.report("required", "bad_required", "only a param whose source is context can be required");
  else if (param.required && hasDefault)
    row.report("required", "bad_required", "a param that is required has no default");
  else if (param.context && !param.required && !param.nullable && !hasDefault)
    row.report(
      "default",
      "missing_default",
      "a param of the context that is neither required nor nullable needs a default",
    );
}

/** The same of params.toml. */
export function checkParams(from: Section): void {
  readEntries(from, "param", valueTypes, checkParam);
}

/** The same of features.toml. */
export function checkFeatures(from: Section): void {
  const ids = new UsedOnce("duplicate_id");
  const names = new UsedOnce("duplicate_name");
  eachRow(from, "feature", (row) => {
    const id = row.id("feature_id", "required");
    if (id !== undefined) ids.claim(row, "feature_id", String(id));
    const stage = row.text("stage", "required") ?? "";
    if (stage !== "" && !isIdentifier(stage))
      row.report("stage", "bad_name", `\`${stage}\` is not letters, digits and \`_\``);
    const name = readName(row);
    if (name !== undefined) names.claim(row, "name", `${stage}.${name}`);
    row.choice("type", "required", valueTypes);
    row.boolean("nullable", "required");
    row.text("doc", "optional");
    row.choice("status", "optional", statuses);
  });
}

/** The same of capabilities.toml; what a `payload_schema` says is left to the engine. */
export function checkCapabilities(from: Section): void {
  const ids = new UsedOnce("duplicate_id");
  const names = new UsedOnce("duplicate_name");
  eachRow(from, "capability", (row) => {
    const id = row.text("id", "required");
    if (id !== undefined) ids.claim(row, "id", id);
    if (id !== undefined && !isCapability(id))
      row.report("id", "bad_capability_id", `\`${id}\` is not of the form \`cap.rfc.NNNN.slug.vK\``);
    const name = readName(row);
    if (name !== undefined) names.claim(row, "name", name);
    row.choice("status", "optional", statuses);
    row.text("doc", "optional");
    row.child("payload_schema", "optional");
  });
}

/** An endpoint as far as the files of several environments are compared. */
interface Declared {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
}

function readAddress(of: Reader): void {
  const host = of.text("host", "required");
  if (host !== undefined && !/^[^\x00-\x20\x7f]+$/.test(host))
    of.report("host", "bad_value", `\`${host}\` is no host name or address`);
  of.integer("port", "required", 1n, 65535n);
}

function readCluster(of: Reader, problems: Problem[]): void {
  of.boolean("tls", "optional");
  of.choice("reads", "optional", ["masters", "replicas"]);
  const nodes = of.array("nodes", "required");
  if (nodes?.length === 0) of.report("nodes", "bad_value", "a cluster is found by one of its nodes at least");
  for (const [index, value] of (nodes ?? []).entries()) {
    const node = new Reader(value, pointerTo(pointerTo(of.pointer, "nodes"), index), problems);
    readAddress(node);
    node.refuseUnknownFields();
  }
}

/** The kind says which commands there are; production keeps its data where many processes can reach it. */
function checkResolver(of: Reader, kind: string, resolver: string, environment: string): void {
  const report = (message: string): void => {
    of.report("type", "wrong_resolver", `an endpoint of kind ${kind} ${message}`);
  };
  if (kind === "embedded" && resolver !== "embedded") report("needs the embedded resolver");
  if ((kind === "vectors") !== (resolver === "file"))
    return report(kind === "vectors" ? "needs the file resolver" : "is no file of vectors");
  if (kind === "http" && resolver !== "static") report("needs the static resolver");
  if (kind === "redis" && resolver === "embedded" && environment === "prod")
    report("may be embedded in dev and test only");
}

function readResolver(row: Reader, kind: string | undefined, environment: string, problems: Problem[]): void {
  const value = row.child("resolver", "required");
  if (value === undefined) return;
  const of = new Reader(value, pointerTo(row.pointer, "resolver"), problems);
  const type = of.choice("type", "required", ["static", "embedded", "cluster", "file"]);
  if (type === undefined) return; // which other fields there are depends on it
  if (kind !== undefined) checkResolver(of, kind, type, environment);
  if (type === "static") {
    readAddress(of);
    of.boolean("tls", "optional");
  } else if (type === "cluster") readCluster(of, problems);
  else if (of.text("path", "required") === "")
    of.report("path", "bad_value", `the path of the ${type === "file" ? "file" : "store"} is empty`);
  of.refuseUnknownFields();
}

const maxTimeout = 3_600_000n;

function readPolicy(row: Reader, kind: string, problems: Problem[]): void {
  const value = row.child("policy", "optional");
  if (value === undefined) return;
  const of = new Reader(value, pointerTo(row.pointer, "policy"), problems);
  if (kind === "vectors") of.choice("metric", "optional", ["dot", "cosine", "l2"]);
  else {
    of.integer("max_inflight", "optional", 1n, 1_000_000n);
    of.integer("connect_timeout_ms", "optional", 1n, maxTimeout);
    of.integer("request_timeout_ms", "optional", 1n, maxTimeout);
    of.integer("connections", "optional", 1n, 1024n);
  }
  if (kind === "http") {
    of.integer("breaker_failures", "optional", 0n, 1000n);
    of.integer("breaker_ms", "optional", 1n, maxTimeout);
  }
  of.refuseUnknownFields();
}

/** The same of the endpoints of one environment, and what they are. */
export function checkEndpoints(from: Section, environment: string): readonly Declared[] {
  const ids = new UsedOnce("duplicate_id");
  const names = new UsedOnce("duplicate_name");
  const found: Declared[] = [];
  eachRow(from, "endpoint", (row) => {
    const id = row.text("endpoint_id", "required");
    const isRight = id !== undefined && /^ep_[0-9]{4}$/.test(id);
    if (isRight) ids.claim(row, "endpoint_id", id);
    else if (id !== undefined) row.report("endpoint_id", "bad_endpoint_id", `\`${id}\` is not \`ep_\` and four digits`);
    const name = readName(row);
    if (name !== undefined) names.claim(row, "name", name);
    const kind = row.choice("kind", "required", ["redis", "embedded", "http", "vectors"]);
    readResolver(row, kind, environment, from.problems);
    readPolicy(row, kind ?? "redis", from.problems);
    found.push({ id: isRight ? id : "", name: name ?? "", kind: kind ?? "redis" });
  });
  return found;
}

/** Complains about every endpoint of another environment whose id, name or kind is not that of `ours`. */
export function compareEndpoints(ours: readonly Declared[], theirs: readonly Declared[], problems: Problem[]): void {
  const report = (pointer: string, message: string): void => {
    const hint = "ids, names and kinds are the same in every environment";
    problems.push({ code: "environments_differ", pointer, message, hint, node: "" });
  };
  for (const { id } of ours)
    if (!theirs.some((each) => each.id === id)) report("/endpoint", `the endpoint \`${id}\` is missing here`);
  for (const [index, their] of theirs.entries()) {
    const mine = ours.find((each) => each.id === their.id);
    const pointer = `/endpoint/${index}`;
    if (mine === undefined) report(pointer, `the endpoint \`${their.id}\` is declared here only`);
    else if (mine.name !== their.name) report(`${pointer}/name`, `\`${their.id}\` has another name here`);
    else if (mine.kind !== their.kind) report(`${pointer}/kind`, `\`${their.id}\` has another kind here`);
  }
}
