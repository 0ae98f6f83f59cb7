// validate.ts: the engine's rules for artifacts, so that what compiles also loads.
import { boundParamsCapability, checkBindings, isBound, readBinding } from "./bound_params.js";
import { branchCapability, checkConditionCount, checkConditions, predProblem } from "./branches.js";
import { cacheCapability, checkCaches, type KeptRows, readKept } from "./caches.js";
import { captureCapability, checkCaptures } from "./captures.js";
import { checkColumns, checkMap, checkModels, missingColumns } from "./columns.js";
import { bindEndpoint } from "./endpoints.js";
import {
  checkNulls,
  type Fallback,
  fallbackCapability,
  linkFallbacks,
  readFallback,
  readPlanFallback,
} from "./fallbacks.js";
import { checkExtract } from "./features.js";
import { checkFeed, checkPages } from "./feed.js";
import { checkFragments, fragmentCapability } from "./fragments.js";
import { checkCircles, checkDepth, checkReach, type GraphNode, orderOf } from "./graph.js";
import { checkIds } from "./integer_ids.js";
import { itemRule, itemValue, nameProblem } from "./items.js";
import { checkHoles, checkNamed, parseTemplate } from "./key_template.js";
import { limitCapabilities, readLimits } from "./limits.js";
import type { Op, OpParam, Registries } from "./project.js";
import {
  didYouMean,
  integerOf,
  isObject,
  type JsonObject,
  kindOf,
  numberProblem,
  type Problem,
  pointerTo,
  Reader,
  sortedFields,
} from "./reader.js";
import { checkDigests } from "./registry_digests.js";
import { checkResult, checkTexts } from "./texts.js";
import { checkBuckets, checkNames, checkOps, checkShape } from "./trees.js";
import { requireCapability } from "./vectors.js";

/** What an artifact is held against. */
export interface Rules {
  readonly declared: Registries;
  /** The stem of the artifact's file, which must be the plan's name; nothing where there is no file. */
  readonly stem?: string | undefined;
  /** The size of the artifact. */
  readonly bytes?: number;
  /** What the engine has code for. */
  readonly capabilities?: readonly string[];
  /** By node: what its author says that the rows in its cache depend on. */
  readonly cacheKeys?: ReadonlyMap<string, readonly string[]>;
}

const implementedCapabilities: readonly string[] = [
  "cap.rfc.0001.arithmetic.v1",
  fragmentCapability,
  boundParamsCapability,
  fallbackCapability,
  branchCapability,
  "cap.rfc.0006.formulas.v1",
  ...Object.values(limitCapabilities),
  "cap.rfc.0009.vectors.v1",
  captureCapability,
  cacheCapability,
];

const maxNodes = 10_000;
const maxEdges = 100_000;
const maxBytes = 16 * 1024 * 1024;
const isWord = (text: string): boolean => /^[A-Za-z0-9_]+$/.test(text);

const isCapability = (text: string): boolean => /^cap\.rfc\.[0-9]{4}\.[a-z][a-z0-9_]*\.v[1-9][0-9]*$/.test(text);

interface Node extends GraphNode, KeptRows {
  readonly op: Op | undefined;
  readonly params: JsonObject;
  /** How many it takes. */
  readonly inputs: number;
  readonly fallback: Fallback | undefined;
  readonly after: number[];
}

/** Everything that is wrong with an artifact, in the order in which the engine says it. */
export function validate(artifact: unknown, rules: Rules): Problem[] {
  return new Validator(artifact, rules).run();
}

/** The same, and what is allowed and most likely a mistake where nothing is wrong. */
export function judge(artifact: unknown, rules: Rules): { problems: Problem[]; warnings: Problem[] } {
  return new Validator(artifact, rules).judge();
}

class Validator {
  private readonly problems: Problem[] = [];
  private readonly declared: Registries;
  private required: readonly string[] = [];
  private files = 0;
  exprs: JsonObject = {};
  preds: JsonObject = {};
  private nodes: Node[] = [];
  private numbers = new Map<string, number>();

  constructor(
    private readonly artifact: unknown,
    private readonly rules: Rules,
  ) {
    this.declared = rules.declared;
  }

  run(): Problem[] {
    if ((this.rules.bytes ?? 0) > maxBytes)
      this.add("file_too_large", "", `the artifact has more than ${maxBytes} bytes`);
    const top = new Reader(this.artifact, "", this.problems);
    if (!isObject(this.artifact) || !this.readVersion(top)) return this.problems;
    this.readName(top);
    this.readCapabilities(top);
    this.readExtensions(top, this.problems);
    checkDigests(top, this.declared, this.problems);
    this.readBuilder(top);
    this.files = this.readStrings(top, "source_files").length;
    this.exprs = this.readTable(top, "expr_table", "value");
    this.preds = this.readTable(top, "pred_table", "truth");
    this.readSpans(top);
    this.readGraph(top);
    this.readFragments();
    readPlanFallback(top, isObject(this.artifact) ? this.artifact["plan_name"] : undefined, this.required);
    top.refuseUnknownFields();
    if (this.problems.length === 0) this.bind();
    return this.problems;
  }

  judge(): { problems: Problem[]; warnings: Problem[] } {
    const problems = this.run();
    return { problems, warnings: problems.length > 0 ? [] : missingColumns(this.nodes, this, this.declared) };
  }

  private add(code: string, pointer: string, message: string, hint = ""): void {
    this.problems.push({ code, pointer, message, hint, node: "" });
  }

  private readVersion(top: Reader): boolean {
    const version = top.integer("schema_version", "required");
    if (version === undefined || version === 1n) return true;
    top.report("schema_version", "unsupported_schema", "this engine reads artifacts of `schema_version` 1 only");
    return false;
  }

  private readName(top: Reader): void {
    const name = top.text("plan_name", "required");
    if (name === undefined) return;
    if (!isWord(name)) top.report("plan_name", "bad_name", `\`${name}\` is not letters, digits and \`_\``);
    else if (this.rules.stem !== undefined && this.rules.stem !== name)
      top.report("plan_name", "name_mismatch", `the plan is called \`${name}\` and its file \`${this.rules.stem}\``);
  }

  /** A text, or an object of texts with the name of the tool, as other builders write it. */
  private readBuilder(top: Reader): void {
    const value = top.value("built_by", "optional");
    if (!isObject(value)) {
      top.text("built_by", "optional");
      return;
    }
    const parts = new Reader(value, "/built_by", this.problems);
    parts.text("tool", "required");
    for (const [name] of sortedFields(value)) if (name !== "tool") parts.text(name, "optional");
  }

  private readStrings(top: Reader, field: string): unknown[] {
    const list = top.array(field, "optional") ?? [];
    for (const [index, item] of list.entries())
      if (typeof item !== "string")
        this.add(
          "wrong_type",
          pointerTo(pointerTo("", field), index),
          `each item must be a string, not ${kindOf(item)}`,
        );
    return [...list];
  }

  private readCapabilities(top: Reader): void {
    const ids = this.readStrings(top, "capabilities_required").map((each) =>
      typeof each === "string" ? each : undefined,
    );
    ids.forEach((id, index) => {
      if (id === undefined) return;
      const pointer = pointerTo("/capabilities_required", index);
      const known = this.declared.capabilities.find((each) => each.id === id);
      if (!isCapability(id))
        this.add("bad_capability_id", pointer, `\`${id}\` is not of the form \`cap.rfc.NNNN.slug.vK\``);
      else {
        const offered = this.rules.capabilities ?? implementedCapabilities;
        const isOffered = offered.includes(id);
        const report = (why: string, hint = ""): void => {
          this.add("unsupported_capability", pointer, `the capability \`${id}\` is ${why}`, hint);
        };
        if (known === undefined && isOffered) report("not declared in registry/capabilities.toml");
        else if (known === undefined)
          report("not supported: this engine has no code for it", didYouMean(id, [...offered]));
        else if (known.status === "blocked") report("blocked");
        else if (!isOffered) report("declared, but this engine has no code for it");
      }
      const before = index === 0 ? undefined : (ids[index - 1] ?? "");
      if (before === undefined || before < id) return;
      if (before === id) this.add("duplicate_value", pointer, `\`${id}\` is listed twice`);
      else this.add("not_sorted", pointer, `\`${id}\` comes after a greater one`);
    });
    this.required = ids.filter((id): id is string => id !== undefined);
  }

  private readExtensions(of: Reader, problems: Problem[]): void {
    const value = of.child("extensions", "optional") ?? {};
    for (const [capability] of sortedFields(value)) {
      if (this.required.includes(capability)) continue;
      const pointer = pointerTo(pointerTo(of.pointer, "extensions"), capability);
      problems.push({
        code: "capability_not_required",
        pointer,
        message: `\`${capability}\` is not among \`capabilities_required\``,
        hint: "",
        node: "",
      });
    }
  }

  private readFragments(): void {
    const known = { nodes: this.numbers, exprs: this.exprs, readSpan: this.readSpan.bind(this) };
    checkFragments(isObject(this.artifact) ? this.artifact["extensions"] : undefined, known, this.problems);
  }

  private readTable(top: Reader, field: string, gives: string): JsonObject {
    const value = top.child(field, "optional") ?? {};
    for (const [id, tree] of sortedFields(value)) {
      const pointer = pointerTo(pointerTo("", field), id);
      if (!isWord(id)) this.add("bad_name", pointer, `\`${id}\` is not letters, digits and \`_\``);
      const before = this.problems.length;
      checkShape(tree, pointer, gives, this.declared, this.problems);
      if (this.problems.length === before) checkOps(tree, pointer, this.required, this.declared, this.problems);
    }
    return value;
  }

  private readSpans(top: Reader): void {
    const value = top.child("source_spans", "optional") ?? {};
    for (const [path, span] of sortedFields(value)) {
      const pointer = pointerTo("/source_spans", path);
      this.readSpan(span, pointer, this.problems);
      const isPart = (table: unknown): boolean =>
        path
          .split("/")
          .reduce((at, field) => (isObject(at) && Object.hasOwn(at, field) ? at[field] : undefined), table) !==
        undefined;
      if (!isPart(this.exprs) && !isPart(this.preds))
        this.add("unknown_expr", pointer, `no expression or predicate, or part of one, is \`${path}\``);
    }
  }

  private readSpan(value: unknown, pointer: string, problems: Problem[]): void {
    const span = new Reader(value, pointer, problems);
    const file = span.integer("file", "required");
    if (file !== undefined && (file < 0n || file >= BigInt(this.files)))
      span.report("file", "out_of_range", "`file` must be an index into `source_files`");
    for (const field of ["line", "column", "end_line", "end_column"]) span.integer(field, "required", 1n, 2147483647n);
    span.refuseUnknownFields();
  }

  private readGraph(top: Reader): void {
    const before = this.problems.length;
    const nodes = top.array("nodes", "required");
    const outputs = top.array("outputs", "required");
    if (nodes === undefined) return;
    if (nodes.length > maxNodes) return this.add("too_many_nodes", "/nodes", `a plan has at most ${maxNodes} nodes`);
    nodes.forEach((node, index) => {
      const id = isObject(node) ? node["node_id"] : undefined;
      if (typeof id === "string" && !this.numbers.has(id)) this.numbers.set(id, index);
    });
    let edges = 0;
    for (const [index, node] of nodes.entries()) {
      this.readNode(node, index);
      edges += this.nodes[index]!.sources.length;
      if (edges > maxEdges) return this.add("too_many_edges", "/nodes", `a plan has at most ${maxEdges} edges`);
    }
    const ends = outputs === undefined ? [] : this.readOutputs(outputs);
    if (this.problems.length === before) linkFallbacks(this.nodes, ends, this.problems);
    const isComplete = this.problems.length === before;
    const order = orderOf(this.nodes);
    if (order.length !== this.nodes.length) checkCircles(this.nodes, this.problems);
    if (!isComplete || this.problems.length !== before) return;
    checkDepth(this.nodes, order, this.problems);
    checkReach(this.nodes, ends, this.problems);
  }

  private readOutputs(outputs: readonly unknown[]): number[] {
    if (outputs.length === 0) this.add("no_outputs", "/outputs", "a plan has at least one output");
    const found: number[] = [];
    for (const [index, name] of outputs.entries()) {
      const pointer = pointerTo("/outputs", index);
      if (typeof name !== "string") {
        this.add("wrong_type", pointer, `an output is the id of a node, not ${kindOf(name)}`);
        continue;
      }
      const number = this.numbers.get(name);
      if (number === undefined)
        this.add("unknown_node", pointer, `there is no node \`${name}\``, didYouMean(name, [...this.numbers.keys()]));
      else if (found.includes(number)) this.add("duplicate_value", pointer, `\`${name}\` is listed twice`);
      else found.push(number);
    }
    return found;
  }

  private readNode(value: unknown, index: number): void {
    const problems: Problem[] = [];
    const pointer = pointerTo("/nodes", index);
    const node = new Reader(value, pointer, problems);
    const id = this.readNodeId(node, index);
    const op = this.findOp(node);
    const sources = this.readInputs(node, op);
    const inputs = sources.length;
    const params = node.value("params", "nullable");
    if (op !== undefined) sources.push(...this.readParams(params ?? {}, pointerTo(pointer, "params"), op, problems));
    const fallback = readFallback(node, inputs, this.numbers, this.required);
    readLimits(node, op, this.required);
    const kept = readKept(node, this.required);
    this.readExtensions(node, problems);
    const span = node.value("source_span", "optional");
    if (span !== undefined) this.readSpan(span, pointerTo(pointer, "source_span"), problems);
    node.refuseUnknownFields();
    for (const each of problems) this.problems.push({ ...each, node: id });
    this.nodes.push({
      id,
      pointer,
      sources,
      op,
      params: isObject(params) ? params : {},
      inputs,
      fallback,
      ...kept,
      after: [],
    });
  }

  private readNodeId(node: Reader, index: number): string {
    const id = node.text("node_id", "required");
    if (id === undefined) return "";
    if (!isWord(id)) node.report("node_id", "bad_name", `\`${id}\` is not letters, digits and \`_\``);
    if (this.numbers.get(id) !== index)
      node.report("node_id", "duplicate_node", `another node is already called \`${id}\``);
    return id;
  }

  private findOp(node: Reader): Op | undefined {
    const name = node.text("op", "required");
    if (name === undefined) return undefined;
    const op = this.declared.ops.find((each) => each.name === name);
    if (op === undefined)
      node.report(
        "op",
        "unknown_op",
        `there is no operator \`${name}\``,
        didYouMean(
          name,
          this.declared.ops.map((each) => each.name),
        ),
      );
    return op;
  }

  private readInputs(node: Reader, op: Op | undefined): number[] {
    const inputs = node.array("inputs", "required");
    if (inputs === undefined) return [];
    if (op !== undefined && (inputs.length > op.inputs || inputs.length < op.inputs - op.optionalInputs)) {
      const range = op.optionalInputs === 0 ? `${op.inputs}` : `${op.inputs - op.optionalInputs} to ${op.inputs}`;
      node.report("inputs", "wrong_input_count", `\`${op.name}\` takes ${range} inputs, not ${inputs.length}`);
    }
    const found: number[] = [];
    for (const [index, name] of inputs.entries()) {
      const report = (code: string, message: string, hint = ""): void => {
        node.problems.push({
          code,
          pointer: pointerTo(pointerTo(node.pointer, "inputs"), index),
          message,
          hint,
          node: "",
        });
      };
      const number = typeof name === "string" ? this.numbers.get(name) : undefined;
      if (typeof name !== "string") report("wrong_type", `an input is the id of a node, not ${kindOf(name)}`);
      else if (number === undefined)
        report("unknown_node", `there is no node \`${name}\``, didYouMean(name, [...this.numbers.keys()]));
      else found.push(number);
    }
    return found;
  }

  /** The nodes that params refer to. */
  private readParams(value: unknown, pointer: string, op: Op, problems: Problem[]): number[] {
    const params = new Reader(value, pointer, problems);
    const sources = op.params.flatMap((param) => this.readMeantParam(params, param, op));
    params.text("trace", "nullable");
    params.refuseUnknownFields();
    return sources;
  }

  /** A param, unless another one says that it means nothing. */
  private readMeantParam(params: Reader, param: OpParam, op: Op): number[] {
    const need = param.required ? "required" : "nullable";
    if (param.when === undefined) return this.readParam(params, param, need);
    const decisive = op.params.find((each) => each.name === param.when);
    const chosen = params.value(param.when, "nullable");
    const values = param.when_values ?? [];
    if (typeof chosen === "string" && decisive?.choices?.includes(chosen)) {
      if (values.includes(chosen)) return this.readParam(params, param, need);
    } else if (chosen !== undefined || decisive?.required === true) {
      return this.readParam(params, param, "nullable");
    }
    if (params.value(param.name, "nullable") !== undefined)
      params.report(
        param.name,
        "unused_param",
        `\`${param.name}\` has an effect only if \`${param.when}\` is ${values.map((each) => `\`${each}\``).join(" or ")}`,
      );
    return [];
  }

  private readParam(params: Reader, param: OpParam, need: "required" | "nullable"): number[] {
    const { name, kind } = param;
    requireCapability(params, param, param.capability, this.required);
    if (isBound(param, params.value(name, "nullable"))) {
      readBinding(params, param, this.required, (own, end) =>
        this.readParam(own, { ...end, bindable: false }, "required"),
      );
      return [];
    }
    switch (kind) {
      case "int":
        params.integer(
          name,
          need,
          param.min === undefined ? undefined : BigInt(param.min),
          param.max === undefined ? undefined : BigInt(param.max),
        );
        break;
      case "key_id":
        params.id(name, need);
        break;
      case "float":
        this.readFloat(params, param, need);
        break;
      case "bool":
        params.boolean(name, need);
        break;
      case "string":
        params.text(name, need);
        break;
      case "name":
        this.readNameParam(params, name, need);
        break;
      case "key_template": {
        const text = params.text(name, need);
        const parsed = text === undefined ? [] : parseTemplate(text);
        if ("code" in parsed) params.report(name, parsed.code, parsed.message, parsed.hint);
        break;
      }
      case "choice":
        params.choice(name, need, param.choices ?? []);
        break;
      case "endpoint_ref": {
        const id = params.text(name, need);
        if (id !== undefined && !/^ep_[0-9]{4}$/.test(id))
          params.report(name, "bad_endpoint_id", `\`${id}\` is not \`ep_\` and four digits`);
        break;
      }
      case "key_ids":
      case "names":
      case "ascending":
      case "literals":
      case "texts":
        this.readList(params, param, need);
        break;
      case "pred_ids":
        this.readConditions(params, param, need);
        break;
      default:
        return this.readReference(params, param, need);
    }
    return [];
  }

  /** A list of predicates, which belongs to a capability. */
  private readConditions(params: Reader, param: OpParam, need: "required" | "nullable"): void {
    this.readList(params, param, need);
    if (Array.isArray(params.value(param.name, "nullable")))
      requireCapability(params, param, branchCapability, this.required);
  }

  private readFloat(params: Reader, param: OpParam, need: "required" | "nullable"): void {
    const value = params.value(param.name, need);
    if (value === undefined) return;
    const wrong = numberProblem(value, "float");
    if (wrong !== undefined) return params.report(param.name, wrong.code, `\`${param.name}\` ${wrong.message}`);
    const number = Number((value as { value?: number }).value ?? value);
    if (number < Number(param.min ?? -Infinity) || number > Number(param.max ?? Infinity))
      params.report(
        param.name,
        "out_of_range",
        `\`${param.name}\` must lie between ${param.min ?? "any"} and ${param.max ?? "any"}`,
      );
  }

  private readNameParam(params: Reader, name: string, need: "required" | "nullable"): void {
    const text = params.text(name, need);
    const wrong = text === undefined ? undefined : nameProblem(text);
    if (wrong !== undefined) params.report(name, wrong.code, wrong.message);
  }

  /** The items of a list; none where it is absent or wrong. */
  private itemsOf(params: Reader, param: OpParam, need: "required" | "nullable"): readonly unknown[] {
    const items = params.array(param.name, need);
    const least = Number(param.min_items ?? 0);
    if (items !== undefined && items.length < least)
      params.report(param.name, "too_few_items", `\`${param.name}\` needs at least ${least} items`);
    return items ?? [];
  }

  /** A list, without repeats. */
  private readList(params: Reader, param: OpParam, need: "required" | "nullable"): void {
    const seen = new Set<unknown>();
    const ruleOf = param.kind === "pred_ids" ? (item: unknown) => predProblem(item, this.preds) : itemRule(param.kind);
    for (const [index, item] of this.itemsOf(params, param, need).entries()) {
      let wrong = ruleOf(item);
      if (wrong === undefined) {
        const value = itemValue(param.kind, item); // of a right one: others may have none
        if (!seen.has(value)) {
          seen.add(value);
          continue;
        }
        wrong = { code: "duplicate_value", message: "it is listed twice" };
      }
      const pointer = pointerTo(pointerTo(params.pointer, param.name), index);
      params.problems.push({ ...wrong, pointer, hint: "", node: "" });
    }
  }

  /** A param that names a tree or a node. */
  private readReference(params: Reader, { name, kind }: OpParam, need: "required" | "nullable"): number[] {
    const id = params.text(name, need);
    if (id === undefined) return [];
    const refuse = (code: string, what: string, known: readonly string[]): number[] => {
      params.report(name, code, `there is no ${what} \`${id}\``, didYouMean(id, known));
      return [];
    };
    if (kind === "node_ref") {
      const number = this.numbers.get(id);
      return number === undefined ? refuse("unknown_node", "node", [...this.numbers.keys()]) : [number];
    }
    const [table, code, what] =
      kind === "expr_id" ? [this.exprs, "unknown_expr", "expression"] : [this.preds, "unknown_pred", "predicate"];
    return Object.hasOwn(table, id) ? [] : refuse(code, what, Object.keys(table));
  }

  /** What operators and registries refuse; only where the shape is right. */
  private bind(): void {
    const refused = new Set<string>();
    for (const [field, table] of [
      ["expr_table", this.exprs],
      ["pred_table", this.preds],
    ] as const)
      for (const [id, tree] of sortedFields(table)) {
        const before = this.problems.length;
        const pointer = pointerTo(pointerTo("", field), id);
        checkNames(tree, pointer, this.declared, this.problems);
        if (this.problems.length === before) checkBuckets(tree, pointer, this.declared, this.problems);
        if (this.problems.length === before)
          checkTexts(tree, pointer, field === "expr_table" ? "expression" : "predicate", this.declared, this.problems);
        if (this.problems.length > before && field === "expr_table") refused.add(id);
      }
    for (const node of this.nodes) {
      const before = this.problems.length;
      checkIds(node, this.declared, this.problems);
      checkBindings(node, node.op?.params ?? [], this.declared, this.problems);
      for (const param of node.op?.params ?? []) this.bindParam(node, param);
      if (this.problems.length === before) checkMap(node, this.declared, this.problems);
      if (node.op?.name === "core::vm" && !refused.has(String(node.params["expr_id"])))
        checkResult(node, this.exprs, this.declared, this.problems);
      if (node.op?.name === "core::call_models") checkModels(node, this.problems);
      checkNamed(node, this.declared, this.problems);
      if (node.op?.name === "core::extract_features") checkExtract(node, this.declared, this.problems);
      checkFeed(node, this.declared, this.problems);
      checkConditions(node, this.preds, this.declared, this.problems);
      checkNulls(node, this.declared, this.problems);
    }
    checkConditionCount(this.nodes, this.problems);
    checkPages(this.nodes, this.problems);
    if (this.problems.length === 0) checkColumns(this.nodes, this.declared, this.problems);
    if (this.problems.length === 0) checkCaptures(this.nodes, this.declared, this.problems);
    if (this.problems.length > 0) return;
    checkCaches(this.nodes, this, this.declared, this.rules.cacheKeys, this.problems);
  }

  private bindParam(node: Node, param: OpParam): void {
    const value = node.params[param.name];
    if (value === undefined || value === null) return;
    const pointer = pointerTo(pointerTo(node.pointer, "params"), param.name);
    const reportAt =
      (place: string) =>
      (code: string, message: string, hint = ""): void => {
        this.problems.push({ code, pointer: place, message, hint, node: node.id });
      };
    if (param.kind === "key_id") this.bindKey(Number(integerOf(value)), param, reportAt(pointer));
    if (param.kind === "key_template") checkHoles(String(value), this.declared, reportAt(pointer));
    if (param.kind === "endpoint_ref") bindEndpoint(String(value), param, this.declared, reportAt(pointer));
    if (param.kind === "key_ids")
      for (const [index, key] of (value as unknown[]).entries())
        this.bindKey(Number(integerOf(key)), param, reportAt(pointerTo(pointer, index)));
  }

  private bindKey(id: number, param: OpParam, report: (code: string, message: string, hint?: string) => void): void {
    const key = this.declared.keys.find((each) => each.id === id);
    if (key === undefined)
      return report("unknown_key", `no key has the number ${id}`, "the keys are declared in keys.toml");
    const named = `key ${id} (${key.name})`;
    if (key.status === "blocked") return report("blocked_key", `${named} is blocked`);
    if (param.use === "write" && !key.write) return report("unwritable_key", `${named} must not be written by plans`);
    if (param.use !== "write" && !key.read) return report("unreadable_key", `${named} must not be read by plans`);
    if (param.key_types !== undefined && !param.key_types.includes(key.type))
      report("wrong_key_type", `${named} is of type ${key.type}; it must be one of: ${param.key_types.join(", ")}`);
  }
}
