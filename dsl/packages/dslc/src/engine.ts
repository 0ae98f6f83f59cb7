// engine.ts: checks artifacts with the engine, in a child process `rankd check --stdin`.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join, resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

import type { Checker, Problem, Verdict } from "./checker.js";
import { EngineError } from "./project_error.js";
import { isObject, type JsonObject, parsedJson } from "./json.js";

/** The npm package that contains the program rankd. */
const enginePackage = `@rankd/engine-${process.platform}-${process.arch}`;
/** The maximum length of a message that the engine accepts. */
const maxMessage = 16 * 1024 * 1024;
/** The maximum number of characters that a failure shows of the engine's standard error. */
const maxShown = 1000;
/** The maximum time until the engine sends one of the expected answers, on a busy machine. */
const maxSilenceMs = 60_000;

const toName = "; pass the path of rankd with --engine, or set RANKD to it";

/** An artifact to compare: its text, or the file that contains it. */
export type Side = { readonly artifact: string } | { readonly file: string };

/** The engine's answer about two artifacts. */
export interface Comparison {
  readonly before: readonly Problem[];
  readonly after: readonly Problem[];
  /** The object that `rankd diff --json` prints. Absent if an artifact is invalid. */
  readonly comparison?: { readonly equal: boolean };
  /** The lines that `rankd diff` prints. */
  readonly lines?: string;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The program in the package that npm has installed next to the project or next to the compiler. */
function packagedProgram(root: string): string | undefined {
  for (const from of [join(resolve(root), "package.json"), import.meta.url])
    try {
      return join(dirname(createRequire(from).resolve(`${enginePackage}/package.json`)), "bin", "rankd");
    } catch {
      // This folder does not contain the package. The loop tries the next folder.
    }
  return undefined;
}

/**
 * The program that `cmake --install` installs together with this compiler, whose files are then in PREFIX/share/rankd.
 */
function installedProgram(): string | undefined {
  const here = dirname(fileURLToPath(import.meta.url));
  const installed = join("share", "rankd", "node_modules", "@rankd", "dslc", "dist");
  const program = join(here.slice(0, -installed.length), "bin", "rankd");
  return here.endsWith(installed) && isProgram(program) ? program : undefined;
}

/**
 * Returns the path of the program rankd. The candidates are `given`, the environment variable RANKD, the npm package,
 * the program that was installed with this compiler, and PATH, in this order. Returns nothing if there is none.
 */
export function findEngine(given: string | undefined, root: string): string | undefined {
  const named = given ?? (process.env["RANKD"] || undefined);
  if (named !== undefined) return named;
  const beside = packagedProgram(root) ?? installedProgram();
  if (beside !== undefined) return beside;
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, "rankd")).find(isProgram);
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

interface Waiting {
  readonly of: Child;
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

/** Returns nothing if a value is not a list of diagnostics. */
function problemsOf(value: unknown): Problem[] | undefined {
  if (!Array.isArray(value) || !value.every(isObject)) return undefined;
  const names = ["code", "pointer", "message", "hint", "node", "source"] as const;
  const text = (field: unknown): string => (typeof field === "string" ? field : "");
  return value.map(
    (fields) => Object.fromEntries(names.map((name) => [name, text(fields[name])])) as Record<keyof Problem, string>,
  );
}

/**
 * An engine process for one project. The first question starts it. If it has ended, the next question starts it again.
 */
export class Engine implements Checker {
  private child: Child | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private count = 0;
  private watchdog: NodeJS.Timeout | undefined;

  constructor(
    readonly program: string,
    private readonly root: string,
    private readonly silenceMs = maxSilenceMs,
  ) {}

  /** Reopens the project. Returns the errors of the project. */
  async open(): Promise<readonly Problem[]> {
    return this.problemsIn(await this.send({ do: "open", project: resolve(this.root) }), "diagnostics");
  }

  async plan(artifact: string, name: string | undefined): Promise<Verdict> {
    return await this.verdict({ do: "plan", artifact, name });
  }

  async tests(artifact: string): Promise<Verdict> {
    return await this.verdict({ do: "tests", artifact });
  }

  /** The same for a file that contains an artifact. */
  async planFile(file: string, name: string | undefined): Promise<Verdict> {
    return await this.verdict({ do: "plan", file: resolve(file), name });
  }

  async diff(before: Side, after: Side): Promise<Comparison> {
    const answer = await this.ask({ do: "diff", before, after });
    if ("diagnostics" in answer) return { before: this.problemsIn(answer, "diagnostics"), after: [] };
    const found = { before: this.problemsIn(answer, "before"), after: this.problemsIn(answer, "after") };
    if (found.before.length + found.after.length > 0) return found;
    const { comparison, lines } = answer;
    if (!isObject(comparison) || typeof lines !== "string") throw this.withoutField("comparison");
    return { ...found, comparison: comparison as unknown as { readonly equal: boolean }, lines };
  }

  private async verdict(question: object): Promise<Verdict> {
    const answer = await this.ask(question);
    return {
      problems: this.problemsIn(answer, "diagnostics"),
      warnings: "warnings" in answer ? this.problemsIn(answer, "warnings") : [],
      caches: (isObject(answer["caches"]) ? answer["caches"] : {}) as Verdict["caches"],
    };
  }

  private problemsIn(answer: JsonObject, field: string): readonly Problem[] {
    const found = problemsOf(answer[field]);
    if (found === undefined) throw this.withoutField(field);
    return found;
  }

  private withoutField(field: string): EngineError {
    return new EngineError(`${this.program}, which checks plans, gave an answer without a valid \`${field}\`${toName}`);
  }

  /** Asks a question about the project. If the process has ended, opens the project first. */
  private async ask(question: object): Promise<JsonObject> {
    if (this.child === undefined) {
      const [problem] = await this.open();
      if (problem !== undefined) throw new EngineError(`the project is wrong: ${problem.message}`);
    }
    return await this.send(question);
  }

  private async send(question: object): Promise<JsonObject> {
    const id = ++this.count;
    const line = `${JSON.stringify({ id, ...question })}\n`;
    const bytes = Buffer.byteLength(line);
    if (bytes > maxMessage) {
      const message = `the message with the artifact has ${bytes} bytes; at most ${maxMessage} are allowed`;
      return { diagnostics: [{ code: "file_too_large", message }] };
    }
    const child = (this.child ??= this.start());
    const answer = await new Promise<JsonObject>((resolve, reject) => {
      this.waiting.set(id, { of: child, resolve, reject });
      this.watchdog?.refresh();
      child.stdin.write(line);
    });
    const [error] = problemsOf(answer["error"]) ?? [];
    if (error !== undefined) throw new EngineError(`${this.program} refused a message: ${error.message}`);
    return answer;
  }

  private start(): Child {
    const child = spawn(this.program, ["check", "--stdin"], { stdio: ["pipe", "pipe", "pipe"] });
    let said = "";
    let parts: string[] = [];
    const end = (why: string): void => {
      clearTimeout(watchdog);
      if (this.child === child) this.child = undefined;
      child.kill("SIGKILL");
      letGo(child);
      const reason = said.split("\n")[0]!;
      const error = new EngineError(
        `${this.program}, which checks plans, ${why}${reason === "" ? "" : `: ${reason}`}${toName}`,
      );
      for (const [id, { of, reject }] of this.waiting) {
        if (of !== child) continue;
        this.waiting.delete(id);
        reject(error);
      }
    };
    const giveUp = (): void => {
      const isAwaited = [...this.waiting.values()].some(({ of }) => of === child);
      if (isAwaited) end(`has not answered for ${this.silenceMs / 1000} s`);
    };
    // An answer may have arrived while this thread was busy. The short timer lets the event of that answer run first.
    const watchdog = setTimeout(() => setTimeout(giveUp, 20), this.silenceMs).unref();
    this.watchdog = watchdog;
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(0, maxShown)));
    child.stdin.on("error", () => undefined); // the end of the process reports the cause
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const [first, ...more] = text.split("\n");
      parts.push(first!);
      for (const next of more) {
        const line = parts.join("");
        parts = [next];
        if (!this.hear(line)) {
          end(`printed \`${line.slice(0, maxShown)}\`, which is not a valid answer`);
          return;
        }
        watchdog.refresh();
      }
    });
    child.on("error", (error: Error & { code?: string }) => {
      end(error.code === "ENOENT" ? "does not exist" : `cannot be run: ${error.message}`);
    });
    child.on("close", (status, signal) => {
      end(`ended by ${signal ?? `status ${status}`}`);
    });
    return child;
  }

  /** Passes on an answer. Returns false if the line is not the answer to a question. */
  private hear(line: string): boolean {
    const answer = parsedJson(line);
    if (!isObject(answer)) return false;
    const id = Number(answer["id"]);
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    waiting?.resolve(answer);
    return waiting !== undefined;
  }

  /** Ends the process. If the process does not end by itself, it does not keep this process alive. */
  close(): void {
    clearTimeout(this.watchdog);
    if (this.child !== undefined) letGo(this.child);
    this.child = undefined;
  }
}

function letGo(child: Child): void {
  child.stdin.end();
  child.stdout.destroy();
  child.stderr.destroy();
  child.unref();
}
