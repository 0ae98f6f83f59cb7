// registry_digests.test.ts: what the digest of an entry covers, and to which entries a plan refers.
import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { loadRegistries, sha256 } from "@rankd/dslc";

import { digestsForPlan, digestsForTests } from "../packages/dslc/dist/registry_digests.js";
import { engineFor, project, repository, scratchFolder, writeFiles } from "./support.js";

const ops = join(repository, "registry/ops.toml");
const basis: Readonly<Record<string, string>> = {
  "keys.toml":
    '[[key]]\nkey_id = 1\nname = "id"\ntype = "int"\nnullable = false\nallow_write = false\n' +
    '[[key]]\nkey_id = 12\nname = "score"\ntype = "float"\nnullable = false\ndefault = 1.0\n' +
    '[[key]]\nkey_id = 3\nname = "big"\ntype = "int"\nnullable = false\ndefault = 9007199254740993\n',
  "params.toml":
    '[[param]]\nparam_id = 1\nname = "boost"\ntype = "float"\nnullable = true\nsource = "override"\nrequired = false\n' +
    '[[param]]\nparam_id = 2\nname = "hour"\ntype = "int"\nnullable = true\nsource = "context"\ndoc = "Of the day."\n',
  "capabilities.toml":
    '[[capability]]\nid = "cap.rfc.0001.math.v1"\nname = "math"\npayload_schema = { type = "object" }\n',
  "endpoints.test.toml":
    '[[endpoint]]\nendpoint_id = "ep_0001"\nname = "main"\nkind = "redis"\n' +
    'resolver = { type = "static", host = "127.0.0.1", port = 6379 }\n',
};

function declaredWith(changes: Readonly<Record<string, string>> = {}) {
  const folder = scratchFolder();
  writeFiles(folder, { ...basis, ...changes });
  return loadRegistries(folder, "test", ops);
}

/** "registry/id" → digest. */
function digestsOf(declared = declaredWith()): Record<string, string> {
  return Object.fromEntries(
    [...declared.entryDigests].flatMap(([registry, entries]) =>
      [...entries].map(([id, digest]) => [`${registry}/${id}`, digest]),
    ),
  );
}

test("the digest of an entry is that of its fields that mean something, as the engine prints them", () => {
  assert.deepEqual(digestsOf(), {
    "keys/1": sha256('{"key_id":1,"name":"id","nullable":false,"type":"int"}'),
    "keys/12": sha256('{"default":1,"key_id":12,"name":"score","nullable":false,"type":"float"}'),
    "keys/3": sha256('{"default":9007199254740993,"key_id":3,"name":"big","nullable":false,"type":"int"}'),
    "params/1": sha256('{"name":"boost","nullable":true,"param_id":1,"type":"float"}'),
    "params/2": sha256('{"name":"hour","nullable":true,"param_id":2,"source":"context","type":"int"}'),
    "capabilities/cap.rfc.0001.math.v1": sha256('{"id":"cap.rfc.0001.math.v1","payload_schema":{"type":"object"}}'),
    "endpoints/ep_0001": sha256('{"endpoint_id":"ep_0001","kind":"redis","name":"main"}'),
  });
});

test("another entry, a doc and the place of an endpoint change no digest of the others", () => {
  const after = digestsOf(
    declaredWith({
      "keys.toml": `[[key]]\nkey_id = 2\nname = "price"\ntype = "float"\nnullable = true\n${basis["keys.toml"]}`,
      "params.toml": basis["params.toml"]!.replace("Of the day.", "From 0 to 23."),
      "endpoints.test.toml": basis["endpoints.test.toml"]!.replace("6379", "6380"),
    }),
  );
  const { "keys/2": added, ...others } = after;
  assert.notEqual(added, undefined);
  assert.deepEqual(others, digestsOf());
});

test("an artifact has the digests of what it refers to, wherever it does", () => {
  const artifact = {
    capabilities_required: ["cap.rfc.0001.arithmetic.v1"],
    expr_table: {
      e: { op: "add", a: { op: "param_ref", param_id: 1 }, b: { op: "const_number", value: 2001 } },
    },
    pred_table: {
      p: { op: "regex", key_id: 3001, pattern: { kind: "param", param_id: 2 }, flags: "" },
    },
    nodes: [
      { node_id: "v", op: "core::viewer", inputs: [], params: { endpoint: "ep_0001" } },
      {
        node_id: "s",
        op: "core::sorted_set",
        inputs: ["v"],
        params: { endpoint: "ep_0001", key: "hot:{country}:{P.surface}", out_key: 1001 },
        fallback: { on: ["store_*"], use: "empty", nulls: [1002] },
      },
      {
        node_id: "t",
        op: "core::take",
        inputs: ["s"],
        params: { count: { param_id: 4, min: 1, max: 100 } },
        capture: { key_ids: [2001] },
      },
    ],
  };
  const found = digestsForPlan(artifact, project.declared) as Record<string, Record<string, string>>;
  assert.deepEqual(
    Object.fromEntries(Object.entries(found).map(([registry, entries]) => [registry, Object.keys(entries).sort()])),
    {
      keys: ["1", "1001", "1002", "2001", "3001"],
      params: ["1", "2", "4", "6"],
      capabilities: ["cap.rfc.0001.arithmetic.v1"],
      endpoints: ["ep_0001"],
    },
  );
  assert.equal(found["keys"]!["1001"], project.declared.entryDigests.get("keys")!.get("1001"));
});

test("the artifact of tests has the digests of what its expectations have by number", () => {
  const tests = [
    { expect: [{ kind: "sorted", key_id: 2001 }] },
    { expect: [{ kind: "every", pred: { op: "cmp", a: { op: "key_ref", key_id: 3001 } } }] },
  ];
  const found = digestsForTests(tests, project.declared) as Record<string, Record<string, string>>;
  assert.deepEqual(Object.keys(found), ["keys"]);
  assert.deepEqual(Object.keys(found["keys"]!).sort(), ["1", "2001", "3001"]);
});

test("a plan holds against the entries that it refers to, and the diagnostic names the one that has changed", async () => {
  const folder = scratchFolder();
  cpSync(join(repository, "registry"), join(folder, "registry"), { recursive: true });
  writeFiles(folder, { "rankd.toml": 'name = "x"\nenvironment = "test"\nregistry = "registry"\nplans = "plans"\n' });
  const keys = readFileSync(join(folder, "registry/keys.toml"), "utf8");
  const own = engineFor(folder);
  const problemsWith = async (from: string, to: string) => {
    writeFiles(folder, { "registry/keys.toml": keys.replace(from, to) });
    assert.deepEqual(await own.open(), []);
    return (await own.planFile(join(repository, "plans/compiled/reels_plan_a.json"), undefined)).problems;
  };
  assert.deepEqual(await problemsWith('name = "model_score_1"', 'name = "other_score"'), []);
  const [problem, ...others] = await problemsWith('name = "final_score"', 'name = "last_score"');
  assert.deepEqual(others, []);
  assert.equal(problem!.code, "registry_changed");
  assert.equal(problem!.pointer, "/registry_digests/keys/2001");
  assert.match(problem!.message, /^the declaration of key `2001` \(last_score\) has changed since the plan was built/);
});
