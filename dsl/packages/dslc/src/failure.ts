// failure.ts: why a plan could not be run, and how its CPU time is measured.

/** Why a plan could not be run. */
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

/** When something began, by the clock and by what this process had computed. */
export interface Begin {
  readonly at: number;
  readonly usage: NodeJS.CpuUsage;
}

export function now(): Begin {
  return { at: Date.now(), usage: process.cpuUsage() };
}

/** The time since then: by the clock, but not more than this process has computed on a busy machine. */
export function processorMsSince({ at, usage }: Begin): number {
  const { user, system } = process.cpuUsage(usage);
  return Math.min(Date.now() - at, (user + system) / 1000);
}

/** A plan that computes for too long. */
export function timeLimit(timeMs: number): Failure {
  return {
    ...failure("time_limit", `the plan did not end within ${timeMs} ms of processor time`),
    hint: "reduce the work of the plan, or raise the limit with --time-limit-ms",
  };
}
