// compile.ts: compiles plans in TypeScript. The result for a plan is an artifact, or a list of all errors in the plan.
import { resolve } from "node:path";

import { bindings } from "./bindings.js";
import { diagnostic, startOf } from "./diagnostic.js";
import type { Limits } from "./interpreter.js";
import { type Compiled, type CompilerOptions, newCompiled, PlanCompilation } from "./plan_compilation.js";
import { placeName, type Texts } from "./plan_files.js";
import { tooDeep } from "./plan_text.js";
import { PlanProgram, ProgramCache } from "./program.js";
import type { Project } from "./project.js";
import { EngineError, ProjectError } from "./project_error.js";
import { Runner } from "./runner.js";
import { BadResult } from "./sandbox_result.js";

/** The limits of a plan while it is built. */
export const defaultLimits: Limits = { timeMs: 1000, memoryMb: 64 };

/** The maximum values of the limits: a day, and the maximum memory of QuickJS. */
export const maxLimits: Limits = { timeMs: 86_400_000, memoryMb: 2032 };

type Pending = Compiled | Promise<Compiled>;

/** Compiles plans of one project. It must be closed, because it keeps a worker. */
export class Compiler {
  private runner: Runner | undefined;
  private cache = new ProgramCache();
  private readonly generated: string;
  private readonly root: string;

  constructor(
    private readonly project: Project,
    private readonly options: CompilerOptions = {},
  ) {
    this.generated = bindings(project.declared);
    this.root = resolve(options.root ?? project.root);
  }

  /**
   * Compiles plans together, so that shared files are read only once. `texts` replace files, by absolute path. If a
   * plan fails, the failure is a diagnostic of that plan, and the other plans are compiled.
   */
  async compile(files: readonly string[], texts: Texts = new Map()): Promise<Compiled[]> {
    const out: Pending[] = [];
    while (out.length < files.length) {
      const rest = files.slice(out.length);
      const paths = rest.map((file) => resolve(file));
      let program: PlanProgram | undefined;
      try {
        program = new PlanProgram(this.root, paths, this.generated, this.cache, texts);
        await this.compileInto(out, rest, program);
      } catch (error) {
        // The failure may have left TypeScript's cache inconsistent, so later plans get a new program.
        this.cache = new ProgramCache();
        // If compiling several plans together fails, it is unknown which plan has caused the failure. So each plan is
        // compiled alone.
        if (rest.length > 1 && program === undefined)
          for (const each of rest) out.push(...(await this.compile([each], texts)));
        else out.push(this.failedPlan(files[out.length]!, error));
      }
    }
    return await Promise.all(out);
  }

  /** Appends the result for each plan. Throws at the first plan on which TypeScript fails. */
  private async compileInto(out: Pending[], files: readonly string[], program: PlanProgram): Promise<void> {
    const runner = (this.runner ??= new Runner({
      limits: this.options.limits ?? defaultLimits,
      library: program.library(),
    }));
    // The steps form a pipeline: while one plan runs in the worker, this thread compiles the next plan, and the engine
    // checks the previous plans.
    let running: Promise<unknown> = Promise.resolve();
    try {
      for (const file of files) {
        const plan = new PlanCompilation(this.project, this.options, program, this.root, file);
        const refusal = plan.check();
        if (refusal !== undefined) {
          out.push(refusal);
          continue;
        }
        const modules = plan.modules();
        await running;
        const ran = runner.run({ modules, entry: modules[0]!.id });
        running = ran;
        const finished = ran
          .then((result) => plan.finish(result))
          .catch((error: unknown) => {
            if (error instanceof EngineError) throw error;
            return this.failedPlan(file, error);
          });
        finished.catch(() => undefined); // it is awaited once all plans are under way
        out.push(finished);
      }
    } finally {
      await running;
    }
  }

  /** Returns the result for a plan on which the compiler itself fails. */
  private failedPlan(file: string, error: unknown): Compiled {
    const place = startOf(placeName(this.root, resolve(file)));
    const message = error instanceof Error ? error.message : String(error);
    const said =
      error instanceof RangeError && message.includes("call stack")
        ? tooDeep(place)
        : error instanceof BadResult
          ? diagnostic("bad_result", `the plan changed objects of the compiler: ${message}`, place, {
              hint: "a plan must not change prototypes, or objects that it did not create",
            })
          : error instanceof ProjectError
            ? diagnostic("bad_project", message, place)
            : diagnostic("compiler_failed", `the compiler failed on this plan: ${message}`, place, {
                hint: "report this as a bug of dslc, and attach the plan",
              });
    return newCompiled(file, [said], [resolve(file)]);
  }

  /** Ends the worker. */
  async close(): Promise<void> {
    await this.runner?.close();
  }
}
