// options.ts: finds the options of a plan's nodes in the source text, and replaces an option there.
import ts = require("typescript");

import type { Place } from "./diagnostic.js";
import { isLibrary, isStandard } from "./plan_files.js";
import type { PlanProgram } from "./program.js";
import { Refusal } from "./project_error.js";
import { placeOf } from "./transform.js";

/** The way in which an option is written: as a literal, as one of several words, or as any expression. */
export type OptionKind = "number" | "string" | "truth" | "choice" | "expression";

/** An option of a node that the text of the plan sets. */
export interface NodeOption {
  readonly node: string;
  /** The name in the text. */
  readonly option: string;
  readonly kind: OptionKind;
  /**
   * The position of the value. If the text does not set the option by its name, the position of the call that creates
   * the node.
   */
  readonly place: Place;
  /** The text at this position. For a string, its contents. */
  readonly text: string;
  /** The words of a choice. */
  readonly choices: readonly string[];
  /** The reason why the option cannot be changed here; empty if it can be changed. */
  readonly why: string;
  /** The definition of its name. Null if the name is not that of exactly one definition of the author. */
  readonly definition: Place | null;
}

/** An option as the compiler knows it, by its field in the artifact. */
export interface GivenOption {
  readonly node: string;
  readonly field: string;
  readonly place: Place;
  /** The kind of the param in the registry; empty if the option is not a param. */
  readonly kind: string;
  readonly choices: readonly string[];
  /** The field in the artifact. */
  readonly value: unknown;
}

const formulas = ["expr_id", "pred_id"];
const notWritten = "the option is not written as a field with its own name";

/**
 * Returns all options of the plan in the file `plan` of a program, with the information whether each can be changed.
 */
export function optionsOf(given: readonly GivenOption[], program: PlanProgram, plan: string): NodeOption[] {
  const users = new Map<string, string[]>();
  const shared = given.map(({ place, node }) => {
    const key = JSON.stringify(place);
    const nodes = users.get(key) ?? [];
    users.set(key, nodes);
    nodes.push(node);
    return nodes;
  });
  return given.map((each, at) => new OptionReader(each, shared[at]!, program, plan).read());
}

type Property = ts.PropertyAssignment | ts.ShorthandPropertyAssignment;

class OptionReader {
  constructor(
    private readonly given: GivenOption,
    private readonly users: readonly string[],
    private readonly program: PlanProgram,
    private readonly plan: string,
  ) {}

  read(): NodeOption {
    const { field, place, choices } = this.given;
    const source = this.program.source(place.file);
    const property = source && propertyAt(source, place);
    if (source === undefined || property === undefined)
      return this.option(field.replace("$", ""), "", "expression", notWritten, null);
    const value = ts.isPropertyAssignment(property) ? property.initializer : property.name;
    const name = (property.name as ts.Identifier | ts.StringLiteral).text;
    const kind = this.kindOf(value);
    const why = this.whyElsewhere() || this.whyReplaced(property, name) || this.whyComputed(property, value);
    const shown = kind === "string" && choices.length > 0 ? "choice" : kind;
    const text = ts.isStringLiteral(value) ? value.text : value.getText(source);
    const option = this.option(name, text, shown, why, this.definitionOf(value));
    return shown === "choice" ? { ...option, choices } : option;
  }

  private option(option: string, text: string, kind: OptionKind, why: string, definition: Place | null): NodeOption {
    return { node: this.given.node, option, kind, place: this.given.place, text, choices: [], why, definition };
  }

  private kindOf(value: ts.Expression): OptionKind {
    if (formulas.includes(this.given.kind)) return "expression";
    if (ts.isStringLiteral(value)) return "string";
    if (isTruth(value)) return "truth";
    return isNumber(value) ? "number" : "expression";
  }

  private whyElsewhere(): string {
    const { place, node } = this.given;
    if (place.file !== this.plan) return `it is written in ${place.file}`;
    const others = this.users.filter((each) => each !== node);
    if (others.length === 0) return "";
    return `the same text gives it to ${others.length === 1 ? others[0]! : `${others.length} other nodes`}, too`;
  }

  /** If other fields are spread into the literal after the option, they may replace its value. */
  private whyReplaced(property: Property, name: string): string {
    const { properties } = property.parent;
    const later = properties.slice(properties.indexOf(property) + 1);
    const checker = this.program.checker();
    const isReplaced = later.some(
      (each) =>
        ts.isSpreadAssignment(each) && checker.getTypeAtLocation(each.expression).getProperty(name) !== undefined,
    );
    return isReplaced ? "an object that is spread after it contains the option, too" : "";
  }

  private whyComputed(property: Property, value: ts.Expression): string {
    const { kind } = this.given;
    if (kind === "node_ref") return "the option is an edge: its value is another set";
    if (ts.isShorthandPropertyAssignment(property) || ts.isIdentifier(value))
      return `\`${value.getText()}\` is defined elsewhere`;
    if (formulas.includes(kind)) return "";
    if (!this.isWrittenOut(value)) return "it is computed";
    return this.isSame(value) ? "" : "another statement changes it later";
  }

  /** Returns false if the plan has a value other than this literal. Other code has then replaced it. */
  private isSame(value: ts.Expression): boolean {
    const built = this.given.value;
    if (ts.isStringLiteral(value)) return value.text === built;
    if (isTruth(value)) return (value.kind === ts.SyntaxKind.TrueKeyword) === built;
    return !isNumber(value) || typeof built !== "number" || Number(value.getText().replace(/[_n]/g, "")) === built;
  }

  /**
   * Whether an expression consists of literals, names of the registries, and lists and calls of these, so that no other
   * line of the plan affects it.
   */
  private isWrittenOut(value: ts.Expression): boolean {
    if (ts.isStringLiteral(value) || isNumber(value) || isTruth(value)) return true;
    if (value.kind === ts.SyntaxKind.NullKeyword) return true;
    if (ts.isArrayLiteralExpression(value)) return value.elements.every((each) => this.isWrittenOut(each));
    if (ts.isObjectLiteralExpression(value))
      return value.properties.every((each) => ts.isPropertyAssignment(each) && this.isWrittenOut(each.initializer));
    if (ts.isPropertyAccessExpression(value))
      return ts.isIdentifier(value.expression)
        ? this.isOfPackage(value.expression)
        : this.isWrittenOut(value.expression);
    if (ts.isCallExpression(value))
      return (
        ts.isPropertyAccessExpression(value.expression) &&
        this.isWrittenOut(value.expression) &&
        value.arguments.every((each) => this.isWrittenOut(each))
      );
    return false;
  }

  /** Whether a name was imported from the authoring package. */
  private isOfPackage(name: ts.Identifier): boolean {
    return this.declarationsOf(name).every((each) => !isAuthors(each.getSourceFile()));
  }

  private declarationsOf(name: ts.Identifier): readonly ts.Declaration[] {
    const checker = this.program.checker();
    const found = ts.isShorthandPropertyAssignment(name.parent)
      ? checker.getShorthandAssignmentValueSymbol(name.parent)
      : checker.getSymbolAtLocation(name);
    const target = found && found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found;
    return target?.declarations ?? [];
  }

  /** Returns the definition of a single name, or of the called function. */
  private definitionOf(value: ts.Expression): Place | null {
    const name = ts.isCallExpression(value) ? value.expression : value;
    if (!ts.isIdentifier(name)) return null;
    const [declaration, more] = this.declarationsOf(name);
    if (declaration === undefined || more !== undefined) return null;
    const source = declaration.getSourceFile();
    if (!isAuthors(source)) return null;
    return placeOf(this.program.shown(source.fileName), source, declaration.getStart(source), declaration.getEnd());
  }
}

const isAuthors = ({ fileName }: ts.SourceFile): boolean => !isLibrary(fileName) && !isStandard(fileName);

function isTruth({ kind }: ts.Expression): boolean {
  return kind === ts.SyntaxKind.TrueKeyword || kind === ts.SyntaxKind.FalseKeyword;
}

function isNumber(value: ts.Expression): boolean {
  if (ts.isPrefixUnaryExpression(value))
    return value.operator === ts.SyntaxKind.MinusToken && isNumber(value.operand) && value.operand.kind !== value.kind;
  return ts.isNumericLiteral(value) || ts.isBigIntLiteral(value);
}

/** Returns the property of an object literal whose value is at this position. */
function propertyAt(source: ts.SourceFile, place: Place): Property | undefined {
  const starts = source.getLineStarts();
  if (place.endLine > starts.length) return undefined;
  const offset = (line: number, column: number): number => starts[line - 1]! + column - 1;
  return propertyOf(source, offset(place.line, place.column), offset(place.endLine, place.endColumn));
}

function propertyOf(source: ts.SourceFile, from: number, to: number): Property | undefined {
  let found = propertiesOf.get(source);
  if (found === undefined) propertiesOf.set(source, (found = namedProperties(source)));
  return found.get(`${from}:${to}`);
}

/** Cached for each file, because a plan may have thousands of options. */
const propertiesOf = new WeakMap<ts.SourceFile, ReadonlyMap<string, Property>>();

/** The properties with plain names, by the range of their values. If several have the same range, the outermost one. */
function namedProperties(source: ts.SourceFile): Map<string, Property> {
  const found = new Map<string, Property>();
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)) {
      const value = ts.isPropertyAssignment(node) ? node.initializer : node;
      const at = `${value.getStart(source)}:${value.getEnd()}`;
      if ((ts.isIdentifier(node.name) || ts.isStringLiteral(node.name)) && !found.has(at)) found.set(at, node);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The text that replaces the characters in `[from, to)`. */
export interface TextChange {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/**
 * Replaces the value of the option at `[from, to)`. All other text stays unchanged, byte for byte. Pass strings without
 * quotes; they get the quotes of the old value. Throws a Refusal: `not_an_option` or `bad_value`.
 */
export function changedOption(text: string, from: number, to: number, kind: OptionKind, value: string): TextChange {
  const property = propertyOf(parsed(text), from, to);
  if (property === undefined || !ts.isPropertyAssignment(property))
    throw new Refusal("not_an_option", "there is no option at this place; the text has changed in the meantime");
  const insert = kind === "string" || kind === "choice" ? quoted(value, text[from]!) : value.trim();
  const given = expressionOf(insert);
  const isFitting =
    given !== undefined && { number: isNumber(given), truth: /^(true|false)$/.test(insert) }[kind as string];
  if (given === undefined || isFitting === false)
    throw new Refusal(
      "bad_value",
      `\`${value}\` is ` +
        ({ number: "not a number", truth: "neither true nor false" }[kind as string] ?? "not an expression"),
    );
  const next = text.slice(0, from) + insert + text.slice(to);
  const there = propertyOf(parsed(next), from, from + insert.length);
  if (there === undefined) throw new Refusal("bad_value", `\`${value}\` would change what stands around it`);
  return { from, to, insert };
}

function parsed(text: string): ts.SourceFile {
  return ts.createSourceFile("plan.ts", text, ts.ScriptTarget.ES2022, true);
}

/** Parses a text that is exactly one expression. Returns nothing for any other text. */
function expressionOf(text: string): ts.Expression | undefined {
  const source = parsed(`(${text})`) as ts.SourceFile & { readonly parseDiagnostics: readonly unknown[] };
  const [statement, more] = source.statements;
  if (source.parseDiagnostics.length > 0 || more !== undefined || statement === undefined) return undefined;
  if (!ts.isExpressionStatement(statement) || !ts.isParenthesizedExpression(statement.expression)) return undefined;
  const { expression } = statement.expression;
  const isList = ts.isBinaryExpression(expression) && expression.operatorToken.kind === ts.SyntaxKind.CommaToken;
  // Comments around the expression are refused, because they would become a part of the option's value.
  return isList || expression.getText(source) !== text ? undefined : expression;
}

function quoted(value: string, quote: string): string {
  const text = JSON.stringify(value);
  return quote === "'" ? `'${text.slice(1, -1).replace(/\\"/g, '"').replace(/'/g, "\\'")}'` : text;
}
