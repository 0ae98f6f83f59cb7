// reader.ts: takes the fields out of one JSON object and collects what is wrong with them, as the engine's reader does.
import { Fraction } from "./exact_json.js";
import { byBytes, ExactInteger } from "./json.js";

/** A diagnostic about an artifact: a code of the engine, and a JSON pointer. */
export interface Problem {
  code: string;
  pointer: string;
  message: string;
  hint: string;
  node: string;
}

/** Whether a field must be there; where it is nullable, null stands for absence. */
export type Presence = "required" | "optional" | "nullable";

/** An object of JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

const mostUnknownFields = 100;
const least64 = -(2n ** 63n);
const most64 = 2n ** 63n - 1n;

/** Appends one token to a JSON pointer. */
export function pointerTo(parent: string, token: string | number): string {
  const text = String(token);
  return `${parent}/${/[~/]/.test(text) ? text.replaceAll("~", "~0").replaceAll("/", "~1") : text}`;
}

/** Whether a value is an object of JSON. */
export function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Fraction) &&
    !(value instanceof ExactInteger)
  );
}

/** The integer that is there, of any size; nothing where it is none. */
export function integerOf(value: unknown): bigint | undefined {
  if (value instanceof ExactInteger) return BigInt(value.digits);
  return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : undefined;
}

/** What a message calls a value. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return "a string";
  if (typeof value === "boolean") return "a boolean";
  if (integerOf(value) !== undefined) return "an integer";
  return typeof value === "number" || value instanceof Fraction ? "a fraction" : "an object";
}

/** The fields of an object in the order in which the engine meets them. */
export function sortedFields(value: JsonObject): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => byBytes(a, b));
}

/** Whether an integer stands for a float: it equals one, or is written as JavaScript writes a large one. */
export function isFloatLiteral(digits: string): boolean {
  const value = Number(digits);
  return BigInt(value) === BigInt(digits) || String(value) === digits;
}

/** Whether a value is an integer of 64 bits; one beyond them is a float. */
export function isInt64(value: unknown): boolean {
  const whole = integerOf(value);
  return whole !== undefined && whole <= most64 && whole >= least64;
}

/** What is wrong with a value that should be a float or an int; nothing where it is right. */
export function numberProblem(value: unknown, type: "int" | "float"): { code: string; message: string } | undefined {
  const whole = integerOf(value);
  if (type === "int") {
    const float = value instanceof Fraction ? value.value : value;
    if (typeof float === "number" && Math.abs(float) >= 2 ** 63)
      return { code: "out_of_range", message: "must fit into 64 bits" };
    if (whole === undefined) return { code: "wrong_type", message: `must be an integer, not ${kindOf(value)}` };
    return whole > most64 || whole < least64 ? { code: "out_of_range", message: "must fit into 64 bits" } : undefined;
  }
  if (whole !== undefined)
    return isFloatLiteral(whole.toString())
      ? undefined
      : { code: "out_of_range", message: "no float equals this integer" };
  const fraction = value instanceof Fraction ? value.value : value;
  if (typeof fraction !== "number") return { code: "wrong_type", message: `must be a number, not ${kindOf(value)}` };
  return Number.isFinite(fraction) ? undefined : { code: "non_finite_number", message: "must be finite" };
}

/** The known name nearest to `name`, as a question, or nothing. */
export function didYouMean(name: string, known: readonly string[]): string {
  let best = "";
  let bestDistance = Math.min(3, Math.floor(name.length / 2) + 1) + 1;
  for (const candidate of name.length > 64 ? [] : known) {
    const distance = editDistance(name, candidate);
    if (distance >= Math.max(name.length, candidate.length) || distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best === "" ? "" : `did you mean \`${best}\`?`;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}

/** Reads the fields of one object. What is absent or wrong reads as nothing. */
export class Reader {
  private readonly asked: string[] = [];
  private readonly object: JsonObject | undefined;

  constructor(
    value: unknown,
    readonly pointer: string,
    readonly problems: Problem[],
  ) {
    if (isObject(value)) this.object = value;
    else
      this.problems.push({
        code: "wrong_type",
        pointer,
        message: `an object is wanted here, not ${kindOf(value)}`,
        hint: "",
        node: "",
      });
  }

  report(field: string, code: string, message: string, hint = ""): void {
    this.problems.push({ code, pointer: pointerTo(this.pointer, field), message, hint, node: "" });
  }

  value(field: string, need: Presence): unknown {
    this.asked.push(field);
    if (this.object === undefined) return undefined;
    if (!Object.hasOwn(this.object, field)) {
      if (need === "required")
        this.problems.push({
          code: "missing_field",
          pointer: this.pointer,
          message: `the field \`${field}\` is missing`,
          hint: "",
          node: "",
        });
      return undefined;
    }
    const found = this.object[field];
    return found === null && need === "nullable" ? undefined : found;
  }

  private typed<Wanted>(
    field: string,
    need: Presence,
    what: string,
    is: (value: unknown) => value is Wanted,
  ): Wanted | undefined {
    const found = this.value(field, need);
    if (found === undefined || is(found)) return found as Wanted | undefined;
    this.report(field, "wrong_type", `\`${field}\` must be ${what}, not ${kindOf(found)}`);
    return undefined;
  }

  child(field: string, need: Presence): JsonObject | undefined {
    return this.typed(field, need, "an object", isObject);
  }
  array(field: string, need: Presence): readonly unknown[] | undefined {
    return this.typed(field, need, "an array", (value): value is readonly unknown[] => Array.isArray(value));
  }
  text(field: string, need: Presence): string | undefined {
    return this.typed(field, need, "a string", (value): value is string => typeof value === "string");
  }
  boolean(field: string, need: Presence): boolean | undefined {
    return this.typed(field, need, "true or false", (value): value is boolean => typeof value === "boolean");
  }

  integer(field: string, need: Presence, min: bigint = least64, max: bigint = most64): bigint | undefined {
    const found = this.value(field, need);
    if (found === undefined) return undefined;
    const whole = integerOf(found);
    if (whole === undefined) this.report(field, "wrong_type", `\`${field}\` must be an integer, not ${kindOf(found)}`);
    else if (whole < min || whole > max)
      this.report(field, "out_of_range", `\`${field}\` must lie between ${min} and ${max}`);
    else return whole;
    return undefined;
  }

  /** The number of a key or param. */
  id(field: string, need: Presence): number | undefined {
    const found = this.integer(field, need, 1n, 4294967295n);
    return found === undefined ? undefined : Number(found);
  }

  choice(field: string, need: Presence, choices: readonly string[]): string | undefined {
    const found = this.text(field, need);
    if (found === undefined || choices.includes(found)) return found;
    this.report(
      field,
      "bad_value",
      `\`${field}\` is \`${found}\`, which is none of: ${choices.map((each) => each || '""').join(", ")}`,
      didYouMean(found, choices),
    );
    return undefined;
  }

  /** Reports every field that was not read. */
  refuseUnknownFields(): void {
    if (this.object === undefined) return;
    const unknown = sortedFields(this.object).filter(([name]) => !this.asked.includes(name));
    for (const [name] of unknown.slice(0, mostUnknownFields))
      this.report(name, "unknown_field", `there is no field \`${name}\` here`, didYouMean(name, this.asked));
  }
}
