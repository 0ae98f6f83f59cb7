// runner.ts: manages the worker thread that runs plans: starts it on demand, ends it if it hangs, and replaces it if it
// fails.
import { Worker } from "node:worker_threads";

import { failure, processorClock, timeLimit } from "./failure.js";
import type { Outcome, Setup, Task } from "./interpreter.js";

/** The additional time that a worker gets beyond the CPU time of its plan, before it is ended. */
const graceMs = 500;
/** The maximum time for the start of a worker, on a busy machine. */
const startMs = 60_000;

/** A message of a worker: that it has started, or the result for a plan. */
type Message = Outcome | "ready";

const sandboxFailed = (why: string): Outcome => ({ error: failure("sandbox_failed", `the sandbox ${why}`) });

/** Runs plans one after another. The worker starts at once, so that it is ready for the first plan. */
export class Runner {
  private worker: Worker | undefined;
  /** The first message of the worker after its start, or an error if it has not started. */
  private started: Promise<Message> | undefined;
  /** Receives the messages of the worker, or the reason why no more messages will arrive. */
  private listener: (said: Message) => void = () => undefined;

  constructor(private readonly setup: Setup) {
    this.started = this.start();
  }

  /**
   * Returns the plan as JSON, or the reason why there is no plan. Never rejects. Must not be called while a plan runs.
   */
  async run(task: Task): Promise<Outcome> {
    const started = await (this.started ??= this.start());
    if (started !== "ready") return started;
    const { timeMs } = this.setup.limits;
    const outcome = (await this.hear(timeMs + graceMs, { error: timeLimit(timeMs) }, () => {
      this.worker!.postMessage(task);
    })) as Outcome;
    // A plan that was stopped may have left the worker in any state, so the next plan gets a new worker.
    if (outcome.isSpoilt !== false) await this.close();
    return outcome;
  }

  private async start(): Promise<Message> {
    const worker = new Worker(new URL("./sandbox.js", import.meta.url), {
      execArgv: [],
      env: {},
      workerData: this.setup,
    });
    const tell = (said: Message): void => {
      if (this.worker === worker) this.listener(said);
    };
    worker.on("message", tell);
    worker.on("error", (error) => {
      tell(sandboxFailed(`failed: ${error.message}`));
    });
    worker.on("exit", () => {
      tell(sandboxFailed("ended early"));
    });
    this.worker = worker;
    const said = await this.hear(startMs, sandboxFailed("did not start"), () => undefined);
    if (said === "ready") worker.unref();
    else if (this.worker === worker) await this.close();
    return said;
  }

  /**
   * Returns the next message of the worker. Returns `otherwise` if no message has arrived after this much CPU time of
   * this process.
   */
  private async hear(withinMs: number, otherwise: Outcome, ask: () => void): Promise<Message> {
    return await new Promise((resolve) => {
      const elapsedMs = processorClock();
      const giveUpAt = Date.now() + Math.max(startMs, withinMs);
      const look = (): void => {
        const leftMs = withinMs - elapsedMs();
        if (leftMs > 0 && Date.now() < giveUpAt) timer = setTimeout(look, leftMs);
        // The answer may have arrived while this thread was busy. The short timer lets the event of that answer run
        // first.
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

  /** Ends the worker, even while it is starting. */
  async close(): Promise<void> {
    const worker = this.worker;
    this.worker = undefined;
    this.started = undefined;
    // The listener clears the timer that waits for a worker. Otherwise this timer would keep the process alive for a
    // minute.
    this.listener(sandboxFailed("was closed"));
    await worker?.terminate();
  }
}
