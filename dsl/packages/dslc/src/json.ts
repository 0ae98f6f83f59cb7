// json.ts: writes JSON whose bytes depend only on the value: fields are sorted, and the engine reads numbers without
// loss.
import { createHash } from "node:crypto";

/** A value as JSON has it; `exactInteger` is for integers that a number cannot hold. */
export type Json =
  null | boolean | number | string | ExactInteger | readonly Json[] | { readonly [field: string]: Json };

/** An integer beyond 2^53. */
export class ExactInteger {
  constructor(readonly digits: string) {}
}

const inlineWidth = 100;

/** In the order of their UTF-8 bytes. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The names of the fields of an object in the order of their bytes, which almost always is that of `sort`. */
function sortedNames(value: object): string[] {
  const names = Object.keys(value);
  return names.some((name) => /[\ud800-\uffff]/.test(name)) ? names.sort(byBytes) : names.sort();
}

function fieldsOf(value: { readonly [field: string]: Json }): [string, Json][] {
  return sortedNames(value).map((name) => [name, value[name]!]);
}

/** An integral number past 2^53 is written with an exponent: without one it would count as an integer. */
function numberText(value: number): string {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : JSON.stringify(value);
}

function isObject(value: Json): value is { readonly [field: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactInteger);
}

function scalarText(value: Json): string {
  if (value instanceof ExactInteger) return value.digits;
  return typeof value === "number" ? numberText(value) : JSON.stringify(value);
}

function inline(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (isObject(value))
    return `{${fieldsOf(value)
      .map(([name, field]) => `${JSON.stringify(name)}: ${inline(field)}`)
      .join(", ")}}`;
  return scalarText(value);
}

function pretty(value: Json, indent: string): string {
  const items = Array.isArray(value)
    ? value.map((item: Json) => ["", item] as const)
    : isObject(value)
      ? fieldsOf(value).map(([name, field]) => [`${JSON.stringify(name)}: `, field] as const)
      : undefined;
  if (items === undefined) return scalarText(value);
  // A short value is written on one line. The check for its size avoids formatting large values twice.
  if (isSmall(value, 12)) {
    const line = inline(value);
    if (line.length <= inlineWidth) return line;
  }
  const deeper = `${indent}  `;
  const lines = items.map(([name, item]) => `${deeper}${name}${pretty(item, deeper)}`);
  return Array.isArray(value) ? `[\n${lines.join(",\n")}\n${indent}]` : `{\n${lines.join(",\n")}\n${indent}}`;
}

function isSmall(value: Json, most: number): boolean {
  if (Array.isArray(value))
    return value.length <= most && value.every((item) => !isObject(item) && !Array.isArray(item));
  return (
    isObject(value) &&
    Object.values(value).every((item) => !isObject(item) && (!Array.isArray(item) || isSmall(item, most)))
  );
}

/** For people and for version control: two spaces a level, short things on one line, a line break at the end. */
export function prettyJson(value: Json): string {
  return `${pretty(value, "")}\n`;
}

/** Sorted fields and no white space: what digests of registries are made of. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const object = value as Record<string, unknown>;
  return `{${sortedNames(object)
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(object[name])}`)
    .join(",")}}`;
}

/** The SHA-256 of bytes, in lower-case hexadecimal digits. */
export function sha256(bytes: string | Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
