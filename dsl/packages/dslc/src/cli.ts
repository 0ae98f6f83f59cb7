// cli.ts: the command line of dslc.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { artifactsOf, readOrEmpty, writeArtifacts } from "./artifacts.js";
import { bindings } from "./bindings.js";
import type { Problem } from "./checker.js";
import { type Compiled, Compiler, defaultLimits, planNameOf } from "./compile.js";
import { type Diagnostic, printable, startOf, toLine } from "./diagnostic.js";
import { Engine, findEngine, type Side } from "./engine.js";
import { artifactsIn, isIndexStale, leftIn, sourcesOf, testsOf } from "./folder.js";
import { fragmentsOf, outdatedIn, publish, usesOf } from "./fragment_index.js";
import { definesTests, testArtifact } from "./plan_tests.js";
import { findProject, loadProject, type Project } from "./project.js";
import { ProjectError, TomlSyntaxError } from "./project_error.js";
import { projectFault, RegistryError } from "./registry_files.js";
import { serve } from "./serve.js";
import { runTests, withPlans } from "./test_run.js";
import { typesFolder, writeTypes } from "./types.js";
import { watch } from "./watch.js";
import { reasonOf, removeFile, replaceFile } from "./write.js";

const help = `usage: dslc COMMAND [OPTIONS] [FILE…]

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

/** The exit status of a command that found nothing wrong and checked nothing. */
const notChecked = 3;

class UsageError extends Error {}

/** What the command line says. */
export interface Options {
  readonly command: string;
  readonly files: readonly string[];
  readonly out: string | undefined;
  readonly project: string | undefined;
  readonly root: string | undefined;
  readonly only: string | undefined;
  readonly engine: string | undefined;
  readonly isVerify: boolean;
  readonly isJson: boolean;
  readonly timeMs: number;
  readonly memoryMb: number;
}

const commands = ["build", "check", "watch", "test", "diff", "bindings", "publish", "outdated", "serve"];
const valued = ["--out", "--project", "--root", "--only", "--engine", "--time-limit-ms", "--memory-limit-mb"];

function parse(args: readonly string[]): Options {
  const [command = "", ...rest] = args;
  if (!commands.includes(command))
    throw new UsageError(`there is no ${command.startsWith("-") ? "option" : "command"} ${command}`);
  const values = new Map<string, string>();
  const flags = new Set<string>();
  const files: string[] = [];
  for (let at = 0; at < rest.length; ++at) {
    const word = rest[at]!;
    if (valued.includes(word)) {
      const value = rest[++at];
      if (value === undefined) throw new UsageError(`${word} wants a value`);
      values.set(word, value);
    } else if (["--verify", "--json"].includes(word)) flags.add(word);
    else if (word.startsWith("-")) throw new UsageError(`there is no option ${word}`);
    else files.push(word);
  }
  if (command === "publish" && files.length > 0)
    throw new UsageError("publish accepts no files, because it records all fragments");
  if (command === "serve" && files.length > 0) throw new UsageError("serve accepts no files");
  if (command === "diff" && files.length !== 2) throw new UsageError("diff needs two plans");
  if (command !== "test" && values.has("--only")) throw new UsageError("--only is an option of test");
  if (command === "test" && values.has("--out")) throw new UsageError("--out is not an option of test");
  const number = (name: string, otherwise: number): number => {
    const value = Number(values.get(name) ?? otherwise);
    if (!Number.isInteger(value) || value < 1) throw new UsageError(`${name} wants a whole number of at least 1`);
    return value;
  };
  return {
    command,
    files,
    out: values.get("--out"),
    project: values.get("--project"),
    root: values.get("--root"),
    only: values.get("--only"),
    engine: values.get("--engine"),
    isVerify: flags.has("--verify"),
    isJson: flags.has("--json"),
    timeMs: number("--time-limit-ms", defaultLimits.timeMs),
    memoryMb: number("--memory-limit-mb", defaultLimits.memoryMb),
  };
}

/** Where a command writes. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

const standardOutput: Output = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};

/**
 * Runs a command and returns its exit status. The answers of `serve`, the messages of `watch` about each round and the
 * output of rankd about tests go to the process's own streams.
 */
export async function main(args: readonly string[], to: Output = standardOutput): Promise<number> {
  if (args.length === 0 || args.includes("--help") || args.includes("-h")) {
    to.out(help);
    return args.length === 0 ? 2 : 0;
  }
  try {
    const options = parse(args);
    for (const file of options.files) if (!existsSync(file)) throw new ProjectError(`${file} is not there`);
    const root = options.project ?? findProject(options.files[0] === undefined ? "." : dirname(options.files[0]));
    const program = findEngine(options.engine, root);
    const engine = program === undefined ? undefined : new Engine(program, root);
    try {
      return await run(options, await openProject(root, engine), { engine, program }, to);
    } finally {
      engine?.close();
    }
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof ProjectError)) throw error;
    reportError(error, args, to);
    return error instanceof UsageError || args[0] === "diff" ? 2 : 1;
  }
}

/** The rules of the engine, if its program was found. */
interface Rules {
  readonly engine: Engine | undefined;
  readonly program: string | undefined;
}

const howToGet = "install @rankd/engine-linux-x64, or pass the program's path with --engine";
const unchecked = `dslc: nothing was checked, because there is no rankd: ${howToGet}\n`;

/** Reads a project, which the engine checks meanwhile. */
async function openProject(root: string, engine: Engine | undefined): Promise<Project> {
  const opening = engine?.open();
  opening?.catch(() => undefined); // it is awaited after the project was read
  let project: Project | undefined;
  let fault: unknown;
  try {
    project = loadProject(root);
  } catch (error) {
    if (!(error instanceof TomlSyntaxError)) throw error;
    fault = error;
  }
  const problems = (await opening) ?? [];
  if (problems.length > 0) throw projectFault(problems, root);
  if (project === undefined) throw fault;
  return project;
}

/** What is wrong with registries has places, as what is wrong with plans has; anything else is one sentence. */
function reportError(error: Error, args: readonly string[], to: Output): void {
  if (!(error instanceof RegistryError)) to.err(`dslc: ${printable(error.message)}\n`);
  else if (args.includes("--json")) to.out(`${JSON.stringify({ plans: [], diagnostics: error.diagnostics })}\n`);
  else to.err(`${error.message}\n`);
}

async function run(options: Options, project: Project, rules: Rules, to: Output): Promise<number> {
  const { engine } = rules;
  if (options.command === "bindings") {
    const generated = bindings(project.declared);
    if (options.out === undefined) writeTypes(project, generated);
    else replaceFile(options.out, generated);
    return 0;
  }
  const compiler = new Compiler(project, {
    limits: { timeMs: options.timeMs, memoryMb: options.memoryMb },
    ...(options.root === undefined ? {} : { root: options.root }),
    checker: engine,
  });
  try {
    if (options.command === "diff") return await diff(options, compiler, engine, to);
    if (options.command === "serve") return await serve(project, compiler, process.stdin, process.stdout);
    if (options.command === "publish") return await publishAll(options, project, compiler, engine, to);
    if (engine === undefined && options.command === "test")
      throw new ProjectError(`there is no rankd to run tests: ${howToGet}`);
    if (engine === undefined) to.err(unchecked);
    if (options.command === "outdated") return await outdated(options, project, compiler, engine, to);
    const files = filesOf(options, project);
    // If the project has declarations for editors, updates them, so that editors accept what the compiler accepts.
    if (options.command !== "check" && !options.isVerify && existsSync(typesFolder(project)))
      writeTypes(project, bindings(project.declared));
    let isStale = false;
    const once = async (changed: readonly string[]): Promise<readonly Compiled[]> => {
      const compiled = await compileAll(changed, compiler, engine);
      report(compiled, options, to, engine);
      if (options.command !== "check") isStale = finish(compiled, options, project, to);
      return compiled;
    };
    if (options.command === "watch") return await watch(files, once);
    const compiled = await once(files);
    if (options.command === "test" && compiled.every((each) => each.diagnostics.length === 0))
      return runTests(project, options, rules.program!);
    if (isStale || compiled.some((each) => each.diagnostics.length > 0)) return 1;
    return engine === undefined ? notChecked : 0;
  } finally {
    await compiler.close();
  }
}

/** What the command is about: the files of the command line, or all plans and tests of the project. */
function filesOf(options: Options, project: Project): readonly string[] {
  if (options.files.length === 0) return [...sourcesOf(project), ...testsOf(project)];
  return options.command === "test" ? withPlans(options.files) : options.files;
}

/** Of artifacts, `names` says whether their plans must be called as their files. */
async function compileAll(
  files: readonly string[],
  compiler: Compiler,
  engine: Engine | undefined,
  names: "names of files" | "any names" = "names of files",
): Promise<Compiled[]> {
  const plans = files.filter((file) => !file.endsWith(".json"));
  const compiled = plans.length === 0 ? [] : await compiler.compile(plans);
  const stemOf = (file: string): string | undefined =>
    names === "any names" ? undefined : planNameOf(file.replace(/\.json$/, ".ts"));
  return await Promise.all(
    files.map((file) => (file.endsWith(".json") ? checkArtifact(file, engine, stemOf(file)) : compiled.shift()!)),
  );
}

/** An artifact that was made elsewhere, held against the rules; `stem` is the name that its plan must have, if any. */
async function checkArtifact(file: string, engine: Engine | undefined, stem: string | undefined): Promise<Compiled> {
  if (file.endsWith(testArtifact)) throw new ProjectError(`${file} has tests, which rankd test checks, and no plan`);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new ProjectError(`${file} cannot be read: ${reasonOf(error)}`);
  }
  const verdict = await engine?.planFile(file, stem);
  const placed = ({ code, pointer, message, hint }: Problem): Diagnostic => ({
    code,
    pointer,
    message: `${pointer}: ${message}`,
    hint,
    place: startOf(file),
  });
  const diagnostics = (verdict?.problems ?? []).map(placed);
  return {
    file,
    name: planNameOf(file),
    artifact: diagnostics.length === 0 ? text : undefined,
    diagnostics,
    warnings: (verdict?.warnings ?? []).map(placed),
    sources: [file],
  };
}

function report(compiled: readonly Compiled[], options: Options, to: Output, engine: Engine | undefined): void {
  // `dslc test` prints the results of the tests on standard output, so this report is omitted if all plans compile.
  if (options.command === "test" && compiled.every((each) => each.diagnostics.length === 0)) return;
  if (options.isJson) {
    to.out(
      `${JSON.stringify({
        plans: compiled.map(({ file, name, diagnostics, warnings }) => ({
          file,
          name,
          diagnostics,
          ...(warnings.length === 0 ? {} : { warnings }),
        })),
        ...(engine === undefined ? { checked: false } : {}),
      })}\n`,
    );
    return;
  }
  for (const { diagnostics, warnings } of compiled) {
    for (const each of diagnostics) to.err(`${toLine(each)}\n`);
    for (const each of warnings) to.err(`${toLine(each, "warning")}\n`);
  }
}

/** Writes the artifacts, or reports where they differ from the files; returns whether any differ. */
function finish(compiled: readonly Compiled[], options: Options, project: Project, to: Output): boolean {
  const folder = resolve(options.out ?? project.plans);
  const good = artifactsOf(compiled, folder);
  const left =
    options.command === "build" && options.files.length === 0 ? leftIn(folder, options.root ?? project.root) : [];
  if (!options.isVerify) {
    const isWhole = options.files.length === 0 && good.length === compiled.length;
    for (const { file, source } of left) {
      removeFile(file);
      to.err(`dslc: removed ${printable(relative("", file))}: its source ${printable(source)} is gone\n`);
    }
    writeArtifacts(compiled, folder, isWhole ? "all" : "some");
    if (options.command === "build" && good.length > 0)
      to.err(`dslc: wrote ${good.length} of ${wholeText(compiled)} to ${relative("", folder) || "."}\n`);
    return false;
  }
  let isStale = false;
  const stale = (text: string): void => {
    to.err(`dslc: ${printable(text)}; run dslc build\n`);
    isStale = true;
  };
  for (const { file, source } of left) stale(`${file} is left, and its source ${source} is gone`);
  for (const { file, artifact } of good)
    if (readOrEmpty(file) !== artifact) stale(`${file} is not what its source compiles to`);
  if (!isStale && options.files.length === 0 && isIndexStale(folder))
    stale(`${join(folder, "index.json")} lists other artifacts than lie beside it`);
  return isStale;
}

/** "3 plans", or "4 files" if there are tests among them. */
function wholeText(compiled: readonly Compiled[]): string {
  return `${compiled.length} ${compiled.some(({ file }) => definesTests(file)) ? "files" : "plans"}`;
}

async function diff(options: Options, compiler: Compiler, engine: Engine | undefined, to: Output): Promise<number> {
  if (engine === undefined) throw new ProjectError(`there is no rankd to compare plans: ${howToGet}`);
  const compiled = await compileAll(options.files, compiler, engine, "any names");
  const sides = compiled.flatMap(({ file, artifact }): Side[] =>
    artifact === undefined ? [] : [file.endsWith(".json") ? { file: resolve(file) } : { artifact }],
  );
  const [before, after] = sides;
  if (before === undefined || after === undefined) {
    report(compiled, options, to, engine);
    return 2;
  }
  const found = await engine.diff(before, after);
  const [problem] = [...found.before, ...found.after];
  if (problem !== undefined) throw new ProjectError(problem.message + (problem.hint === "" ? "" : `; ${problem.hint}`));
  to.out(options.isJson ? `${JSON.stringify(found.comparison)}\n` : found.lines!);
  return found.comparison!.equal ? 0 : 1;
}

/** Records what all fragments are now. */
async function publishAll(
  options: Options,
  project: Project,
  compiler: Compiler,
  engine: Engine | undefined,
  to: Output,
): Promise<number> {
  const compiled = await compileAll(fragmentsOf(project), compiler, engine);
  if (compiled.some((each) => each.diagnostics.length > 0)) {
    report(compiled, options, to, engine);
    return 1;
  }
  const added = publish(
    project,
    compiled.map(({ fragment }) => fragment!),
  );
  for (const { name, version } of added) to.err(`dslc: published ${name} ${version}\n`);
  return 0;
}

/** Lists the uses of fragments of which a later version was published. */
async function outdated(
  options: Options,
  project: Project,
  compiler: Compiler,
  engine: Engine | undefined,
  to: Output,
): Promise<number> {
  const files = options.files.length > 0 ? options.files : artifactsIn(project.plans);
  const compiled = await compileAll(files, compiler, engine, "any names");
  report(compiled, options, to, engine);
  const lines = compiled.flatMap(({ name, artifact }) =>
    artifact === undefined ? [] : outdatedIn(project, name.replace(/\.json$/, ""), usesOf(artifact)),
  );
  for (const line of lines) to.out(`${printable(line)}\n`);
  if (lines.length > 0 || compiled.some((each) => each.diagnostics.length > 0)) return 1;
  return engine === undefined ? notChecked : 0;
}
