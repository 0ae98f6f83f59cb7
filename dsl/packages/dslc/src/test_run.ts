// test_run.ts: runs compiled tests with `rankd test`, the same engine that serves the plans.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

import type { Arguments } from "./arguments.js";
import { definesTests, planNameOf, testSource } from "./plan_names.js";
import type { Project } from "./project.js";
import { ProjectError } from "./project_error.js";

/** The test files, and the plans next to them: these are compiled before tests run. */
export function withPlans(files: readonly string[]): string[] {
  return files.flatMap((file) => {
    if (!definesTests(file)) throw new ProjectError(`${file} defines no tests: those are in files NAME${testSource}`);
    const plan = file.replace(/\.test\.ts$/, ".plan.ts");
    return existsSync(plan) ? [plan, file] : [file];
  });
}

/** Runs the tests by the program `rankd`, with their outcome on standard output, and returns the exit status. */
export function runTests(project: Project, options: Arguments, rankd: string): number {
  const args = ["test", "--project", project.root, ...options.files.map(planNameOf)];
  if (options.only !== undefined) args.push(`--only=${options.only}`);
  if (options.json === true) args.push("--json");
  const done = spawnSync(rankd, args, { stdio: ["ignore", "inherit", "inherit"] });
  if (done.error !== undefined) throw new ProjectError(`${rankd} cannot be run: ${done.error.message}`);
  if (done.signal !== null) throw new ProjectError(`${rankd} ended by ${done.signal}`);
  return done.status ?? 1;
}
