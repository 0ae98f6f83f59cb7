// tests_artifact.ts: builds the artifact of a plan's tests from the sandbox's output.
import {
  builtBy,
  fieldsFromSandbox,
  fromSandbox,
  type JsonFields,
  type Places,
  plainTree,
  unlessEmpty,
} from "./artifact_parts.js";
import type { Json, JsonObject } from "./json.js";
import type { Registries } from "./registries.js";
import { digestsForTests } from "./registry_digests.js";
import type { Built, BuiltPart } from "./sandbox_result.js";

/** Returns the artifact of tests, and stores the positions of its parts. */
export function testsArtifact(built: Built["tests"], places: Places, declared: Registries): JsonFields {
  const part = ({ $span: span, ...all }: BuiltPart, pointer: string): Json => {
    const { pred, ...fields } = all as JsonObject;
    const tree = pred === undefined ? {} : { pred: plainTree(pred, () => undefined) };
    return { ...fieldsFromSandbox(fields), ...tree, ...places.add(pointer, span) };
  };
  const list = (parts: readonly BuiltPart[], pointer: string): readonly Json[] =>
    parts.map((each, index) => part(each, `${pointer}/${index}`));
  places.addFields("", { "": built.$span, tests_of: built.$span });
  const tests = built.tests.map((test, index) => {
    const pointer = `/tests/${index}`;
    return {
      name: test.name,
      request: fromSandbox(test.request),
      expect: list(test.expect, `${pointer}/expect`),
      ...unlessEmpty("records", list(test.records, `${pointer}/records`)),
      ...unlessEmpty("faults", list(test.faults, `${pointer}/faults`)),
      ...places.add(pointer, test.$span),
    };
  });
  return {
    schema_version: 1,
    built_by: builtBy,
    registry_digests: digestsForTests(tests, declared),
    source_files: places.sourceFiles(),
    tests_of: built.tests_of,
    ...unlessEmpty("records", list(built.records, "/records")),
    ...unlessEmpty("models", list(built.models, "/models")),
    ...unlessEmpty("vectors", list(built.vectors, "/vectors")),
    tests,
  };
}
