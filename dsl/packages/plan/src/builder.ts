// builder.ts: builds the graph of a plan: contexts, sets of candidates and nodes.
import { stringParamIs } from "./expr.js";
import { failureCodes, fieldsOf } from "./failures.js";
import { type FragmentJson, type GivenUse, inUse, refuseSeparator, separator } from "./fragments.js";
import type { OperatorInfo } from "./operators.js";
import { argumentSpan, currentSpan, fieldSpans, PlanError, type SpanId } from "./places.js";
import {
  BoundNode,
  KeyNode,
  literal,
  NameToken,
  ParamNode,
  runTimeValue,
  toTruth,
  toText,
  toValue,
  type TreeJson,
  TreeNode,
  type TruthNode,
  wrongType,
} from "./tokens.js";

/** A node in the form that the compiler reads. Fields that begin with `$` contain source positions. */
export interface NodeJson {
  node_id: string;
  op: string;
  inputs: string[];
  params: Record<string, unknown>;
  fallback?: Record<string, unknown>;
  /** The timeout, the retries, and which rows are captured or cached. */
  limits: Record<string, unknown>;
  $span: SpanId;
  $fields: Record<string, SpanId>;
  $fallback?: Record<string, SpanId>;
  $limits: Record<string, SpanId>;
  /** The values that the cached rows depend on, according to the author: `user` and params. */
  $cacheBy?: string[];
}

/** A use of a fragment in the form that the compiler reads. */
export interface UseJson {
  id: string;
  fragment: FragmentJson;
  args: Record<string, unknown>;
  nodes: string[];
  result: string;
  $span: SpanId;
  $args: Readonly<Record<string, SpanId>>;
}

/** A capability that the author states explicitly, with its payload in the artifact. */
export interface CapabilityJson {
  id: string;
  payload?: unknown;
  $span: SpanId;
}

/** A plan in the form that the compiler reads. */
export interface BuiltJson {
  plan_name: string;
  nodes: NodeJson[];
  outputs: string[];
  expr_table: Record<string, TreeJson>;
  pred_table: Record<string, TreeJson>;
  fallback_plan?: Record<string, unknown>;
  $fallback?: Record<string, SpanId>;
  fragments: UseJson[];
  capabilities: CapabilityJson[];
  $nameSpan: SpanId;
  $outputSpan: SpanId;
}

interface Draft {
  readonly operator: OperatorInfo;
  readonly inputs: readonly Draft[];
  /** For a node that chooses among its inputs: the conditions of all inputs but the last. */
  readonly conditions: readonly TruthNode[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly spans: Readonly<Record<string, SpanId>>;
  readonly span: SpanId;
  /** The prefix for the names of all nodes of the same use of a fragment. Empty outside of fragments. */
  readonly scope: string;
  id: string;
  fallback?: Fallback;
}

/** A use of a fragment, with the nodes that it has created. */
interface MadeUse extends GivenUse {
  readonly id: string;
  readonly fragment: FragmentJson;
  readonly nodes: readonly Draft[];
  readonly result: Draft;
}

/** The fallback of a node. */
interface Fallback {
  readonly on: readonly unknown[];
  readonly use: Draft | "input" | "empty";
  readonly nulls: readonly unknown[] | undefined;
  readonly spans: Readonly<Record<string, SpanId>>;
}

const maxNodes = 10_000;
const maxNesting = 8;
const nodeOption = "as";
/** Options that every operator accepts and that are not params, with their names in the artifact. */
const limitOptions: ReadonlyMap<string, string> = new Map([
  ["timeoutMs", "timeout_ms"],
  ["retries", "retries"],
  ["hedgeMs", "hedge_ms"],
  ["capture", "capture"],
  ["cache", "cache"],
  ["extensions", "extensions"],
]);
/** The payload of this capability is made from the uses of fragments. */
const fragmentCapability = "cap.rfc.0002.fragments.v1";
const chooseOp = "core::choose";

/** The result of a method that creates a node. */
class SetNode {
  constructor(
    readonly graph: Graph,
    readonly draft: Draft,
  ) {}

  /** Sets the fallback of this node. */
  orElse(options: unknown): this {
    const span = argumentSpan(0);
    const { given, spans } = fieldsOf(options, "an object with on and use", ["on", "use", "nulls"], span);
    const { use, nulls } = given;
    if (this.draft.fallback !== undefined) throw new PlanError("duplicate_value", "this node has a fallback already");
    if (nulls !== undefined && !Array.isArray(nulls))
      throw wrongType("an array of keys", nulls, spans["nulls"] ?? span);
    this.draft.fallback = {
      on: failureCodes(given["on"], spans["on"] ?? span),
      use: use === "input" || use === "empty" ? use : this.graph.substitute(use, spans["use"] ?? span),
      nulls: (nulls as readonly unknown[] | undefined)?.map((key) => keyId(key, spans["nulls"] ?? span)),
      spans: { ...spans, "": currentSpan() },
    };
    return this;
  }
}

/** The nodes of one plan, in the order in which they were created. */
export class Graph {
  private readonly drafts: Draft[] = [];
  private readonly uses: MadeUse[] = [];
  private readonly useIds = new Set<string>();
  private readonly capabilities = new Map<string, CapabilityJson>();
  /** The names of the uses of fragments in which nodes are created now, each followed by the separator. */
  private scope: readonly string[] = [];
  readonly context: object;
  private readonly sets: SetNode;

  constructor(private readonly operators: readonly OperatorInfo[]) {
    this.context = this.methods({});
    this.sets = this.setMethods();
    const choose = operators.find((each) => each.op === chooseOp);
    if (choose !== undefined) this.addChoices(choose);
    const requireCapability = (id: unknown, payload: unknown): void => {
      this.requireCapability(id, payload);
    };
    Object.defineProperty(this.context, "requireCapability", { value: requireCapability, enumerable: true });
  }

  /**
   * Adds a capability. A capability without a payload may be stated several times, so that fragments can state it, too.
   */
  private requireCapability(id: unknown, payload: unknown): void {
    if (typeof id !== "string") throw wrongType("the id of a capability", id, argumentSpan(0));
    const known = this.capabilities.get(id);
    if (payload === undefined) {
      if (known === undefined) this.capabilities.set(id, { id, $span: currentSpan() });
      return;
    }
    if (id === fragmentCapability)
      throw new PlanError("bad_value", `the compiler itself writes the payload of \`${id}\``, {
        span: argumentSpan(1),
      });
    if (known !== undefined && "payload" in known)
      throw new PlanError("duplicate_value", `\`${id}\` has a payload already`, { span: argumentSpan(1) });
    this.capabilities.set(id, { id, payload: payloadJson(payload, argumentSpan(1)), $span: currentSpan() });
  }

  /** Adds to the context the methods that choose among sets by the params of each request. */
  private addChoices(operator: OperatorInfo): void {
    const choose = (condition: unknown, then: unknown, otherwise: unknown, options: unknown): object => {
      const decided = toTruth(condition, argumentSpan(0));
      const inputs = [this.branch(then, argumentSpan(1)), this.branch(otherwise, argumentSpan(2))];
      return this.add(operator, inputs, options, 3, [decided]);
    };
    const switchBy = (param: unknown, cases: unknown, otherwise: unknown, options: unknown): object => {
      if (!(param instanceof ParamNode)) throw wrongType("a param of strings", param, argumentSpan(0));
      if (typeof cases !== "object" || cases === null || Array.isArray(cases) || Object.keys(cases).length === 0)
        throw wrongType("an object with a function for each value", cases, argumentSpan(1));
      const spans = ((cases as Record<symbol, unknown>)[fieldSpans] ?? {}) as Record<string, SpanId>;
      const given = Object.entries(cases as Record<string, unknown>);
      const conditions = given.map(([value]) => stringParamIs(param, value, spans[value] ?? argumentSpan(1)));
      const inputs = given.map(([value, set]) => this.branch(set, spans[value] ?? argumentSpan(1)));
      return this.add(operator, [...inputs, this.branch(otherwise, argumentSpan(2))], options, 3, conditions);
    };
    Object.defineProperty(this.context, "choose", { value: choose, enumerable: true });
    Object.defineProperty(this.context, "switch", { value: switchBy, enumerable: true });
  }

  /** Returns the node of a branch. It is built whatever requests choose. */
  private branch(build: unknown, span: SpanId): Draft {
    if (typeof build !== "function") throw wrongType("a function that returns a set of candidates", build, span);
    const set = (build as () => unknown)();
    this.idOf(set, span, "a set of candidates as the result of each branch");
    return (set as SetNode).draft;
  }

  /** Adds a method to `target` for each operator without inputs. */
  private methods(target: object): object {
    for (const [scope, operators] of this.scopesOf(0)) {
      const holder = scope === "" ? target : {};
      for (const operator of operators) this.define(holder, operator, []);
      if (scope !== "") Object.defineProperty(target, scope, { value: holder, enumerable: true });
    }
    return target;
  }

  /** Returns the operators that accept this number of inputs, by their namespaces. */
  private scopesOf(given: number): Map<string, OperatorInfo[]> {
    const scopes = new Map<string, OperatorInfo[]>([["", []]]);
    for (const operator of this.operators) {
      if (given > operator.inputs || given < operator.inputs - (operator.optionalInputs ?? 0)) continue;
      scopes.set(operator.scope, [...(scopes.get(operator.scope) ?? []), operator]);
    }
    return scopes;
  }

  private define(target: object, operator: OperatorInfo, inputs: readonly Draft[]): void {
    const method = (options: unknown): object => this.add(operator, inputs, options, 0, []);
    Object.defineProperty(target, operator.method, { value: method, enumerable: true });
  }

  /**
   * The methods that all sets inherit: one for each operator with a set as input. A method is created when it is first
   * used. Otherwise, a plan with thousands of nodes would create a hundred thousand functions, and most of them would
   * never be called.
   */
  private setMethods(): SetNode {
    const sets = Object.create(SetNode.prototype) as SetNode;
    const add = this.add.bind(this);
    const define = this.define.bind(this);
    for (const [scope, operators] of this.scopesOf(1)) {
      if (scope !== "")
        Object.defineProperty(sets, scope, {
          get(this: SetNode) {
            const holder = {};
            for (const operator of operators) define(holder, operator, [this.draft]);
            return holder;
          },
        });
      else
        for (const operator of operators)
          Object.defineProperty(sets, operator.method, {
            get(this: SetNode) {
              const { draft } = this;
              return (options: unknown): object => add(operator, [draft], options, 0, []);
            },
          });
    }
    return sets;
  }

  private add(
    operator: OperatorInfo,
    inputs: readonly Draft[],
    options: unknown,
    place: number,
    conditions: readonly TruthNode[],
  ): object {
    if (this.drafts.length === maxNodes)
      throw new PlanError("too_many_nodes", `a plan may have at most ${maxNodes} nodes`);
    if (options !== undefined && (typeof options !== "object" || options === null || Array.isArray(options)))
      throw wrongType("an object of options", options, argumentSpan(place));
    const given = (options ?? {}) as Record<string | symbol, unknown>;
    const spans = (given[fieldSpans] ?? {}) as Record<string, SpanId>;
    const name = given[nodeOption];
    if (name !== undefined && typeof name !== "string")
      throw wrongType("the name of the node", name, spans[nodeOption] ?? 0);
    const draft: Draft = {
      operator,
      inputs,
      conditions,
      options: { ...given },
      spans,
      span: currentSpan(),
      scope: this.scope.join(""),
      id: name === undefined || name === "" ? "" : this.scope.join("") + name,
    };
    this.drafts.push(draft);
    return Object.setPrototypeOf(new SetNode(this, draft), this.sets) as object;
  }

  /** Creates the nodes of a fragment, and returns its result. */
  addUse(fragment: FragmentJson, use: GivenUse, make: () => unknown): unknown {
    const id = this.scope.join("") + use.as;
    if (this.useIds.has(id))
      throw new PlanError("duplicate_use", `another use of a fragment is already called \`${use.as}\``, {
        span: use.asSpan,
      });
    if (this.scope.length === maxNesting)
      throw new PlanError("fragments_too_deep", `fragments are used within each other at most ${maxNesting} deep`);
    for (const [name, value] of use.args)
      if (value instanceof SetNode) this.idOf(value, use.spans[name] ?? use.span, "a set of candidates");
    this.useIds.add(id);
    const around = this.scope;
    const before = this.drafts.length;
    const place = this.uses.length;
    this.scope = [...around, use.as + separator];
    try {
      const result = inUse(use.span, make);
      this.idOf(result, fragment.$span, "a set of candidates as the result of `build` of a fragment");
      const nodes = this.drafts.slice(before);
      const { draft } = result as SetNode;
      if (!nodes.includes(draft))
        throw new PlanError("wrong_result", "the result of a fragment must be a set that the fragment itself creates", {
          span: fragment.$span,
        });
      // A fragment may use other fragments. The use of the outer fragment is inserted before the uses that it contains.
      this.uses.splice(place, 0, { ...use, id, fragment, nodes, result: draft });
      return result;
    } finally {
      this.scope = around;
    }
  }

  private useOf(use: MadeUse, built: BuiltJson): UseJson {
    const args = use.args.map(([name, value]): [string, unknown] => {
      if (value instanceof SetNode) return [name, { node: value.draft.id }];
      if (!(value instanceof TreeNode)) return [name, value];
      const tree = `a_${use.id}${separator}${name}`;
      built.expr_table[tree] = value.toTree();
      return [name, { expr: tree }];
    });
    return {
      id: use.id,
      fragment: use.fragment,
      args: Object.fromEntries(args),
      nodes: use.nodes.map((each) => each.id),
      result: use.result.id,
      $span: use.span,
      $args: use.spans,
    };
  }

  /** In plans that use fragments, names chosen by the author must not contain `__`. */
  private checkNames(): void {
    for (const { options, spans, span } of this.uses.length === 0 ? [] : this.drafts)
      if (typeof options[nodeOption] === "string") refuseSeparator(options[nodeOption], spans[nodeOption] ?? span);
  }

  /** Returns the plan in the form of the artifact. This includes nodes that no output needs. */
  finish(
    name: string,
    outputs: unknown,
    fallbackPlan: Pick<BuiltJson, "fallback_plan" | "$fallback">,
    spans: { name: SpanId; outputs: SpanId },
  ): BuiltJson {
    this.checkNames();
    this.nameNodes();
    const list = Array.isArray(outputs) ? outputs : [outputs];
    const built: BuiltJson = {
      plan_name: name,
      nodes: [],
      outputs: list.map((each) => this.idOf(each, spans.outputs, "a set of candidates as the result of `build`")),
      expr_table: {},
      pred_table: {},
      ...fallbackPlan,
      fragments: [],
      capabilities: [...this.capabilities.values()],
      $nameSpan: spans.name,
      $outputSpan: spans.outputs,
    };
    for (const draft of this.drafts) built.nodes.push(this.nodeOf(draft, built));
    built.fragments = this.uses.map((use) => this.useOf(use, built));
    return built;
  }

  /** Names the nodes without a name after their methods, with a number from the second node on. */
  private nameNodes(): void {
    const taken = new Set(this.drafts.map((draft) => draft.id));
    // Stores the last number that was used in a node name, for each method. Otherwise, the search for a free name would
    // try all earlier numbers for each new node.
    const counts = new Map<string, number>();
    for (const draft of this.drafts) {
      if (draft.id !== "" || draft.options[nodeOption] !== undefined) continue;
      const base = draft.scope + draft.operator.op.replace(/^.*::/, "");
      let count = counts.get(base) ?? 1;
      let id = count === 1 ? base : `${base}_${count}`;
      for (++count; taken.has(id); ++count) id = `${base}_${count}`;
      counts.set(base, count);
      taken.add(id);
      draft.id = id;
    }
  }

  /** Returns the node of a set that is used as a fallback. */
  substitute(value: unknown, span: SpanId): Draft {
    this.idOf(value, span, 'a set of candidates, "input" or "empty"');
    return (value as SetNode).draft;
  }

  private idOf(value: unknown, span: SpanId, wanted: string): string {
    if (!(value instanceof SetNode)) throw wrongType(wanted, value, span);
    if (value.graph !== this)
      throw new PlanError("foreign_node", "this set of candidates belongs to another plan", { span });
    return value.draft.id;
  }

  private nodeOf(draft: Draft, built: BuiltJson): NodeJson {
    const { operator, options, spans } = draft;
    const node: NodeJson = {
      node_id: draft.id,
      op: operator.op,
      inputs: draft.inputs.map((each) => each.id),
      params: {},
      limits: {},
      $span: draft.span,
      $fields: {},
      $limits: {},
    };
    if (draft.fallback !== undefined) {
      const { on, use, nulls, spans: $fallback } = draft.fallback;
      node.fallback = { on, use: typeof use === "string" ? use : { node: use.id }, ...(nulls && { nulls }) };
      node.$fallback = $fallback;
    }
    if (options[nodeOption] !== undefined && nodeOption in spans) node.$fields["$as"] = spans[nodeOption]!;
    if (draft.conditions.length > 0)
      node.params["pred_ids"] = draft.conditions.map((condition, index) => {
        const id = `c${index + 1}_${draft.id}`;
        built.pred_table[id] = condition.toTree();
        return id;
      });
    for (const [option, value] of Object.entries(options)) {
      if (option === nodeOption || value === undefined) continue;
      const limit = limitOptions.get(option);
      if (limit !== undefined) {
        node.$limits[limit] = spans[option] ?? draft.span;
        node.limits[limit] = (limitJson.get(limit) ?? plainJson)(value, node.$limits[limit]);
        if (limit === "cache") Object.assign(node, cacheKey(value, node.$limits[limit]));
        continue;
      }
      const param = operator.params.find((each) => each.option === option);
      const field = param?.name ?? option;
      const span = spans[option] ?? draft.span;
      node.$fields[field] = span;
      node.params[field] =
        param?.bindable === true && (value instanceof BoundNode || value instanceof ParamNode)
          ? boundValue(value, span)
          : this.paramOf(param?.kind ?? "", value, span, draft.id, built);
    }
    return node;
  }

  private paramOf(kind: string, value: unknown, span: SpanId, id: string, built: BuiltJson): unknown {
    if (kind === "expr_id") {
      built.expr_table[`e_${id}`] = (typeof value === "string" ? toText : toValue)(value, span).toTree();
      return `e_${id}`;
    }
    if (kind === "pred_id") {
      built.pred_table[`p_${id}`] = toTruth(value, span).toTree();
      return `p_${id}`;
    }
    if (kind === "node_ref") return this.idOf(value, span, "a set of candidates");
    if (kind === "key_ids" && Array.isArray(value)) return value.map((key: unknown) => keyId(key, span));
    if (kind === "key_id") return keyId(value, span);
    if (kind === "endpoint_ref") {
      if (value instanceof NameToken && value.sort === "endpoint") return value.id;
      if (typeof value === "string") return value;
      throw wrongType("an endpoint", value, span);
    }
    return plainJson(value, span);
  }
}

/**
 * Returns the binding of an option to a param. Throws if the param has no limits (`within`), because the possible values
 * of the option are then unknown.
 */
function boundValue(value: BoundNode | ParamNode, span: SpanId): unknown {
  if (value instanceof BoundNode) return value.toJson();
  throw new PlanError("runtime_value", runTimeValue(value, span).message, {
    span,
    hint: `let requests give it within limits: ${value.what}.within(min, max)`,
  });
}

/** Returns which rows are captured, in the form of the artifact. */
function captureJson(value: unknown, span: SpanId): unknown {
  const known = ["sample", "keys", "maxRows", "side"];
  const { given } = fieldsOf(value, "an object with sample, keys, maxRows and side", known, span);
  const { keys, maxRows } = given;
  if (keys !== undefined && !Array.isArray(keys)) throw wrongType("an array of keys", keys, span);
  const plain = Object.entries({ sample: given["sample"], max_rows: maxRows, side: given["side"] });
  return {
    ...Object.fromEntries(plain.flatMap(([name, each]) => (each === undefined ? [] : [[name, plainJson(each, span)]]))),
    ...(keys && { key_ids: keys.map((key: unknown) => keyId(key, span)) }),
  };
}

const cacheFields = ["ttlMs", "staleMs", "maxRows", "by"];

/** Returns how long rows are cached, in the form of the artifact. */
function cacheJson(value: unknown, span: SpanId): unknown {
  const { given } = fieldsOf(value, "an object with ttlMs, staleMs, maxRows and by", cacheFields, span);
  const plain = Object.entries({ ttl_ms: given["ttlMs"], stale_ms: given["staleMs"], max_rows: given["maxRows"] });
  return Object.fromEntries(
    plain.flatMap(([name, each]) => (each === undefined ? [] : [[name, plainJson(each, span)]])),
  );
}

/** Returns the values that the rows depend on, if the author states them. They are not a part of the artifact. */
function cacheKey(value: unknown, span: SpanId): Pick<NodeJson, "$cacheBy"> {
  const { by } = fieldsOf(value, "an object with ttlMs, staleMs, maxRows and by", cacheFields, span).given;
  if (by === undefined) return {};
  if (!Array.isArray(by)) throw wrongType('an array of "user" and params', by, span);
  return {
    $cacheBy: by.map((each: unknown) => {
      if (each === "user") return each;
      if (each instanceof ParamNode) return each.what;
      throw wrongType('"user" or a param', each, span);
    }),
  };
}

/** Returns the payloads by capability, in the form of the artifact. */
function extensionsJson(value: unknown, span: SpanId): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrongType("an object with a payload for each capability", value, span);
  return payloadJson(value, span);
}

/** The functions that convert options with objects to parts of the artifact. All other options are copied. */
const limitJson: ReadonlyMap<string, (value: unknown, span: SpanId) => unknown> = new Map([
  ["capture", captureJson],
  ["cache", cacheJson],
  ["extensions", extensionsJson],
]);

/** Converts a payload, which can be any JSON. A field that is undefined is left out. */
function payloadJson(value: unknown, span: SpanId): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => payloadJson(item, span));
  const isRecord = typeof value === "object" && value !== null && !(value instanceof TreeNode);
  if (!isRecord || value instanceof BoundNode || value instanceof SetNode || value instanceof NameToken)
    return plainJson(value, span);
  const spans = ((value as Record<symbol, unknown>)[fieldSpans] ?? {}) as Record<string, SpanId>;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) =>
      field === undefined ? [] : [[name, payloadJson(field, spans[name] ?? span)]],
    ),
  );
}

function keyId(value: unknown, span: SpanId): unknown {
  if (value instanceof KeyNode) return value.info.id;
  throw wrongType("a key", value, span);
}

/** Returns a value in a form that the artifact can contain. */
function plainJson(value: unknown, span: SpanId): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" || typeof value === "bigint") return literal(value, span);
  if (Array.isArray(value)) return value.map((item: unknown) => plainJson(item, span));
  if (value instanceof TreeNode) throw runTimeValue(value, span);
  throw wrongType("a value that is known while the plan is built", value, span);
}
