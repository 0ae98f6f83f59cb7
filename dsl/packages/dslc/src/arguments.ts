// arguments.ts: the commands and options of dslc, in two tables. Parsing, help and error messages use these tables.
import { parseArgs } from "node:util";

import { defaultLimits, maxLimits } from "./compile.js";

/** The error for invalid command-line arguments. */
export class UsageError extends Error {}

/** Each command with its files, and a description. */
const commands: readonly (readonly [name: string, files: string, about: string])[] = [
  ["build", "[FILE…]", "compile plans and tests; without files, all of the project"],
  ["check", "[FILE…]", "compile plans, write nothing; FILE may also be an artifact (.json)"],
  ["watch", "[FILE…]", "compile plans, and again whenever they change"],
  ["test", "[FILE…]", "compile plans and tests, and run the tests by rankd; FILE is NAME.test.ts"],
  ["diff", "A B", "show how two plans differ (.plan.ts or .json), by the rules of rankd diff"],
  ["publish", "", "record the versions of all fragments in fragments/index.json; they never change again"],
  ["outdated", "[FILE…]", "list uses of outdated versions of fragments; without files, in all artifacts"],
  ["serve", "", "answer the questions of rankd studio, a line of JSON each, until the input ends"],
  ["bindings", "", "write .rankd/ into the project: the types of @rankd/plan for editors and tsc"],
];

const compiling = "build check watch test diff publish outdated serve";

/** Each option with its value, the commands that have it, and a description. */
const options: readonly (readonly [name: string, value: string, of: string, about: string])[] = [
  ["out", "DIR", "build watch", "where artifacts go; default: the project's folder of plans"],
  ["out", "FILE", "bindings", "write the tokens and methods as one module, and nothing else"],
  ["verify", "", "build", "write nothing, and fail if an artifact would change or has lost its source"],
  ["only", "TEXT", "test", "run only tests with this text in their names"],
  ["json", "", compiling, "print diagnostics, or the differences of two plans, as JSON on standard output"],
  ["root", "DIR", compiling, "paths in artifacts are relative to this folder; default: the project"],
  [
    "time-limit-ms",
    "N",
    compiling,
    `processor time for building each plan, 1 to ${maxLimits.timeMs}; default ${defaultLimits.timeMs}`,
  ],
  [
    "memory-limit-mb",
    "N",
    compiling,
    `memory for building each plan, 1 to ${maxLimits.memoryMb}; default ${defaultLimits.memoryMb}`,
  ],
  ["project", "DIR", "", "the folder with rankd.toml; default: at or above the first file, or here"],
  [
    "engine",
    "FILE",
    "",
    "the program rankd; default: RANKD, the package @rankd/engine-linux-x64, or rankd in the path",
  ],
  ["help", "", "", "print this help; after a command, print the help of that command"],
  ["version", "", "", "print the version of dslc"],
];

const optionsOf = (command: string) => options.filter(([, , of]) => of === "" || of.split(" ").includes(command));

const statuses: Readonly<Record<string, string>> = {
  diff: "0 the plans do the same, 1 they differ, 2 an error",
  outdated:
    "0 all plans use the newest fragments, 1 a plan uses an older one or is wrong, 3 nothing was checked: no rankd",
  "": "0 success, 1 a plan is wrong or a test fails, 2 wrong usage, 3 nothing was checked: there is no rankd",
};

/** The text of --help. If a command with the given name exists, the help is about this command. */
export function helpFor(name = ""): string {
  const line = (left: string, right: string): string => `  ${left.padEnd(20)}${right}\n`;
  const known = commands.find(([each]) => each === name);
  const listed = known === undefined ? commands : [known];
  const shown = known === undefined ? options : optionsOf(name);
  return [
    `usage: dslc ${known === undefined ? "COMMAND [OPTIONS] [FILE…]" : `${name} [OPTIONS] ${known[1]}`.trimEnd()}\n\n`,
    ...listed.map(([each, files, about]) => line(`${each} ${files}`, about)),
    "\n",
    ...shown.map(([option, value, of, about]) => {
      const isOfFew = known === undefined && of !== "" && of !== compiling;
      return line(`--${option} ${value}`, `${isOfFew ? `${of.replaceAll(" ", ", ")}: ` : ""}${about}`);
    }),
    `\nExit status: ${statuses[name] ?? statuses[""]!}.\n`,
    known === undefined ? "The statuses of diff and outdated differ: see `dslc diff --help`.\n" : "",
  ].join("");
}

type Values = Partial<
  Record<"out" | "project" | "root" | "only" | "engine", string> & Record<"verify" | "json", boolean>
>;

/** The parsed command line. */
export type Arguments = ReturnType<typeof parseArguments>;

/** Parses the arguments of a command. Throws a UsageError. */
export function parseArguments(args: readonly string[]) {
  const [command = "", ...rest] = args;
  const names = commands.map(([name]) => name);
  const row = commands.find(([name]) => name === command);
  if (row === undefined)
    throw new UsageError(`there is no command \`${command}\`; the commands are ${names.join(", ")}`);
  const { files, given } = split(command, rest);
  if (row[1] === "" && files.length > 0)
    throw new UsageError(`\`dslc ${command}\` accepts no files, got \`${files[0]!}\`; it is about the whole project`);
  if (command === "diff" && files.length !== 2)
    throw new UsageError(`\`dslc diff\` needs two plans, got ${files.length}; write \`dslc diff BEFORE AFTER\``);
  const number = (name: string, key: keyof typeof maxLimits): number => {
    const text = given.get(name);
    if (text === undefined) return defaultLimits[key];
    const value = Number(text);
    if (/^[1-9]\d*$/.test(String(text)) && value <= maxLimits[key]) return value;
    throw new UsageError(`--${name} must be an integer from 1 to ${maxLimits[key]}, got \`${String(text)}\``);
  };
  const limits = {
    timeMs: number("time-limit-ms", "timeMs"),
    memoryMb: number("memory-limit-mb", "memoryMb"),
  };
  return { command, files, limits, ...(Object.fromEntries(given) as Values) };
}

/** The files and the options of a command, by their names. */
function split(command: string, args: readonly string[]): { files: string[]; given: Map<string, string | true> } {
  const types = options.map(([name, value]) => [name, { type: value === "" ? "boolean" : "string" } as const]);
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(types) as Record<string, { type: "boolean" | "string" }>,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const given = new Map<string, string | true>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value } = token;
    const row = optionsOf(command).find(([each]) => each === name);
    if (row === undefined) throw new UsageError(unknownOption(command, rawName, name));
    const [, form] = row;
    if (form === "" && value !== undefined) throw new UsageError(`${rawName} takes no value, got \`${value}\``);
    if (form !== "" && (value === undefined || (token.inlineValue !== true && value.startsWith("-"))))
      throw new UsageError(`${rawName} needs a value: \`${rawName} ${form}\`, or \`${rawName}=${form}\``);
    if (value === "") throw new UsageError(`the value of ${rawName} must not be empty; write \`${rawName} ${form}\``);
    given.set(name, value ?? true);
  }
  return { files: tokens.flatMap((token) => (token.kind === "positional" ? [token.value] : [])), given };
}

function unknownOption(command: string, written: string, name: string): string {
  const others = options.flatMap(([each, , of]) => (each === name ? [of.replaceAll(" ", ", ")] : []));
  const own = optionsOf(command).map(([each]) => `--${each}`);
  const hint = others.length > 0 ? `it is an option of ${others.join(", ")}` : `its options are ${own.join(", ")}`;
  return `\`dslc ${command}\` has no option ${written}; ${hint}`;
}
