// plan_names.ts: the names of the source files of plans and tests, and of their artifacts.
import { basename } from "node:path";

/** The end of the name of a file that defines tests. */
export const testSource = ".test.ts";
/** The end of the name of an artifact of tests; the part before it is the name of the plan. */
export const testArtifact = ".tests.json";

/** Whether a file defines tests, and not a plan. */
export const definesTests = (file: string): boolean => file.endsWith(testSource);

/** "feed" of "plans/feed.plan.ts" and of "plans/feed.test.ts". */
export function planNameOf(file: string): string {
  return basename(file).replace(/(\.plan|\.test)?\.ts$/, "");
}

/** What the artifact of a source is called: "feed.json", or "feed.tests.json" of tests. */
export function artifactNameOf(file: string): string {
  return planNameOf(file) + (definesTests(file) ? testArtifact : ".json");
}
