// tests_artifact.ts: builds the artifact of a plan's tests from the sandbox's output.
import { builtBy, fromSandbox, type JsonFields, type Places, plainTree } from "./artifact_parts.js";
import type { Json } from "./json.js";
import type { Registries } from "./registries.js";
import { digestsForTests } from "./registry_digests.js";
import type { Built, BuiltPart } from "./sandbox_result.js";

/** The artifact of tests, whose parts get their places. */
export function testsArtifact(built: Built["tests"], places: Places, declared: Registries): JsonFields {
  const part = ({ $span: span, ...fields }: BuiltPart, pointer: string): Json => ({
    ...Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [
        name,
        name === "pred" ? plainTree(field, () => undefined) : fromSandbox(field),
      ]),
    ),
    ...places.add(pointer, span),
  });
  const list = (parts: readonly BuiltPart[], pointer: string): Json =>
    parts.map((each, index) => part(each, `${pointer}/${index}`));
  places.addFields("", { "": built.$span, tests_of: built.$span });
  const tests = built.tests.map((test, index) => {
    const pointer = `/tests/${index}`;
    return {
      name: test.name,
      request: fromSandbox(test.request),
      expect: list(test.expect, `${pointer}/expect`),
      ...(test.records.length === 0 ? {} : { records: list(test.records, `${pointer}/records`) }),
      ...(test.faults.length === 0 ? {} : { faults: list(test.faults, `${pointer}/faults`) }),
      ...places.add(pointer, test.$span),
    };
  });
  return {
    schema_version: 1,
    built_by: builtBy,
    registry_digests: digestsForTests(tests, declared),
    source_files: places.sourceFiles(),
    tests_of: built.tests_of,
    ...(built.records.length === 0 ? {} : { records: list(built.records, "/records") }),
    ...(built.models.length === 0 ? {} : { models: list(built.models, "/models") }),
    ...(built.vectors.length === 0 ? {} : { vectors: list(built.vectors, "/vectors") }),
    tests,
  };
}
