// tables.test.ts: the compiler refuses the artifacts that the engine refuses, with the same diagnostics.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { loadRegistries, parseExact, validate } from "@rankd/dslc";

import { documentOf, repository, rowsOf, spelled } from "./support.js";

const folder = join(repository, "tests/rankd/tables");
/** Some of the table stand for those that an engine has code for. */
const capabilities = [
  "cap.rfc.0001.arithmetic.v1",
  "cap.rfc.0001.math.v1",
  "cap.rfc.0002.fragments.v1",
  "cap.rfc.0003.bound_params.v1",
  "cap.rfc.0003.more.v1",
  "cap.rfc.0004.aging.v1",
  "cap.rfc.0004.fallback.v1",
  "cap.rfc.0005.branch.v1",
  "cap.rfc.0006.formulas.v1",
  "cap.rfc.0007.timeouts.v1",
  "cap.rfc.0008.retries.v1",
  "cap.rfc.0009.vectors.v1",
  "cap.rfc.0010.capture.v1",
  "cap.rfc.0011.cache.v1",
  "cap.rfc.0012.hedge.v1",
];
const skip = existsSync(join(folder, "bad_plans.ndjson")) ? false : "the table is not there";

for (const [table, good] of [
  ["bad_plans.ndjson", "good_plan.json"],
  ["bad_named.ndjson", "good_named_plan.json"],
  ["bad_feed.ndjson", "good_feed_plan.json"],
  ["bad_branches.ndjson", "good_branches.json"],
  ["bad_fallbacks.ndjson", "good_fallbacks.json"],
  ["bad_limits.ndjson", "good_limits.json"],
  ["bad_captures.ndjson", "good_captures.json"],
  ["bad_caches.ndjson", "good_caches.json"],
  ["bad_fragments.ndjson", "good_fragments.json"],
  ["bad_vectors.ndjson", "good_vectors.json"],
] as const)
  test(`each bad plan of ${table} of the engine gets its diagnostics and no others`, { skip }, () => {
    const registry = join(folder, "registry");
    const declared = loadRegistries(registry, "dev", join(repository, "registry/ops.toml"));
    const base = readFileSync(join(folder, good));
    const found = (bytes: Buffer): string[] => {
      const { value, problems } = parseExact(bytes);
      const all = problems.length > 0 ? problems : validate(value, { declared, bytes: bytes.length, capabilities });
      return all.map(({ code, pointer, node }) => `${code} ${pointer}${node === "" ? "" : ` ${node}`}`);
    };
    assert.deepEqual(found(base), []);
    const rows = rowsOf(join(folder, table));
    const wrong = rows.flatMap((row) => {
      const expected = row.diagnostics.map(
        ({ code, pointer, node }) => `${code} ${spelled(pointer).toString()}${node === undefined ? "" : ` ${node}`}`,
      );
      const said = found(documentOf(row, base));
      return said.join("\n") === expected.join("\n")
        ? []
        : [`${row.case}: expected ${expected.slice(0, 4).join(", ")}; found ${said.slice(0, 4).join(", ")}`];
    });
    assert.equal(wrong.join("\n"), "");
    console.log(`${rows.length} artifacts`);
  });

test("rows that the time of a request goes into are not kept", { skip }, () => {
  const registry = join(folder, "registry");
  const declared = loadRegistries(registry, "dev", join(repository, "registry/ops.toml"));
  const params = declared.params.map((each) => ({ ...each, clock: each.name === "weight" }));
  const { value } = parseExact(readFileSync(join(folder, "good_caches.json")));
  const said = validate(value, { declared: { ...declared, params }, capabilities });
  assert.deepEqual(
    said.map(({ code, pointer, node, message }) => [code, pointer, node, message]),
    [["uncacheable", "/nodes/3/cache", "s", "the rows depend on the time of the request, which param `weight` has"]],
  );
});
