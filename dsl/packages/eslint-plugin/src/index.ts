// index.ts: lint rules for the editor. They report what the compiler refuses but TypeScript's types cannot express.
import type { ESLint, Rule, Scope } from "eslint";

const packageName = "@rankd/plan";

/** The parts of a syntax node that the rules use. */
interface AnyNode {
  readonly type: string;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is AnyNode =>
  typeof value === "object" && value !== null && typeof (value as AnyNode).type === "string";
const isFunction = (node: AnyNode): boolean => /Function/.test(node.type);

/** Finds `Key.x` or `P.x` in an expression, but not inside of functions that the expression contains. */
function runtimeValueIn(node: AnyNode): string | undefined {
  if (isFunction(node)) return undefined;
  const { object, property } = node as { object?: AnyNode; property?: AnyNode };
  if (
    node.type === "MemberExpression" &&
    object?.type === "Identifier" &&
    ["Key", "P"].includes(String(object["name"]))
  )
    return `${String(object["name"])}.${String(property?.["name"] ?? "…")}`;
  for (const [name, field] of Object.entries(node)) {
    if (name === "parent") continue;
    for (const child of Array.isArray(field) ? (field as unknown[]) : [field]) {
      const found = isNode(child) ? runtimeValueIn(child) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

const noRuntimeBranch: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: {
      description: "Keys and params have values while a request runs, so they cannot decide the shape of a plan.",
    },
    messages: {
      branch:
        "{{ what }} has a value only while a request runs; a plan is built once, before any request. Put the choice into an expression (E.if) or a predicate.",
    },
    schema: [],
  },
  create(context) {
    const look = (field: string) => (node: Rule.Node) => {
      const test = (node as unknown as AnyNode)[field];
      const what = isNode(test) ? runtimeValueIn(test) : undefined;
      if (what !== undefined)
        context.report({ node: test as unknown as Rule.Node, messageId: "branch", data: { what } });
    };
    return {
      IfStatement: look("test"),
      ConditionalExpression: look("test"),
      WhileStatement: look("test"),
      DoWhileStatement: look("test"),
      ForStatement: look("test"),
      SwitchStatement: look("discriminant"),
    };
  },
};

const noForeignImport: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: { description: "A plan imports the authoring package and files of its own project." },
    messages: { foreign: `{{ name }} cannot be imported: a plan imports ${packageName} and files of its own project.` },
    schema: [],
  },
  create(context) {
    const look = (node: Rule.Node): void => {
      const { source } = node as unknown as { source?: AnyNode | null };
      if (!source) return;
      const name = String(source["value"]);
      if (node.type !== "ImportExpression" && (name === packageName || /^\.\.?\//.test(name))) return;
      context.report({ node: source as unknown as Rule.Node, messageId: "foreign", data: { name } });
    };
    return {
      ImportDeclaration: look,
      ExportNamedDeclaration: look,
      ExportAllDeclaration: look,
      ImportExpression: look,
    };
  },
};

const ambient = new Set(
  "eval Function require process fetch XMLHttpRequest WebSocket Date performance crypto setTimeout setInterval queueMicrotask console globalThis window self Deno Bun Buffer WebAssembly SharedArrayBuffer Atomics WeakRef FinalizationRegistry".split(
    " ",
  ),
);

const noAmbient: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: {
      description: "A plan cannot access its surroundings or evaluate text, and gives the same result every time.",
    },
    messages: { ambient: "{{ name }} is not available in plans." },
    schema: [],
  },
  create(context) {
    return {
      "Program:exit"(node) {
        const scope: Scope.Scope = context.sourceCode.getScope(node);
        const all = [
          ...scope.through,
          ...scope.variables.filter((each) => each.defs.length === 0).flatMap((each) => each.references),
        ];
        for (const { identifier } of all)
          if (ambient.has(identifier.name))
            context.report({ node: identifier, messageId: "ambient", data: { name: identifier.name } });
      },
      'MemberExpression[object.name="Math"][property.name="random"]'(node: Rule.Node) {
        context.report({ node, messageId: "ambient", data: { name: "Math.random" } });
      },
    };
  },
};

const planName: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: { description: "A plan has the name of its file." },
    messages: { name: "The plan is called {{ name }}, but its file is called {{ file }}." },
    schema: [],
  },
  create(context) {
    const file = context.filename.replace(/^.*[/\\]/, "").replace(/(\.plan)?\.ts$/, "");
    return {
      'CallExpression[callee.name="definePlan"] > ObjectExpression > Property[key.name="name"] > Literal.value'(
        node: Rule.Node,
      ) {
        const name = String((node as unknown as AnyNode)["value"]);
        if (name !== file) context.report({ node, messageId: "name", data: { name, file } });
      },
    };
  },
};

const plugin: ESLint.Plugin & { configs: Record<string, unknown> } = {
  meta: { name: "@rankd/eslint-plugin", version: "0.1.0" },
  rules: {
    "no-runtime-branch": noRuntimeBranch,
    "no-foreign-import": noForeignImport,
    "no-ambient": noAmbient,
    "plan-name": planName,
  },
  configs: {},
};
plugin.configs["recommended"] = {
  plugins: { rankd: plugin },
  rules: Object.fromEntries(Object.keys(plugin.rules!).map((name) => [`rankd/${name}`, "error"])),
};

export default plugin;
