// failure.ts: what becomes of a plan that fails, and how its processor time is measured.

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

/** How long this process has computed since then. A plan is not slower for what else the machine does. */
export function processorMsSince(begin: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}

/** A plan that computes for too long. */
export function timeLimit(timeMs: number): Failure {
  return {
    ...failure("time_limit", `the plan did not end within ${timeMs} ms of processor time`),
    hint: "make it compute less, or give it more by --time-limit-ms",
  };
}
