// bindings.ts: generates TypeScript from the registries and operators: a token for each entry, a method for each
// operator.
import { counted } from "./diagnostic.js";
import type { Entry, Op, OpParam, Registries } from "./registries.js";

const asksOtherThan = (op: Op, kind: string): boolean =>
  op.params.some((param) => param.kind === "endpoint_ref" && !(param.endpoint_kinds ?? []).includes(kind));

/** Whether a node of this operator may be retried. */
const readsStore = (op: Op): boolean => asksOtherThan(op, "vectors");

/** Whether the reads of a node of this operator may be sent a second time. */
const mayHedge = (op: Op): boolean => readsStore(op) && asksOtherThan(op, "http");

const string = (text: string): string => JSON.stringify(text);

/** Returns a sentence as a doc comment. Text that would end the comment is changed. */
function doc(sentences: readonly string[], indent: string): string {
  const text = sentences
    .filter((each) => each !== "")
    .join(" ")
    .replaceAll("*/", "* /");
  return text === "" ? "" : `${indent}/** ${text} */\n`;
}

function deprecated({ status, replacedBy }: Entry, sort: string): string {
  if (status !== "deprecated") return "";
  return replacedBy === undefined ? "@deprecated" : `@deprecated use ${sort} ${replacedBy} instead`;
}

const braced = (items: readonly string[]): string => (items.length === 0 ? "{}" : `{\n${items.join("")}}`);

function keys(declared: Registries): string {
  const known = declared.keys.filter((key) => key.status !== "blocked");
  const items = known.map((key) => {
    const size = key.dimensions === 0 ? "" : ` of ${counted(key.dimensions, "dimension")}`;
    const about = `Key ${key.id}, ${key.type}${size}${key.nullable ? ", may be null" : ""}.`;
    const uses = (["read", "write"] as const).filter((use) => key[use]).map((use) => `${use}: true`);
    const type = `${string(key.type)}, { ${uses.join("; ")} }`;
    const token = `keyToken<${type}>(${key.id}, ${string(key.name)}, ${string(key.type)})`;
    return doc([key.doc, about, deprecated(key, "key")], "  ") + `  ${key.name}: ${token},\n`;
  });
  return `/** The keys that plans may name. */\nexport const Key = ${braced(items)} as const;\n`;
}

function params(declared: Registries): string {
  const known = declared.params.filter((param) => param.status !== "blocked" && param.read);
  const items = known.map((param) => {
    const { id, name, type, context } = param;
    const about = `Param ${id}, ${type}${context ? ", of the context" : ""}${context && param.required ? ", required" : ""}.`;
    // An option of a node can be bound only to a numeric param with a default value.
    const isBindable = (type === "int" || type === "float") && param.standard !== undefined;
    const token = `paramToken<${string(type)}${isBindable ? ', "default"' : ""}>(${id}, ${string(name)}, ${string(type)})`;
    return doc([param.doc, about, deprecated(param, "param")], "  ") + `  ${name}: ${token},\n`;
  });
  const about = known.some((param) => param.context) ? "give or override" : "may override";
  return `/** The params that requests ${about}. */\nexport const P = ${braced(items)} as const;\n`;
}

function endpoints(declared: Registries): string {
  const items = declared.endpoints.map(
    (each) =>
      `  /** ${each.id}, of kind ${each.kind}. */\n  ${each.name}: endpointToken<${string(each.kind)}>(${string(each.id)}, ${string(each.name)}),\n`,
  );
  return `/** Where data comes from. */\nexport const EP = ${braced(items)} as const;\n`;
}

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** The name of a param in the options of a method. A reference has the name of what it refers to. */
function optionOf(param: OpParam): string {
  const refers = param.kind === "expr_id" || param.kind === "pred_id";
  return camel(refers ? param.name.replace(/_id$/, "") : param.name);
}

/** Returns "BusyCpu" for `core::busy_cpu`. Other namespaces are put before the name. */
const typeName = (op: Op): string => camel(`_${op.name.replace("core::", "").replace("::", "_")}`);

const isWhole = (param: OpParam): boolean => param.kind === "int" && param.min !== undefined && param.min >= 0;
const wholeName = (param: OpParam): string => camel(`_${param.name}`);
const union = (items: readonly string[]): string => items.map(string).join(" | ");

function paramType(param: OpParam): string {
  const known = kindTypes[param.kind];
  if (known === undefined) throw new Error(`the kind ${param.kind} of param ${param.name} has no type here`);
  const type = typeof known === "string" ? known : known(param);
  if (param.bindable !== true) return type;
  return `${type.includes("&") ? `(${type})` : type} | BoundParam<${string(param.kind)}>`;
}

const scalarTypes = ["int", "float", "string", "bool", "vector"];

/** The types of params by their kinds. */
const kindTypes: Readonly<Record<string, string | ((param: OpParam) => string)>> = {
  int: (param) =>
    isWhole(param) ? `${wholeName(param)} & Whole<${wholeName(param)}, ${param.min! >= 1 ? 1 : 0}>` : "number | bigint",
  float: "number | bigint",
  bool: "boolean",
  string: "string",
  name: "string",
  key_template: "string",
  expr_id: "Expr",
  pred_id: "Truth",
  node_ref: "CandidateSet",
  names: "readonly string[]",
  texts: "readonly string[]",
  ascending: "readonly (number | bigint)[]",
  literals: "readonly (number | bigint)[] | readonly string[]",
  choice: ({ choices: words = [] }) => union(words),
  endpoint_ref: ({ endpoint_kinds: kinds = [] }) => `EndpointToken<${union(kinds)}>`,
  key_id: ({ key_types: types = scalarTypes, use = "read" }) => `KeyToken<${union(types)}, { ${use}: true }>`,
  key_ids: ({ key_types: types, use = "read" }) =>
    `readonly KeyToken<${types === undefined ? "ValueType" : union(types)}, { ${use}: true }>[]`,
};

function range(param: OpParam): string {
  if (param.kind === "key_template")
    return "The text of a key of the store, with `{NAME}` for a column and `{P.NAME}` for a param.";
  if (param.kind === "name") return "Letters, digits and `_`, no digit in front.";
  if (param.min_items !== undefined)
    return `At least ${param.min_items} of them${param.kind === "ascending" ? ", ascending" : ""}.`;
  if (param.kind !== "int" && param.kind !== "float") return "";
  if (param.min === undefined) return param.max === undefined ? "" : `At most ${param.max}.`;
  return param.max === undefined ? `At least ${param.min}.` : `From ${param.min} to ${param.max}.`;
}

function condition(param: OpParam): string {
  if (param.when === undefined) return "";
  return `Only where ${param.when} is ${(param.when_values ?? []).join(" or ")}${param.required ? ", and then required" : ""}.`;
}

/** Whether options may omit the param, as far as types can express that. */
const isOptional = (param: OpParam): boolean => !param.required || param.when !== undefined;

/** Type parameters such as `<Fanout extends number>`, for the params whose literals are checked. */
function generics(op: Op, form: "declare" | "use"): string {
  const written = writesTexts(op) ? op.params.filter((param) => param.use === "write") : [];
  const names = [
    ...written.map((param) => writtenName + (form === "declare" ? ` extends ${paramType(param)}` : "")),
    ...op.params
      .filter(isWhole)
      .map((param) => wholeName(param) + (form === "declare" ? " extends number | bigint" : "")),
  ];
  return names.length === 0 ? "" : `<${names.join(", ")}>`;
}

/** Whether an expression of the operator has the type of its key: numbers or strings. */
const writesTexts = (op: Op): boolean =>
  op.params.some((param) => param.kind === "expr_id") &&
  op.params.some((param) => param.use === "write" && (param.key_types ?? []).includes("string"));

/** The name of the type for the key that such an operator writes. */
const writtenName = "OutKey";

function typeOf(op: Op, param: OpParam): string {
  if (!writesTexts(op)) return paramType(param);
  if (param.use === "write") return writtenName;
  return param.kind === "expr_id" ? `ExprFor<${writtenName}>` : paramType(param);
}

function options(op: Op): string {
  const fields = op.params.map(
    (param) =>
      doc([`\`${param.name}\`.`, range(param), condition(param)], "  ") +
      `  readonly ${optionOf(param)}${isOptional(param) ? "?" : ""}: ${typeOf(op, param)};\n`,
  );
  const name = typeName(op) + "Options";
  const base = mayHedge(op) ? "StoreNodeOptions" : readsStore(op) ? "ServerNodeOptions" : "NodeOptions";
  return `/** Options of ${op.name}. */\nexport interface ${name}${generics(op, "declare")} extends ${base} {\n${fields.join("")}}\n`;
}

const scopeOf = (op: Op): string => (op.name.startsWith("core::") ? "" : op.name.split("::")[0]!);
const methodOf = (op: Op): string => camel(op.name.split("::")[1]!);

function method(op: Op, indent: string): string {
  const optional = op.params.every(isOptional) ? "?" : "";
  return (
    doc([op.doc], indent) +
    `${indent}${methodOf(op)}${generics(op, "declare")}(options${optional}: ${typeName(op)}Options${generics(op, "use")}): CandidateSet;\n`
  );
}

/** The operator whose methods are not generated. */
const chooseOp = "core::choose";
const choices = `  /** The rows of \`then\` where the condition holds, otherwise those of \`otherwise\`. It is decided when a request is read, so it has params only; the nodes that only the other side needs do not run. */
  choose(
    condition: Predicate | ParamToken<"bool">,
    then: () => CandidateSet,
    otherwise: () => CandidateSet,
    options?: NodeOptions,
  ): CandidateSet;
  /** The rows of the case that the param names, otherwise those of \`otherwise\`; the others do not run. */
  switch(
    param: ParamToken<"string">,
    cases: Readonly<Record<string, () => CandidateSet>>,
    otherwise: () => CandidateSet,
    options?: NodeOptions,
  ): CandidateSet;
`;

const capabilities = `  /** States that the plan needs a capability of the engine, and what \`extensions\` of the artifact says of it. The compiler states those itself that a plan needs by what it uses. */
  requireCapability(id: string, payload?: Payload): void;
`;

const fallbacks = `  /** This set, for which something stands in when its node fails. */
  orElse(fallback: NodeFallback): CandidateSet;
`;

const nodeFallback = `/** What stands in for a node that fails. */
export interface NodeFallback {
  /** The failures that it stands in for. */
  readonly on: readonly NodeFailure[];
  /** Another set, whose nodes then run; the rows that the node takes; or none. */
  readonly use: CandidateSet | "input" | "empty";
  /** Keys that the node gives its rows, and what stands in does not: they are null then. */
  readonly nulls?: readonly KeyToken<ValueType, { read: true }>[];
}
`;

function methods(name: string, about: string, ops: readonly Op[], more: string): string {
  const scopes = [...new Set(ops.map(scopeOf))].filter((scope) => scope !== "").sort();
  const own = ops.filter((op) => scopeOf(op) === "").map((op) => method(op, "  "));
  const nested = scopes.map((scope) => {
    const inside = ops.filter((op) => scopeOf(op) === scope).map((op) => method(op, "    "));
    return `  /** Operators of \`${scope}\`. */\n  readonly ${scope}: {\n${inside.join("")}  };\n`;
  });
  return `/** ${about} */\nexport interface ${name} {\n${own.join("")}${more}${nested.join("")}}\n`;
}

function table(declared: Registries): string {
  const items = declared.ops.map((op) => {
    const list = op.params.map(
      (param) =>
        `{ name: ${string(param.name)}, option: ${string(optionOf(param))}, kind: ${string(param.kind)}${param.bindable === true ? ", bindable: true" : ""} }`,
    );
    const all = [...list, '{ name: "trace", option: "trace", kind: "string" }']
      .map((each) => `      ${each},\n`)
      .join("");
    const inputs = `inputs: ${op.inputs},${op.optionalInputs === 0 ? "" : `\n    optionalInputs: ${op.optionalInputs},`}`;
    return `  {\n    op: ${string(op.name)},\n    scope: ${string(scopeOf(op))},\n    method: ${string(methodOf(op))},\n    ${inputs}\n    params: [\n${all}    ],\n  },\n`;
  });
  return `/** The operators as data. */\nexport const operators: readonly OperatorInfo[] = [\n${items.join("")}];\n`;
}

/** The names from tokens.ts that the generated text may use. */
const tokenNames = (
  "type BoundParam, type EndpointToken, endpointToken, type Expr, type ExprFor, type KeyToken, keyToken, " +
  "type ParamToken, paramToken, type Payload, type Predicate, type Truth, type ValueType, type Whole"
).split(", ");

/** Returns the module of tokens and methods for a project's declarations. The same registries produce the same text. */
export function bindings(declared: Registries): string {
  for (const op of declared.ops)
    if (op.inputs > 1 && op.name !== chooseOp)
      throw new Error(`${op.name} takes ${op.inputs} inputs; a method has one`);
  const digests = { ...declared.digests, ops: declared.opsDigest };
  const lines = Object.keys(digests)
    .sort()
    .map((name) => `// digest ${name} ${digests[name as keyof typeof digests]}\n`);
  const body = [
    keys(declared),
    params(declared),
    endpoints(declared),
    nodeFallback,
    ...declared.ops.filter((op) => op.name !== chooseOp).map(options),
    methods(
      "PlanContext",
      "Where rows come from.",
      declared.ops.filter((op) => op.inputs === op.optionalInputs),
      declared.ops.some((op) => op.name === chooseOp) ? choices + capabilities : capabilities,
    ),
    methods(
      "CandidateSet",
      "Rows on their way through a plan; each method makes a node that takes them.",
      declared.ops.filter((op) => op.inputs === 1),
      fallbacks,
    ),
    table(declared),
  ].join("\n");
  const imported = tokenNames
    .filter((each) => new RegExp(`\\b${each.replace("type ", "")}\\b`).test(body))
    .map((each) => `  ${each},\n`);
  return [
    "// generated.ts: the tokens of the registries and the methods of the operators. Written by `dslc bindings` from registry/*.toml.\n",
    ...lines,
    'import type { NodeFailure } from "./failures.js";\n',
    'import type { NodeOptions, ServerNodeOptions, StoreNodeOptions } from "./node_options.js";\n',
    'import type { OperatorInfo } from "./operators.js";\n',
    `import {\n${imported.join("")}} from "./tokens.js";\n\n`,
    body,
  ].join("");
}
