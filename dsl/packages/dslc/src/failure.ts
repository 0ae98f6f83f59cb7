// failure.ts: the reasons why a plan could not be run, and the clock for the CPU time of this process.

/** The reason why a plan could not be run. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly span: number;
  readonly stack: string;
}

export function failure(code: string, message: string): Failure {
  return { code, message, hint: "", span: 0, stack: "" };
}

/**
 * Starts a measurement. The returned function returns the time since then. On a busy machine, this is the CPU time of
 * this process.
 */
export function processorClock(): () => number {
  const at = Date.now();
  const usage = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(usage);
    return Math.min(Date.now() - at, (user + system) / 1000);
  };
}

/** The failure of a plan that computes for too long. */
export function timeLimit(timeMs: number): Failure {
  return {
    ...failure("time_limit", `the plan did not end within ${timeMs} ms of processor time`),
    hint: "reduce the work of the plan, or raise the limit with --time-limit-ms",
  };
}
