// write.ts: reads files that may be missing, and replaces files atomically.
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

import { ProjectError } from "./project_error.js";

/** Returns the text of a file, or nothing if it cannot be read. */
export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Reads a JSON file. Throws a ProjectError if it cannot be read or is not JSON. */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new ProjectError(`${file}: ${reasonOf(error)}`);
  }
}

/**
 * Replaces a file by `text`, and creates its folder if it is missing. If that fails, the old file stays unchanged. The
 * new file has the mode of the old file. If the file is a link, its target is replaced.
 */
export function replaceFile(file: string, text: string): void {
  const known = existsSync(file);
  const target = known ? realpathSync(file) : file;
  const aside = `${target}.${randomBytes(6).toString("hex")}.new`;
  try {
    mkdirSync(dirname(target), { recursive: true });
    const opened = openSync(aside, "wx");
    try {
      if (known) fchmodSync(opened, statSync(target).mode & 0o7777);
      writeFileSync(opened, text);
      fsyncSync(opened);
    } finally {
      closeSync(opened);
    }
    renameSync(aside, target);
  } catch (error) {
    try {
      rmSync(aside);
    } catch {
      // There is no temporary file to delete, because it was not created.
    }
    throw new ProjectError(`${file} cannot be written: ${reasonOf(error)}`);
  }
}

/** Deletes a file. */
export function removeFile(file: string): void {
  try {
    rmSync(file);
  } catch (error) {
    throw new ProjectError(`${file} cannot be deleted: ${reasonOf(error)}`);
  }
}

/** Returns the system's message for an error, without the name of the call and the path. */
export function reasonOf(error: unknown): string {
  return (error as Error).message.replace(/, [a-z]+( '.*)?$/s, "");
}
