// write.ts: files that are replaced whole, or not at all.
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { ProjectError } from "./project.js";

/** Puts `text` in the place of a file, whose folder is made where it is missing. What was there stays where that fails. */
export function replaceFile(file: string, text: string): void {
  const aside = `${file}.${process.pid}.new`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    const opened = openSync(aside, "w");
    try {
      writeFileSync(opened, text);
      fsyncSync(opened);
    } finally {
      closeSync(opened);
    }
    renameSync(aside, file);
  } catch (error) {
    try {
      rmSync(aside);
    } catch {
      // It was not even begun.
    }
    throw new ProjectError(`${file} cannot be written: ${reasonOf(error)}`);
  }
}

/** What the system says, without the name of the call and the path. */
export function reasonOf(error: unknown): string {
  return (error as Error).message.replace(/, [a-z]+( '.*)?$/s, "");
}
