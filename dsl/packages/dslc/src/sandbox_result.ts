// sandbox_result.ts: validates the sandbox's output, which is not trusted, because a plan can change everything in the
// sandbox.
import type { Failure } from "./failure.js";
import { isObject, parsedJson } from "./json.js";

/** The maximum nesting of arrays and objects in an artifact. The engine has the same limit. */
const maxDepth = 1000;
/**
 * The maximum length of a message. Longer messages are truncated, because a plan can throw a text of many megabytes.
 */
const maxMessage = 10_000;
const maxStack = 100_000;

/** The error for a result that does not have the form in which the authoring package returns it. */
export class BadResult extends Error {}

/** Throws unless a value has the form of a `T`. */
interface Check<T> {
  (value: unknown, path: string): void;
  /** Never set. It only carries the type. */
  readonly form?: T;
}
type Fields = Readonly<Record<string, Check<unknown>>>;
type FormOf<C> = C extends Check<infer T> ? T : never;
type FormsOf<F extends Fields> = { readonly [Name in keyof F]: FormOf<F[Name]> };

function refuse(path: string, wanted: string): never {
  throw new BadResult(`\`${path === "" ? "the result" : path.slice(1)}\` must be ${wanted}`);
}

const anything: Check<unknown> = () => undefined;
const text: Check<string> = (value, path) => void (typeof value === "string" || refuse(path, "a string"));
/** The number of a source position: see SpanTable. */
const span: Check<number> = (value, path) =>
  void ((Number.isSafeInteger(value) && (value as number) >= 0) || refuse(path, "the number of a place"));

const listOf =
  <T>(check: Check<T>): Check<readonly T[]> =>
  (value, path) => {
    if (!Array.isArray(value)) refuse(path, "an array");
    for (const [index, item] of (value as unknown[]).entries()) check(item, `${path}/${index}`);
  };

const recordOf =
  <T>(check: Check<T>): Check<Readonly<Record<string, T>>> =>
  (value, path) => {
    if (!isObject(value)) refuse(path, "an object");
    for (const [name, field] of Object.entries(value)) check(field, `${path}/${name}`);
  };

/** Checks an object with these fields. Other fields are allowed only if `others` is given for them. */
const objectOf =
  <Required extends Fields, Optional extends Fields = Record<never, never>>(
    required: Required,
    optional?: Optional,
    others: "refuse others" | "allow others" = "refuse others",
  ): Check<FormsOf<Required> & Partial<FormsOf<Optional>>> =>
  (value, path) => {
    if (!isObject(value)) refuse(path, "an object");
    for (const [name, check] of Object.entries(required)) {
      if (!(name in value)) refuse(`${path}/${name}`, "present");
      check(value[name], `${path}/${name}`);
    }
    for (const [name, field] of Object.entries(value)) {
      if (Object.hasOwn(required, name)) continue;
      const check = optional !== undefined && Object.hasOwn(optional, name) ? optional[name] : undefined;
      if (check !== undefined) check(field, `${path}/${name}`);
      else if (others === "refuse others") refuse(`${path}/${name}`, "absent");
    }
  };

const record = recordOf(anything);
const spans = recordOf(span);
/** The rules for trees are checked when the trees are part of an artifact. Their positions are removed before. */
const tree: Check<unknown> = (value, path) => {
  if (!isObject(value) || typeof value["op"] !== "string") refuse(path, "an object with the field `op`");
  for (const [name, field] of Object.entries(value)) {
    if (name === "$span") span(field, `${path}/${name}`);
    else if (isObject(field) && "op" in field) tree(field, `${path}/${name}`);
  }
};

const fragment = objectOf({ name: text, version: text, $span: span, $name: span, $version: span });

const node = objectOf(
  {
    node_id: text,
    op: text,
    inputs: listOf(text),
    params: record,
    limits: objectOf({}, { extensions: record }, "allow others"),
    $span: span,
    $fields: spans,
    $limits: spans,
  },
  { fallback: record, $fallback: spans, $cacheBy: listOf(text) },
);

const use = objectOf({
  id: text,
  fragment,
  args: record,
  nodes: listOf(text),
  result: text,
  $span: span,
  $args: spans,
});

const plan = objectOf(
  {
    plan_name: text,
    nodes: listOf(node),
    outputs: listOf(text),
    expr_table: recordOf(tree),
    pred_table: recordOf(tree),
    fragments: listOf(use),
    capabilities: listOf(objectOf({ id: text, $span: span }, { payload: anything })),
    $nameSpan: span,
    $outputSpan: span,
  },
  { fallback_plan: record, $fallback: spans },
);

const located = objectOf({ $span: span }, {}, "allow others");

const tests = objectOf({
  tests_of: text,
  records: listOf(located),
  models: listOf(located),
  vectors: listOf(located),
  tests: listOf(
    objectOf({
      name: text,
      records: listOf(located),
      faults: listOf(located),
      expect: listOf(objectOf({ $span: span }, { pred: tree }, "allow others")),
      request: record,
      $span: span,
    }),
  ),
  $span: span,
});

const checks = { plan, tests, fragment };

/** The forms of the sandbox's results, by the kind of the file that was run. */
export type Built = { readonly [Kind in keyof typeof checks]: FormOf<(typeof checks)[Kind]> };
/** A part of tests that has a source position and its own fields. */
export type BuiltPart = FormOf<typeof located>;

/** Removes the prototypes of all objects in a value, so that no field name can refer to an inherited property. */
function makeBare(value: unknown, depth: number): void {
  if (typeof value === "number" && !Number.isFinite(value)) throw new BadResult("a number is not finite");
  if (typeof value !== "object" || value === null) return;
  if (depth === maxDepth) throw new BadResult(`arrays and objects are nested more than ${maxDepth} levels deep`);
  if (!Array.isArray(value)) Object.setPrototypeOf(value, null);
  for (const part of Object.values(value)) makeBare(part, depth + 1);
}

/** Parses the result for a plan, tests or a fragment. Throws BadResult if it has another form. */
export function readResult<Kind extends keyof Built>(json: unknown, kind: Kind): Built[Kind] {
  if (typeof json !== "string") throw new BadResult("the result is not a text");
  const parsed = parsedJson(json);
  if (parsed === undefined) throw new BadResult("the result is not JSON");
  makeBare(parsed, 0);
  checks[kind](parsed, "");
  return parsed as Built[Kind];
}

const cut = (value: string, most: number): string => (value.length <= most ? value : `${value.slice(0, most)}…`);

/** The value that a plan has thrown, as the sandbox describes it. Each field may have any type. */
export function readFailure(said: unknown): Failure {
  const fields = isObject(said) ? said : {};
  const textOf = (name: string, most: number): string => {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return typeof value === "string" ? cut(value, most) : "";
  };
  const code = textOf("code", 100);
  const number = fields["span"];
  return {
    code: /^[a-z][a-z0-9_]*$/.test(code) ? code : "plan_threw",
    message: textOf("message", maxMessage) || "the plan threw a value that cannot be shown",
    hint: textOf("hint", maxMessage),
    span: Number.isSafeInteger(number) ? (number as number) : 0,
    stack: textOf("stack", maxStack),
  };
}
