// browser_runner.ts: runs plans in the compiler's own thread. The page ends the worker if a plan hangs.
import loader from "@jitl/quickjs-wasmfile-release-sync/emscripten-module";
import { QuickJSFFI } from "@jitl/quickjs-wasmfile-release-sync/ffi";
import type { QuickJSSyncVariant } from "quickjs-emscripten-core";

import { failure } from "./failure.js";
import { newInterpreter, type Outcome, type Setup, type Task } from "./interpreter.js";

const variant = {
  type: "sync",
  importFFI: () => Promise.resolve(QuickJSFFI),
  importModuleLoader: () => Promise.resolve(loader),
} as unknown as QuickJSSyncVariant;

/** QuickJS as a module. The script that contains this file sets it. */
declare const quickjsWasm: ArrayBuffer;

/** Has the interface of the Runner in runner.ts. */
export class Runner {
  private interpret: ((task: Task) => Outcome) | undefined;

  constructor(private readonly setup: Setup) {}

  async run(task: Task): Promise<Outcome> {
    try {
      this.interpret ??= await newInterpreter(this.setup, variant, quickjsWasm);
      const outcome = this.interpret(task);
      // A plan that was stopped may have left the interpreter in any state, so the next plan gets a new interpreter.
      if (outcome.isSpoilt !== false) await this.close();
      return outcome;
    } catch (error) {
      await this.close();
      return { error: failure("sandbox_failed", `the sandbox failed: ${(error as Error).message}`) };
    }
  }

  close(): Promise<void> {
    this.interpret = undefined;
    return Promise.resolve();
  }
}
