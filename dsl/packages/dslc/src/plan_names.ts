// plan_names.ts: the names of the source files of plans and tests, and of their artifacts.
import { basename } from "node:path";

/** The ending of the name of a file that defines tests. */
export const testSource = ".test.ts";
/** The ending of the name of an artifact with tests. The part before it is the name of the plan. */
export const testArtifact = ".tests.json";

/** Whether a file defines tests rather than a plan. */
export const definesTests = (file: string): boolean => file.endsWith(testSource);

/** Returns "feed" for "plans/feed.plan.ts" and for "plans/feed.test.ts". */
export function planNameOf(file: string): string {
  return basename(file).replace(/(\.plan|\.test)?\.ts$/, "");
}

/** Returns the name of the artifact of a source: "feed.json", or "feed.tests.json" for tests. */
export function artifactNameOf(file: string): string {
  return planNameOf(file) + (definesTests(file) ? testArtifact : ".json");
}
