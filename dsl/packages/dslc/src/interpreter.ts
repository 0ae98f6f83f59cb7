// interpreter.ts: runs the compiled text of one plan after another in QuickJS, each with the same initial memory.
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from "quickjs-emscripten-core";

import { failure, type Failure, processorClock, timeLimit } from "./failure.js";
import { readFailure } from "./sandbox_result.js";

/** A module as JavaScript with CommonJS imports. */
export interface Module {
  readonly id: string;
  readonly text: string;
  /** The module that each import resolves to. */
  readonly imports: Readonly<Record<string, string>>;
}

/** One plan to run. */
export interface Task {
  readonly modules: readonly Module[];
  readonly entry: string;
}

/** The data with which a worker is started. */
export interface Setup {
  readonly limits: Limits;
  /** The authoring package. */
  readonly library: readonly Module[];
}

/** The limits of a plan. */
export interface Limits {
  readonly timeMs: number;
  readonly memoryMb: number;
}

/** The result: the plan as JSON, not yet checked (see sandbox_result.ts), or the reason why there is no plan. */
export interface Outcome {
  readonly built?: string;
  readonly error?: Failure;
  /** Whether the next plan may run in the same worker. */
  readonly isSpoilt?: boolean;
}

/** A part of Node that is missing in its types. */
declare const WebAssembly: {
  readonly Memory: new (limits: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
};

const stackBytes = 512 * 1024;
const pagesPerMb = 16;
/** The memory of the module before a plan allocates anything. */
const baseMb = 16;

/** The module loader and the traps. It returns the function that builds a plan. Plans can reach nothing harmful. */
const prelude = `(function (modules) {
  "use strict";
  const loaded = new Map();
  const load = (id) => {
    if (loaded.has(id)) return loaded.get(id).exports;
    const { body, imports } = modules.get(id);
    const module = { exports: {} };
    loaded.set(id, module);
    const require = (name) => {
      if (Object.hasOwn(imports, name)) return load(imports[name]);
      throw new PlanError("foreign_import", "\`" + String(name) + "\` cannot be imported");
    };
    body(module.exports, require, module);
    return module.exports;
  };
  const { PlanError } = load("places");
  const { hooks } = load("hooks");
  const { TreeNode, runTimeValue } = load("tokens");
  const { buildPlan } = load("plan");
  const { buildTests } = load("tests");
  const { fragmentOf } = load("fragments");
  const { operators } = load("generated");
  load("index");
  const { stringify } = JSON;

  Object.defineProperty(globalThis, "$rankd", { value: Object.freeze(hooks) });
  const refuse = (name, why) => () => {
    throw new PlanError("not_in_sandbox", "\`" + name + "\` is not available: " + why);
  };
  const trap = (target, name, shown, why) =>
    Object.defineProperty(target, name, { get: refuse(shown, why), set: refuse(shown, why), configurable: false });
  const outside = "a plan cannot access files, the network or the system";
  for (const name of ["require", "process", "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "navigator", "Deno", "Bun", "Buffer",
    "module", "exports", "__dirname", "__filename", "importScripts", "WebAssembly", "setTimeout", "setInterval", "setImmediate",
    "queueMicrotask", "console", "print", "std", "os", "scriptArgs", "window", "document", "self", "global", "localStorage"])
    trap(globalThis, name, name, outside);
  for (const name of ["eval", "Function"]) trap(globalThis, name, name, "a plan cannot evaluate text");
  for (const sample of [function () {}, async function () {}, function* () {}, async function* () {}])
    trap(Object.getPrototypeOf(sample), "constructor", "Function", "a plan cannot evaluate text");
  const same = "a plan must give the same result every time";
  for (const name of ["Date", "performance", "crypto", "WeakRef", "FinalizationRegistry", "SharedArrayBuffer", "Atomics"]) trap(globalThis, name, name, same);
  trap(Math, "random", "Math.random", same);
  // These methods decide while the plan is built, so their callbacks must not return a value of the request.
  for (const name of ["filter", "some", "every", "find", "findIndex", "findLast", "findLastIndex"]) {
    const method = Array.prototype[name];
    if (method === undefined) continue;
    const value = function (callback, ...rest) {
      if (typeof callback !== "function") return method.call(this, callback, ...rest);
      const checked = function (...args) {
        const said = callback.apply(this, args);
        if (said instanceof TreeNode) throw runTimeValue(said, 0);
        return said;
      };
      return method.call(this, checked, ...rest);
    };
    Object.defineProperty(Array.prototype, name, { value, writable: true, configurable: true });
  }

  // JSON.stringify calls toJSON of each value; an inherited toJSON could replace the plan.
  for (const { prototype } of [Object, Array, BigInt])
    Object.defineProperty(prototype, "toJSON", { value: undefined, writable: false, configurable: false });

  // A thrown object may have getters, which run code of the plan. Its fields are checked outside of the sandbox.
  const describe = (thrown) => {
    if (typeof thrown !== "object" || thrown === null)
      return { code: "plan_threw", message: typeof thrown === "symbol" ? "Symbol" : "" + thrown };
    const { name, message, stack, span } = thrown;
    if (thrown instanceof PlanError) return { code: thrown.code, message, hint: thrown.hint, span, stack };
    const shown = "" + name + ": " + message;
    const code = shown === "InternalError: out of memory" ? "memory_limit" : shown === "InternalError: stack overflow" ? "stack_limit" : "plan_threw";
    return { code, message: shown, span, stack };
  };
  return (entry) => {
    let caught;
    try {
      const exported = load(entry).default;
      const build = entry.endsWith(".test.ts") ? buildTests : entry.endsWith(".fragment.ts") ? fragmentOf : buildPlan;
      return "built " + stringify(build(exported, operators));
    } catch (thrown) {
      caught = thrown;
    }
    try {
      return "error " + stringify(describe(caught));
    } catch {
      return "error {}";
    }
  };
})`;

function interpret(limits: Limits, error: unknown): Failure {
  const said = (typeof error === "object" && error !== null ? error : {}) as Record<string, unknown>;
  const part = (name: string): string => (typeof said[name] === "string" ? said[name] : "");
  const text = `${part("name")}: ${part("message")}`;
  const stack = part("stack");
  if (text.includes("interrupted")) return { ...timeLimit(limits.timeMs), stack };
  if (text.includes("out of memory"))
    return { ...failure("memory_limit", `the plan needs more than ${limits.memoryMb} MB of memory`), stack };
  // "Maximum call stack" is V8's message if V8's own stack overflows while it runs QuickJS.
  if (text.includes("stack overflow") || text.includes("Maximum call stack"))
    return { ...failure("stack_limit", "the plan's calls are nested too deeply"), stack };
  return readFailure({ code: "plan_threw", message: text, stack });
}

/** What the prelude has returned. */
function outcomeOf(said: string): Outcome {
  if (said.startsWith("built ")) return { built: said.slice("built ".length) };
  return { error: readFailure(JSON.parse(said.slice("error ".length))) };
}

/** Returns a QuickJS with its own memory. `wasm` is the module, for variants that cannot load it from a path. */
export async function newInterpreter(
  { limits, library }: Setup,
  variant: QuickJSSyncVariant,
  wasm?: ArrayBuffer,
): Promise<(task: Task) => Outcome> {
  // QuickJS cannot measure its allocations in this build, so the memory of the WebAssembly module is limited instead.
  const memory = new WebAssembly.Memory({
    initial: pagesPerMb * baseMb,
    maximum: pagesPerMb * (baseMb + limits.memoryMb),
  });
  const quickjs = await newQuickJSWASMModuleFromVariant(
    newVariant(variant, { wasmMemory: memory, ...(wasm === undefined ? {} : { wasmBinary: wasm }) }),
  );
  const runtime = quickjs.newRuntime();
  runtime.setMaxStackSize(stackBytes);
  const context = runtime.newContext();
  const evaluate = (text: string, name?: string): QuickJSHandle =>
    context.unwrapResult(context.evalCode(text, name, { type: "global" }));
  const call = (of: QuickJSHandle, ...args: QuickJSHandle[]): QuickJSHandle =>
    context.unwrapResult(context.callFunction(of, context.undefined, ...args));
  const modules = evaluate("new Map()");
  const add = evaluate("(modules, id, body, imports) => { modules.set(id, { body, imports: JSON.parse(imports) }); }");
  const addModule = ({ id, text, imports }: Module): void => {
    const body = evaluate(`(function(exports,require,module){${text}\n})`, id);
    call(add, modules, context.newString(id), body, context.newString(JSON.stringify(imports)));
  };
  for (const module of library) addModule(module);
  const build = call(evaluate(prelude, "sandbox"), modules);
  let elapsedMs = processorClock();
  runtime.setInterruptHandler(() => elapsedMs() > limits.timeMs);
  // This memory contains everything that a plan can change. It is restored before each plan, so that no plan finds
  // traces of another plan. Handles that a plan creates are in this memory, too, so they need not be disposed of.
  const initial = new Uint32Array(memory.buffer);
  let used = initial.length;
  while (used > 0 && initial[used - 1] === 0) used -= 1;
  const state = initial.slice(0, used);
  const restore = (): void => {
    const words = new Uint32Array(memory.buffer);
    words.set(state);
    words.fill(0, used);
  };
  return ({ modules: own, entry }) => {
    restore();
    elapsedMs = processorClock();
    let outcome: Outcome;
    try {
      for (const module of own) addModule(module);
      elapsedMs = processorClock();
      outcome = outcomeOf(context.getString(call(build, context.newString(entry))));
    } catch (error) {
      outcome = { error: interpret(limits, (error as { cause?: unknown }).cause ?? error), isSpoilt: true };
    }
    // Only the memory is restored. It cannot shrink, and an exception may have left WebAssembly's stack in any state.
    return { isSpoilt: memory.buffer.byteLength > initial.byteLength, ...outcome };
  };
}
