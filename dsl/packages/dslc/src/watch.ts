// watch.ts: compiles plans again when they or what they import change.
import { type FSWatcher, watch as watchFile } from "node:fs";
import { dirname, resolve } from "node:path";

import type { Compiled } from "./compile.js";

/** Editors write a file in several steps; what comes within this time is one change. */
const settleMs = 50;

/** Runs until the process is interrupted. `once` compiles the plans that it is given and says what became of them. */
export async function watch(
  files: readonly string[],
  once: (files: readonly string[]) => Promise<readonly Compiled[]>,
): Promise<number> {
  const sources = new Map<string, Set<string>>();
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let wake: () => void = () => undefined;
  let isDue = false;

  const note = (path: string): void => {
    changed.add(path);
    setTimeout(() => {
      isDue = true;
      wake();
    }, settleMs);
  };
  const compile = async (plans: readonly string[]): Promise<void> => {
    const begin = Date.now();
    const compiled = await once(plans);
    for (const each of compiled) {
      sources.set(each.file, new Set(each.sources));
      // A folder is watched and not a file: editors replace files by others of the same name.
      for (const folder of each.sources.map(dirname)) {
        if (watchers.has(folder)) continue;
        watchers.set(
          folder,
          watchFile(folder, (_, name) => {
            if (name !== null) note(resolve(folder, name));
          }),
        );
      }
    }
    const wrong = compiled.filter((each) => each.diagnostics.length > 0).length;
    process.stderr.write(
      `dslc: ${compiled.length - wrong} of ${compiled.length} plans compiled in ${Date.now() - begin} ms\n`,
    );
  };

  let isOver = false;
  const end = (): void => {
    isOver = true;
    wake();
  };
  process.once("SIGINT", end).once("SIGTERM", end);
  await compile(files);
  while (!isOver) {
    // A change while plans are compiled wakes no watcher: it is seen here.
    if (!isDue) await new Promise<void>((resolve) => (wake = resolve));
    isDue = false;
    const paths = [...changed];
    changed.clear();
    const affected = files.filter((file) => paths.some((path) => sources.get(file)?.has(path)));
    if (affected.length > 0) await compile(affected);
  }
  for (const watcher of watchers.values()) watcher.close();
  return 0;
}
