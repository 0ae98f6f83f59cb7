// fragments.ts: fragments: reusable parts of plans. A fragment has a version and arguments, and its nodes become nodes
// of the plan that uses it.
import { fieldsOf } from "./failures.js";
import type { CandidateSet, PlanContext } from "./generated.js";
import { argumentSpan, currentSpan, inFrame, PlanError, type SpanId } from "./places.js";
import { type Expr, runTimeValue, toValue, TreeNode, wrongType } from "./tokens.js";

declare const argument: unique symbol;

/** An argument of a fragment, as created by `arg`. */
export interface Argument<Value, Need extends "required" | "optional"> {
  readonly [argument]?: readonly [Value, Need];
}

/** The arguments of a fragment, by name. */
export type Arguments = Readonly<Record<string, Argument<unknown, "required" | "optional">>>;

/** The values that `build` of a fragment receives for its arguments. */
export type ArgumentValues<Args extends Arguments> = {
  readonly [Name in keyof Args]: Args[Name] extends Argument<infer Value, "required" | "optional"> ? Value : never;
};

type NamesOf<Args extends Arguments, Need extends "required" | "optional"> = {
  [Name in keyof Args]: Args[Name] extends Argument<unknown, infer Own> ? (Own extends Need ? Name : never) : never;
}[keyof Args];

/** The options of a use of a fragment. */
export type FragmentUse<Args extends Arguments> = {
  /** The name of the use. Followed by `__`, it is the prefix of the ids of its nodes. */
  readonly as: string;
  /** The minimum version, such as "2.1.0". */
  readonly atLeast?: string;
} & Pick<ArgumentValues<Args>, NamesOf<Args, "required">> &
  Partial<Pick<ArgumentValues<Args>, NamesOf<Args, "optional">>>;

/** A reusable part of plans. */
export interface Fragment<Args extends Arguments> {
  /** Creates the nodes of the fragment in the plan that is being built, and returns the fragment's result. */
  use(use: FragmentUse<Args>): CandidateSet;
}

/** The definition of a fragment. */
export interface FragmentDefinition<Args extends Arguments> {
  /** Letters, digits and `_`. The file is fragments/NAME/MAJOR.fragment.ts. */
  readonly name: string;
  /** MAJOR.MINOR.PATCH. A published version never changes. */
  readonly version: string;
  readonly args: Args;
  /** Creates the nodes, and returns the set that is the result. */
  readonly build: (context: PlanContext, args: ArgumentValues<Args>) => CandidateSet;
}

interface Standard<Value> {
  /** The value that is used if a use does not set the argument. */
  readonly default: Value;
}
interface Limits {
  readonly min?: number;
  readonly max?: number;
}

/** An argument with a default is optional. */
interface MakeArgument<Value, Options> {
  (options: Options & Standard<Value>): Argument<Value, "optional">;
  (options?: Options): Argument<Value, "required">;
}

type Kind = "int" | "float" | "bool" | "string" | "expr" | "set";

/** The value of an Argument. */
class ArgumentNode {
  constructor(
    readonly kind: Kind,
    readonly min: number | undefined,
    readonly max: number | undefined,
    readonly standard: unknown,
  ) {}

  /** The value in the form that `build` receives. */
  check(value: unknown, name: string, span: SpanId): unknown {
    if (this.kind === "expr") return toValue(value, span);
    if (value instanceof TreeNode) throw runTimeValue(value, span);
    const wanted = {
      int: "a whole number",
      float: "a finite number",
      bool: "true or false",
      string: "a string",
      set: "a set of candidates",
    }[this.kind];
    const isRight = {
      int: Number.isSafeInteger(value),
      float: Number.isFinite(value),
      bool: typeof value === "boolean",
      string: typeof value === "string",
      set: typeof value === "object" && value !== null,
    }[this.kind];
    if (!isRight) throw wrongType(wanted, value, span);
    const { min = -Infinity, max = Infinity } = this;
    if (typeof value === "number" && (value < min || value > max))
      throw new PlanError(
        "out_of_range",
        `\`${name}\` is ${value}, and must lie between ${this.min ?? "any"} and ${this.max ?? "any"}`,
        { span },
      );
    return value;
  }
}

function makeArgument(kind: Kind, known: readonly string[]) {
  return (options?: unknown): unknown => {
    const at = argumentSpan(0);
    const { given, spans } = fieldsOf(options ?? {}, "an object of limits", known, at);
    const limit = (field: "min" | "max"): number | undefined => {
      const value = given[field];
      const isRight = kind === "int" ? Number.isSafeInteger(value) : Number.isFinite(value);
      if (value !== undefined && !isRight) throw wrongType("a number", value, spans[field] ?? at);
      return value as number | undefined;
    };
    const made = new ArgumentNode(kind, limit("min"), limit("max"), given["default"]);
    if (made.standard !== undefined) made.check(made.standard, "default", spans["default"] ?? at);
    return made;
  };
}

/** The arguments of fragments. */
export const arg = {
  /** An integer that is known while the plan is built. */
  int: makeArgument("int", ["min", "max", "default"]) as MakeArgument<number, Limits>,
  /** A finite number that is known while the plan is built. */
  float: makeArgument("float", ["min", "max", "default"]) as MakeArgument<number, Limits>,
  /** A boolean that is known while the plan is built. */
  bool: makeArgument("bool", ["default"]) as MakeArgument<boolean, object>,
  /** A string that is known while the plan is built. */
  string: makeArgument("string", ["default"]) as MakeArgument<string, object>,
  /** An expression: a number for each row. */
  expr: makeArgument("expr", ["default"]) as MakeArgument<Expr, object>,
  /** The rows of other nodes. */
  set: makeArgument("set", []) as () => Argument<CandidateSet, "required">,
} as const;

/** Returns a version as numbers, or nothing if it is not a version. */
function versionOf(text: unknown): readonly number[] | undefined {
  if (typeof text !== "string" || !/^(0|[1-9]\d{0,5})(\.(0|[1-9]\d{0,5})){2}$/.test(text)) return undefined;
  return text.split(".").map(Number);
}

function wantVersion(text: unknown, span: SpanId): readonly number[] {
  const found = versionOf(text);
  if (found === undefined)
    throw new PlanError("bad_version", "a version must be MAJOR.MINOR.PATCH in digits, such as 2.1.0", { span });
  return found;
}

const isOlder = (a: readonly number[], b: readonly number[]): boolean => {
  const at = a.findIndex((each, index) => each !== b[index]);
  return at !== -1 && a[at]! < b[at]!;
};

/** The separator between the name of a use and the ids of its nodes. */
export const separator = "__";

/** Refuses a name that could be confused with the name of a node inside of a fragment. */
export function refuseSeparator(name: string, span: SpanId): void {
  if (name.includes(separator))
    throw new PlanError("reserved_name", `\`${separator}\` stands between the names of fragments and of their nodes`, {
      span,
      hint: "use another name",
    });
}

const uses: readonly string[] = ["as", "atLeast"];

/** A fragment in the form that the compiler reads. */
export interface FragmentJson {
  readonly name: string;
  readonly version: string;
  readonly $span: SpanId;
  readonly $name: SpanId;
  readonly $version: SpanId;
}

/** The options of a use of a fragment, as a plan states them. */
export interface GivenUse {
  readonly as: string;
  readonly span: SpanId;
  readonly asSpan: SpanId;
  readonly args: readonly (readonly [string, unknown])[];
  readonly spans: Readonly<Record<string, SpanId>>;
}

/** The plan that is being built, to which uses of fragments are added. */
interface UsingGraph {
  /** The context that `build` receives. */
  readonly context: object;
  addUse(fragment: FragmentJson, use: GivenUse, make: () => unknown): unknown;
}

class FragmentNode {
  constructor(
    readonly json: FragmentJson,
    readonly args: Readonly<Record<string, ArgumentNode>>,
    readonly build: (context: unknown, args: unknown) => unknown,
  ) {}

  use(options: unknown): unknown {
    const span = currentSpan();
    if (building === undefined)
      throw new PlanError("outside_of_build", "a fragment can be used only while a plan is built, inside `build`");
    const known = [...uses, ...Object.keys(this.args)];
    const at = argumentSpan(0);
    const { given, spans } = fieldsOf(options, "an object with as and arguments", known, at);
    const { as, atLeast } = given;
    if (typeof as !== "string") throw wrongType("the name of the use", as, spans["as"] ?? at);
    if (!/^[A-Za-z0-9_]+$/.test(as))
      throw new PlanError("bad_name", "the name of a use must consist of letters, digits and `_`", {
        span: spans["as"],
      });
    refuseSeparator(as, spans["as"] ?? at);
    if (atLeast !== undefined) this.checkVersion(atLeast, spans["atLeast"] ?? at);
    const args = Object.entries(this.args).flatMap(([name, { standard }]) => {
      const value = (Object.hasOwn(given, name) ? given[name] : undefined) ?? standard;
      if (value === undefined)
        throw new PlanError("missing_argument", `the argument \`${name}\` of \`${this.json.name}\` is missing`, {
          span: at,
        });
      return [[name, this.args[name]!.check(value, name, spans[name] ?? at)] as const];
    });
    const { context } = building;
    const make = (): unknown => this.build(context, Object.fromEntries(args));
    return building.addUse(this.json, { as, span, asSpan: spans["as"] ?? at, args, spans }, make);
  }

  private checkVersion(atLeast: unknown, span: SpanId): void {
    const { name, version } = this.json;
    if (isOlder(wantVersion(version, span), wantVersion(atLeast, span)))
      throw new PlanError(
        "fragment_too_old",
        `\`${name}\` is of version ${version} here, but at least ${String(atLeast)} is required`,
        { span, hint: "import a later one" },
      );
  }
}

let building: UsingGraph | undefined;

/** Builds a plan whose `build` may use fragments. */
export function whileBuilding<Result>(graph: UsingGraph, build: () => Result): Result {
  building = graph;
  try {
    return build();
  } finally {
    building = undefined;
  }
}

/** Checks the definition of a fragment. */
export function defineFragmentNode(options: unknown): object {
  const at = argumentSpan(0);
  const wanted = "an object with name, version, args and build";
  const { given, spans } = fieldsOf(options, wanted, ["name", "version", "args", "build"], at);
  const { name, version, build } = given;
  const nameSpan = spans["name"] ?? at;
  if (typeof name !== "string") throw wrongType("the name of the fragment", name, nameSpan);
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name))
    throw new PlanError("bad_name", "the name of a fragment must be a letter, followed by letters, digits and `_`", {
      span: nameSpan,
    });
  wantVersion(version, spans["version"] ?? at);
  if (typeof build !== "function") throw wrongType("a function that builds the fragment", build, spans["build"] ?? at);
  const args = argumentsOf(given["args"], spans["args"] ?? at);
  const json = {
    name,
    version: version as string,
    $span: currentSpan(),
    $name: nameSpan,
    $version: spans["version"] ?? at,
  };
  return new FragmentNode(json, args, build as FragmentNode["build"]);
}

function argumentsOf(value: unknown, span: SpanId): Readonly<Record<string, ArgumentNode>> {
  const names = typeof value === "object" && value !== null ? Object.keys(value) : [];
  const { given, spans } = fieldsOf(value, "an object of arguments, each made by arg", names, span);
  for (const name of names) {
    const at = spans[name] ?? span;
    if (uses.includes(name)) throw new PlanError("reserved_name", `each use has a field \`${name}\``, { span: at });
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name))
      throw new PlanError("bad_name", "the name of an argument must consist of letters, digits and `_`", { span: at });
    if (!(given[name] instanceof ArgumentNode)) throw wrongType("what arg makes", given[name], at);
  }
  return given as Readonly<Record<string, ArgumentNode>>;
}

/** The fragment that a file exports by default. */
export function fragmentOf(exported: unknown): FragmentJson {
  if (exported instanceof FragmentNode) return exported.json;
  throw new PlanError(
    "no_fragment",
    "the file's default export must be a fragment: write `export default defineFragment({ name, version, args, build })`",
  );
}

/** Calls the function that builds a fragment. Errors without a source position get the position of the use. */
export const inUse = <Result>(span: SpanId, make: () => Result): Result => inFrame(span, [], make);
