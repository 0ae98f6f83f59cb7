// values.ts: helpers for JSON values, and for JSON pointers into them.
import { ExactInteger } from "./json.js";

/** An object of JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Appends one token to a JSON pointer. */
export function pointerTo(parent: string, token: string | number): string {
  const text = String(token);
  return `${parent}/${/[~/]/.test(text) ? text.replaceAll("~", "~0").replaceAll("/", "~1") : text}`;
}

/** Whether a value is an object of JSON. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactInteger);
}

/** The digits of an integer of any size; nothing if the value is no integer. */
export function integerText(value: unknown): string | undefined {
  if (value instanceof ExactInteger) return value.digits;
  return typeof value === "number" && Number.isSafeInteger(value) ? String(value) : undefined;
}
