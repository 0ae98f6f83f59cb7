// compile.ts: compiles plans in TypeScript to artifacts, or to lists of all their errors.
import { basename, relative, resolve, sep } from "node:path";

import { bindings } from "./bindings.js";
import { fallbackCapability, fragmentCapability, type FurtherPart, furtherOps, furtherParts } from "./capabilities.js";
import type { Checker, Problem, Verdict } from "./checker.js";
import { type Diagnostic, diagnostic, inOrder, type Place, startOf } from "./diagnostic.js";
import type { Failure } from "./failure.js";
import { reservedNames } from "./folder.js";
import { changedSince, definesFragment, digestOf, fragmentPath, type FragmentVersion } from "./fragment_index.js";
import type { Limits, Module } from "./interpreter.js";
import { ExactInteger, type Json, prettyJson, sha256 } from "./json.js";
import { type GivenOption, type NodeOption, optionsOf } from "./options.js";
import { isInProject, type Texts } from "./plan_files.js";
import { type BuiltTests, definesTests, testArtifact, testsJson } from "./plan_tests.js";
import { tooDeep } from "./plan_text.js";
import { type Emitted, PlanProgram, ProgramCache } from "./program.js";
import type { Project } from "./project.js";
import { EngineError, ProjectError } from "./project_error.js";
import { digestsForPlan, digestsForTests } from "./registry_digests.js";
import { Runner } from "./runner.js";
import { BadResult, readResult } from "./sandbox_result.js";
import { SpanTable } from "./transform.js";
import { pointerTo } from "./values.js";

/** Written into artifacts; changes when the same plan would produce other bytes. */
const builtBy = "dslc 1";

/** What a plan may use while it is built. */
export const defaultLimits: Limits = { timeMs: 1000, memoryMb: 64 };

/** How a compiler works. */
export interface CompilerOptions {
  readonly limits?: Limits;
  /** Paths in artifacts are relative to it; imports stay inside. Default: the project's root. */
  readonly root?: string;
  /** The sandbox and the engine's rules hold without them as well. */
  readonly types?: "with types" | "without types";
  /** Holds artifacts to the rules of the engine; without one nothing is checked. */
  readonly checker?: Checker | undefined;
}

/** The result for one plan. */
export interface Compiled {
  /** As it was given. */
  readonly file: string;
  readonly name: string;
  /** The artifact, if there are no diagnostics. */
  readonly artifact: string | undefined;
  readonly diagnostics: readonly Diagnostic[];
  /** Probable mistakes that are allowed; only if there are no diagnostics. */
  readonly warnings: readonly Diagnostic[];
  /** The version that the file of a fragment defines, if there are no diagnostics. */
  readonly fragment?: FragmentVersion | undefined;
  /** Absolute; the plan and what it imports. */
  readonly sources: readonly string[];
  /** The texts of these files, by path. */
  readonly texts?: ReadonlyMap<string, string>;
  /** Pointer into the artifact → the place of its text; for a plan that could be run. */
  readonly places?: ReadonlyMap<string, Place>;
  /** The places where the text sets options of nodes; for a plan without diagnostics. */
  readonly options?: (() => NodeOption[]) | undefined;
}

interface BuiltNode {
  node_id: string;
  op: string;
  inputs: string[];
  params: Record<string, unknown>;
  fallback?: Record<string, unknown>;
  limits: Record<string, unknown>;
  $span: number;
  $fields: Record<string, number>;
  $fallback?: Record<string, number>;
  $limits: Record<string, number>;
  $cacheBy?: string[];
}
/** The output of the sandbox. */
interface Ran {
  readonly error?: Failure | undefined;
  readonly built?: unknown;
}

interface BuiltFragment {
  name: string;
  version: string;
  $span: number;
  $name: number;
  $version: number;
}
interface BuiltUse {
  id: string;
  fragment: BuiltFragment;
  args: Record<string, unknown>;
  nodes: string[];
  result: string;
  $span: number;
  $args: Record<string, number>;
}
interface Built {
  plan_name: string;
  nodes: BuiltNode[];
  outputs: string[];
  expr_table: Record<string, unknown>;
  pred_table: Record<string, unknown>;
  fallback_plan?: Record<string, unknown>;
  $fallback?: Record<string, number>;
  fragments: BuiltUse[];
  capabilities: { id: string; payload?: unknown; $span: number }[];
  $nameSpan: number;
  $outputSpan: number;
}

/** "feed" of "plans/feed.plan.ts" and of "plans/feed.test.ts". */
export function planNameOf(file: string): string {
  return basename(file).replace(/(\.plan|\.test)?\.ts$/, "");
}

/** What the artifact of a source is called: "feed.json", or "feed.tests.json" of tests. */
export function artifactNameOf(file: string): string {
  return planNameOf(file) + (definesTests(file) ? testArtifact : ".json");
}

const usesPointer = `${pointerTo("/extensions", fragmentCapability)}/uses`;
/** The engine reads no larger artifact. */
const maxArtifact = 16 * 1024 * 1024;

/** Compiles plans of one project. Close it: it keeps a worker. */
export class Compiler {
  private runner: Runner | undefined;
  private cache = new ProgramCache();
  private readonly generated: string;
  private readonly root: string;

  constructor(
    private readonly project: Project,
    private readonly options: CompilerOptions = {},
  ) {
    this.generated = bindings(project.declared);
    this.root = resolve(options.root ?? project.root);
  }

  /**
   * Compiles plans together: shared files are read once. `texts` replace files, by absolute path. Any failure of one
   * plan is a diagnostic of that plan, and the others are compiled.
   */
  async compile(files: readonly string[], texts: Texts = new Map()): Promise<Compiled[]> {
    const out: Promise<Compiled>[] = [];
    while (out.length < files.length) {
      const rest = files.slice(out.length);
      try {
        await this.compileInto(out, rest, texts);
      } catch (error) {
        // The failure may have left TypeScript's cache inconsistent, so later plans get a new program.
        this.cache = new ProgramCache();
        const file = files[out.length]!;
        // If a program of several plans fails, the failing plan is unknown, so each plan is compiled alone.
        if (rest.length > 1 && error instanceof ProgramFailure)
          for (const each of rest) out.push(...(await this.compile([each], texts)).map((one) => Promise.resolve(one)));
        else out.push(Promise.resolve(this.failedPlan(file, error instanceof ProgramFailure ? error.cause : error)));
      }
    }
    return await Promise.all(out);
  }

  private programOf(files: readonly string[], spans: SpanTable, texts: Texts): PlanProgram {
    try {
      const paths = files.map((file) => resolve(file));
      return new PlanProgram(this.root, paths, this.generated, spans, this.cache, texts);
    } catch (error) {
      throw new ProgramFailure("the program cannot be created", { cause: error });
    }
  }

  /** Appends what becomes of each plan. Throws at the first on which TypeScript fails. */
  private async compileInto(out: Promise<Compiled>[], files: readonly string[], texts: Texts): Promise<void> {
    const spans = new SpanTable();
    const program = this.programOf(files, spans, texts);
    const runner = (this.runner ??= new Runner({
      limits: this.options.limits ?? defaultLimits,
      library: program.library(),
    }));
    runner.begin();
    // A pipeline: while one plan runs in the worker, the next is compiled here, and the engine checks the previous
    // ones.
    let running: Promise<unknown> = Promise.resolve();
    try {
      for (const file of files) {
        const plan = new PlanCompilation(this.project, this.options, program, spans, this.root, file);
        const refusal = plan.check();
        if (refusal !== undefined) {
          out.push(Promise.resolve(refusal));
          continue;
        }
        const modules = plan.modules();
        await running;
        const ran = runner.run({ modules, entry: modules[0]!.id });
        running = ran;
        const finished = ran
          .then((result) => plan.finish(result))
          .catch((error: unknown) => {
            if (error instanceof EngineError) throw error;
            return this.failedPlan(file, error);
          });
        finished.catch(() => undefined); // it is awaited once all plans are under way
        out.push(finished);
      }
    } finally {
      await running;
    }
  }

  /** What is said of a plan on which the compiler itself fails. */
  private failedPlan(file: string, error: unknown): Compiled {
    const place = startOf(relative(this.root, resolve(file)).split(sep).join("/"));
    const message = error instanceof Error ? error.message : String(error);
    const said =
      error instanceof RangeError && message.includes("call stack")
        ? tooDeep(place)
        : error instanceof BadResult
          ? diagnostic("bad_result", `the plan changed objects of the compiler: ${message}`, place, {
              hint: "a plan must not change prototypes, or objects that it did not create",
            })
          : error instanceof ProjectError
            ? diagnostic("bad_project", message, place)
            : diagnostic("compiler_failed", `the compiler failed on this plan: ${message}`, place, {
                hint: "report this as a bug of dslc, and attach the plan",
              });
    return {
      file,
      name: planNameOf(file),
      artifact: undefined,
      diagnostics: [said],
      warnings: [],
      sources: [resolve(file)],
    };
  }

  /** Ends the worker. */
  async close(): Promise<void> {
    await this.runner?.close();
  }
}

/** TypeScript fails before it can be said on which plan. */
class ProgramFailure extends Error {}

class PlanCompilation {
  private readonly sources: readonly string[];
  private readonly shown: string;
  private readonly path: string;

  constructor(
    private readonly project: Project,
    private readonly options: CompilerOptions,
    private readonly program: PlanProgram,
    private readonly spans: SpanTable,
    private readonly root: string,
    private readonly file: string,
  ) {
    this.path = resolve(file);
    this.sources = program.filesOf(this.path);
    this.shown = relative(root, this.path).split(sep).join("/");
  }

  /** The place of a span number from the sandbox, if it is in the plan's own files. */
  private placeOf(span: unknown): Place | undefined {
    const place = this.spans.find(span);
    return place !== undefined && this.sources.some((each) => this.program.shown(each) === place.file)
      ? place
      : undefined;
  }

  private done(
    diagnostics: readonly Diagnostic[],
    artifact?: string,
    more: { fragment?: FragmentVersion; warnings?: readonly Diagnostic[] } = {},
  ): Compiled {
    return {
      file: this.file,
      name: planNameOf(this.file),
      artifact,
      fragment: more.fragment,
      diagnostics: inOrder(diagnostics),
      warnings: inOrder(more.warnings ?? []),
      sources: this.sources,
      texts: this.program.textsOf(this.sources),
    };
  }

  /** Returns the errors in the text; nothing if the plan can be run. */
  check(): Compiled | undefined {
    if (!isInProject(this.path, this.root))
      return this.done([
        diagnostic("outside_project", `the plan is outside of ${this.root}`, startOf(this.shown), {
          hint: "pass the project's folder with --project; a link counts as the file that it refers to",
        }),
      ]);
    if (reservedNames.includes(planNameOf(this.file)))
      return this.done([
        diagnostic(
          "reserved_name",
          "a plan cannot have this name, because its artifact would replace another file",
          startOf(this.shown),
          { hint: "give the plan another name" },
        ),
      ]);
    const refused = this.program.refusedTexts(this.sources);
    if (refused.length > 0) return this.done(refused);
    const diagnostics = this.sources.flatMap((source) =>
      this.program.check(source, this.options.types ?? "with types"),
    );
    return diagnostics.length > 0 ? this.done(diagnostics) : undefined;
  }

  /** The plan and what it imports as JavaScript. */
  modules(): Module[] {
    return this.sources.map((source) => this.program.emit(source).module);
  }

  /** Checks the result of a plan that ran, and makes its artifact. */
  async finish({ error, built }: Ran): Promise<Compiled> {
    if (error !== undefined) return this.done([this.failed(error)]);
    if (definesFragment(this.file)) return this.finishFragment(readResult<BuiltFragment>(built, "fragment"));
    if (definesTests(this.file)) return await this.finishTests(readResult<BuiltTests>(built, "tests"));
    return await this.finishPlan(readResult<Built>(built, "plan"));
  }

  private failed(error: Failure): Diagnostic {
    const span = this.placeOf(error.span);
    const place =
      (error.code === "plan_threw" ? (this.program.placeOfStack(error.stack, this.sources) ?? span) : span) ??
      this.program.placeOfExport(this.sources[0]!) ??
      startOf(this.shown);
    return diagnostic(error.code, error.message, place, { hint: error.hint });
  }

  private finishFragment(built: BuiltFragment): Compiled {
    const made = this.madeFragment(built);
    return "diagnostic" in made ? this.done([made.diagnostic]) : this.done([], undefined, { fragment: made });
  }

  /** The version of a fragment that a plan uses, or what is wrong with its file. */
  private madeFragment(built: BuiltFragment): FragmentVersion | { diagnostic: Diagnostic } {
    const { name, version } = built;
    const place = this.placeOf(built.$span) ?? startOf(this.shown);
    const wanted = fragmentPath(name, version);
    const refuse = (code: string, message: string, span: number, hint: string): { diagnostic: Diagnostic } => ({
      diagnostic: diagnostic(code, message, this.placeOf(span) ?? place, { hint }),
    });
    if (!`/${place.file}`.endsWith(`/${wanted}`)) {
      const message = `\`${name}\` of version ${version} is defined in ${place.file}`;
      return refuse("name_mismatch", message, built.$name, `its file is ${wanted}`);
    }
    const file = resolve(this.root, place.file);
    const texts = this.program.filesOf(file).map((path) => ({ path, text: this.program.emit(path).text }));
    const made = { name, version, sha256: digestOf(file, texts) };
    const message = changedSince(file, made);
    const hint = "give it a greater version, or restore its sources and those of what it imports";
    return message === undefined ? made : refuse("published_version", message, built.$version, hint);
  }

  private async finishPlan(built: Built): Promise<Compiled> {
    const fragments = built.fragments.map(({ fragment }) => this.madeFragment(fragment));
    const refused = fragments.flatMap((each) => ("diagnostic" in each ? [each.diagnostic] : []));
    if (refused.length > 0) return this.done(refused);
    const places = new Map<string, Place>();
    const text = prettyJson(this.artifactOf(built, places));
    const verdict = await this.options.checker?.plan(text, planNameOf(this.shown));
    const problems = [...(verdict?.problems ?? []), ...cacheProblems(built.nodes, verdict)];
    const made = this.judged({ problems, warnings: verdict?.warnings ?? [] }, places, text);
    return made.artifact === undefined ? made : { ...made, options: () => this.optionsOf(built) };
  }

  /** The options of all nodes, in the order of the nodes. */
  private optionsOf(built: Built): NodeOption[] {
    const given = built.nodes.flatMap((node): GivenOption[] => {
      const op = this.project.declared.ops.find((each) => each.name === node.op);
      const all = [
        ...Object.entries(node.$fields).map(([field, span]) => ({ field, span, value: node.params[field] })),
        ...Object.entries(node.$limits).map(([field, span]) => ({ field, span, value: node.limits[field] })),
      ];
      return all.flatMap(({ field, span, value }) => {
        const place = this.placeOf(span);
        const param = op?.params.find((each) => each.name === field);
        const known = { kind: param?.kind ?? "", choices: param?.choices ?? [] };
        const is = field === "$as" ? node.node_id : value;
        return place === undefined ? [] : [{ node: node.node_id, field, place, value: is, ...known }];
      });
    });
    return optionsOf(given, this.program.texts(this.shown));
  }

  /** The sentence of the engine, which may end with a place in one of the plan's files. */
  private withoutPlace(message: string): string {
    const [whole, file] = / \(([^()]+):\d+:\d+\)$/.exec(message) ?? ["", ""];
    const isOurs = this.sources.some((each) => this.program.shown(each) === file);
    return isOurs ? message.slice(0, -whole.length) : message;
  }

  /** The artifact, unless there is something wrong with it. */
  private judged(
    { problems, warnings }: Pick<Verdict, "problems" | "warnings">,
    places: ReadonlyMap<string, Place>,
    text: string,
  ): Compiled {
    const placed = ({ code, message, hint, pointer }: Problem): Diagnostic => {
      const place = placeAbove(places, pointer) ?? startOf(this.shown);
      return diagnostic(code, this.withoutPlace(message), place, { hint, pointer });
    };
    const bytes = Buffer.byteLength(text);
    const message = `the artifact has ${bytes} bytes; at most ${maxArtifact} are allowed`;
    if (bytes > maxArtifact) return this.done([diagnostic("file_too_large", message, startOf(this.shown))]);
    if (problems.length > 0) return { ...this.done(problems.map(placed)), places };
    const named = warnings.map((each) => (each.node === "" ? each : { ...each, message: nodeMessage(each) }));
    return { ...this.done([], text, { warnings: named.map(placed) }), places };
  }

  private async finishTests(built: BuiltTests): Promise<Compiled> {
    const places = new Map<string, Place>();
    const emitted = this.sources.map((source) => this.program.emit(source));
    const fields = testsJson(
      built,
      {
        value: fromSandbox,
        tree: (tree) => plainTree(tree, "", () => undefined),
        place: (span) => this.placeOf(span),
        span: (place) => spanJson(place, emitted),
      },
      places,
    );
    const text = prettyJson({
      schema_version: 1,
      built_by: builtBy,
      registry_digests: digestsForTests(fields["tests"], this.project.declared),
      source_files: sourceFiles(emitted),
      ...fields,
    });
    const verdict = await this.options.checker?.tests(text);
    const problems = [...(verdict?.problems ?? [])];
    const name = planNameOf(this.shown);
    if (built.tests_of !== name)
      problems.push({
        ...noProblem,
        code: "name_mismatch",
        pointer: "/tests_of",
        message: `the tests are those of \`${built.tests_of}\`, and the file is called ${name}.test.ts`,
      });
    return this.judged({ problems, warnings: [] }, places, text);
  }

  /** The capabilities that the plan needs, each once and in order, with the first part that does. */
  private capabilitiesOf(built: Built): FurtherPart[] {
    const { declared } = this.project;
    const all: FurtherPart[] = [
      ...(built.fragments.length === 0 ? [] : [{ capability: fragmentCapability, pointer: `${usesPointer}/0` }]),
      ...built.nodes.flatMap((node, index) => furtherParts(node, `/nodes/${index}`, declared)),
      ...(built.fallback_plan === undefined ? [] : [{ capability: fallbackCapability, pointer: "/fallback_plan" }]),
      ...built.capabilities.map(({ id }) => ({ capability: id, pointer: pointerTo("/extensions", id) })),
      ...(["expr_table", "pred_table"] as const).flatMap((field) =>
        Object.entries(built[field]).flatMap(([id, tree]) => furtherOps(tree, `/${field}/${id}`, declared)),
      ),
    ];
    const first = new Map<string, FurtherPart>();
    for (const part of all) if (!first.has(part.capability)) first.set(part.capability, part);
    return [...first.values()].sort((a, b) => (a.capability < b.capability ? -1 : 1));
  }

  /** A use of a fragment, as the artifact has it. */
  private useJson(
    use: BuiltUse,
    pointer: string,
    note: (pointer: string, span: unknown) => Place | undefined,
    emitted: readonly Emitted[],
  ): Json {
    const place = note(pointer, use.$span);
    for (const [name, span] of Object.entries(use.$args)) note(`${pointer}/args/${name}`, span);
    const made = this.madeFragment(use.fragment) as FragmentVersion;
    return {
      id: use.id,
      fragment: made.name,
      version: made.version,
      sha256: made.sha256,
      args: fromSandbox(use.args),
      nodes: use.nodes,
      result: use.result,
      ...(place === undefined ? {} : { place: spanJson(place, emitted) }),
    };
  }

  /** The artifact. Stores the place of the text for each pointer in `places`. */
  private artifactOf(built: Built, places: Map<string, Place>): { [field: string]: Json } {
    const emitted = this.sources.map((source) => this.program.emit(source));
    const note = (pointer: string, span: unknown): Place | undefined => {
      const place = this.placeOf(span);
      if (place !== undefined) places.set(pointer, place);
      return place;
    };
    const noteFields = (pointer: string, spans: Record<string, number> | undefined): void => {
      for (const [field, span] of Object.entries(spans ?? {}))
        note(field === "" ? pointer : `${pointer}/${field}`, span);
    };
    noteFields("/fallback_plan", built.$fallback);
    note("/plan_name", built.$nameSpan);
    note("", built.$nameSpan);
    note("/outputs", built.$outputSpan);
    const treeSpans: Record<string, Json> = {};
    const table = (field: string, trees: Record<string, unknown>): Json =>
      Object.fromEntries(
        Object.entries(trees).map(([id, tree]) => [
          id,
          plainTree(tree, "", (path, span) => {
            const place = note(`/${field}/${id}${path}`, span);
            if (place !== undefined) treeSpans[id + path] = spanJson(place, emitted);
          }),
        ]),
      );
    const exprs = table("expr_table", built.expr_table);
    const preds = table("pred_table", built.pred_table);
    const uses = built.fragments.map((use, index) => this.useJson(use, `${usesPointer}/${index}`, note, emitted));
    for (const { id, $span } of built.capabilities) note(pointerTo("/extensions", id), $span);
    const extensions = Object.fromEntries([
      ...(uses.length === 0 ? [] : [[fragmentCapability, { uses }] as const]),
      ...built.capabilities.flatMap((each) =>
        "payload" in each ? [[each.id, fromSandbox(each.payload)] as const] : [],
      ),
    ]);
    const required = this.capabilitiesOf(built);
    for (const [index, { pointer }] of required.entries()) {
      const place = placeAbove(places, pointer);
      if (place !== undefined) places.set(`/capabilities_required/${index}`, place);
    }
    const nodes = built.nodes.map((node, index): Json => {
      const pointer = `/nodes/${index}`;
      const place = note(pointer, node.$span);
      for (const [field, span] of Object.entries(node.$fields))
        note(field === "$as" ? `${pointer}/node_id` : `${pointer}/params/${field}`, span);
      noteFields(`${pointer}/fallback`, node.$fallback);
      noteFields(pointer, node.$limits);
      return {
        node_id: node.node_id,
        op: node.op,
        inputs: node.inputs,
        params: fromSandbox(node.params),
        ...(fromSandbox(node.limits) as Record<string, Json>),
        ...(node.fallback === undefined ? {} : { fallback: fromSandbox(node.fallback) }),
        ...(place === undefined ? {} : { source_span: spanJson(place, emitted) }),
      };
    });
    const artifact = {
      schema_version: 1,
      plan_name: built.plan_name,
      built_by: builtBy,
      nodes,
      outputs: built.outputs,
      ...(built.fallback_plan === undefined ? {} : { fallback_plan: fromSandbox(built.fallback_plan) }),
      source_files: sourceFiles(emitted),
      ...(required.length === 0 ? {} : { capabilities_required: required.map((each) => each.capability) }),
      ...(Object.keys(extensions).length === 0 ? {} : { extensions }),
      ...(Object.keys(built.expr_table).length === 0 ? {} : { expr_table: exprs }),
      ...(Object.keys(built.pred_table).length === 0 ? {} : { pred_table: preds }),
      ...(Object.keys(treeSpans).length === 0 ? {} : { source_spans: treeSpans }),
    };
    return { ...artifact, registry_digests: digestsForPlan(artifact, this.project.declared) };
  }
}

const noProblem: Problem = { code: "", pointer: "", message: "", hint: "", node: "", source: "" };

const nodeMessage = ({ node, message }: Problem): string => `node \`${node}\` ${message}`;

/** Reports each cache whose `by` differs from what the engine says its rows depend on. */
function cacheProblems(nodes: readonly BuiltNode[], verdict: Verdict | undefined): Problem[] {
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
        message: `\`by\` says that the rows depend on ${named(by)}, and they depend on ${named(key)}`,
        hint: `write by: [${key.map((each) => (each === "user" ? '"user"' : each)).join(", ")}]`,
        node,
      },
    ];
  });
}

/** A place as artifacts have it: the file by its number among the sources. */
function spanJson(place: Place, emitted: readonly Emitted[]): Json {
  return {
    file: Math.max(
      0,
      emitted.findIndex((each) => each.shown === place.file),
    ),
    line: place.line,
    column: place.column,
    end_line: place.endLine,
    end_column: place.endColumn,
  };
}

function sourceFiles(emitted: readonly Emitted[]): string[] {
  return emitted.map((each) => `${each.shown}#sha256=${sha256(each.text)}`);
}

/** The place of the text for a pointer, or for the closest part above it. */
function placeAbove(places: ReadonlyMap<string, Place>, pointer: string): Place | undefined {
  for (let at = pointer; ; at = at.slice(0, at.lastIndexOf("/"))) {
    const place = places.get(at);
    if (place !== undefined || at === "") return place;
  }
}

/** A value that came out of the sandbox; integers that no number holds come as `{ $int }`. */
function fromSandbox(value: unknown): Json {
  if (Array.isArray(value)) return value.map(fromSandbox);
  if (typeof value !== "object" || value === null) return value as Json;
  const digits = (value as Record<string, unknown>)["$int"];
  if (typeof digits === "string" && /^-?[1-9][0-9]{0,18}$/.test(digits)) return new ExactInteger(digits);
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, fromSandbox(field)]));
}

/** A tree without its spans, each of which is told with the path of its part. */
function plainTree(tree: unknown, path: string, tell: (path: string, span: unknown) => void): Json {
  const out = Object.create(null) as Record<string, Json>;
  for (const [name, field] of Object.entries(tree as Record<string, unknown>)) {
    const isPart = typeof field === "object" && field !== null && "op" in field;
    if (name === "$span") tell(path, field);
    else out[name] = isPart ? plainTree(field, `${path}/${name}`, tell) : fromSandbox(field);
  }
  return out;
}
