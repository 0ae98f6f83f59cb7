// artifact_parts.ts: converts parts of the sandbox's output to parts of artifacts: values, expression trees, and
// positions in the source.
import type { Place } from "./diagnostic.js";
import { ExactInteger, type Json, sha256 } from "./json.js";

/** The version that is written into artifacts. It changes when the same plan would produce different bytes. */
export const builtBy = "dslc 1";

/** The fields of a JSON object in an artifact. */
export type JsonFields = { readonly [field: string]: Json };

/** The source positions of the parts of one artifact. */
export class Places {
  /** Maps a pointer into the artifact to the position of its source text. */
  readonly byPointer = new Map<string, Place>();

  /** `find` returns the position for a span number from the sandbox. `sources` are the source texts by their paths. */
  constructor(
    private readonly find: (span: unknown) => Place | undefined,
    private readonly sources: ReadonlyMap<string, string>,
  ) {}

  /** The paths of the sources, each with the digest of its text. */
  sourceFiles(): string[] {
    return [...this.sources].map(([shown, text]) => `${shown}#sha256=${sha256(text)}`);
  }

  /**
   * Stores the position of a part. Returns the field `name` for the artifact, or no field if the position is not known.
   */
  add(pointer: string, span: unknown, name = "source_span"): JsonFields {
    const place = this.find(span);
    if (place === undefined) return {};
    this.byPointer.set(pointer, place);
    const file = [...this.sources.keys()].indexOf(place.file);
    const { line, column, endLine, endColumn } = place;
    return { [name]: { file: Math.max(0, file), line, column, end_line: endLine, end_column: endColumn } };
  }

  /** Stores the positions of the fields of a part. The field `""` stands for the part itself. */
  addFields(pointer: string, spans: Readonly<Record<string, number>> = {}): void {
    for (const [field, span] of Object.entries(spans)) this.add(field === "" ? pointer : `${pointer}/${field}`, span);
  }

  /** Returns the source position for a pointer, or for the closest enclosing part. */
  above(pointer: string): Place | undefined {
    for (let at = pointer; ; at = at.slice(0, at.lastIndexOf("/"))) {
      const place = this.byPointer.get(at);
      if (place !== undefined || at === "") return place;
    }
  }
}

/** A field that only some artifacts have. An empty array or object is left out. */
export const unlessEmpty = (name: string, value: JsonFields | readonly Json[]): JsonFields =>
  Object.keys(value).length === 0 ? {} : { [name]: value };

/** Converts a value from the sandbox. Integers that do not fit into a number are written as `{ $int }` there. */
export function fromSandbox(value: unknown): Json {
  if (Array.isArray(value)) return value.map(fromSandbox);
  if (typeof value !== "object" || value === null) return value as Json;
  const digits = (value as Record<string, unknown>)["$int"];
  if (typeof digits === "string" && /^-?[1-9][0-9]{0,18}$/.test(digits)) return new ExactInteger(digits);
  return fieldsFromSandbox(value);
}

/** Converts an object in the same way. All its names must be names of fields. */
export function fieldsFromSandbox(value: object): JsonFields {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, fromSandbox(field)]));
}

/** Returns a tree without its spans. Each span is reported with the path of its part. */
export function plainTree(tree: unknown, tell: (path: string, span: unknown) => void, path = ""): Json {
  const out = Object.create(null) as Record<string, Json>;
  for (const [name, field] of Object.entries(tree as Record<string, unknown>)) {
    const isPart = typeof field === "object" && field !== null && "op" in field;
    if (name === "$span") tell(path, field);
    else out[name] = isPart ? plainTree(field, tell, `${path}/${name}`) : fromSandbox(field);
  }
  return out;
}
