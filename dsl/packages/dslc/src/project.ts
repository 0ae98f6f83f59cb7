// project.ts: the project of a plan: its folders, and the declarations of its registries.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { parse } from "smol-toml";

import { canonicalJson, sha256 } from "./json.js";
import { ProjectError, TomlSyntaxError } from "./project_error.js";
import type { Entry, OpParam, Registries, TreeOp } from "./registries.js";
import { entryDigests } from "./registry_digests.js";
import { readText, reasonOf } from "./write.js";

/** A folder with rankd.toml. */
export interface Project {
  readonly root: string;
  readonly plans: string;
  readonly registry: string;
  readonly declared: Registries;
}

type Row = Readonly<Record<string, unknown>>;

/**
 * Returns the files that describe the operators of this version of rankd: next to the compiler, or in its repository.
 */
const shippedOps = ["../ops.toml", "../../../../registry/ops.toml"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** Returns the file that describes the operators: the project's own file if it has one, otherwise the file of dslc. */
function opsFileOf(registry: string): string {
  const own = join(registry, "ops.toml");
  if (existsSync(own)) return own;
  const shipped = shippedOps.find((file) => existsSync(file));
  if (shipped !== undefined) return shipped;
  throw new ProjectError(
    `dslc was installed without the description of the operators; \`rankd ops --toml > ${own}\` makes one`,
  );
}

/** The operators of the project's libraries, as printed by `rankd ops --own --toml`. */
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
        : `${file} cannot be read: ${reasonOf(error)}`,
    );
  }
  try {
    return parse(text, { integersAsBigInt: "asNeeded" }) as Row;
  } catch (error) {
    throw new TomlSyntaxError(`${file}: ${(error as Error).message}`);
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
    replacedBy: row["replaced_by"] === undefined ? undefined : Number(row["replaced_by"]),
    doc: text(row, "doc"),
    standard: row["default"],
    dimensions: Number(row["dimensions"] ?? 0),
  };
}

/** Reads the registries of a folder. Does not check them, because the engine does that. Invalid parts are ignored. */
export function loadRegistries(folder: string, environment: string, opsFile = opsFileOf(folder)): Registries {
  const optional = (name: string): Row => (existsSync(join(folder, name)) ? readToml(join(folder, name)) : {});
  const keys = readToml(join(folder, "keys.toml"));
  const params = readToml(join(folder, "params.toml"));
  const capabilities = optional("capabilities.toml");
  const endpoints = rows(readToml(join(folder, `endpoints.${environment}.toml`)), "endpoint")
    .map((row) => ({ id: text(row, "endpoint_id"), name: text(row, "name"), kind: text(row, "kind") }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const ops = readToml(opsFile);
  const ownFile = join(folder, ownOpsFile);
  const known = new Set(rows(ops, "op").map((row) => text(row, "name")));
  const own = rows(optional(ownOpsFile), "op").filter((row) => !known.has(text(row, "name")));
  const shared = { endpoint: endpoints.map(({ id, kind, name }) => ({ endpoint_id: id, kind, name })) };
  const documents = { keys, params, capabilities, endpoints: shared };
  const digest = (document: unknown): string => sha256(canonicalJson(document));
  return {
    keys: rows(keys, "key").map((row) => entryOf(row, "key_id")),
    params: rows(params, "param").map((row) => entryOf(row, "param_id")),
    endpoints,
    ops: [...rows(ops, "op"), ...own].map((row) => ({
      name: text(row, "name"),
      inputs: Number(row["inputs"]),
      optionalInputs: Number(row["optional_inputs"] ?? 0),
      doc: text(row, "doc"),
      params: rows(row, "param") as unknown as OpParam[],
    })),
    treeOps: rows(ops, "tree_op") as unknown as TreeOp[],
    digests: Object.fromEntries(Object.entries(documents).map(([name, each]) => [name, digest(each)])),
    entryDigests: entryDigests(documents),
    opsDigest: sha256(readFileSync(opsFile, "utf8") + (readText(ownFile) ?? "")),
  };
}

/** Returns the folder with rankd.toml, searched for from `from` upwards. */
export function findProject(from: string): string {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "rankd.toml"))) return folder;
    if (dirname(folder) === folder)
      throw new ProjectError(
        `there is no rankd.toml in ${resolve(from)} or in any folder above; pass the folder that has it with --project`,
      );
  }
}

/** Returns the files that contain the declarations of a project. */
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
  return {
    root,
    plans: join(root, text(settings, "plans") || "plans"),
    registry,
    declared: loadRegistries(registry, environment),
  };
}
