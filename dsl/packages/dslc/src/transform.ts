// transform.ts: replaces a plan's operators, conditions and calls by calls of the authoring package's hooks.
//
// The hooks decide at run time which operands are known while the plan is built, and which only while a request runs.
// So constants from anywhere, helper functions and loops work as written. Every hook receives the place of the replaced
// text.
import ts from "typescript";

import { type Diagnostic, diagnostic, type Place } from "./diagnostic.js";

/** The name under which compiled plans find the hooks. */
const hooksName = "$rankd";

const natural = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.PlusToken, "+"],
  [ts.SyntaxKind.MinusToken, "-"],
  [ts.SyntaxKind.AsteriskToken, "*"],
  [ts.SyntaxKind.SlashToken, "/"],
  [ts.SyntaxKind.PercentToken, "%"],
  [ts.SyntaxKind.AsteriskAsteriskToken, "**"],
  [ts.SyntaxKind.LessThanToken, "<"],
  [ts.SyntaxKind.LessThanEqualsToken, "<="],
  [ts.SyntaxKind.GreaterThanToken, ">"],
  [ts.SyntaxKind.GreaterThanEqualsToken, ">="],
  [ts.SyntaxKind.EqualsEqualsToken, "=="],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, "==="],
  [ts.SyntaxKind.ExclamationEqualsToken, "!="],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, "!=="],
  [ts.SyntaxKind.InKeyword, "in"],
]);
const lazy = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.AmpersandAmpersandToken, "and"],
  [ts.SyntaxKind.BarBarToken, "or"],
  [ts.SyntaxKind.QuestionQuestionToken, "coalesce"],
]);
const compound = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.PlusEqualsToken, "+"],
  [ts.SyntaxKind.MinusEqualsToken, "-"],
  [ts.SyntaxKind.AsteriskEqualsToken, "*"],
  [ts.SyntaxKind.SlashEqualsToken, "/"],
  [ts.SyntaxKind.PercentEqualsToken, "%"],
  [ts.SyntaxKind.AsteriskAsteriskEqualsToken, "**"],
]);
const unary = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.ExclamationToken, "not"],
  [ts.SyntaxKind.MinusToken, "neg"],
  [ts.SyntaxKind.PlusToken, "plus"],
]);

/** The places that compiled code refers to, by number; 0 means no place. */
export class SpanTable {
  private readonly places: (Place | undefined)[] = [undefined];

  add(place: Place): number {
    return this.places.push(place) - 1;
  }
  /** Returns nothing if the number is not in this table. */
  find(span: unknown): Place | undefined {
    return typeof span === "number" ? this.places[span] : undefined;
  }
}

/** The place of a part of a file. */
export function placeOf(file: string, source: ts.SourceFile, start: number, end: number): Place {
  const from = source.getLineAndCharacterOfPosition(start);
  const to = source.getLineAndCharacterOfPosition(end);
  return { file, line: from.line + 1, column: from.character + 1, endLine: to.line + 1, endColumn: to.character + 1 };
}

/** A transformer for one file, which is called `file` in places. */
export function transformer(file: string, spans: SpanTable): ts.TransformerFactory<ts.SourceFile> {
  return (context) => (source) => new Rewriter(context, source, file, spans).run();
}

class Rewriter {
  private readonly make: ts.NodeFactory;

  constructor(
    private readonly context: ts.TransformationContext,
    private readonly source: ts.SourceFile,
    private readonly file: string,
    private readonly spans: SpanTable,
  ) {
    this.make = context.factory;
  }

  run(): ts.SourceFile {
    return ts.visitEachChild(this.source, this.visit, this.context);
  }

  private readonly visit = (node: ts.Node): ts.Node => {
    if (ts.isTypeNode(node) || ts.isEnumDeclaration(node) || ts.isInterfaceDeclaration(node)) return node;
    if (ts.isBinaryExpression(node)) return this.binary(node);
    if (ts.isPrefixUnaryExpression(node)) return this.prefix(node);
    if (ts.isCallExpression(node)) return this.call(node);
    if (ts.isObjectLiteralExpression(node)) return this.object(node);
    if (ts.isConditionalExpression(node))
      return this.make.updateConditionalExpression(
        node,
        this.plain(node.condition),
        node.questionToken,
        this.expr(node.whenTrue),
        node.colonToken,
        this.expr(node.whenFalse),
      );
    if (ts.isIfStatement(node))
      return this.make.updateIfStatement(
        node,
        this.plain(node.expression),
        this.statement(node.thenStatement),
        node.elseStatement && this.statement(node.elseStatement),
      );
    if (ts.isWhileStatement(node))
      return this.make.updateWhileStatement(node, this.plain(node.expression), this.statement(node.statement));
    if (ts.isDoStatement(node))
      return this.make.updateDoStatement(node, this.statement(node.statement), this.plain(node.expression));
    if (ts.isForStatement(node)) return this.loop(node);
    if (ts.isSwitchStatement(node))
      return this.make.updateSwitchStatement(
        node,
        this.plain(node.expression),
        ts.visitNode(node.caseBlock, this.visit) as ts.CaseBlock,
      );
    if (ts.isCaseClause(node))
      return this.make.updateCaseClause(
        node,
        this.plain(node.expression),
        ts.visitNodes(node.statements, this.visit) as ts.NodeArray<ts.Statement>,
      );
    if (ts.isTemplateSpan(node)) return this.make.updateTemplateSpan(node, this.plain(node.expression), node.literal);
    if (
      ts.isElementAccessExpression(node) &&
      !ts.isLiteralExpression(node.argumentExpression) &&
      !ts.isOptionalChain(node)
    )
      return this.make.updateElementAccessExpression(
        node,
        this.expr(node.expression),
        this.plain(node.argumentExpression),
      );
    if (ts.isForOfStatement(node) || ts.isForInStatement(node)) return this.iteration(node);
    return ts.visitEachChild(node, this.visit, this.context);
  };

  private expr(node: ts.Expression): ts.Expression {
    return ts.visitNode(node, this.visit) as ts.Expression;
  }
  private statement(node: ts.Statement): ts.Statement {
    return ts.visitNode(node, this.visit) as ts.Statement;
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

  /** What decides while the plan is built. */
  private plain(node: ts.Expression): ts.Expression {
    return this.hook("plain", [this.expr(node), this.span(node)]);
  }

  private binary(node: ts.BinaryExpression): ts.Node {
    const { left, right, operatorToken } = node;
    const spans = [this.span(node), this.span(left), this.span(right)];
    const sign = natural.get(operatorToken.kind);
    if (sign !== undefined && !ts.isPrivateIdentifier(left))
      return this.hook("op", [this.make.createStringLiteral(sign), this.expr(left), this.expr(right), ...spans]);
    const name = lazy.get(operatorToken.kind);
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
    const step = compound.get(operatorToken.kind);
    if (step !== undefined && ts.isIdentifier(left)) {
      const value = this.hook("op", [this.make.createStringLiteral(step), left, this.expr(right), ...spans]);
      return this.make.createAssignment(left, value);
    }
    // On the left side of an assignment, such a literal is a destructuring pattern, so its fields are not expressions.
    if (
      operatorToken.kind === ts.SyntaxKind.EqualsToken &&
      (ts.isObjectLiteralExpression(left) || ts.isArrayLiteralExpression(left))
    )
      return this.make.updateBinaryExpression(node, left, operatorToken, this.expr(right));
    return ts.visitEachChild(node, this.visit, this.context);
  }

  private prefix(node: ts.PrefixUnaryExpression): ts.Node {
    const name = unary.get(node.operator);
    if (name === undefined || ts.isNumericLiteral(node.operand) || ts.isBigIntLiteral(node.operand))
      return ts.visitEachChild(node, this.visit, this.context);
    return this.hook(name, [this.expr(node.operand), this.span(node), this.span(node.operand)]);
  }

  private call(node: ts.CallExpression): ts.Node {
    const { expression: callee } = node;
    const isSpecial =
      callee.kind === ts.SyntaxKind.SuperKeyword ||
      callee.kind === ts.SyntaxKind.ImportKeyword ||
      ts.isOptionalChain(node);
    if (isSpecial) return ts.visitEachChild(node, this.visit, this.context);
    const args = this.make.createArrayLiteralExpression(node.arguments.map((each) => this.expr(each)));
    const hasSpread = node.arguments.some((each) => ts.isSpreadElement(each));
    const spans = this.make.createArrayLiteralExpression(
      hasSpread ? [] : node.arguments.map((each) => this.span(each)),
    );
    if (ts.isPropertyAccessExpression(callee)) {
      if (callee.expression.kind === ts.SyntaxKind.SuperKeyword || ts.isPrivateIdentifier(callee.name))
        return ts.visitEachChild(node, this.visit, this.context);
      const name = this.make.createStringLiteral(callee.name.text);
      return this.hook("call", [this.span(node, callee.name), this.expr(callee.expression), name, args, spans]);
    }
    if (ts.isElementAccessExpression(callee))
      return this.hook("call", [
        this.span(node, callee.argumentExpression),
        this.expr(callee.expression),
        this.plain(callee.argumentExpression),
        args,
        spans,
      ]);
    return this.hook("apply", [this.span(node), this.expr(callee), args, spans]);
  }

  private object(node: ts.ObjectLiteralExpression): ts.Node {
    const visited = ts.visitEachChild(node, this.visit, this.context);
    const fields = node.properties.flatMap((each) => {
      const isNamed = each.name !== undefined && (ts.isIdentifier(each.name) || ts.isStringLiteral(each.name));
      if (!isNamed) return [];
      const value = ts.isPropertyAssignment(each) ? each.initializer : each;
      const name = (each.name as ts.Identifier | ts.StringLiteral).text;
      return name === "__proto__"
        ? []
        : [this.make.createPropertyAssignment(this.make.createStringLiteral(name), this.span(value))];
    });
    if (fields.length === 0) return visited;
    return this.hook("fields", [visited, this.make.createObjectLiteralExpression(fields)]);
  }

  private loop(node: ts.ForStatement): ts.Node {
    return this.make.updateForStatement(
      node,
      node.initializer && (ts.visitNode(node.initializer, this.visit) as ts.ForInitializer),
      node.condition && this.plain(node.condition),
      node.incrementor && this.expr(node.incrementor),
      this.statement(node.statement),
    );
  }

  /** The left side may be a pattern that is assigned to; it stays unchanged. */
  private iteration(node: ts.ForOfStatement | ts.ForInStatement): ts.Node {
    if (ts.isForOfStatement(node))
      return this.make.updateForOfStatement(
        node,
        node.awaitModifier,
        node.initializer,
        this.expr(node.expression),
        this.statement(node.statement),
      );
    return this.make.updateForInStatement(
      node,
      node.initializer,
      this.plain(node.expression),
      this.statement(node.statement),
    );
  }
}

const packageName = "@rankd/plan";
const refusedNames = new Set(["eval", "Function", "require", "globalThis", hooksName]);

/** What a file says that no plan may say, whatever its types. */
export function refusals(file: string, source: ts.SourceFile): Diagnostic[] {
  const found: Diagnostic[] = [];
  const refuse = (node: ts.Node, code: string, message: string, hint = ""): void => {
    found.push(diagnostic(code, message, placeOf(file, source, node.getStart(source), node.getEnd()), { hint }));
  };
  const checkImport = (specifier: ts.Expression): void => {
    const name = ts.isStringLiteral(specifier) ? specifier.text : "";
    if (name !== packageName && !/^\.\.?\//.test(name))
      refuse(
        specifier,
        "foreign_import",
        `\`${name}\` cannot be imported`,
        `a plan imports ${packageName} and files of its own project`,
      );
  };
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier)
      checkImport(node.moduleSpecifier);
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

/** Whether an identifier is a use of a variable, and not just a name after a point or before a colon. */
function isUse(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent) || ts.isMethodDeclaration(parent))
    return parent.name !== node;
  return !ts.isTypeReferenceNode(parent);
}

/** An integer that is written out is the integer that is meant; fractions and exponents are meant to be rounded. */
function isExact(text: string): boolean {
  const digits = text.replaceAll("_", "");
  if (/[.]/.test(digits) || (/e/i.test(digits) && !/^0x/i.test(digits))) return true;
  return BigInt(digits) === BigInt(Number(digits));
}
