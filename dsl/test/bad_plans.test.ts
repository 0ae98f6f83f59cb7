// bad_plans.test.ts: every wrong plan gets exactly its diagnostics, each at its line and column.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { casesIn, compilerFor, expectedIn, scratchFolder, writeFiles } from "./support.js";

const head = 'import { coalesce, definePlan, E, EP, Key, P, Pred, regex } from "@rankd/plan";\n';

/** A case is a whole file, or only the body of `build`. */
function sourceOf(name: string, text: string): string {
  if (text.includes("import ") || text.includes("definePlan")) return text.includes("import ") ? text : head + text;
  return `${head}export default definePlan({ name: "${name}", build: (ctx) => {\n${text}} });\n`;
}

const folder = scratchFolder();

for (const [file, types] of [
  ["bad_plans.ts.txt", "with types"],
  ["bad_types.ts.txt", "with types"],
  ["bad_values.ts.txt", "without types"],
] as const) {
  const compiler = compilerFor(folder, { types });
  test(`${file}: each plan gets its diagnostics and no others`, async () => {
    const all = casesIn(file).map(({ name, text }) => ({ name, source: sourceOf(name, text) }));
    writeFiles(folder, Object.fromEntries(all.map(({ name, source }) => [`${name}.plan.ts`, source])));
    writeFiles(folder, {
      "helper.ts":
        'import { Key } from "@rankd/plan";\nexport const half = (x: number) => x * 0.5;\nexport const id = Key.id;\n',
    });
    const compiled = await compiler.compile(all.map(({ name }) => join(folder, `${name}.plan.ts`)));
    const wrong: string[] = [];
    for (const [index, { name, source }] of all.entries()) {
      const found = compiled[index]!.diagnostics.map(({ code, place, message }) => {
        assert.ok(message.length > 10, name);
        return `${code} ${place.line}:${place.column}`;
      });
      const expected = expectedIn(source);
      assert.ok(expected.length > 0, `${name} expects nothing`);
      if (found.join() !== expected.join())
        wrong.push(
          `${name}: expected ${expected.join(", ")}; found ${compiled[index]!.diagnostics.map((each) => `${each.code} ${each.place.line}:${each.place.column} ${each.message}`).join(", ")}`,
        );
    }
    assert.equal(wrong.join("\n"), "");
    console.log(`${file}: ${all.length} plans`);
  });
}
