// cli.ts: the commands of dslc.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { type Arguments, helpFor, parseArguments, UsageError } from "./arguments.js";
import { artifactsOf, writeArtifacts } from "./artifacts.js";
import { bindings } from "./bindings.js";
import type { Problem } from "./checker.js";
import { Compiler } from "./compile.js";
import { type Diagnostic, printable, startOf, toLine } from "./diagnostic.js";
import { Engine, findEngine, type Side } from "./engine.js";
import { artifactsIn, isIndexStale, leftIn, sourcesOf, testsOf } from "./folder.js";
import { fragmentsOf, outdatedIn, publish, usesOf } from "./fragment_index.js";
import { type Compiled, newCompiled } from "./plan_compilation.js";
import { isInProject } from "./plan_files.js";
import { artifactNameOf, definesTests, planNameOf, testArtifact, testSource } from "./plan_names.js";
import { findProject, loadProject, type Project } from "./project.js";
import { ProjectError, TomlSyntaxError } from "./project_error.js";
import { projectFault, RegistryError } from "./registry_files.js";
import { serve } from "./serve.js";
import { typesFolder, writeTypes } from "./types.js";
import { watch } from "./watch.js";
import { readJson, readText, reasonOf, removeFile, replaceFile } from "./write.js";

/** The exit status of a command that found no errors and checked nothing. */
const notChecked = 3;

/** The streams to which a command writes. */
export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

const standardOutput: Output = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};

/**
 * Runs a command and returns its exit status. Three outputs go to the process's own streams: the answers of `serve`,
 * the messages of `watch` about each round, and the output of rankd about tests.
 */
export async function main(args: readonly string[], to: Output = standardOutput): Promise<number> {
  if (args.length === 0 || args.includes("--help") || args.includes("-h")) {
    to.out(helpFor(args[0]));
    return args.length === 0 ? 2 : 0;
  }
  if (args.includes("--version")) {
    to.out(`dslc ${ownVersion()}\n`);
    return 0;
  }
  try {
    const options = parseArguments(args);
    for (const file of options.files) checkFile(file, options.command);
    const root = options.project ?? findProject(options.files[0] === undefined ? "." : dirname(options.files[0]));
    const program = findEngine(options.engine, root);
    const engine = program === undefined ? undefined : new Engine(program, root);
    let compiler: Compiler | undefined;
    try {
      const project = await openProject(root, engine);
      if (options.root !== undefined && !isInProject(join(project.root, "plans"), options.root))
        throw new UsageError(`--root ${options.root} must be a folder that contains the project ${root}`);
      compiler = new Compiler(project, { limits: options.limits, root: options.root, checker: engine });
      return await new Command(options, project, engine, compiler, to).run();
    } finally {
      await compiler?.close();
      engine?.close();
    }
  } catch (error) {
    // An error with `syscall` means that the system refused access to a file or a folder. Errors of all other types are
    // faults of dslc.
    const isOfSystem = error instanceof Error && "syscall" in error;
    if (!isOfSystem && !(error instanceof UsageError) && !(error instanceof ProjectError)) throw error;
    reportError(error, args, to);
    return error instanceof UsageError || args[0] === "diff" ? 2 : 1;
  }
}

/** The version of the package that contains this file. */
function ownVersion(): string {
  return (readJson(fileURLToPath(new URL("../package.json", import.meta.url))) as { version: string }).version;
}

/** Refuses a file on the command line that the command cannot use. */
function checkFile(file: string, command: string): void {
  if (!existsSync(file)) throw new ProjectError(`${file} does not exist`);
  if (statSync(file).isDirectory())
    throw new ProjectError(`${file} is a folder; name files in it, or no file for all plans of the project`);
  const mayBeArtifact = ["check", "diff", "outdated"].includes(command);
  if (file.endsWith(".ts") || (mayBeArtifact && file.endsWith(".json"))) return;
  const wanted = mayBeArtifact ? "NAME.plan.ts, NAME.test.ts or an artifact NAME.json" : "NAME.plan.ts or NAME.test.ts";
  throw new ProjectError(`\`dslc ${command}\` cannot use ${file}; expected ${wanted}`);
}

const howToGet = "install @rankd/engine-linux-x64, or pass the program's path with --engine";
const unchecked = `dslc: nothing was checked, because there is no rankd: ${howToGet}\n`;

/** Reads a project. Meanwhile, the engine checks the project. */
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

/**
 * Reports errors. Errors in registries have source positions, like errors in plans. Any other error is one sentence.
 */
function reportError(error: Error, args: readonly string[], to: Output): void {
  if (!(error instanceof RegistryError)) to.err(`dslc: ${printable(error.message)}\n`);
  else if (args.includes("--json")) to.out(`${JSON.stringify({ plans: [], diagnostics: error.diagnostics })}\n`);
  else to.err(`${error.message}\n`);
}

const isFaulty = (compiled: readonly Compiled[]): boolean => compiled.some((each) => each.diagnostics.length > 0);

/** A command that runs on one project. */
class Command {
  constructor(
    private readonly options: Arguments,
    private readonly project: Project,
    private readonly engine: Engine | undefined,
    private readonly compiler: Compiler,
    private readonly to: Output,
  ) {}

  async run(): Promise<number> {
    const { engine, options, project } = this;
    const { command } = options;
    if (command === "bindings") {
      const generated = bindings(project.declared);
      const { out } = options;
      if (out === undefined) writeTypes(project, generated);
      else this.writeOut(() => replaceFile(out, generated));
      return 0;
    }
    if (command === "diff") return await this.diff();
    if (command === "serve") return await serve(project, this.compiler, process.stdin, process.stdout);
    if (command === "publish") return await this.publish();
    if (engine === undefined && command === "test")
      throw new ProjectError(`there is no rankd to run tests: ${howToGet}`);
    if (engine === undefined) this.to.err(unchecked);
    if (command === "outdated") return await this.outdated();
    const files = this.files();
    // Updates the declarations for editors, if the project has them, so that editors accept what the compiler accepts.
    if (command !== "check" && !options.verify && existsSync(typesFolder(project)))
      writeTypes(project, bindings(project.declared));
    let isStale = false;
    const once = async (changed: readonly string[]): Promise<readonly Compiled[]> => {
      const compiled = await this.compile(changed);
      this.report(compiled);
      if (command !== "check") isStale = this.finish(compiled);
      return compiled;
    };
    if (command === "watch") return await watch(files, once);
    const compiled = await once(files);
    if (command === "test" && engine !== undefined && !isFaulty(compiled)) return this.runTests(engine.program);
    return this.status(isStale || isFaulty(compiled));
  }

  /** Writes the file that --out names, if the option is set. If the file cannot be written, that is wrong usage. */
  private writeOut(write: () => void): void {
    const { command, out } = this.options;
    try {
      write();
    } catch (error) {
      if (out === undefined || !(error instanceof ProjectError)) throw error;
      const advice = command === "bindings" ? "a file in a folder" : "a folder";
      throw new UsageError(`--out ${out}: ${error.message}; name ${advice} that exists or can be created`);
    }
  }

  private status(isWrong: boolean): number {
    return isWrong ? 1 : this.engine === undefined ? notChecked : 0;
  }

  /**
   * Returns the files that the command works on: the files on the command line (for `test`, with their plans), or all
   * files of the project.
   */
  private files(): readonly string[] {
    const { command, files } = this.options;
    if (files.length === 0) return [...sourcesOf(this.project), ...testsOf(this.project)];
    if (command !== "test") return files;
    return files.flatMap((file) => {
      if (!definesTests(file)) throw new ProjectError(`${file} defines no tests; expected NAME${testSource}`);
      const plan = file.replace(/\.test\.ts$/, ".plan.ts");
      return existsSync(plan) ? [plan, file] : [file];
    });
  }

  /** Runs the compiled tests with the program `rankd`, which prints the results. Returns the exit status of `rankd`. */
  private runTests(rankd: string): number {
    const { files, json, only } = this.options;
    const args = ["test", "--project", this.project.root, ...files.map(planNameOf)];
    if (only !== undefined) args.push(`--only=${only}`);
    if (json === true) args.push("--json");
    const done = spawnSync(rankd, args, { stdio: ["ignore", "inherit", "inherit"] });
    if (done.error !== undefined) throw new ProjectError(`${rankd} cannot be run: ${done.error.message}`);
    if (done.signal !== null) throw new ProjectError(`${rankd} ended by ${done.signal}`);
    return done.status ?? 1;
  }

  /**
   * Compiles or reads the files. With `mayDiffer`, the name of an artifact's plan may differ from the name of its file.
   */
  private async compile(files: readonly string[], mayDiffer = false): Promise<Compiled[]> {
    const plans = files.filter((file) => !file.endsWith(".json"));
    const compiled = plans.length === 0 ? [] : await this.compiler.compile(plans);
    const stemOf = (file: string): string | undefined =>
      mayDiffer ? undefined : planNameOf(file.replace(/\.json$/, ".ts"));
    return await Promise.all(
      files.map((file) => (file.endsWith(".json") ? this.checkArtifact(file, stemOf(file)) : compiled.shift()!)),
    );
  }

  /** Checks an artifact that another program has made. `stem` is the required name of its plan, if any. */
  private async checkArtifact(file: string, stem: string | undefined): Promise<Compiled> {
    if (file.endsWith(testArtifact)) throw new ProjectError(`${file} has tests, which rankd test checks, and no plan`);
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch (error) {
      throw new ProjectError(`${file} cannot be read: ${reasonOf(error)}`);
    }
    const verdict = await this.engine?.planFile(file, stem);
    const placed = ({ code, pointer, message, hint }: Problem): Diagnostic => ({
      code,
      pointer,
      message: pointer === "" ? message : `${pointer}: ${message}`,
      hint,
      place: startOf(file),
    });
    const diagnostics = (verdict?.problems ?? []).map(placed);
    const warnings = (verdict?.warnings ?? []).map(placed);
    return {
      ...newCompiled(file, diagnostics, [file]),
      artifact: diagnostics.length === 0 ? text : undefined,
      warnings,
    };
  }

  private report(all: readonly Compiled[]): void {
    // `dslc test` prints the results of the tests on standard output, so it prints this report only if a plan does not
    // compile.
    if (this.options.command === "test" && !isFaulty(all)) return;
    if (this.options.json === true) {
      const plans = all.map(({ file, name, diagnostics, warnings }) => ({
        file,
        name,
        diagnostics,
        ...(warnings.length === 0 ? {} : { warnings }),
      }));
      this.to.out(`${JSON.stringify({ plans, ...(this.engine === undefined ? { checked: false } : {}) })}\n`);
      return;
    }
    for (const { diagnostics, warnings } of all) {
      for (const each of diagnostics) this.to.err(`${toLine(each)}\n`);
      for (const each of warnings) this.to.err(`${toLine(each, "warning")}\n`);
    }
  }

  /** Writes the artifacts, or reports which of them differ from their files. Returns whether any differ. */
  private finish(compiled: readonly Compiled[]): boolean {
    const { command, files, out, root = this.project.root, verify } = this.options;
    const folder = resolve(out ?? this.project.plans);
    const good = artifactsOf(compiled, folder);
    const known = compiled.map(({ file }) => artifactNameOf(file));
    const left = command === "build" && files.length === 0 ? leftIn(folder, root, known) : [];
    if (verify !== true) {
      const kind = compiled.some(({ file }) => definesTests(file)) ? "files" : "plans";
      const isWhole = files.length === 0 && good.length === compiled.length;
      for (const { file, source } of left) {
        removeFile(file);
        this.to.err(`dslc: removed ${printable(relative("", file))}: its source ${printable(source)} is gone\n`);
      }
      this.writeOut(() => writeArtifacts(compiled, folder, isWhole ? "all" : "some"));
      if (command === "build" && good.length > 0)
        this.to.err(`dslc: wrote ${good.length} of ${compiled.length} ${kind} to ${relative("", folder) || "."}\n`);
      return false;
    }
    const differing = good.filter(({ file, artifact }) => readText(file) !== artifact);
    const stale = [
      ...left.map(({ file, source }) => `${file} remains, but its source ${source} is gone`),
      ...differing.map(({ file }) => `${file} differs from what its source compiles to`),
    ];
    if (stale.length === 0 && files.length === 0 && isIndexStale(folder))
      stale.push(`${join(folder, "index.json")} does not list the artifacts beside it`);
    for (const each of stale) this.to.err(`dslc: ${printable(each)}; run dslc build\n`);
    return stale.length > 0;
  }

  private async diff(): Promise<number> {
    const { engine } = this;
    if (engine === undefined) throw new ProjectError(`there is no rankd to compare plans: ${howToGet}`);
    const compiled = await this.compile(this.options.files, true);
    const sides = compiled.flatMap(({ file, artifact }): Side[] =>
      artifact === undefined ? [] : [file.endsWith(".json") ? { file: resolve(file) } : { artifact }],
    );
    const [before, after] = sides;
    if (before === undefined || after === undefined) {
      this.report(compiled);
      return 2;
    }
    const found = await engine.diff(before, after);
    const [problem] = [...found.before, ...found.after];
    if (problem !== undefined)
      throw new ProjectError(problem.message + (problem.hint === "" ? "" : `; ${problem.hint}`));
    this.to.out(this.options.json === true ? `${JSON.stringify(found.comparison)}\n` : found.lines!);
    return found.comparison!.equal ? 0 : 1;
  }

  /** Records the current versions of all fragments. */
  private async publish(): Promise<number> {
    const compiled = await this.compile(fragmentsOf(this.project));
    if (isFaulty(compiled)) {
      this.report(compiled);
      return 1;
    }
    const made = compiled.map(({ fragment }) => fragment!);
    for (const { name, version } of publish(this.project, made)) this.to.err(`dslc: published ${name} ${version}\n`);
    return 0;
  }

  /** Lists the uses of fragments for which a newer version was published. */
  private async outdated(): Promise<number> {
    const { files } = this.options;
    const compiled = await this.compile(files.length > 0 ? files : artifactsIn(this.project.plans), true);
    this.report(compiled);
    const lines = compiled.flatMap(({ name, artifact }) =>
      artifact === undefined ? [] : outdatedIn(this.project, name.replace(/\.json$/, ""), usesOf(artifact)),
    );
    for (const line of lines) this.to.out(`${printable(line)}\n`);
    return this.status(lines.length > 0 || isFaulty(compiled));
  }
}
