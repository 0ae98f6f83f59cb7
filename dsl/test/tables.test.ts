// tables.test.ts: whatever the engine says of an artifact, the compiler finds the place of it in the source.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";

import { type Checker, Compiler, type Problem } from "@rankd/dslc";

import { project, repository, rowsOf, scratchFolder, spelled } from "./support.js";

const folder = join(repository, "tests/rankd/tables");
const source = `import { definePlan, EP, Key } from "@rankd/plan";
export default definePlan({
  name: "placed",
  build: (ctx) => {
    const viewer = ctx.viewer({ endpoint: EP.redis_default });
    const scored = viewer.vm({ outKey: Key.final_score, expr: Key.id * 2 + 1, as: "score" });
    return scored.filter({ pred: Key.final_score > 3 }).take({
      count: 5,
      timeoutMs: 40,
    });
  },
});
`;

const scratch = scratchFolder();
let said: readonly Problem[] = [];
const checker: Checker = {
  plan: () => Promise.resolve({ problems: said, warnings: [], caches: {} }),
  tests: () => Promise.resolve({ problems: [], warnings: [], caches: {} }),
};
const compiler = new Compiler(project, { root: scratch, limits: { timeMs: 20_000, memoryMb: 64 }, checker });
after(() => compiler.close());

/** "line:column" and code of what the compiler says if the engine complains about these pointers. */
async function placesOf(all: readonly { pointer: string; code: string }[]): Promise<string[]> {
  said = all.map(({ pointer, code }, at) => ({
    code,
    pointer,
    message: `sentence ${at}`,
    hint: "",
    node: "",
    source: "",
  }));
  const file = join(scratch, "placed.plan.ts");
  const [compiled] = await compiler.compile([file], new Map([[file, source]]));
  assert.equal(compiled!.artifact, undefined);
  assert.ok(compiled!.diagnostics.every(({ place }) => place.file === "placed.plan.ts"));
  return compiled!.diagnostics.map(({ code, place }) => `${code} ${place.line}:${place.column}`);
}

test("a pointer leads to the part of the source that was meant, or to the closest one around it", async () => {
  const pointers = {
    plan: "/plan_name",
    outputs: "/outputs/0",
    node: "/nodes/0",
    option: "/nodes/0/params/endpoint",
    inside: "/nodes/3/params/count/min",
    limit: "/nodes/3/timeout_ms",
    unknown: "/nodes/3/params/colour",
    nothing: "/registry_digests/keys/1",
    name: "/nodes/1/node_id",
    other: "/nodes/99/params/count",
  };
  const found = await placesOf(Object.entries(pointers).map(([code, pointer]) => ({ code, pointer })));
  assert.deepEqual(
    found.sort(),
    [
      "inside 8:14",
      "limit 9:18",
      "name 6:83",
      "node 5:24",
      "nothing 3:9",
      "option 5:43",
      "other 3:9",
      "outputs 4:10",
      "plan 3:9",
      "unknown 7:57",
    ].sort(),
  );
});

for (const table of [
  "bad_plans",
  "bad_named",
  "bad_feed",
  "bad_branches",
  "bad_fallbacks",
  "bad_limits",
  "bad_captures",
  "bad_caches",
  "bad_fragments",
  "bad_vectors",
])
  test(`each diagnostic of ${table}.ndjson has a place in the source`, async () => {
    const rows = rowsOf(join(folder, `${table}.ndjson`));
    const all = rows.flatMap((row) =>
      row.diagnostics.map(({ pointer, code }) => ({ code, pointer: spelled(pointer).toString() })),
    );
    assert.ok(all.length > 0);
    const found = await placesOf(all);
    assert.equal(found.length, all.length);
    assert.deepEqual(
      found.filter((each) => each.endsWith(" 1:1")),
      [],
    );
  });
