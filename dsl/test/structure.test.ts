// structure.test.ts: the files of the packages import each other in one direction.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import ts from "typescript";

import { repository } from "./support.js";

/** The files of a folder, each with those that it imports, for values or for types. */
function importsIn(folder: string): Map<string, string[]> {
  const names = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  return new Map(
    names.map((name) => {
      const { importedFiles } = ts.preProcessFile(readFileSync(join(folder, name), "utf8"));
      const own = importedFiles.map(({ fileName }) => fileName.replace(/^\.\//, "").replace(/\.js$/, ".ts"));
      return [name, own.filter((each) => names.includes(each))];
    }),
  );
}

/** The first files that import each other in a circle; empty if there are none. */
function circleIn(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): string[] => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (done.has(name)) return [];
    for (const next of imports.get(name) ?? []) {
      const found = visit(next, [...path, name]);
      if (found.length > 0) return found;
    }
    done.add(name);
    return [];
  };
  for (const name of imports.keys()) {
    const found = visit(name, []);
    if (found.length > 0) return found;
  }
  return [];
}

for (const name of ["dslc", "plan"])
  test(`no files of the package ${name} import each other in a circle`, () => {
    const imports = importsIn(join(repository, "dsl/packages", name, "src"));
    assert.ok([...imports.values()].flat().length > 20);
    assert.deepEqual(circleIn(imports), []);
  });

test("a circle is found, also one of types", () => {
  assert.deepEqual(
    circleIn(
      new Map([
        ["a", ["b"]],
        ["b", ["c"]],
        ["c", ["b"]],
      ]),
    ),
    ["b", "c", "b"],
  );
});
