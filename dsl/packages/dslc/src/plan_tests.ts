// plan_tests.ts: builds the artifact of a plan's tests from the sandbox's output, with places in the author's files.
import type { Place } from "./diagnostic.js";
import { type Json } from "./json.js";

/** The end of the name of a file that defines tests. */
export const testSource = ".test.ts";
/** The end of the name of an artifact of tests; the part before it is the name of the plan. */
export const testArtifact = ".tests.json";

/** Whether a file defines tests, and not a plan. */
export const definesTests = (file: string): boolean => file.endsWith(testSource);

/** The output of the sandbox: see `buildTests` of the authoring package. */
export interface BuiltTests {
  readonly tests_of: string;
  readonly records: readonly Located[];
  readonly tests: readonly (Located & {
    readonly name: string;
    readonly records: readonly Located[];
    readonly faults: readonly Located[];
    readonly expect: readonly (Located & { readonly pred?: unknown })[];
    readonly request: unknown;
  })[];
  readonly $span: number;
}

interface Located {
  readonly $span: number;
}

/** How parts of the sandbox's output become parts of the artifact. */
export interface Conversion {
  readonly value: (value: unknown) => Json;
  readonly tree: (tree: unknown) => Json;
  readonly place: (span: number) => Place | undefined;
  readonly span: (place: Place) => Json;
}

/** The fields that only artifacts of tests have. Stores the places of their parts in `places`. */
export function testsJson(built: BuiltTests, by: Conversion, places: Map<string, Place>): { [field: string]: Json } {
  const located = (part: Located, pointer: string, fields: { [field: string]: Json }): Json => {
    const place = by.place(part.$span);
    if (place === undefined) return fields;
    places.set(pointer, place);
    return { ...fields, source_span: by.span(place) };
  };
  const plain = (part: Located, pointer: string): Json => {
    const { $span: _, ...fields } = part as Located & Record<string, unknown>;
    const json = Object.entries(fields).map(([name, field]) => [
      name,
      name === "pred" ? by.tree(field) : by.value(field),
    ]);
    return located(part, pointer, Object.fromEntries(json) as { [field: string]: Json });
  };
  const list = (parts: readonly Located[], pointer: string): Json =>
    parts.map((part, index) => plain(part, `${pointer}/${index}`));
  const top = by.place(built.$span);
  if (top !== undefined) {
    places.set("", top);
    places.set("/tests_of", top);
  }
  return {
    tests_of: built.tests_of,
    ...(built.records.length === 0 ? {} : { records: list(built.records, "/records") }),
    tests: built.tests.map((test, index) => {
      const pointer = `/tests/${index}`;
      return located(test, pointer, {
        name: test.name,
        request: by.value(test.request),
        expect: list(test.expect, `${pointer}/expect`),
        ...(test.records.length === 0 ? {} : { records: list(test.records, `${pointer}/records`) }),
        ...(test.faults.length === 0 ? {} : { faults: list(test.faults, `${pointer}/faults`) }),
      });
    }),
  };
}
