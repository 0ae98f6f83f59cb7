// tests.ts: defineTests, which describes tests of a plan as data, and the function by which the compiler reads them.
import { type EP, Key, type P } from "./generated.js";
import { argumentSpan, currentSpan, fieldSpans, inFrame, PlanError, type SpanId } from "./places.js";
import {
  KeyNode,
  type KeyToken,
  literal,
  NameToken,
  type Predicate,
  toTruth,
  TreeNode,
  runTimeValue,
  type Truth,
  wrongType,
} from "./tokens.js";

/** An id: a 64-bit integer (a bigint if it is large), or a string if the key `id` is a string. */
export type Id = typeof Key.id extends KeyToken<"string", { read: true }> ? string : number | bigint;

/** The text of a field, or a value that is written as text. */
export type StoredText = string | number | bigint | boolean;

/** Records of a store by their keys. If a test uses a key of a shared record, the record of the test is used. */
export interface TestStore {
  /** An array of numbers is the vector of a key of type vector. */
  readonly hash: (key: string, fields: Readonly<Record<string, StoredText | readonly number[]>>) => void;
  readonly list: (key: string, values: readonly (Id | string)[]) => void;
  readonly set: (key: string, members: readonly (Id | string)[]) => void;
  readonly sortedSet: (key: string, scores: Readonly<Record<string, number>>) => void;
  readonly string: (key: string, value: StoredText) => void;
}

/** A value of a param or of a row. */
export type RequestValue = string | number | bigint | boolean | null;

/** A request in the form of POST /v1/rank. Its plan is the plan of the tests. */
export interface TestRequest {
  readonly request_id?: string;
  readonly user_id?: Id | string;
  readonly param_overrides?: { readonly [Name in keyof typeof P]?: RequestValue };
  readonly context?: { readonly [Name in keyof typeof P]?: RequestValue };
  readonly candidates?: { readonly id: readonly Id[] } & {
    readonly [Name in Exclude<keyof typeof Key, "id">]?: readonly RequestValue[];
  };
}

/** The codes with which requests report the failure of a store. */
export type FaultCode = "store_timeout" | "store_unreachable" | "store_overloaded" | "store_corrupt" | "store_error";

/** A key whose values are read. */
type ReadKey = KeyToken<"int" | "float" | "string" | "bool", { read: true }>;

/** The expectations of a test. Each call is one expectation, checked and reported on its own. */
export interface Expectations {
  /** Exactly these ids, in this order. */
  readonly ids: (ids: readonly Id[]) => void;
  /** These ids first, in this order, possibly followed by others. */
  readonly firstIds: (ids: readonly Id[]) => void;
  /** Exactly these ids, in any order. */
  readonly sameIds: (ids: readonly Id[]) => void;
  /** These ids, possibly among others. */
  readonly contains: (ids: readonly Id[]) => void;
  /** None of these ids. */
  readonly excludes: (ids: readonly Id[]) => void;
  /** These ids in this order, possibly with others between them. */
  readonly inOrder: (ids: readonly Id[]) => void;
  /** The number of rows, or a range of it that includes both ends. */
  readonly count: (rows: number | { readonly min?: number; readonly max?: number }) => void;
  /** At most `count` rows have the same value of a key, among all rows or among any `window` consecutive rows. */
  readonly atMost: (count: number, key: ReadKey, options?: { readonly window?: number }) => void;
  /** The predicate is true for every row. */
  readonly every: (predicate: Truth | Predicate) => void;
  /** The predicate is false for every row. */
  readonly none: (predicate: Truth | Predicate) => void;
  /** The rows are sorted by the values of a key. Rows without a value come last. */
  readonly sorted: (key: ReadKey, order: "asc" | "desc") => void;
  /** The request fails with this code, at this node if a node is given. No other expectation is then allowed. */
  readonly error: (code: string, options?: { readonly node?: string }) => void;
  /** Fallbacks are used for exactly these nodes, in the order of the plan. The plan itself may precede them. */
  readonly degraded: (names: readonly string[]) => void;
}

/** A test that is being defined. */
export interface PlanTest {
  /** Adds records for this test, in addition to those that all tests of the file share. */
  readonly store: TestStore;
  /** Sets the request of the test. Must be called exactly once. */
  readonly request: (request: TestRequest) => void;
  /** Makes every read at the endpoint fail with this code, or only reads of keys that begin with `keys`. */
  readonly fault: (
    endpoint: (typeof EP)[keyof typeof EP],
    code: FaultCode,
    options?: { readonly keys?: string },
  ) => void;
  readonly expect: Expectations;
}

/** The keys whose values a stub of a model can use. */
type WeighedKeys = {
  [Name in keyof typeof Key]: (typeof Key)[Name] extends KeyToken<"int" | "float" | "bool", { read: true }>
    ? Name
    : never;
}[keyof typeof Key];

/** The functions for defining the tests of a plan. */
export interface PlanTests {
  /** Adds records for all tests. */
  readonly store: TestStore;
  /**
   * Replaces a model of the plan in all tests of the file. The score is `intercept` plus, for each key, the weight
   * times the value of the row. A row without a value counts as 0.
   */
  readonly model: (
    name: string,
    weights: { readonly [Name in WeighedKeys]?: number },
    options?: { readonly intercept?: number },
  ) => void;
  /**
   * Replaces the file of vectors of an endpoint in all tests of the file. There is one vector for each id, and all
   * vectors have the same length. In a project with string ids, the names of the object are the ids.
   */
  readonly vectors: (
    endpoint: (typeof EP)[keyof typeof EP],
    vectors: Readonly<Record<number | string, readonly number[]>>,
  ) => void;
  /** Defines a test. Its name is a sentence that states what the plan does. */
  readonly test: (name: string, define: (test: PlanTest) => void) => void;
}

interface Definition {
  readonly plan: string;
  readonly define: (tests: PlanTests) => unknown;
  readonly span: SpanId;
}

interface TestJson {
  readonly name: string;
  readonly records: unknown[];
  readonly faults: unknown[];
  readonly expect: Record<string, unknown>[];
  request: unknown;
  readonly $span: SpanId;
}

const definitions = new WeakSet<object>();

/** Defines the tests of a plan. The result must be the default export of NAME.test.ts. */
export function defineTests(plan: string, define: (tests: PlanTests) => void): { readonly plan: string } {
  if (typeof plan !== "string") throw wrongType("the name of a plan", plan, argumentSpan(0));
  if (typeof define !== "function") throw wrongType("a function that defines tests", define, argumentSpan(1));
  const definition: Definition = { plan, define, span: argumentSpan(0) || currentSpan() };
  definitions.add(definition);
  return definition;
}

/** Returns the tests that a file exports by default, as data. The `$span` fields contain source positions. */
export function buildTests(exported: unknown): unknown {
  if (typeof exported !== "object" || exported === null || !definitions.has(exported))
    throw new PlanError(
      "no_tests",
      "the file's default export must be tests: write `export default defineTests(plan, ({ store, test }) => { … })`",
    );
  const { plan, define, span } = exported as Definition;
  return inFrame(span, [], () => {
    const records: unknown[] = [];
    const models: unknown[] = [];
    const vectors: unknown[] = [];
    const tests: TestJson[] = [];
    const test = (name: unknown, body: unknown): void => {
      tests.push(defineTest(name, body, tests));
    };
    refusePromise(
      define({
        store: storeOf(records),
        model: stubsOf(models),
        vectors: vectorsOf(vectors),
        test: test as PlanTests["test"],
      }),
      span,
    );
    if (tests.length === 0) throw new PlanError("no_tests", "the file has no test", { span });
    return { tests_of: plan, records, models, vectors, tests, $span: span };
  });
}

function refusePromise(returned: unknown, span: SpanId): void {
  if (returned instanceof Promise)
    throw new PlanError("promise_refused", "the function that defines tests must not be async", { span });
}

function defineTest(name: unknown, body: unknown, others: readonly TestJson[]): TestJson {
  const span = currentSpan();
  if (typeof name !== "string" || name === "") throw wrongType("the name of the test", name, argumentSpan(0));
  if (typeof body !== "function") throw wrongType("a function that defines the test", body, argumentSpan(1));
  if (others.some((each) => each.name === name))
    throw new PlanError("duplicate_value", `another test is called \`${name}\``, { span: argumentSpan(0) });
  const out: TestJson = { name, records: [], faults: [], expect: [], request: undefined, $span: span };
  const request = (given: unknown): void => {
    if (out.request !== undefined) throw new PlanError("duplicate_value", "a test must have exactly one request");
    if (typeof given !== "object" || given === null || Array.isArray(given))
      throw wrongType("a request", given, argumentSpan(0));
    out.request = plain(given, argumentSpan(0));
  };
  const fault = (endpoint: unknown, code: unknown, options?: { keys?: unknown }): void => {
    if (!(endpoint instanceof NameToken) || endpoint.sort !== "endpoint")
      throw wrongType("an endpoint", endpoint, argumentSpan(0));
    const prefix = options?.keys ?? "";
    if (typeof prefix !== "string") throw wrongType("the beginning of keys", prefix, argumentSpan(2));
    out.faults.push({ endpoint: endpoint.id, code, key_prefix: prefix, $span: currentSpan() });
  };
  refusePromise(
    (body as (test: unknown) => unknown)({
      store: storeOf(out.records),
      request,
      fault,
      expect: expectationsOf(out.expect),
    }),
    span,
  );
  if (out.request === undefined) throw new PlanError("missing_field", `the test \`${name}\` has no request`, { span });
  if (out.expect.length === 0)
    throw new PlanError("no_expectations", `the test \`${name}\` expects nothing, and so cannot fail`, { span });
  return out;
}

/** Returns the record of a key. `names` contains all keys of the same scope. */
function storeOf(records: unknown[]): TestStore {
  const names = new Set<string>();
  const add = (kind: string, key: unknown, field: string, value: unknown): void => {
    if (typeof key !== "string" || key === "") throw wrongType("the key of a record", key, argumentSpan(0));
    if (names.has(key))
      throw new PlanError("duplicate_key", `another record already has the key \`${key}\``, {
        span: argumentSpan(0),
      });
    names.add(key);
    records.push({ record: { [kind]: key, [field]: value }, $span: currentSpan() });
  };
  return {
    hash: (key, fields) => {
      add("hash", key, "fields", mapped(fields, storedField));
    },
    list: (key, values) => {
      add("list", key, "values", elements(values));
    },
    set: (key, members) => {
      add("set", key, "members", elements(members));
    },
    sortedSet: (key, scores) => {
      add(
        "sorted_set",
        key,
        "scores",
        mapped(scores, (score) => plain(score, argumentSpan(1))),
      );
    },
    string: (key, value) => {
      add("string", key, "value", storedText(value, argumentSpan(1)));
    },
  };
}

/** Adds linear models that replace models of the project. */
function stubsOf(models: unknown[]): PlanTests["model"] {
  const names = new Set<string>();
  return (name: unknown, weights: unknown, options?: { intercept?: unknown }) => {
    if (typeof name !== "string" || name === "") throw wrongType("the name of a model", name, argumentSpan(0));
    if (names.has(name))
      throw new PlanError("duplicate_value", `the model \`${name}\` is already replaced`, { span: argumentSpan(0) });
    names.add(name);
    const weighed = Object.entries(mapped(weights, finite) as Record<string, unknown>);
    const intercept = finite(options?.intercept ?? 0, argumentSpan(2));
    models.push({
      name,
      intercept,
      weights: weighed.map(([key, weight]) => ({ key, weight, when_null: 0 })),
      $span: currentSpan(),
    });
  };
}

/** Adds vectors that replace files of vectors. */
function vectorsOf(all: unknown[]): PlanTests["vectors"] {
  const endpoints = new Set<string>();
  return (endpoint: unknown, vectors: unknown) => {
    if (!(endpoint instanceof NameToken) || endpoint.sort !== "endpoint")
      throw wrongType("an endpoint", endpoint, argumentSpan(0));
    const id = String(endpoint.id);
    if (endpoints.has(id))
      throw new PlanError("duplicate_value", "the vectors of this endpoint are already replaced", {
        span: argumentSpan(0),
      });
    endpoints.add(id);
    const items = Object.entries(mapped(vectors, numbers) as Record<string, unknown>).map(([key, vector]) => {
      if (key === "") throw wrongType("an id", key, argumentSpan(1));
      return { id: /^(0|-?[1-9]\d*)$/.test(key) ? literal(BigInt(key), argumentSpan(1)) : key, vector };
    });
    if (items.length === 0) throw wrongType("at least one vector", vectors, argumentSpan(1));
    all.push({ endpoint: id, items, $span: currentSpan() });
  };
}

function finite(value: unknown, span: SpanId): unknown {
  if (typeof value !== "number" || !Number.isFinite(value)) throw wrongType("a finite number", value, span);
  return plain(value, span);
}

function numbers(value: unknown, span: SpanId): unknown {
  if (!Array.isArray(value)) throw wrongType("an array of numbers", value, span);
  return value.map((number: unknown) => finite(number, span));
}

/** Returns the fields of an object, each converted by `convert`. */
function mapped(given: unknown, convert: (value: unknown, span: SpanId) => unknown): unknown {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw wrongType("an object", given, argumentSpan(1));
  const spans = ((given as Record<symbol, unknown>)[fieldSpans] ?? {}) as Record<string, SpanId>;
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, convert(value, spans[name] ?? argumentSpan(1))]),
  );
}

function storedField(value: unknown, span: SpanId): unknown {
  if (!Array.isArray(value)) return storedText(value, span);
  return numbers(value, span);
}

function storedText(value: unknown, span: SpanId): string {
  if (value instanceof TreeNode) throw runTimeValue(value, span);
  if (!["string", "number", "bigint", "boolean"].includes(typeof value)) throw wrongType("a text", value, span);
  if (typeof value === "number" && !Number.isFinite(value)) throw wrongType("a finite number", value, span);
  return String(value as StoredText);
}

function elements(given: unknown): unknown[] {
  const span = argumentSpan(1);
  if (!Array.isArray(given)) throw wrongType("an array", given, span);
  return given.map((value: unknown) => {
    if (typeof value === "string") return value;
    return idOf(value, span);
  });
}

function idOf(value: unknown, span: SpanId): unknown {
  if (value instanceof TreeNode) throw runTimeValue(value, span);
  if (typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value)))
    return literal(value, span);
  throw wrongType("an id, which must be a whole number", value, span);
}

/** Returns an id in the type of the project's key `id`. */
function projectId(value: unknown, span: SpanId): unknown {
  if ((Key.id as unknown as KeyNode).info.type !== "string") return idOf(value, span);
  if (value instanceof TreeNode) throw runTimeValue(value, span);
  if (typeof value === "string") return value;
  throw wrongType("an id, which must be a string in this project", value, span);
}

/** Returns a value of a request unchanged, including all its parts. */
function plain(value: unknown, span: SpanId): unknown {
  if (value instanceof TreeNode) throw runTimeValue(value, span);
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" || typeof value === "bigint") return literal(value, span);
  if (Array.isArray(value)) return value.map((item: unknown) => plain(item, span));
  if (typeof value !== "object") throw wrongType("a value that is known while the test is built", value, span);
  const spans = ((value as Record<symbol, unknown>)[fieldSpans] ?? {}) as Record<string, SpanId>;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .map(([name, field]) => [name, plain(field, spans[name] ?? span)]),
  );
}

function whole(value: unknown, least: number, span: SpanId): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
  throw wrongType(`a whole number of at least ${least}`, value, span);
}

function keyOf(value: unknown, index: number): number {
  if (value instanceof KeyNode) return value.info.id;
  throw wrongType("a key", value, argumentSpan(index));
}

function expectationsOf(list: Record<string, unknown>[]): Expectations {
  const add = (kind: string, fields: Readonly<Record<string, unknown>>): void => {
    const hasError = kind === "error" || list.some((each) => each["kind"] === "error");
    if (hasError && list.length > 0)
      throw new PlanError(
        "bad_value",
        "a test that expects an error cannot expect anything else, because a failed request returns no rows",
      );
    list.push({ kind, ...fields, $span: currentSpan() });
  };
  const ofIds = (kind: string) => (ids: readonly Id[]) => {
    if (!Array.isArray(ids)) throw wrongType("an array of ids", ids, argumentSpan(0));
    add(kind, { ids: (ids as unknown[]).map((id) => projectId(id, argumentSpan(0))) });
  };
  const ofRows = (kind: string) => (predicate: unknown) => {
    add(kind, { pred: toTruth(predicate, argumentSpan(0)).toTree() });
  };
  return {
    ids: ofIds("ids"),
    firstIds: ofIds("first_ids"),
    sameIds: ofIds("same_ids"),
    contains: ofIds("contains"),
    excludes: ofIds("excludes"),
    inOrder: ofIds("in_order"),
    count: (rows) => {
      const { min = 0, max } = typeof rows === "object" ? rows : { min: rows, max: rows };
      const span = argumentSpan(0);
      const least = whole(min, 0, span);
      add("count", { min: least, ...(max === undefined ? {} : { max: whole(max, least, span) }) });
    },
    atMost: (count, key, options) => {
      const window = options?.window;
      add("at_most", {
        count: whole(count, 1, argumentSpan(0)),
        key_id: keyOf(key, 1),
        ...(window === undefined ? {} : { window: whole(window, 1, argumentSpan(2)) }),
      });
    },
    every: ofRows("every"),
    none: ofRows("none"),
    sorted: (key, order) => {
      if (!["asc", "desc"].includes(order)) throw wrongType('"asc" or "desc"', order, argumentSpan(1));
      add("sorted", { key_id: keyOf(key, 0), order });
    },
    error: (code, options) => {
      if (typeof code !== "string") throw wrongType("the code of an error", code, argumentSpan(0));
      add("error", { code, ...(options?.node === undefined ? {} : { node: options.node }) });
    },
    degraded: (names) => {
      if (!Array.isArray(names)) throw wrongType("an array of names of nodes", names, argumentSpan(0));
      for (const name of names as unknown[])
        if (typeof name !== "string") throw wrongType("the name of a node", name, argumentSpan(0));
      add("degraded", { names: [...(names as string[])] });
    },
  };
}
