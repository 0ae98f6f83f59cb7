// runner.ts: manages the worker thread that runs plans: starts it on demand, ends it if it hangs, and replaces it if it
// fails.
import { Worker } from "node:worker_threads";

import { failure, now, processorMsSince, timeLimit, type Failure } from "./failure.js";
import type { Outcome, Setup, Task } from "./interpreter.js";

/** What a worker gets beyond the processor time of its plan, before it is ended. */
const graceMs = 500;
/** The time that a worker may take to start, on a busy machine. */
const startMs = 60_000;

type Result = Omit<Outcome, "number">;

/** Runs plans one after another. */
export class Runner {
  private worker: Worker | undefined;
  /** Receives the messages of the worker, or the reason why there are no more. */
  private listener: (said: Outcome | "ready" | Failure) => void = () => undefined;
  private count = 0;
  /** For a worker that has started and has not run a plan; it resolves to the reason why it did not start. */
  private starting: Promise<Failure | undefined> | undefined;

  constructor(private readonly setup: Setup) {}

  /** Starts the worker if there is none yet, so that it is ready by the time of the first plan. */
  begin(): void {
    if (this.worker === undefined) this.starting = this.start();
  }

  /** The plan as JSON, or the reason why there is no plan. Never rejects. Call it again when it is done. */
  async run(task: Omit<Task, "number">): Promise<Result> {
    const number = ++this.count;
    const failed = await (this.starting ?? (this.worker === undefined ? this.start() : undefined));
    this.starting = undefined;
    if (failed !== undefined) return { error: failed };
    const { timeMs } = this.setup.limits;
    const said = await this.hear(timeMs + graceMs, timeLimit(timeMs), () => {
      this.worker!.postMessage({ ...task, number });
    });
    const result: Result = typeof said === "object" && "number" in said ? said : { error: said as Failure };
    // A plan that was stopped may have left the worker in any state, so the next plan gets a new worker.
    if (result.isSpoilt !== false) await this.close();
    return result;
  }

  private async start(): Promise<Failure | undefined> {
    const worker = new Worker(new URL("./sandbox.js", import.meta.url), {
      execArgv: [],
      env: {},
      workerData: this.setup,
    });
    const tell = (said: Outcome | "ready" | Failure): void => {
      if (this.worker === worker) this.listener(said);
    };
    worker.on("message", tell);
    worker.on("error", (error) => {
      tell(failure("sandbox_failed", `the sandbox failed: ${error.message}`));
    });
    worker.on("exit", () => {
      tell(failure("sandbox_failed", "the sandbox ended early"));
    });
    this.worker = worker;
    const said = await this.hear(startMs, failure("sandbox_failed", "the sandbox did not start"), () => undefined);
    if (said === "ready") {
      worker.unref();
      return undefined;
    }
    if (this.worker === worker) await this.close();
    return said as Failure;
  }

  /** What the worker says next, or `otherwise` when it has said nothing in so much processor time of this process. */
  private async hear(withinMs: number, otherwise: Failure, ask: () => void): Promise<Outcome | "ready" | Failure> {
    return await new Promise((resolve) => {
      const begin = now();
      const giveUpAt = Date.now() + Math.max(startMs, withinMs);
      const look = (): void => {
        const leftMs = withinMs - processorMsSince(begin);
        if (leftMs > 0 && Date.now() < giveUpAt) timer = setTimeout(look, leftMs);
        // The answer may have arrived while this thread was busy. The short timer lets its event run before the plan is
        // given up.
        else
          timer = setTimeout(() => {
            resolve(otherwise);
          }, 20);
      };
      let timer = setTimeout(look, withinMs);
      this.listener = (said) => {
        clearTimeout(timer);
        resolve(said);
      };
      ask();
    });
  }

  /** Ends the worker, also while it starts. */
  async close(): Promise<void> {
    const worker = this.worker;
    this.worker = undefined;
    this.starting = undefined;
    // Otherwise the timer that waits for a worker would keep the process alive for a minute.
    this.listener(failure("sandbox_failed", "the sandbox was closed"));
    await worker?.terminate();
  }
}
