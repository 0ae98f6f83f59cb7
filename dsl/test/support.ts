// support.ts: what the tests share: the repository, a compiler, sources with marks where diagnostics are expected.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { after } from "node:test";

import { Compiler, Engine, loadProject, type Project } from "@rankd/dslc";

import { main } from "../packages/dslc/dist/cli.js";

/** The root of the repository. */
export const repository = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
/** Where the sources of tests lie; the compiled ones lie in dist-test. */
export const cases = join(repository, "dsl", "test", "cases");
/** The repository as a project. */
export const project: Project = loadProject(repository);

function builtRankd(): string {
  const found = [
    process.env["RANKD"] ?? "",
    join(repository, "build/release/bin/rankd"),
    join(repository, "build/dev/bin/rankd"),
  ].find((each) => each !== "" && existsSync(each));
  assert.ok(found !== undefined, "the tests need the engine: build rankd, or name it by RANKD");
  return found;
}

/** The engine, which every command in the tests finds. */
export const rankd = builtRankd();
process.env["RANKD"] = rankd;

/** The engine for a project, which ends after the tests of a file. */
export function engineFor(root: string): Engine {
  const made = new Engine(rankd, root);
  after(() => {
    made.close();
  });
  return made;
}

/** The engine for the registries of the repository. */
export const engine = engineFor(repository);

/** A folder that is gone after the tests of a file. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "dslc-"));
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** A compiler of the repository's registries, for plans in `root`, which is closed after the tests of a file. */
export function compilerFor(
  root: string,
  more: { types?: "with types" | "without types"; timeMs?: number; memoryMb?: number; checks?: "nothing" } = {},
): Compiler {
  // The tests run on machines with much else to do: only what looks at limits has small ones.
  const compiler = new Compiler(project, {
    root,
    limits: { timeMs: more.timeMs ?? 20_000, memoryMb: more.memoryMb ?? 64 },
    types: more.types ?? "with types",
    checker: more.checks === "nothing" ? undefined : engine,
  });
  after(() => compiler.close());
  return compiler;
}

/** A command line with time for its plans on a busy machine. */
export function patient(args: readonly string[]): readonly string[] {
  const compiles = ["build", "check", "diff", "test", "watch"].includes(args[0] ?? "");
  if (!compiles || args.includes("--time-limit-ms")) return args;
  return [...args.slice(0, 1), "--time-limit-ms", "20000", ...args.slice(1)];
}

/**
 * What a command of dslc says, given in a folder. It runs in this process: one of its own reads the compiler of
 * TypeScript anew, which takes longer than most commands.
 */
export async function dslc(folder: string, ...args: string[]): Promise<{ status: number; out: string; err: string }> {
  const said = { out: "", err: "" };
  const before = process.cwd();
  process.chdir(folder);
  try {
    const status = await main(patient(args), {
      out: (text) => void (said.out += text),
      err: (text) => void (said.err += text),
    });
    return { status, ...said };
  } finally {
    process.chdir(before);
  }
}

/** Writes files below a folder. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** "code line:column" of each mark: `!code` in a comment expects the diagnostic right behind it, `<code` at its start. */
export function expectedIn(text: string): string[] {
  const mark = /\/\*([!<])([a-z_0-9]+)\*\//g;
  return [...text.matchAll(mark)]
    .map((match) => {
      const before = text.slice(0, match.index + (match[1] === "!" ? match[0].length : 0)).split("\n");
      return { code: match[2]!, line: before.length, column: before.at(-1)!.length + 1 };
    })
    .sort((a, b) => a.line - b.line || a.column - b.column)
    .map(({ code, line, column }) => `${code} ${line}:${column}`);
}

/** Files of a folder of cases, without those that only others import. */
export function caseFiles(folder: string): string[] {
  return readdirSync(join(cases, folder))
    .filter((name) => name.endsWith(".plan.ts"))
    .sort()
    .map((name) => join(cases, folder, name));
}

/** The cases of one file: `// === name` begins each. */
export function casesIn(file: string): { name: string; text: string }[] {
  const parts = readFileSync(join(cases, file), "utf8").split(/^\/\/ === (.+)\n/m);
  const out = [];
  for (let at = 1; at < parts.length; at += 2) out.push({ name: parts[at]!.trim(), text: parts[at + 1]! });
  const names = new Set(out.map((each) => each.name));
  assert.equal(names.size, out.length, "each case has a name of its own");
  return out;
}

/** A path for messages. */
export const shown = (path: string): string => relative(repository, path);

type Text = string | { hex: string } | { repeat: string; times: number; from?: number; between?: string } | Text[];
/** A case of a table. */
export interface TableRow {
  case: string;
  file?: string;
  text?: Text;
  replace?: [string, Text][];
  diagnostics: { code: string; pointer: Text; node?: string }[];
}

/** A text as the table spells it: see tests/rankd/tables/README.md. */
export function spelled(text: Text): Buffer {
  if (typeof text === "string") return Buffer.from(text);
  if (Array.isArray(text)) return Buffer.concat(text.map(spelled));
  if ("hex" in text) return Buffer.from(text.hex, "hex");
  const first = text.from ?? 0;
  const items = Array.from({ length: text.times }, (_, i) =>
    text.repeat.replaceAll("<i>", String(first + i)).replaceAll("<i-1>", String(first + i - 1)),
  );
  return Buffer.from(items.join(text.between ?? ""));
}

/** The document of a case, which changes `base` or is given whole. */
export function documentOf(row: TableRow, base: Buffer): Buffer {
  if (row.text !== undefined) return spelled(row.text);
  return row.replace!.reduce((document, [from, to]) => {
    const at = document.indexOf(from);
    assert.notEqual(at, -1, `${row.case}: the base has no such text`);
    return Buffer.concat([document.subarray(0, at), spelled(to), document.subarray(at + Buffer.byteLength(from))]);
  }, base);
}

/** The cases of a table. */
export function rowsOf(file: string): TableRow[] {
  return readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as TableRow);
}
