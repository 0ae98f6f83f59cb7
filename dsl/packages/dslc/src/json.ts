// json.ts: JSON values, and their canonical text. Fields are sorted, so equal values have equal texts. Numbers are
// written so that the engine reads the same numbers.
import { createHash } from "node:crypto";

/** A JSON value. `exactInteger` is for integers that do not fit into a number. */
export type Json =
  null | boolean | number | string | ExactInteger | readonly Json[] | { readonly [field: string]: Json };

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** An integer above 2^53. */
export class ExactInteger {
  constructor(readonly digits: string) {}
}

const inlineWidth = 100;

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactInteger);
}

/** Parses a text as JSON. Returns nothing if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The digits of an integer of any size, or nothing if the value is not an integer. */
export function integerText(value: unknown): string | undefined {
  if (value instanceof ExactInteger) return value.digits;
  return typeof value === "number" && Number.isSafeInteger(value) ? String(value) : undefined;
}

/** Appends one token to a JSON pointer. */
export function pointerTo(parent: string, token: string): string {
  return `${parent}/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Compares two texts by their UTF-8 bytes. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Returns the names of an object's fields in the order of their bytes. This is almost always the order of `sort`. */
function sortedNames(value: object): string[] {
  const names = Object.keys(value);
  return names.some((name) => /[\ud800-\uffff]/.test(name)) ? names.sort(byBytes) : names.sort();
}

/** An integral number above 2^53 is written with an exponent. Without it, the number would be read as an integer. */
function scalarText(value: unknown): string {
  if (value instanceof ExactInteger) return value.digits;
  const isLarge = Number.isInteger(value) && !Number.isSafeInteger(value);
  return isLarge ? (value as number).toExponential() : JSON.stringify(value);
}

/** Returns a value on one line. */
function inline(value: unknown, comma = ", ", colon = ": ", scalar = scalarText): string {
  const inner = (item: unknown): string => inline(item, comma, colon, scalar);
  if (Array.isArray(value)) return `[${value.map(inner).join(comma)}]`;
  if (!isObject(value)) return scalar(value);
  const fields = sortedNames(value).map((name) => `${JSON.stringify(name)}${colon}${inner(value[name])}`);
  return `{${fields.join(comma)}}`;
}

function pretty(value: Json, indent: string): string {
  const deeper = `${indent}  `;
  // A short value is written on one line. `isSmall` avoids formatting large values twice.
  const line = isSmall(value, 12) ? inline(value) : undefined;
  if (line !== undefined && line.length <= inlineWidth) return line;
  const linesOf = (items: readonly string[]): string => `\n${deeper}${items.join(`,\n${deeper}`)}\n${indent}`;
  if (Array.isArray(value)) return `[${linesOf(value.map((item: Json) => pretty(item, deeper)))}]`;
  if (!isObject(value)) return scalarText(value);
  const fields = sortedNames(value).map((name) => `${JSON.stringify(name)}: ${pretty(value[name]!, deeper)}`);
  return `{${linesOf(fields)}}`;
}

function isSmall(value: Json, most: number): boolean {
  if (Array.isArray(value))
    return value.length <= most && value.every((item) => !isObject(item) && !Array.isArray(item));
  return (
    isObject(value) &&
    Object.values(value).every((item) => !isObject(item) && (!Array.isArray(item) || isSmall(item, most)))
  );
}

/**
 * Formats a value for people and version control: two spaces for each level, short values on one line, and a line feed
 * at the end.
 */
export function prettyJson(value: Json): string {
  return `${pretty(value, "")}\n`;
}

/** Formats a value with sorted fields and without white space. Digests of registries are computed from this text. */
export function canonicalJson(value: unknown): string {
  return inline(value, ",", ":", (scalar) => (typeof scalar === "bigint" ? String(scalar) : JSON.stringify(scalar)));
}

/** The SHA-256 of bytes, in lower-case hexadecimal digits. */
export function sha256(bytes: string | Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
