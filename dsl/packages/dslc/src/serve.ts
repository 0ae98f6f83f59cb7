// serve.ts: answers requests of `rankd studio` about the sources of a project. Each request is a line of JSON.
import { existsSync, readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";

import { writeArtifacts } from "./artifacts.js";
import { bindings } from "./bindings.js";
import { browserProject } from "./browser_project.js";
import { browserScript } from "./bundle.js";
import type { Compiler } from "./compile.js";
import { Completer } from "./completions.js";
import { sourcesOf } from "./folder.js";
import { sha256 } from "./json.js";
import { changedOption, type OptionKind } from "./options.js";
import { isInProject, placeName } from "./plan_files.js";
import type { Compiled } from "./plan_compilation.js";
import { planNameOf, testSource } from "./plan_names.js";
import type { Project } from "./project.js";
import { ProjectError, Refusal } from "./project_error.js";
import { reasonOf, replaceFile } from "./write.js";

/** A question. */
interface Question {
  readonly number: number;
  readonly do: string;
  readonly plan: string;
  readonly text: string;
  readonly digest: string;
  readonly offset: number;
  readonly from: number;
  readonly to: number;
  readonly kind: OptionKind;
  readonly value: string;
  readonly script: boolean;
}

/** Answers the questions in their order. */
export async function serve(project: Project, compiler: Compiler, input: Readable, output: Writable): Promise<number> {
  const answers = new Answers(project, compiler);
  for await (const line of linesOf(input)) output.write(`${JSON.stringify(await answers.to(line))}\n`);
  return 0;
}

/**
 * Returns the lines of a stream. Only line feeds end a line, because readline would also split the text of a plan at
 * U+2028.
 */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const text of input.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== "") yield rest;
}

class Answers {
  private readonly completer: Completer;

  constructor(
    private readonly project: Project,
    private readonly compiler: Compiler,
  ) {
    this.completer = new Completer(project.root, bindings(project.declared));
  }

  /**
   * Answers a question. Never rejects: the answer to an invalid question is `{error: {code, message}}`. Each answer
   * repeats the number of its question.
   */
  async to(line: string): Promise<object> {
    let number: unknown;
    try {
      const question = JSON.parse(line) as Question;
      number = question.number;
      return { number, ...(await this.answer(question)) };
    } catch (error) {
      const isOfProject = error instanceof ProjectError;
      const code = error instanceof Refusal ? error.code : isOfProject ? "bad_project" : "compiler_failed";
      return { number, error: { code, message: reasonOf(error) } };
    }
  }

  private async answer(question: Question): Promise<object> {
    const file = this.sourceOf(question.plan);
    if (question.do === "source") return this.source(file);
    if (question.do === "draft") return await this.draft(file, question.text);
    if (question.do === "complete") return this.completer.at(file, question.text, question.offset);
    if (question.do === "edit") {
      const { text, from, to, kind, value } = question;
      return changedOption(text, from, to, kind, value);
    }
    if (question.do === "project") {
      const script = question.script ? { script: browserScript() } : {};
      return { file: placeName(this.project.root, file), ...browserProject(this.project), ...script };
    }
    if (question.do === "save") return await this.save(file, question);
    throw new Refusal("unknown_question", `there is no question ${question.do}`);
  }

  private sourceOf(plan: string): string {
    const file = sourcesOf(this.project).find((each) => planNameOf(each) === plan);
    if (file === undefined || !existsSync(file) || !isInProject(file, this.project.root))
      throw new Refusal("no_source", `the project has no source ${plan}.plan.ts; its artifact was made elsewhere`);
    return file;
  }

  private source(file: string): object {
    const text = readFileSync(file, "utf8");
    return { file: placeName(this.project.root, file), text, digest: sha256(text) };
  }

  private async draft(file: string, text: string): Promise<object> {
    const [compiled] = await this.compiler.compile([file], new Map([[file, text]]));
    const { diagnostics, artifact = null, options } = compiled!;
    return { file: placeName(this.project.root, file), diagnostics, artifact, options: options?.() ?? [] };
  }

  /**
   * Does the same as `dslc build` for the plan and its tests. A text that does not compile is saved, too. If a save was
   * interrupted after the text was written, it can be requested again.
   */
  private async save(file: string, { text, digest }: Question): Promise<object> {
    const there = readFileSync(file, "utf8");
    if (there !== text && sha256(there) !== digest)
      throw new Refusal("source_changed", `${placeName(this.project.root, file)} has changed since it was read`);
    replaceFile(file, text);
    return { file: placeName(this.project.root, file), digest: sha256(text), diagnostics: await this.build(file) };
  }

  /** The text is saved whatever happens to its artifact, so errors here are not errors of the save. */
  private async build(file: string): Promise<readonly object[]> {
    try {
      const tests = file.replace(/\.plan\.ts$/, testSource);
      const compiled: Compiled[] = await this.compiler.compile(existsSync(tests) ? [file, tests] : [file]);
      writeArtifacts(compiled, this.project.plans);
      return compiled.flatMap((each) => each.diagnostics);
    } catch (error) {
      return [{ code: "not_built", message: reasonOf(error), hint: "", place: null, pointer: "" }];
    }
  }
}
