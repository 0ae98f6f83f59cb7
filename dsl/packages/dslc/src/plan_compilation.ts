// plan_compilation.ts: compiles one file, which contains a plan, tests or a fragment: checks its text, and validates
// the sandbox's result.
import { resolve } from "node:path";

import { Places } from "./artifact_parts.js";
import type { Checker, Problem, Verdict } from "./checker.js";
import { type Diagnostic, diagnostic, inOrder, type Place, startOf } from "./diagnostic.js";
import type { Failure } from "./failure.js";
import { reservedNames } from "./folder.js";
import { changedSince, definesFragment, digestOf, fragmentPath, type FragmentVersion } from "./fragment_index.js";
import type { Limits, Module, Outcome } from "./interpreter.js";
import { type JsonObject, prettyJson } from "./json.js";
import { type GivenOption, type NodeOption, optionsOf } from "./options.js";
import { planArtifact } from "./plan_artifact.js";
import { isInProject } from "./plan_files.js";
import { definesTests, planNameOf } from "./plan_names.js";
import type { PlanProgram } from "./program.js";
import type { Project } from "./project.js";
import { type Built, readResult } from "./sandbox_result.js";
import { testsArtifact } from "./tests_artifact.js";

/** The options of a compiler. */
export interface CompilerOptions {
  readonly limits?: Limits;
  /** Paths in artifacts are relative to this folder, and imports stay inside it. Default: the project's root. */
  readonly root?: string | undefined;
  /** Whether types are checked. Without this, the rules of the sandbox and of the engine still apply. */
  readonly types?: "with types" | "without types";
  /** Checks artifacts by the rules of the engine. If it is not set, artifacts are not checked. */
  readonly checker?: Checker | undefined;
}

/** The result for one plan. */
export interface Compiled {
  /** The path as it was given. */
  readonly file: string;
  readonly name: string;
  /** The artifact, if there are no diagnostics. */
  readonly artifact: string | undefined;
  readonly diagnostics: readonly Diagnostic[];
  /** Allowed code that is probably a mistake. Only set if there are no diagnostics. */
  readonly warnings: readonly Diagnostic[];
  /** The version that a fragment's file defines, if there are no diagnostics. */
  readonly fragment?: FragmentVersion | undefined;
  /** The absolute paths of the plan and of its imports. */
  readonly sources: readonly string[];
  /** The texts of these files, by path. */
  readonly texts?: ReadonlyMap<string, string>;
  /** Maps pointers into the artifact to source positions, for a plan that could be run. */
  readonly places?: ReadonlyMap<string, Place>;
  /** The positions at which the text sets options of nodes, for a plan without diagnostics. */
  readonly options?: (() => NodeOption[]) | undefined;
}

/** The result for a file that has no artifact yet. */
export function newCompiled(file: string, diagnostics: readonly Diagnostic[], sources: readonly string[]): Compiled {
  return { file, name: planNameOf(file), artifact: undefined, diagnostics, warnings: [], sources };
}

/** The maximum size of an artifact that the engine reads. */
const maxArtifact = 16 * 1024 * 1024;

/** Compiles one file, in a program that it shares with other files. */
export class PlanCompilation {
  private readonly sources: readonly string[];
  /** The source texts by the paths in source positions. */
  private readonly own: ReadonlySet<string>;
  private readonly shown: string;
  private readonly path: string;

  constructor(
    private readonly project: Project,
    private readonly options: CompilerOptions,
    private readonly program: PlanProgram,
    private readonly root: string,
    private readonly file: string,
  ) {
    this.path = resolve(file);
    this.sources = program.filesOf(this.path);
    this.own = new Set(this.sources.map((each) => program.shown(each)));
    this.shown = program.shown(this.path);
  }

  /** Returns the position for a span number from the sandbox, if it is in the plan's own files. */
  private readonly placeOf = (span: unknown): Place | undefined => {
    const place = this.program.spans.find(span);
    return place !== undefined && this.own.has(place.file) ? place : undefined;
  };

  private done(diagnostics: readonly Diagnostic[], more: Partial<Compiled> = {}): Compiled {
    return {
      ...newCompiled(this.file, inOrder(diagnostics), this.sources),
      texts: new Map(
        this.sources.flatMap((source) => {
          const known = this.program.textOf(source);
          return known === undefined ? [] : [[source, known.text] as const];
        }),
      ),
      ...more,
    };
  }

  private refused(code: string, message: string, hint = ""): Compiled {
    return this.done([diagnostic(code, message, startOf(this.shown), { hint })]);
  }

  /** Returns the errors in the text. There are none if the plan can be run. */
  check(): Compiled | undefined {
    if (!isInProject(this.path, this.root))
      return this.refused(
        "outside_project",
        `the plan is outside of ${this.root}`,
        "pass the project's folder with --project; a link counts as the file that it refers to",
      );
    if (reservedNames.includes(planNameOf(this.file)))
      return this.refused(
        "reserved_name",
        "a plan cannot have this name, because its artifact would replace another file",
        "give the plan another name",
      );
    const refused = this.sources.flatMap((source) => this.program.textOf(source)?.refusals ?? []);
    if (refused.length > 0) return this.done(refused);
    const types = this.options.types ?? "with types";
    const diagnostics = this.sources.flatMap((source) => this.program.check(source, types));
    return diagnostics.length > 0 ? this.done(diagnostics) : undefined;
  }

  /** Returns the plan and its imports as JavaScript. */
  modules(): Module[] {
    return this.sources.map((source) => this.program.emit(source));
  }

  /** Checks the result of a plan that was run, and creates its artifact. */
  async finish({ error, built }: Pick<Outcome, "error" | "built">): Promise<Compiled> {
    if (error !== undefined) return this.done([this.failed(error)]);
    if (definesFragment(this.file)) return this.finishFragment(readResult(built, "fragment"));
    if (definesTests(this.file)) return await this.finishTests(readResult(built, "tests"));
    return await this.finishPlan(readResult(built, "plan"));
  }

  private failed(error: Failure): Diagnostic {
    const span = this.placeOf(error.span);
    const place =
      (error.code === "plan_threw" ? (this.program.placeOfStack(error.stack, this.sources) ?? span) : span) ??
      this.program.placeOfExport(this.sources[0]!) ??
      startOf(this.shown);
    return diagnostic(error.code, error.message, place, { hint: error.hint });
  }

  private finishFragment(built: Built["fragment"]): Compiled {
    const made = this.madeFragment(built);
    return "code" in made ? this.done([made]) : this.done([], { fragment: made });
  }

  /** Returns the version of a fragment that a plan uses, or the error in its file. */
  private madeFragment(built: Built["fragment"]): FragmentVersion | Diagnostic {
    const { name, version } = built;
    const place = this.placeOf(built.$span) ?? startOf(this.shown);
    const wanted = fragmentPath(name, version);
    const refuse = (code: string, message: string, span: number, hint: string): Diagnostic =>
      diagnostic(code, message, this.placeOf(span) ?? place, { hint });
    if (!`/${place.file}`.endsWith(`/${wanted}`)) {
      const message = `\`${name}\` of version ${version} is defined in ${place.file}`;
      return refuse("name_mismatch", message, built.$name, `its file is ${wanted}`);
    }
    const file = resolve(this.root, place.file);
    const texts = this.program.filesOf(file).map((path) => ({ path, text: this.program.source(path)!.text }));
    const made = { name, version, sha256: digestOf(file, texts) };
    const message = changedSince(file, made);
    const hint = "give it a greater version, or restore its sources and those of what it imports";
    return message === undefined ? made : refuse("published_version", message, built.$version, hint);
  }

  private async finishPlan(built: Built["plan"]): Promise<Compiled> {
    const fragments = built.fragments.map(({ fragment }) => this.madeFragment(fragment));
    const refused = fragments.filter((each) => "code" in each);
    if (refused.length > 0) return this.done(refused);
    const versions = fragments.filter((each) => "sha256" in each);
    const places = this.newPlaces();
    const text = prettyJson(planArtifact(built, places, this.project.declared, versions));
    const verdict = await this.options.checker?.plan(text, planNameOf(this.shown));
    const problems = [...(verdict?.problems ?? []), ...cacheProblems(built.nodes, verdict)];
    const made = this.judged(text, places, problems, verdict?.warnings);
    return made.artifact === undefined ? made : { ...made, options: () => this.optionsOf(built) };
  }

  private async finishTests(built: Built["tests"]): Promise<Compiled> {
    const places = this.newPlaces();
    const text = prettyJson(testsArtifact(built, places, this.project.declared));
    const problems = [...((await this.options.checker?.tests(text))?.problems ?? [])];
    const name = planNameOf(this.shown);
    const message = `the tests are those of \`${built.tests_of}\`, but the file is called ${name}.test.ts`;
    if (built.tests_of !== name) problems.push({ ...noProblem, code: "name_mismatch", pointer: "/tests_of", message });
    return this.judged(text, places, problems);
  }

  private newPlaces(): Places {
    const textOf = (shown: string): string => this.program.source(shown)!.text;
    return new Places(this.placeOf, new Map([...this.own].map((shown) => [shown, textOf(shown)])));
  }

  /** Returns the artifact, unless there are errors in it. */
  private judged(
    text: string,
    places: Places,
    problems: readonly Problem[],
    warnings: readonly Problem[] = [],
  ): Compiled {
    const placed = ({ code, message, hint, pointer }: Problem): Diagnostic => {
      const place = places.above(pointer) ?? startOf(this.shown);
      return diagnostic(code, this.withoutPlace(message), place, { hint, pointer });
    };
    const bytes = Buffer.byteLength(text);
    if (bytes > maxArtifact)
      return this.refused("file_too_large", `the artifact has ${bytes} bytes; at most ${maxArtifact} are allowed`);
    if (problems.length > 0) return this.done(problems.map(placed), { places: places.byPointer });
    const named = warnings.map((each) =>
      each.node === "" ? each : { ...each, message: `node \`${each.node}\` ${each.message}` },
    );
    return this.done([], { artifact: text, warnings: inOrder(named.map(placed)), places: places.byPointer });
  }

  /** Returns a sentence of the engine, which may end with a position in one of the plan's files. */
  private withoutPlace(message: string): string {
    const [whole, file = ""] = / \(([^()]+):\d+:\d+\)$/.exec(message) ?? [""];
    return this.own.has(file) ? message.slice(0, -whole.length) : message;
  }

  /** Returns the options of all nodes, in the order of the nodes. */
  private optionsOf(built: Built["plan"]): NodeOption[] {
    const given = built.nodes.flatMap((node): GivenOption[] => {
      const params = this.project.declared.ops.find((each) => each.name === node.op)?.params ?? [];
      const sections: [Readonly<Record<string, number>>, JsonObject][] = [
        [node.$fields, { ...node.params, $as: node.node_id }],
        [node.$limits, node.limits],
      ];
      return sections.flatMap(([spans, values]) =>
        Object.entries(spans).flatMap(([field, span]) => {
          const place = this.placeOf(span);
          const { kind = "", choices = [] } = params.find((each) => each.name === field) ?? {};
          return place === undefined ? [] : [{ node: node.node_id, field, place, value: values[field], kind, choices }];
        }),
      );
    });
    return optionsOf(given, this.program, this.shown);
  }
}

const noProblem: Problem = { code: "", pointer: "", message: "", hint: "", node: "", source: "" };

/** Reports each cache whose `by` differs from the inputs that its rows depend on according to the engine. */
function cacheProblems(nodes: Built["plan"]["nodes"], verdict: Verdict | undefined): Problem[] {
  const named = (all: readonly string[]): string => (all.length === 0 ? "nothing" : all.join(", "));
  return nodes.flatMap(({ node_id: node, $cacheBy: by }, index) => {
    const key = verdict?.caches[node];
    if (by === undefined || key === undefined) return [];
    if (by.length === key.length && key.every((each) => by.includes(each))) return [];
    return [
      {
        ...noProblem,
        code: "cache_key_mismatch",
        pointer: `/nodes/${index}/cache`,
        message: `\`by\` says that the rows depend on ${named(by)}, but they depend on ${named(key)}`,
        hint: `write by: [${key.map((each) => (each === "user" ? '"user"' : each)).join(", ")}]`,
        node,
      },
    ];
  });
}
