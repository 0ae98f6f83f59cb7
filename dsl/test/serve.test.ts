// serve.test.ts: the questions of rankd studio about the sources of a project, and their answers.
import assert from "node:assert/strict";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, before, test } from "node:test";

import { Compiler } from "../packages/dslc/dist/compile.js";
import type { Completions } from "../packages/dslc/dist/completions.js";
import type { Diagnostic } from "../packages/dslc/dist/diagnostic.js";
import { sha256 } from "../packages/dslc/dist/json.js";
import type { NodeOption } from "../packages/dslc/dist/options.js";
import { loadProject } from "../packages/dslc/dist/project.js";
import { serve } from "../packages/dslc/dist/serve.js";
import { replaceFile } from "../packages/dslc/dist/write.js";
import { repository, scratchFolder } from "./support.js";

interface Answer {
  readonly file?: string;
  readonly text?: string;
  readonly digest?: string;
  readonly artifact?: string | null;
  readonly diagnostics?: readonly Diagnostic[];
  readonly error?: { code: string; message: string };
}

const folder = join(scratchFolder(), "shop");
cpSync(join(repository, "rankd/cli/shop"), folder, { recursive: true });
const source = join(folder, "plans/home.plan.ts");
const project = loadProject(folder);
const limits = { timeMs: 20_000, memoryMb: 64 }; // a busy machine is no fault
const compiler = new Compiler(project, { limits });
const input = new PassThrough();
const output = new PassThrough();
let status: Promise<number>;
let lines: AsyncIterator<string>;

async function* linesOf(stream: PassThrough): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of stream) {
    const all = `${rest}${String(piece)}`.split("\n");
    rest = all.pop()!;
    yield* all;
  }
}

async function say(line: string): Promise<unknown> {
  input.write(`${line}\n`);
  return JSON.parse((await lines.next()).value as string) as unknown;
}
const ask = async (question: object): Promise<Answer> => (await say(JSON.stringify(question))) as Answer;

before(() => {
  lines = linesOf(output);
  status = serve(project, compiler, input, output);
});

after(async () => {
  input.end();
  assert.equal(await status, 0);
  await compiler.close();
});

test("a line ends at a line feed only, wherever its bytes are cut", async () => {
  const line = Buffer.from(`${JSON.stringify({ number: 7, do: "source", plan: "home", text: "a\u2028b\u2029c" })}\n`);
  const cut = line.indexOf(0xe2) + 1;
  input.write(line.subarray(0, cut));
  input.write(line.subarray(cut));
  const answer = JSON.parse((await lines.next()).value as string) as Answer & { number: number };
  assert.deepEqual([answer.number, answer.file], [7, "plans/home.plan.ts"]);
});

test("a source is given as it stands, and a plan without one is refused", async () => {
  const text = readFileSync(source, "utf8");
  const found = await ask({ do: "source", plan: "home" });
  assert.deepEqual(found, { file: "plans/home.plan.ts", text, digest: sha256(text) });
  assert.equal((await ask({ do: "source", plan: "../home" })).error?.code, "no_source");
  assert.equal((await ask({ do: "guess", plan: "home" })).error?.code, "unknown_question");
  assert.equal(((await say("{")) as Answer).error?.code, "compiler_failed");
});

test("a source that is a link to a file elsewhere is neither shown nor written, nor given to a browser", async () => {
  const outside = join(scratchFolder(), "secret.ts");
  const link = join(folder, "plans/linked.plan.ts");
  writeFileSync(outside, "export const SECRETWORD = 1;\n");
  symlinkSync(outside, link);
  try {
    assert.equal((await ask({ do: "source", plan: "linked" })).error?.code, "no_source");
    assert.equal((await ask({ do: "save", plan: "linked", text: "", digest: "" })).error?.code, "no_source");
    const given = await say(JSON.stringify({ do: "project", plan: "home" }));
    assert.doesNotMatch(JSON.stringify(given), /SECRETWORD/);
  } finally {
    rmSync(link);
  }
  assert.equal(readFileSync(outside, "utf8"), "export const SECRETWORD = 1;\n");
});

test("a draft has the bytes of dslc build, and nothing is written", async () => {
  const text = readFileSync(source, "utf8");
  const same = await ask({ do: "draft", plan: "home", text });
  assert.equal(same.artifact, readFileSync(join(folder, "plans/home.json"), "utf8"));
  const other = await ask({ do: "draft", plan: "home", text: text.replace("count: 100", "count: 99") });
  assert.notEqual(other.artifact, same.artifact);
  assert.deepEqual(other.diagnostics, []);
  assert.equal(readFileSync(source, "utf8"), text);
});

test("a draft says where its options are, and one of them is changed there", async () => {
  const text = readFileSync(source, "utf8");
  const { options } = (await say(JSON.stringify({ do: "draft", plan: "home", text }))) as { options: NodeOption[] };
  const { place, kind, why } = options.find((each) => each.node === "mixed" && each.option === "atMost")!;
  assert.deepEqual([kind, why], ["number", ""]);
  const from =
    text
      .split("\n")
      .slice(0, place.line - 1)
      .join("\n").length + place.column;
  const asked = { do: "edit", plan: "home", text, from, to: from + 1, kind };
  assert.deepEqual(await ask({ ...asked, value: "3" }), { from, to: from + 1, insert: "3" });
  assert.equal((await ask({ ...asked, value: "many" })).error?.code, "bad_value");
  assert.equal((await ask({ ...asked, to: from + 2, value: "3" })).error?.code, "not_an_option");
});

test("a project is given with the compiler for a browser where that is wanted", async () => {
  const given = (await say(JSON.stringify({ do: "project", plan: "home", script: true }))) as Record<string, unknown>;
  assert.deepEqual([given["file"], given["root"]], ["plans/home.plan.ts", folder]);
  const files = given["files"] as Record<string, string>;
  assert.equal(files[source], readFileSync(source, "utf8"));
  assert.ok(join(folder, "rankd.toml") in files && join(folder, "registry/keys.toml") in files);
  assert.match(given["script"] as string, /createLanguageService/);
  assert.ok(!("script" in (await ask({ do: "project", plan: "home", script: false }))));
});

test("what is wrong with a draft has its characters", async () => {
  const text = readFileSync(source, "utf8").replace("Key.interest", "Key.intrest");
  const { artifact, diagnostics } = await ask({ do: "draft", plan: "home", text });
  assert.equal(artifact, null);
  assert.equal(diagnostics?.[0]?.code, "type_error");
  const { line, column, endColumn } = diagnostics[0].place;
  assert.equal(text.split("\n")[line - 1]?.slice(column - 1, endColumn - 1), "intrest");
});

test("an answer repeats the number of its question, and a line ends at a line feed alone", async () => {
  const text = `${readFileSync(source, "utf8")}// \u2028`;
  const line = JSON.stringify({ number: 7, do: "draft", plan: "home", text }).replace("\u2028", "\\u2028");
  const answer = (await say(line)) as Answer & { number: number };
  assert.equal(answer.number, 7);
  assert.equal(answer.error, undefined);
  const refused = (await ask({ number: 8, do: "guess", plan: "home" })) as Answer & { number: number };
  assert.equal(refused.number, 8);
});

test("what may follow are the names of the registries that begin so", async () => {
  const text = readFileSync(source, "utf8");
  const at = text.indexOf("Key.interest") + "Key.in".length;
  const found = (await say(JSON.stringify({ do: "complete", plan: "home", text, offset: at }))) as Completions;
  assert.equal(found.start, at - 2);
  assert.deepEqual(
    found.entries.map(({ name }) => name),
    ["interest"],
  );
  assert.match(found.entries[0]!.about, /KeyToken/);
});

test("a file that others write meanwhile is read again", async () => {
  const shared = join(folder, "plans/shared.ts");
  writeFileSync(shared, "export const own = { first: 1 };\n");
  const text = 'import { own } from "./shared.js";\nown.';
  const names = async (): Promise<string[]> => {
    const found = await say(JSON.stringify({ do: "complete", plan: "home", text, offset: text.length }));
    return (found as Completions).entries.map(({ name }) => name);
  };
  assert.deepEqual(await names(), ["first"]);
  writeFileSync(shared, "export const own = { first: 1, second: 2 };\n");
  assert.deepEqual(await names(), ["first", "second"]);
  rmSync(shared);
});

test("saving writes source and artifact, also of a text that is wrong, unless the source has changed", async () => {
  const text = readFileSync(source, "utf8");
  const artifact = join(folder, "plans/home.json");
  const before = readFileSync(artifact, "utf8");
  assert.equal((await ask({ do: "save", plan: "home", text: "x", digest: sha256("x") })).error?.code, "source_changed");
  assert.equal(readFileSync(source, "utf8"), text);
  const next = text.replace("count: 100", "count: 99");
  const saved = await ask({ do: "save", plan: "home", text: next, digest: sha256(text) });
  assert.deepEqual(saved, { file: "plans/home.plan.ts", digest: sha256(next), diagnostics: [] });
  assert.equal(readFileSync(source, "utf8"), next);
  assert.deepEqual(await ask({ do: "save", plan: "home", text: next, digest: sha256(text) }), saved);
  const compiled = readFileSync(artifact, "utf8");
  assert.notEqual(compiled, before);
  assert.ok(existsSync(join(folder, "plans/home.tests.json")));
  const wrong = await ask({ do: "save", plan: "home", text: `${next}!`, digest: sha256(next) });
  assert.equal(wrong.diagnostics?.[0]?.code, "syntax_error");
  assert.equal(readFileSync(source, "utf8"), `${next}!`);
  assert.equal(readFileSync(artifact, "utf8"), compiled);
});

test("a file that is replaced keeps its mode, and a link leads to the new text", () => {
  const at = scratchFolder();
  const file = join(at, "file");
  const link = join(at, "link");
  writeFileSync(file, "a");
  chmodSync(file, 0o640);
  symlinkSync("file", link);
  replaceFile(link, "b");
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.equal(readFileSync(file, "utf8"), "b");
  assert.equal(statSync(file).mode & 0o777, 0o640);
});
