// engine.ts: checks artifacts with the engine, in a child process `rankd check --stdin`.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join, resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

import type { Checker, Problem, Verdict } from "./checker.js";
import { EngineError } from "./project_error.js";

/** The package that carries the program rankd. */
const enginePackage = `@rankd/engine-${process.platform}-${process.arch}`;
/** Longer messages are refused by the engine. */
const maxMessage = 16 * 1024 * 1024;
/** The maximum number of characters that a failure shows of the engine's standard error. */
const maxShown = 1000;

/** An artifact for a comparison: its text, or the file that it is in. */
export type Side = { readonly artifact: string } | { readonly file: string };

/** The engine's answer about two artifacts. */
export interface Comparison {
  readonly before: readonly Problem[];
  readonly after: readonly Problem[];
  /** The object that `rankd diff --json` prints; absent if an artifact is wrong. */
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

/** The program of the package that npm installed next to the project or next to the compiler. */
function packagedProgram(root: string): string | undefined {
  for (const from of [join(resolve(root), "package.json"), import.meta.url])
    try {
      return join(dirname(createRequire(from).resolve(`${enginePackage}/package.json`)), "bin", "rankd");
    } catch {
      // The package is not installed there; the next folder is tried.
    }
  return undefined;
}

/** The program that `cmake --install` installs with this compiler, which is then in PREFIX/share/rankd. */
function installedProgram(): string | undefined {
  const here = dirname(fileURLToPath(import.meta.url));
  const installed = join("share", "rankd", "node_modules", "@rankd", "dslc", "dist");
  const program = join(here.slice(0, -installed.length), "bin", "rankd");
  return here.endsWith(installed) && isProgram(program) ? program : undefined;
}

/**
 * The program rankd: `given`, or the program that the environment's RANKD names, or that of the npm package, or the one
 * that was installed with this compiler, or the one in PATH. Nothing if there is no such program.
 */
export function findEngine(given: string | undefined, root: string): string | undefined {
  const named = given ?? (process.env["RANKD"] || undefined);
  if (named !== undefined) return named;
  const beside = packagedProgram(root) ?? installedProgram();
  if (beside !== undefined) return beside;
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, "rankd")).find(isProgram);
}

type Answer = Readonly<Record<string, unknown>>;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

interface Waiting {
  readonly of: Child;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

function problemsOf(value: unknown): Problem[] {
  const list = Array.isArray(value) ? (value as Partial<Problem>[]) : [];
  return list.map(({ code = "", pointer = "", message = "", hint = "", node = "", source = "" }) => ({
    code,
    pointer,
    message,
    hint,
    node,
    source,
  }));
}

const tooLarge = (bytes: number): Answer => ({
  diagnostics: [
    {
      code: "file_too_large",
      pointer: "",
      message: `the message with the artifact has ${bytes} bytes; at most ${maxMessage} are allowed`,
    },
  ],
});

/** One process for one project. It is started by the first question, and again if it has ended. */
export class Engine implements Checker {
  private child: Child | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private count = 0;

  constructor(
    readonly program: string,
    private readonly root: string,
  ) {}

  /** Opens the project again. Returns its errors. */
  async open(): Promise<readonly Problem[]> {
    const answer = await this.send({ do: "open", project: resolve(this.root) });
    return problemsOf(answer["diagnostics"]);
  }

  async plan(artifact: string, name: string | undefined): Promise<Verdict> {
    return await this.verdict({ do: "plan", artifact, ...(name === undefined ? {} : { name }) });
  }

  async tests(artifact: string): Promise<Verdict> {
    return await this.verdict({ do: "tests", artifact });
  }

  /** The same of a file that holds an artifact. */
  async planFile(file: string, name: string | undefined): Promise<Verdict> {
    return await this.verdict({ do: "plan", file: resolve(file), ...(name === undefined ? {} : { name }) });
  }

  async diff(before: Side, after: Side): Promise<Comparison> {
    const answer = await this.ask({ do: "diff", before, after });
    return {
      ...(answer as Partial<Comparison>),
      before: problemsOf(answer["before"] ?? answer["diagnostics"]),
      after: problemsOf(answer["after"]),
    };
  }

  private async verdict(question: object): Promise<Verdict> {
    const answer = await this.ask(question);
    return {
      problems: problemsOf(answer["diagnostics"]),
      warnings: problemsOf(answer["warnings"]),
      caches: (answer["caches"] ?? {}) as Verdict["caches"],
    };
  }

  /** Asks a question about the project, which is opened first if the process has ended meanwhile. */
  private async ask(question: object): Promise<Answer> {
    if (this.child === undefined) {
      const [problem] = await this.open();
      if (problem !== undefined) throw new EngineError(`the project is wrong: ${problem.message}`);
    }
    return await this.send(question);
  }

  private async send(question: object): Promise<Answer> {
    const id = ++this.count;
    const line = `${JSON.stringify({ id, ...question })}\n`;
    if (line.length > maxMessage / 4 && Buffer.byteLength(line) > maxMessage) return tooLarge(Buffer.byteLength(line));
    const child = (this.child ??= this.start());
    const answer = await new Promise<Answer>((resolve, reject) => {
      this.waiting.set(id, { of: child, resolve, reject });
      child.stdin.write(line);
    });
    const [error] = problemsOf(answer["error"]);
    if (error !== undefined) throw new EngineError(`${this.program} refused a message: ${error.message}`);
    return answer;
  }

  private start(): Child {
    const child = spawn(this.program, ["check", "--stdin"], { stdio: ["pipe", "pipe", "pipe"] });
    let said = "";
    let parts: string[] = [];
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(0, maxShown)));
    child.stdin.on("error", () => undefined); // its end says why
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = text.split("\n");
      while (lines.length > 1) {
        this.hear(parts.join("") + lines.shift()!);
        parts = [];
      }
      if (lines[0] !== "") parts.push(lines[0]!);
    });
    const end = (why: string): void => {
      if (this.child === child) this.child = undefined;
      const reason = said.split("\n")[0]!;
      const error = new EngineError(
        `${this.program}, which checks plans, ${why}${reason === "" ? "" : `: ${reason}`}; --engine or the environment's RANKD names the program`,
      );
      for (const [id, { of, reject }] of this.waiting) {
        if (of !== child) continue;
        this.waiting.delete(id);
        reject(error);
      }
    };
    child.on("error", (error: Error & { code?: string }) => {
      end(error.code === "ENOENT" ? "is not there" : `cannot be run: ${error.message}`);
    });
    child.on("close", (status, signal) => {
      end(`ended by ${signal ?? `status ${status}`}`);
    });
    return child;
  }

  private hear(line: string): void {
    const answer = JSON.parse(line) as Answer;
    const id = Number(answer["id"]);
    this.waiting.get(id)?.resolve(answer);
    this.waiting.delete(id);
  }

  /** Ends the process. */
  close(): void {
    const child = this.child;
    this.child = undefined;
    child?.stdin.end();
  }
}
