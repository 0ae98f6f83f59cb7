// artifact_parts.ts: converts parts of the sandbox's output to parts of artifacts: values, expression trees, and
// positions in the source.
import type { Place } from "./diagnostic.js";
import { ExactInteger, type Json, sha256 } from "./json.js";

/** Written into artifacts; changes when the same plan would produce other bytes. */
export const builtBy = "dslc 1";

/** The fields of an object of an artifact. */
export type JsonFields = { readonly [field: string]: Json };

/** The places of the parts of one artifact. */
export class Places {
  /** Pointer into the artifact → the place of its text. */
  readonly byPointer = new Map<string, Place>();

  /** `find` returns the place of a span number from the sandbox; `sources` are texts by their paths as in places. */
  constructor(
    private readonly find: (span: unknown) => Place | undefined,
    private readonly sources: ReadonlyMap<string, string>,
  ) {}

  /** The paths of the sources, each with the digest of its text. */
  sourceFiles(): string[] {
    return [...this.sources].map(([shown, text]) => `${shown}#sha256=${sha256(text)}`);
  }

  /** Stores the place of a part. Returns the field `name` for the artifact; no field if the place is not known. */
  add(pointer: string, span: unknown, name = "source_span"): JsonFields {
    const place = this.find(span);
    if (place === undefined) return {};
    this.byPointer.set(pointer, place);
    const file = [...this.sources.keys()].indexOf(place.file);
    const { line, column, endLine, endColumn } = place;
    return { [name]: { file: Math.max(0, file), line, column, end_line: endLine, end_column: endColumn } };
  }

  /** Stores the places of the fields of a part; the field `""` is the part itself. */
  addFields(pointer: string, spans: Readonly<Record<string, number>> = {}): void {
    for (const [field, span] of Object.entries(spans)) this.add(field === "" ? pointer : `${pointer}/${field}`, span);
  }

  /** The place of the text for a pointer, or for the closest part above it. */
  above(pointer: string): Place | undefined {
    for (let at = pointer; ; at = at.slice(0, at.lastIndexOf("/"))) {
      const place = this.byPointer.get(at);
      if (place !== undefined || at === "") return place;
    }
  }
}

/** A field that only some artifacts have: an empty array or object is left out. */
export const unlessEmpty = (name: string, value: JsonFields | readonly Json[]): JsonFields =>
  Object.keys(value).length === 0 ? {} : { [name]: value };

/** A value that came out of the sandbox; integers that no number holds come as `{ $int }`. */
export function fromSandbox(value: unknown): Json {
  if (Array.isArray(value)) return value.map(fromSandbox);
  if (typeof value !== "object" || value === null) return value as Json;
  const digits = (value as Record<string, unknown>)["$int"];
  if (typeof digits === "string" && /^-?[1-9][0-9]{0,18}$/.test(digits)) return new ExactInteger(digits);
  return fieldsFromSandbox(value);
}

/** The same of an object, all of whose names are names of fields. */
export function fieldsFromSandbox(value: object): JsonFields {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, fromSandbox(field)]));
}

/** A tree without its spans, each of which is told with the path of its part. */
export function plainTree(tree: unknown, tell: (path: string, span: unknown) => void, path = ""): Json {
  const out = Object.create(null) as Record<string, Json>;
  for (const [name, field] of Object.entries(tree as Record<string, unknown>)) {
    const isPart = typeof field === "object" && field !== null && "op" in field;
    if (name === "$span") tell(path, field);
    else out[name] = isPart ? plainTree(field, tell, `${path}/${name}`) : fromSandbox(field);
  }
  return out;
}
