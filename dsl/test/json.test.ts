// json.test.ts: fields stand in the order of their UTF-8 bytes, as the engine has them, whatever characters they have.
import assert from "node:assert/strict";
import { test } from "node:test";

import { canonicalJson } from "../packages/dslc/dist/json.js";

test("names are in the order of their bytes, which is not that of their code units", () => {
  // U+1F600 is a pair of surrogates, which are less than U+FF21 as code units and greater as bytes; some lack a partner.
  const parts = ["", "a", "b", "Z", "_", "é", "\u{d7ff}", "\u{e000}", "\u{ff21}", "\u{1f600}", "\u{1f601}"];
  const lone = ["\u{d83d}", "\u{de00}", "\u{d83d}a", "\u{d83d}b"];
  const all = [...parts, ...lone].flatMap((first) => [...parts, ...lone].map((second) => first + second));
  for (const a of all)
    for (const b of all) {
      const isLess = Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
      const names = Object.keys(JSON.parse(canonicalJson({ [b]: 1, [a]: 1 })) as object);
      assert.deepEqual(names, a === b ? [a] : isLess ? [a, b] : [b, a], JSON.stringify([a, b]));
    }
  assert.equal(
    canonicalJson({ "\u{1f600}": 1, "\u{ff21}": 2, b: 3, ab: 4 }),
    '{"ab":4,"b":3,"\u{ff21}":2,"\u{1f600}":1}',
  );
});
