// artifacts.ts: writes compiled plans as artifact files, and compares them with existing files.
import { existsSync } from "node:fs";
import { join } from "node:path";

import type { Compiled } from "./plan_compilation.js";
import { artifactNameOf } from "./plan_names.js";
import { writeIndex } from "./folder.js";
import { readText, replaceFile } from "./write.js";

/** The artifacts of plans and tests that compiled, with the paths of their files. */
export function artifactsOf(compiled: readonly Compiled[], folder: string): { file: string; artifact: string }[] {
  return compiled.flatMap(({ file, artifact }) =>
    artifact === undefined ? [] : [{ file: join(folder, artifactNameOf(file)), artifact }],
  );
}

/**
 * Writes the artifacts that differ from their files. With `all`, the folder must contain only these artifacts and gets
 * an index. An existing index is always updated.
 */
export function writeArtifacts(compiled: readonly Compiled[], folder: string, which: "some" | "all" = "some"): void {
  for (const { file, artifact } of artifactsOf(compiled, folder))
    if (readText(file) !== artifact) replaceFile(file, artifact);
  if (which === "all" || existsSync(join(folder, "index.json"))) writeIndex(folder);
}
