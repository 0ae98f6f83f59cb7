// exact_json.ts: reads JSON as the engine does: integers stay integers, no field occurs twice, depth is bounded.
import { ExactInteger } from "./json.js";
import { isFloatLiteral, type Problem, pointerTo } from "./reader.js";

/** A number that was written with a point or an exponent. */
export class Fraction {
  constructor(readonly value: number) {}
}

const largestDocument = 16 * 1024 * 1024;
const maxDepth = 1000;
const mostDuplicates = 100;
const least64 = -(2n ** 63n);
const mostUnsigned64 = 2n ** 64n - 1n;
const number = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

class Stop extends Error {}

class Parser {
  readonly problems: Problem[] = [];
  private at = 0;
  private readonly path: (string | number)[] = [];

  constructor(private readonly text: string) {}

  run(): unknown {
    try {
      const value = this.value();
      this.skipSpace();
      if (this.at < this.text.length) this.syntax("nothing follows the document");
      return value;
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
      return undefined;
    }
  }

  private problem(code: string, pointer: string, message: string): void {
    this.problems.push({ code, pointer, message, hint: "", node: "" });
  }

  private syntax(message: string): never {
    const before = this.text.slice(0, this.at).split("\n");
    this.problem("json_syntax", "", `line ${before.length}, column ${before.at(-1)!.length + 1}: ${message}`);
    throw new Stop();
  }

  private pointer(): string {
    return this.path.reduce<string>((parent, part) => pointerTo(parent, part), "");
  }

  private skipSpace(): void {
    while (" \t\r\n".includes(this.text[this.at] ?? "x")) ++this.at;
  }

  private value(): unknown {
    this.skipSpace();
    const first = this.text[this.at];
    if (first === "{" || first === "[") return this.container(first);
    if (first === '"') return this.string();
    for (const [word, value] of [
      ["null", null],
      ["true", true],
      ["false", false],
    ] as const) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    return this.number();
  }

  private container(opening: "{" | "["): unknown {
    if (this.path.length === maxDepth) {
      this.problem("json_too_deep", "", `arrays and objects nest deeper than ${maxDepth} levels`);
      throw new Stop();
    }
    ++this.at;
    return opening === "{" ? this.object() : this.array();
  }

  private array(): unknown[] {
    const out: unknown[] = [];
    this.skipSpace();
    if (this.text[this.at] === "]") return (++this.at, out);
    for (;;) {
      this.path.push(out.length);
      out.push(this.value());
      this.path.pop();
      if (this.separator("]") === "end") return out;
    }
  }

  private object(): Record<string, unknown> {
    const out = Object.create(null) as Record<string, unknown>;
    this.skipSpace();
    if (this.text[this.at] === "}") return (++this.at, out);
    for (;;) {
      this.skipSpace();
      if (this.text[this.at] !== '"') this.syntax("the name of a field is wanted");
      const name = this.string();
      this.skipSpace();
      if (this.text[this.at] !== ":") this.syntax("`:` is wanted");
      ++this.at;
      this.path.push(name);
      if (name in out) {
        this.problem("duplicate_field", this.pointer(), `the field \`${name}\` occurs twice`);
        if (this.problems.length >= mostDuplicates) throw new Stop();
      }
      out[name] = this.value();
      this.path.pop();
      if (this.separator("}") === "end") return out;
    }
  }

  private separator(closing: string): "more" | "end" {
    this.skipSpace();
    const next = this.text[this.at];
    if (next !== "," && next !== closing) this.syntax(`\`,\` or \`${closing}\` is wanted`);
    ++this.at;
    return next === "," ? "more" : "end";
  }

  private string(): string {
    let out = "";
    for (++this.at; ; ++this.at) {
      const next = this.text[this.at];
      if (next === undefined || next < " ") this.syntax("the string does not end");
      if (next === '"') return (++this.at, out);
      out += next === "\\" ? this.escape() : next;
    }
  }

  private escape(): string {
    const kind = this.text[++this.at] ?? "";
    if (kind !== "u") return escapes[kind] ?? this.syntax("there is no such escape");
    const unit = this.unit();
    if (unit >= 0xdc00 && unit <= 0xdfff) this.syntax("the second half of a surrogate pair stands alone");
    if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
    if (this.text[this.at + 1] !== "\\" || this.text[this.at + 2] !== "u")
      this.syntax("the first half of a surrogate pair stands alone");
    this.at += 2;
    const low = this.unit();
    if (low < 0xdc00 || low > 0xdfff) this.syntax("the first half of a surrogate pair stands alone");
    return String.fromCharCode(unit, low);
  }

  private unit(): number {
    const digits = this.text.slice(this.at + 1, this.at + 5);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.syntax("four hexadecimal digits are wanted");
    this.at += 4;
    return parseInt(digits, 16);
  }

  private number(): unknown {
    number.lastIndex = this.at;
    const match = number.exec(this.text);
    if (match === null) this.syntax("a value is wanted");
    const [literal, point, exponent] = match;
    const value = Number(literal);
    if (!Number.isFinite(value)) {
      this.problem(
        "number_out_of_range",
        this.pointer(),
        `the number ${literal.slice(0, 40)} is past the range of floats`,
      );
      throw new Stop();
    }
    this.at += literal.length;
    if (point !== undefined || exponent !== undefined) return new Fraction(value);
    if (Number.isSafeInteger(value)) return value;
    const exact = BigInt(literal);
    // Readers of integers refuse what does not fit into 64 bits; readers of floats take the float that it stands for.
    if ((exact < least64 || exact > mostUnsigned64) && !isFloatLiteral(literal))
      this.problem(
        "number_out_of_range",
        this.pointer(),
        `the integer ${literal.slice(0, 40)} does not fit into 64 bits, and no float equals it`,
      );
    return new ExactInteger(literal);
  }
}

/** The document, or what is wrong with its text. */
export function parseExact(bytes: Buffer): { value?: unknown; problems: Problem[] } {
  const problem = (code: string, message: string): Problem => ({ code, pointer: "", message, hint: "", node: "" });
  if (bytes.length > largestDocument)
    return { problems: [problem("file_too_large", `the document has more than ${largestDocument} bytes`)] };
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return {
      problems: [
        problem("invalid_utf8", "the bytes are not UTF-8"),
        ...(bytes.includes(0) ? [problem("json_syntax", "a zero byte")] : []),
      ],
    };
  }
  if (text.includes("\0")) return { problems: [problem("json_syntax", "a zero byte")] };
  const parser = new Parser(text);
  const value = parser.run();
  return parser.problems.length > 0 ? { problems: parser.problems } : { value, problems: [] };
}
