// transform.ts: replaces a plan's operators, conditions and calls by calls of the authoring package's hooks.
//
// At run time, the hooks decide which operands are known while the plan is built, and which are known only while a
// request runs. So constants from anywhere, helper functions and loops work as written. Every hook gets the source
// position of the code that it replaces.
import ts = require("typescript");

import { type Diagnostic, diagnostic, type Place } from "./diagnostic.js";
import { isRelative, packageName } from "./plan_files.js";

/** The name under which compiled plans find the hooks. */
const hooksName = "$rankd";

/** Operators whose operands are always evaluated. */
const natural = new Set("+ - * / % ** < <= > >= == === != !== in".split(" "));
const arithmetic = new Set("+ - * / % **".split(" "));
/** Operators that may not evaluate their right operand, and their hooks. */
const lazy = new Map([
  ["&&", "and"],
  ["||", "or"],
  ["??", "coalesce"],
]);
const unary = new Map([
  ["!", "not"],
  ["-", "neg"],
  ["+", "plus"],
]);

/** The source positions that compiled code refers to, by number. 0 means no position. */
export class SpanTable {
  private readonly places: (Place | undefined)[] = [undefined];

  add(place: Place): number {
    return this.places.push(place) - 1;
  }
  /** Returns the position with this number, or nothing if it is not in this table. */
  find(span: unknown): Place | undefined {
    return typeof span === "number" ? this.places[span] : undefined;
  }
}

/** Returns the position of a part of a file. */
export function placeOf(file: string, source: ts.SourceFile, start: number, end: number): Place {
  const from = source.getLineAndCharacterOfPosition(start);
  const to = source.getLineAndCharacterOfPosition(end);
  return { file, line: from.line + 1, column: from.character + 1, endLine: to.line + 1, endColumn: to.character + 1 };
}

/** Returns a transformer for one file, whose name in source positions is `file`. */
export function transformer(file: string, spans: SpanTable): ts.TransformerFactory<ts.SourceFile> {
  return (context) => (source) => new Rewriter(context, source, file, spans).run();
}

class Rewriter {
  private readonly make = ts.factory;

  constructor(
    private readonly context: ts.TransformationContext,
    private readonly source: ts.SourceFile,
    private readonly file: string,
    private readonly spans: SpanTable,
  ) {}

  run(): ts.SourceFile {
    return ts.visitEachChild(this.source, this.visit, this.context);
  }

  private readonly visit = (node: ts.Node): ts.Node => {
    if (ts.isTypeNode(node) || ts.isEnumDeclaration(node) || ts.isInterfaceDeclaration(node)) return node;
    if (isAssigned(node)) return node;
    const made = this.rewritten(node);
    return decides(node) ? this.hook("plain", [made as ts.Expression, this.span(node)]) : made;
  };

  private rewritten(node: ts.Node): ts.Node {
    if (ts.isBinaryExpression(node)) return this.binary(node);
    if (ts.isPrefixUnaryExpression(node)) return this.prefix(node);
    if (ts.isCallExpression(node)) return this.call(node);
    if (ts.isObjectLiteralExpression(node)) return this.object(node);
    return ts.visitEachChild(node, this.visit, this.context);
  }

  private expr(node: ts.Expression): ts.Expression {
    return ts.visitNode(node, this.visit) as ts.Expression;
  }

  private span(node: ts.Node, from: ts.Node = node): ts.Expression {
    return this.make.createNumericLiteral(
      this.spans.add(placeOf(this.file, this.source, from.getStart(this.source), node.getEnd())),
    );
  }

  private hook(name: string, args: readonly ts.Expression[]): ts.Expression {
    return this.make.createCallExpression(
      this.make.createPropertyAccessExpression(this.make.createIdentifier(hooksName), name),
      undefined,
      args,
    );
  }

  private binary(node: ts.BinaryExpression): ts.Node {
    const { left, right, operatorToken } = node;
    const spans = [this.span(node), this.span(left), this.span(right)];
    const sign = ts.tokenToString(operatorToken.kind)!;
    if (natural.has(sign) && !ts.isPrivateIdentifier(left))
      return this.hook("op", [this.make.createStringLiteral(sign), this.expr(left), this.expr(right), ...spans]);
    const name = lazy.get(sign);
    if (name !== undefined) {
      const later = this.make.createArrowFunction(
        undefined,
        undefined,
        [],
        undefined,
        undefined,
        this.make.createParenthesizedExpression(this.expr(right)),
      );
      return this.hook(name, [this.expr(left), later, ...spans]);
    }
    const step = sign.slice(0, -1);
    if (sign.endsWith("=") && arithmetic.has(step) && ts.isIdentifier(left)) {
      const value = this.hook("op", [this.make.createStringLiteral(step), left, this.expr(right), ...spans]);
      return this.make.createAssignment(left, value);
    }
    return ts.visitEachChild(node, this.visit, this.context);
  }

  private prefix(node: ts.PrefixUnaryExpression): ts.Node {
    const name = unary.get(ts.tokenToString(node.operator)!);
    if (name === undefined || ts.isNumericLiteral(node.operand) || ts.isBigIntLiteral(node.operand))
      return ts.visitEachChild(node, this.visit, this.context);
    return this.hook(name, [this.expr(node.operand), this.span(node), this.span(node.operand)]);
  }

  private call(node: ts.CallExpression): ts.Node {
    const { expression: callee } = node;
    const isSuperOrImport = ({ kind }: ts.Node): boolean =>
      kind === ts.SyntaxKind.SuperKeyword || kind === ts.SyntaxKind.ImportKeyword;
    const isSpecial =
      isSuperOrImport(callee) ||
      ts.isOptionalChain(node) ||
      (ts.isPropertyAccessExpression(callee) &&
        (isSuperOrImport(callee.expression) || ts.isPrivateIdentifier(callee.name)));
    if (isSpecial) return ts.visitEachChild(node, this.visit, this.context);
    const args = this.make.createArrayLiteralExpression(node.arguments.map((each) => this.expr(each)));
    const hasSpread = node.arguments.some((each) => ts.isSpreadElement(each));
    const spans = this.make.createArrayLiteralExpression(
      hasSpread ? [] : node.arguments.map((each) => this.span(each)),
    );
    const isNamed = ts.isPropertyAccessExpression(callee);
    if (!isNamed && !ts.isElementAccessExpression(callee))
      return this.hook("apply", [this.span(node), this.expr(callee), args, spans]);
    const member = isNamed ? callee.name : callee.argumentExpression;
    const target = [this.span(node, member), this.expr(callee.expression)];
    const name = isNamed ? this.make.createStringLiteral(callee.name.text) : this.expr(callee.argumentExpression);
    return this.hook("call", [...target, name, args, spans]);
  }

  private object(node: ts.ObjectLiteralExpression): ts.Node {
    const visited = ts.visitEachChild(node, this.visit, this.context);
    const fields = node.properties.flatMap((each) => {
      const { name } = each;
      const isNamed = name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteral(name));
      if (!isNamed || name.text === "__proto__") return [];
      const value = this.span(ts.isPropertyAssignment(each) ? each.initializer : each);
      return [this.make.createPropertyAssignment(this.make.createStringLiteral(name.text), value)];
    });
    if (fields.length === 0) return visited;
    return this.hook("fields", [visited, this.make.createObjectLiteralExpression(fields)]);
  }
}

/**
 * Whether the value of an expression affects the plan while it is built, so that a run-time value is not allowed there.
 */
function decides(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isConditionalExpression(parent) || ts.isForStatement(parent)) return parent.condition === node;
  if (ts.isElementAccessExpression(parent))
    return parent.argumentExpression === node && !ts.isLiteralExpression(node) && !ts.isOptionalChain(parent);
  const isDecided =
    ts.isIfStatement(parent) ||
    ts.isWhileStatement(parent) ||
    ts.isDoStatement(parent) ||
    ts.isSwitchStatement(parent) ||
    ts.isCaseClause(parent) ||
    ts.isForInStatement(parent) ||
    ts.isTemplateSpan(parent);
  return isDecided && parent.expression === node;
}

/** Whether a literal is a destructuring pattern in an assignment, so that its fields are not expressions. */
function isAssigned(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isForOfStatement(parent) || ts.isForInStatement(parent)) return parent.initializer === node;
  if (!ts.isBinaryExpression(parent) || parent.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return false;
  return parent.left === node && (ts.isObjectLiteralExpression(node) || ts.isArrayLiteralExpression(node));
}

const refusedNames = new Set(["eval", "Function", "require", "globalThis", hooksName]);

/** Finds code that no plan may contain, whatever its types. */
export function refusals(file: string, source: ts.SourceFile): Diagnostic[] {
  const found: Diagnostic[] = [];
  const refuse = (node: ts.Node, code: string, message: string, hint = ""): void => {
    found.push(diagnostic(code, message, placeOf(file, source, node.getStart(source), node.getEnd()), { hint }));
  };
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier) {
      const name = ts.isStringLiteral(node.moduleSpecifier) ? node.moduleSpecifier.text : "";
      const hint = `a plan imports ${packageName} and files of its own project`;
      if (name !== packageName && !isRelative(name))
        refuse(node.moduleSpecifier, "foreign_import", `\`${name}\` cannot be imported`, hint);
    }
    if (ts.isImportEqualsDeclaration(node)) refuse(node, "foreign_import", "`import = ` is not allowed in a plan");
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      refuse(node, "foreign_import", "a plan cannot import while it runs");
    if (ts.isMetaProperty(node) && node.keywordToken === ts.SyntaxKind.ImportKeyword)
      refuse(node, "not_in_sandbox", "`import.meta` is not available");
    if (ts.isIdentifier(node) && refusedNames.has(node.text) && isUse(node))
      refuse(
        node,
        "not_in_sandbox",
        `\`${node.text}\` is not available: a plan cannot evaluate text or access its surroundings`,
      );
    if (ts.isNumericLiteral(node) && !isExact(node.getText(source)))
      refuse(
        node,
        "number_not_exact",
        `${node.getText(source)} does not fit into 53 bits and would be rounded to ${Number(node.text)}`,
        "write it as a bigint, with E.const in an expression, or with an exponent",
      );
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Whether an identifier is a use of a variable, and not only a name after a dot or before a colon. */
function isUse(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent) || ts.isMethodDeclaration(parent))
    return parent.name !== node;
  return !ts.isTypeReferenceNode(parent);
}

/**
 * Returns whether a number can represent the literal as it is written. An integer literal must be exact; literals with
 * fractions or exponents may be rounded.
 */
function isExact(text: string): boolean {
  const digits = text.replaceAll("_", "");
  if (/[.]/.test(digits) || (/e/i.test(digits) && !/^0x/i.test(digits))) return true;
  return BigInt(digits) === BigInt(Number(digits));
}
