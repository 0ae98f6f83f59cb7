// arguments.ts: the arguments of dslc.
import { parseArgs } from "node:util";

import { defaultLimits } from "./compile.js";

/** The text of --help. */
export const help = `usage: dslc COMMAND [OPTIONS] [FILE…]

  build [FILE…]   compile plans and tests; without files all of the project
  check [FILE…]   compile plans, write nothing; FILE may also be an artifact (.json)
  watch [FILE…]   compile plans, and again whenever they change
  test [FILE…]    compile plans and tests, and run the tests by rankd; FILE is NAME.test.ts
  diff A B        how two plans differ (.plan.ts or .json), by the rules of rankd diff
  publish         record the versions of all fragments in fragments/index.json; from then on they stay as they are
  outdated [FILE…]  which plans use older versions of fragments than are published; without files the artifacts
  serve           answer the questions of rankd studio, a line of JSON each, until the input ends
  bindings        write .rankd/ into the project: what editors and tsc know @rankd/plan by

  --out DIR           build, watch: where artifacts go; default: the project's folder of plans
  --only TEXT         test: run only tests with this text in their names
  --engine FILE       the program rankd, which checks plans and runs tests; default: what RANKD names, or that of the
                      package @rankd/engine-linux-x64, or the one in the path
  --out FILE          bindings: write the tokens and methods as one module, and nothing else
  --project DIR       the folder with rankd.toml; default: at or above the first file, or here
  --root DIR          paths in artifacts are relative to it; default: the project
  --verify            build: write nothing, fail where an artifact would change, or is left of a source that is gone
  --json              diagnostics as JSON on standard output; diff: what differs, as one object
  --time-limit-ms N   time that each plan may take to build; default ${defaultLimits.timeMs}
  --memory-limit-mb N memory that each plan may take; default ${defaultLimits.memoryMb}
  --help              this text

Exit status: 0 success, 1 a plan is wrong or a test fails, 2 wrong usage, 3 nothing was checked: there is no rankd.
Of diff: 0 the plans do the same, 1 they differ, 2 every error. Of outdated: 1 too if a use is older.
`;

/** Arguments that are wrong. */
export class UsageError extends Error {}

const commands = ["build", "check", "watch", "test", "diff", "bindings", "publish", "outdated", "serve"];
const declared = {
  out: { type: "string" },
  project: { type: "string" },
  root: { type: "string" },
  only: { type: "string" },
  engine: { type: "string" },
  verify: { type: "boolean" },
  json: { type: "boolean" },
  "time-limit-ms": { type: "string" },
  "memory-limit-mb": { type: "string" },
} as const;

/** What the command line says. */
export type Arguments = ReturnType<typeof parseArguments>;

function split(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: declared, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Parses the arguments of a command. Throws a UsageError. */
export function parseArguments(args: readonly string[]) {
  const [command = "", ...rest] = args;
  if (!commands.includes(command))
    throw new UsageError(`there is no ${command.startsWith("-") ? "option" : "command"} ${command}`);
  const { values, positionals: files } = split(rest);
  if (command === "publish" && files.length > 0)
    throw new UsageError("publish accepts no files, because it records all fragments");
  if (command === "serve" && files.length > 0) throw new UsageError("serve accepts no files");
  if (command === "diff" && files.length !== 2) throw new UsageError("diff needs two plans");
  if (command !== "test" && values.only !== undefined) throw new UsageError("--only is an option of test");
  if (command === "test" && values.out !== undefined) throw new UsageError("--out is not an option of test");
  for (const [name, value] of Object.entries(values))
    if (value === "") throw new UsageError(`the value of --${name} must not be empty`);
  const number = (name: "time-limit-ms" | "memory-limit-mb", otherwise: number): number => {
    const value = Number(values[name] ?? otherwise);
    if (Number.isInteger(value) && value >= 1) return value;
    throw new UsageError(`--${name} must be an integer of at least 1, got \`${values[name]}\``);
  };
  const limits = {
    timeMs: number("time-limit-ms", defaultLimits.timeMs),
    memoryMb: number("memory-limit-mb", defaultLimits.memoryMb),
  };
  return { command, files, limits, ...values };
}
