// project.ts: the project that plans belong to: where things lie, and what its registries declare.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { parse } from "smol-toml";

import { canonicalJson, sha256 } from "./json.js";
import { ProjectError } from "./project_error.js";
import { checkRegistries } from "./registry_files.js";
import { type EntryDigests, entryDigests } from "./registry_digests.js";

export { ProjectError };

/** A key or a param of the registry. `context` and `required` are those of params. */
export interface Entry {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly status: string;
  readonly read: boolean;
  readonly write: boolean;
  /** Whether a request gives its value in `context`. */
  readonly context: boolean;
  /** Whether a request must. */
  readonly required: boolean;
  /** Whether the time of the request is its value. */
  readonly clock: boolean;
  readonly replacedBy: number | undefined;
  readonly doc: string;
  /** Nothing where there is none. */
  readonly standard: unknown;
  /** Of a vector; otherwise 0. */
  readonly dimensions: number;
}

/** An endpoint, as far as plans see it. */
export interface Endpoint {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
}

/** A feature of one stage. */
export interface Feature {
  readonly id: number;
  readonly stage: string;
  readonly name: string;
  readonly type: string;
  readonly status: string;
  readonly doc: string;
}

/** A param of an operator, as `rankd ops --toml` prints it. */
export interface OpParam {
  readonly name: string;
  readonly kind: string;
  readonly required: boolean;
  readonly min?: number | bigint;
  readonly max?: number | bigint;
  /** Of a list. */
  readonly min_items?: number | bigint;
  readonly use?: "read" | "write";
  readonly choices?: readonly string[];
  readonly key_types?: readonly string[];
  readonly endpoint_kinds?: readonly string[];
  /** Another param, a choice: this one has an effect only if that has one of `when_values`. */
  readonly when?: string;
  readonly when_values?: readonly string[];
  /** Whether a param of the request may give the value; not where absent. */
  readonly bindable?: boolean;
  /** What a plan must require to give it; nothing where absent. */
  readonly capability?: string;
}

/** An operator. */
export interface Op {
  readonly name: string;
  readonly inputs: number;
  /** So many of the inputs may be left out. */
  readonly optionalInputs: number;
  /** Of an operator of the project's own: whose columns its rows have beside those that it writes; of all inputs where absent. */
  readonly columns?: "written" | "first_input";
  readonly doc: string;
  readonly params: readonly OpParam[];
}

/** An op of expressions and predicates: its fields, each with its kind, in order. */
export interface TreeOp {
  readonly name: string;
  readonly gives: string;
  readonly fields: readonly (readonly [string, string])[];
  /** What a plan that uses it must require; nothing where every plan may. */
  readonly capability?: string;
}

/** Everything that plans may name. */
export interface Registries {
  readonly keys: readonly Entry[];
  readonly params: readonly Entry[];
  readonly features: readonly Feature[];
  readonly endpoints: readonly Endpoint[];
  readonly capabilities: readonly { readonly id: string; readonly status: string }[];
  readonly ops: readonly Op[];
  readonly treeOps: readonly TreeOp[];
  /** Section → SHA-256, as the engine computes them. */
  readonly digests: Readonly<Record<string, string>>;
  /** Of what each entry means to plans, as the engine computes them. */
  readonly entryDigests: EntryDigests;
  /** Of the text that `rankd ops --toml` printed, in the project or beside the compiler, and of own_ops.toml. */
  readonly opsDigest: string;
}

/** A folder with rankd.toml. */
export interface Project {
  readonly root: string;
  readonly plans: string;
  readonly registry: string;
  /** The folder of models, where there is one. */
  readonly models: string | undefined;
  /** The table `budget` of rankd.toml as it stands. */
  readonly budget: Readonly<Record<string, unknown>>;
  readonly declared: Registries;
}

type Row = Readonly<Record<string, unknown>>;

/** Where the operators of this version of rankd are described: beside the compiler, or in the repository around it. */
const shippedOps = ["../ops.toml", "../../../../registry/ops.toml"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** The file that describes the operators: the project's own where it has one, otherwise the one that came with dslc. */
function opsFileOf(registry: string): string {
  const own = join(registry, "ops.toml");
  if (existsSync(own)) return own;
  const shipped = shippedOps.find((file) => existsSync(file));
  if (shipped !== undefined) return shipped;
  throw new ProjectError(
    `dslc was installed without the description of the operators; \`rankd ops --toml > ${own}\` makes one`,
  );
}

/** Operators that libraries of the project bring, as `rankd ops --own --toml` prints them. */
const ownOpsFile = "own_ops.toml";

function readToml(file: string): Row {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const isMissing = (error as { code?: string }).code === "ENOENT";
    throw new ProjectError(
      isMissing
        ? `${file} is missing; every project has that file, and \`rankd init empty DIR\` writes a project with it`
        : `${file} cannot be read: ${(error as Error).message.replace(/, [a-z]+( '.*)?$/s, "")}`,
    );
  }
  try {
    return parse(text, { integersAsBigInt: "asNeeded" }) as Row;
  } catch (error) {
    throw new ProjectError(`${file}: ${(error as Error).message}`);
  }
}

function rows(document: Row, table: string): readonly Row[] {
  const found = document[table];
  return Array.isArray(found) ? (found as Row[]) : [];
}

const text = (row: Row, field: string): string => (typeof row[field] === "string" ? row[field] : "");

function entryOf(row: Row, idField: string): Entry {
  return {
    id: Number(row[idField]),
    name: text(row, "name"),
    type: text(row, "type"),
    nullable: row["nullable"] === true,
    status: text(row, "status") || "active",
    read: row["allow_read"] !== false,
    write: row["source"] === "context" ? row["allow_write"] === true : row["allow_write"] !== false,
    context: row["source"] === "context",
    required: row["required"] === true,
    clock: row["clock"] !== undefined,
    replacedBy: row["replaced_by"] === undefined ? undefined : Number(row["replaced_by"]),
    doc: text(row, "doc"),
    standard: row["default"],
    dimensions: Number(row["dimensions"] ?? 0),
  };
}

function endpointsOf(document: Row): Endpoint[] {
  return rows(document, "endpoint")
    .map((row) => ({ id: text(row, "endpoint_id"), name: text(row, "name"), kind: text(row, "kind") }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Reads the registries of a folder, which are right: `loadProject` holds them to the engine's rules. */
export function loadRegistries(folder: string, environment: string, opsFile = opsFileOf(folder)): Registries {
  const optional = (name: string): Row => (existsSync(join(folder, name)) ? readToml(join(folder, name)) : {});
  const keys = readToml(join(folder, "keys.toml"));
  const params = readToml(join(folder, "params.toml"));
  const features = optional("features.toml");
  const capabilities = optional("capabilities.toml");
  const endpoints = endpointsOf(readToml(join(folder, `endpoints.${environment}.toml`)));
  const ops = readToml(opsFile);
  const ownFile = join(folder, ownOpsFile);
  const known = new Set(rows(ops, "op").map((row) => text(row, "name")));
  const own = rows(optional(ownOpsFile), "op").filter((row) => !known.has(text(row, "name")));
  const shared = endpoints.map(({ id, kind, name }) => ({ endpoint_id: id, kind, name }));
  const digest = (document: unknown): string => sha256(canonicalJson(document));
  return {
    keys: rows(keys, "key").map((row) => entryOf(row, "key_id")),
    params: rows(params, "param").map((row) => entryOf(row, "param_id")),
    features: rows(features, "feature").map((row) => ({
      id: Number(row["feature_id"]),
      stage: text(row, "stage"),
      name: text(row, "name"),
      type: text(row, "type"),
      status: text(row, "status") || "active",
      doc: text(row, "doc"),
    })),
    endpoints,
    capabilities: rows(capabilities, "capability").map((row) => ({
      id: text(row, "id"),
      status: text(row, "status") || "active",
    })),
    ops: [...rows(ops, "op"), ...own].map((row) => ({
      name: text(row, "name"),
      inputs: Number(row["inputs"]),
      optionalInputs: Number(row["optional_inputs"] ?? 0),
      ...(text(row, "columns") === "" ? {} : { columns: text(row, "columns") as NonNullable<Op["columns"]> }),
      doc: text(row, "doc"),
      params: rows(row, "param") as unknown as OpParam[],
    })),
    treeOps: rows(ops, "tree_op") as unknown as TreeOp[],
    digests: {
      keys: digest(keys),
      params: digest(params),
      features: digest(features),
      capabilities: digest(capabilities),
      endpoints: digest({ endpoint: shared }),
    },
    entryDigests: entryDigests({ keys, params, features, capabilities, endpoints: { endpoint: shared } }),
    opsDigest: sha256(
      Buffer.concat([opsFile, ...(existsSync(ownFile) ? [ownFile] : [])].map((file) => readFileSync(file))),
    ),
  };
}

/** The folder with rankd.toml at or above `from`. */
export function findProject(from: string): string {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "rankd.toml"))) return folder;
    if (dirname(folder) === folder)
      throw new ProjectError(
        `no rankd.toml lies in ${resolve(from)} or in any folder above; --project names the folder that has it`,
      );
  }
}

/** The files that say what a project declares. */
export function filesOfProject({ root, registry }: Project): string[] {
  const found = readdirSync(registry).filter((name) => name.endsWith(".toml"));
  return [join(root, "rankd.toml"), ...found.map((name) => join(registry, name)), opsFileOf(registry)];
}

/** Reads a project. */
export function loadProject(folder: string): Project {
  const root = resolve(folder);
  const settings = readToml(join(root, "rankd.toml"));
  const registry = join(root, text(settings, "registry") || "registry");
  const environment = text(settings, "environment") || "dev";
  checkRegistries(registry, environment, root);
  return {
    root,
    plans: join(root, text(settings, "plans") || "plans"),
    registry,
    models: text(settings, "models") === "" ? undefined : join(root, text(settings, "models")),
    budget: (settings["budget"] ?? {}) as Row,
    declared: loadRegistries(registry, environment),
  };
}
