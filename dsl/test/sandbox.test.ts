// sandbox.test.ts: what a plan tries to reach outside is refused, and what does not end is ended. Types are off: the
// sandbox holds alone.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import variant from "@jitl/quickjs-wasmfile-release-sync";
import { bindings } from "@rankd/dslc";
import type { QuickJSSyncVariant } from "quickjs-emscripten-core";

import { type Module, newInterpreter, type Setup, type Task } from "../packages/dslc/dist/interpreter.js";
import { PlanProgram, ProgramCache } from "../packages/dslc/dist/program.js";
import { Runner } from "../packages/dslc/dist/runner.js";
import { compilerFor, project, scratchFolder, writeFiles } from "./support.js";

const folder = scratchFolder();
const head = 'import { definePlan, EP, Key, P } from "@rankd/plan";\n';
const plan = (name: string, body: string): string =>
  `${head}export default definePlan({ name: "${name}", build: (ctx) => {\nconst it: any = (() => { ${body} })();\nreturn ctx.test.fixedSource({ rowCount: 1, trace: String(it) });\n} });\n`;

const setup = (library: readonly Module[]): Setup => ({ limits: { timeMs: 20_000, memoryMb: 64 }, library });

/** The modules that a plan is run with. */
function modulesOf(text: string): { library: readonly Module[]; own: Module } {
  const file = join(folder, "own.plan.ts");
  const texts = new Map([[file, text]]);
  const program = new PlanProgram(folder, [file], bindings(project.declared), new ProgramCache(), texts);
  return { library: program.library(), own: program.emit(file) };
}

/** Each tries something, and would give a plan if it worked. */
const attempts: Readonly<Record<string, string>> = {
  require_fs: 'return require("fs").readFileSync("/etc/passwd", "utf8");',
  require_through_module: 'return module.require("fs");',
  require_by_name: 'const r = "req" + "uire"; return (globalThis as any)[r]("fs");',
  process_env: "return process.env.HOME;",
  process_exit: "process.exit(0);",
  process_binding: 'return process.binding("fs");',
  fetch_it: 'return fetch("http://127.0.0.1/");',
  xml_request: "return new XMLHttpRequest();",
  web_socket: 'return new WebSocket("ws://127.0.0.1");',
  deno_file: 'return Deno.readTextFileSync("/etc/passwd");',
  quickjs_std: 'return std.loadFile("/etc/passwd");',
  quickjs_os: 'return os.open("/etc/passwd");',
  eval_direct: 'return eval("1 + 1");',
  eval_indirect: 'return (0, eval)("1 + 1");',
  eval_alias: 'const e: any = [].constructor.constructor; return e("return 1")();',
  function_constructor: 'return new Function("return 1")();',
  function_through_value: 'return (() => 1).constructor("return 1")();',
  function_async: 'return (async () => 1).constructor("return 1")();',
  function_generator: 'return (function* () {}).constructor("return 1")();',
  function_through_method: 'return ([] as any).filter.constructor("return 1")();',
  function_through_prototype: 'return Object.getPrototypeOf(() => 1).constructor("return this")();',
  function_through_key: 'return (Key.id as any).constructor.constructor("return 1")();',
  function_through_descriptor:
    'return Object.getOwnPropertyDescriptor(Object.getPrototypeOf(() => 1), "constructor")!.get!();',
  function_redefined: 'Object.defineProperty(Object.getPrototypeOf(() => 1), "constructor", { value: 1 }); return 1;',
  import_dynamic: 'return import("node:fs");',
  import_meta: "return import.meta.url;",
  web_assembly: "return new WebAssembly.Module(new Uint8Array());",
  timer: "return setTimeout(() => 1, 0);",
  microtask: "return queueMicrotask(() => 1);",
  console_log: 'return console.log("out");',
  clock: "return Date.now();",
  clock_of_performance: "return performance.now();",
  randomness: "return Math.random();",
  randomness_redefined: 'Object.defineProperty(Math, "random", { value: () => 4 }); return Math.random();',
  worker: 'return importScripts("x.js");',
  script_args: "return scriptArgs;",
};

const compiler = compilerFor(folder, { types: "without types" });

test("whatever reaches outside, runs text or differs from run to run is refused", async () => {
  const names = Object.keys(attempts);
  writeFiles(folder, Object.fromEntries(names.map((name) => [`${name}.plan.ts`, plan(name, attempts[name]!)])));
  const compiled = await compiler.compile(names.map((name) => join(folder, `${name}.plan.ts`)));
  const allowed = new Set(["not_in_sandbox", "foreign_import", "not_a_function", "plan_threw"]);
  for (const each of compiled) {
    assert.equal(each.artifact, undefined, `${each.name} worked`);
    for (const { code, message, place } of each.diagnostics) {
      assert.ok(allowed.has(code), `${each.name}: ${code} ${message}`);
      assert.ok(place.line >= 2, each.name);
    }
  }
  const threw = compiled
    .filter((each) => each.diagnostics.some(({ code }) => code === "plan_threw"))
    .map((each) => each.name);
  assert.deepEqual(threw, ["function_redefined", "randomness_redefined"]);
  console.log(`${names.length} attempts`);
});

test("a file of the host is imported neither by path nor by address", async () => {
  const sources = [
    "/etc/hosts",
    "../../../../etc/hosts",
    "file:///etc/hosts",
    "http://127.0.0.1/x.js",
    "data:text/javascript,1",
    "fs",
    "node:fs",
    "@rankd/dslc",
    "typescript",
    "./nothing",
    "@rankd/plan/places",
  ];
  const names = sources.map((_, index) => `import_${index}`);
  writeFiles(
    folder,
    Object.fromEntries(
      names.map((name, index) => [
        `${name}.plan.ts`,
        `import x from ${JSON.stringify(sources[index])};\n${plan(name, "return (x as any).y;")}`,
      ]),
    ),
  );
  for (const each of await compiler.compile(names.map((name) => join(folder, `${name}.plan.ts`)))) {
    assert.equal(each.artifact, undefined, each.name);
    assert.equal(each.diagnostics[0]!.code, "foreign_import", each.name);
  }
});

test("what a plan breaks of its own world breaks no other plan", async () => {
  writeFiles(folder, {
    "breaks.plan.ts": plan(
      "breaks",
      'Array.prototype.map = () => []; Object.prototype.toString = () => "x"; (JSON as any).stringify = () => "3"; Object.freeze(Object.prototype); return 1;',
    ),
    "after.plan.ts": plan("after", "return [1, 2].map((n) => n * 2).join();"),
  });
  const [, after] = await compiler.compile(["breaks", "after"].map((name) => join(folder, `${name}.plan.ts`)));
  assert.deepEqual(after!.diagnostics, []);
  assert.match(after!.artifact!, /"trace": "2,4"/);
});

const hogs: Readonly<Record<string, readonly [code: string, body: string]>> = {
  endless_loop: ["time_limit", "for (;;) {}"],
  endless_loop_with_catch: ["time_limit", "for (;;) { try { for (;;) {} } catch { continue; } finally { continue; } }"],
  endless_recursion: ["stack_limit", "const f = (n: number): number => f(n + 1) + 1; return f(0);"],
  endless_getter: ["time_limit", "const o = { get x(): number { for (;;) {} } }; return o.x;"],
  endless_generator: [
    "time_limit",
    "const g = (function* () { for (;;) yield 1; })(); let n = 0; for (const x of g) n += x; return n;",
  ],
  endless_native_search: ["time_limit", "return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);"],
  slow_pattern: ["time_limit", 'return /^(a+)+$/.test("a".repeat(40) + "b");'],
  endless_growth: ["memory_limit", "const all: unknown[] = []; for (;;) all.push(new Array(1000).fill(1));"],
  long_text: [
    "memory_limit",
    'const all: string[] = []; for (let i = 0; ; i++) all.push(String(i).padEnd(100000, "x"));',
  ],
  one_large_array: ["memory_limit", "return new Uint8Array(1e9).length;"],
  caught_growth: [
    "memory_limit",
    "const all: unknown[] = []; for (;;) { try { all.push(new Array(100000).fill(1)); } catch (e) { if (all.length > 3) throw e; } }",
  ],
};

test("what does not end is ended, and what grows without end is stopped", async () => {
  const names = Object.keys(hogs);
  writeFiles(folder, Object.fromEntries(names.map((name) => [`${name}.plan.ts`, plan(name, hogs[name]![1])])));
  const strict = compilerFor(folder, { types: "without types", timeMs: 1000, memoryMb: 32 });
  for (const name of names) {
    const begin = Date.now();
    const [compiled] = await strict.compile([join(folder, `${name}.plan.ts`)]);
    const [diagnostic] = compiled!.diagnostics;
    assert.ok(diagnostic, name);
    // A machine with much else to do may reach the time before the other limit.
    assert.ok(
      [hogs[name]![0], "time_limit"].includes(diagnostic.code),
      `${name}: ${diagnostic.code} ${diagnostic.message}`,
    );
    console.log(`${name}: ${diagnostic.code} after ${Date.now() - begin} ms`);
  }
});

test("after a plan that was stopped the next one compiles", async () => {
  writeFiles(folder, { "fine.plan.ts": plan("fine", "return 1;") });
  const strict = compilerFor(folder, { types: "without types", timeMs: 20_000 });
  const [, fine] = await strict.compile(["one_large_array", "fine"].map((name) => join(folder, `${name}.plan.ts`)));
  assert.deepEqual(fine!.diagnostics, []);
});

test("a plan finds the same memory whatever ran before it", async () => {
  const { library, own } = modulesOf(plan("same", "return 1;"));
  const run = await newInterpreter(setup(library), variant as unknown as QuickJSSyncVariant);
  const task = (text: string): Task => ({ modules: [{ ...own, text }], entry: own.id });
  // QuickJS hands out numbers and memory in order; what is left of another plan would change either.
  const looks = task(`const seen = Object.keys(globalThis).concat(Object.keys(Array.prototype));
    throw new Error(seen.join() + String(Symbol.for("left").description) + (globalThis.left ?? []).length);`);
  const first = run(looks);
  assert.match(first.error!.message, /left0$/);
  const wrecks = task(`globalThis.left = [1]; Array.prototype.left = 1; Array.prototype.map = undefined;
    Object.defineProperty(Object.prototype, "left", { value: 1 }); require("@rankd/plan").left = 1; JSON.parse = null;
    const keep = []; for (let i = 0; i < 10000; i += 1) keep.push({ i }); globalThis.keep = keep;
    exports.default = 7;`);
  assert.equal(run(wrecks).isSpoilt, false);
  assert.deepEqual(run(looks), first);
  assert.deepEqual(run({ ...task(own.text) }), run({ ...task(own.text) }));
  assert.ok(run(task(own.text)).built !== undefined);
});

test("a worker that is still starting keeps no process alive once it is closed", async () => {
  // Part of Node, and not of its types.
  const resources = (process as unknown as { getActiveResourcesInfo(): string[] }).getActiveResourcesInfo;
  const timers = (): number => resources().filter((each) => each === "Timeout").length;
  const before = timers();
  const runner = new Runner(setup([]));
  assert.equal(timers(), before + 1);
  await runner.close();
  assert.equal(timers(), before);
});

test("nothing was written beside the plans", () => {
  assert.ok(!existsSync(join(folder, "x.js")));
});
