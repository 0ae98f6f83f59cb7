// watch.ts: compiles a plan again when its file, or a file that it imports, changes.
import { type FSWatcher, watch as watchFile } from "node:fs";
import { dirname, resolve } from "node:path";

import { counted, printable } from "./diagnostic.js";
import type { Compiled } from "./plan_compilation.js";
import { readText } from "./write.js";

/** Editors write a file in several steps. All changes within this time count as one change. */
const settleMs = 50;

type Once = (files: readonly string[]) => Promise<readonly Compiled[]>;

/** The state of the plans that are watched. */
class Watched {
  private readonly sources = new Map<string, ReadonlySet<string>>();
  private readonly watchers = new Map<string, FSWatcher>();
  /** Plans with diagnostics. A new file that no plan imports yet may be one that these plans search for. */
  private readonly broken = new Set<string>();
  private changed = new Set<string>();
  private isDue = false;
  private wake: () => void = () => undefined;
  isOver = false;

  constructor(
    private readonly files: readonly string[],
    private readonly once: Once,
  ) {
    this.watchFolders(files.map((file) => resolve(file)));
  }

  /** Folders are watched instead of files, because editors replace a file by a new file with the same name. */
  private watchFolders(paths: Iterable<string>): void {
    for (const folder of [...paths].map(dirname)) {
      if (this.watchers.has(folder)) continue;
      try {
        const watcher = watchFile(folder, (_, name) => {
          if (name !== null) this.note(resolve(folder, name));
        });
        watcher.on("error", () => void this.watchers.delete(folder));
        this.watchers.set(folder, watcher);
      } catch {
        // The folder does not exist. The diagnostics of the plan report this problem.
      }
    }
  }

  private note(path: string): void {
    this.changed.add(path);
    setTimeout(() => {
      this.isDue = true;
      this.wake();
    }, settleMs);
  }

  readonly end = (): void => {
    this.isOver = true;
    this.wake();
    for (const watcher of this.watchers.values()) watcher.close();
  };

  /** Compiles plans. If this throws, the error is reported, and the plans are compiled again after the next change. */
  async compile(plans: readonly string[]): Promise<void> {
    const begin = Date.now();
    try {
      const compiled = await this.once(plans);
      for (const each of compiled) this.keep(each);
      const wrong = compiled.filter((each) => each.diagnostics.length > 0).length;
      process.stderr.write(
        `dslc: ${compiled.length - wrong} of ${counted(compiled.length, "plan")} compiled in ${Date.now() - begin} ms\n`,
      );
    } catch (error) {
      process.stderr.write(`dslc: ${printable((error as Error).message)}\n`);
      for (const file of plans) {
        this.broken.add(file);
        this.sources.delete(file);
      }
    }
  }

  private keep({ file, sources, diagnostics, texts = new Map() }: Compiled): void {
    this.sources.set(file, new Set(sources));
    if (diagnostics.length > 0) this.broken.add(file);
    else this.broken.delete(file);
    this.watchFolders(sources);
    // A file may have been edited after it was read but before its folder was watched.
    for (const [path, text] of texts) if (readText(path) !== text) this.note(path);
  }

  /** Returns the plans that are affected by changes, after waiting for changes. */
  async affected(): Promise<readonly string[]> {
    // `isDue` may already be true, because files may have changed while plans were being compiled.
    if (!this.isDue && !this.isOver) await new Promise<void>((resolve) => (this.wake = resolve));
    this.isDue = false;
    const paths = [...this.changed].filter((path) => path.endsWith(".ts"));
    this.changed = new Set();
    const isKnown = (path: string): boolean => [...this.sources.values()].some((each) => each.has(path));
    const hasNew = paths.some((path) => !isKnown(path));
    return this.files.filter(
      (file) => (hasNew && this.broken.has(file)) || paths.some((path) => this.sources.get(file)?.has(path)),
    );
  }
}

/** Runs until the process is interrupted. `once` compiles the given plans and reports the results. */
export async function watch(files: readonly string[], once: Once): Promise<number> {
  const watched = new Watched(files, once);
  process.once("SIGINT", watched.end).once("SIGTERM", watched.end);
  await watched.compile(files);
  while (!watched.isOver) {
    const affected = await watched.affected();
    if (affected.length > 0 && !watched.isOver) await watched.compile(affected);
  }
  return 0;
}
