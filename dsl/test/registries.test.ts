// registries.test.ts: registries that the engine refuses are refused by the compiler, with file, line and sentence.
import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { projectFault, RegistryError } from "../packages/dslc/dist/registry_files.js";
import { documentOf, engineFor, repository, rowsOf, scratchFolder, writeFiles } from "./support.js";

const tables = join(repository, "tests/rankd/tables");

/** A project with the right registries, of which some files are others. */
function registriesWith(files: Readonly<Record<string, string | Buffer>>, environment = "test"): string {
  const folder = scratchFolder();
  cpSync(join(tables, "good_registries"), folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  writeFiles(folder, { "rankd.toml": `name = "x"\nenvironment = "${environment}"\nregistry = "."\nplans = "plans"\n` });
  return folder;
}

/** Returns the faults of a project: "file:line:column: code: sentence; hint", with the pointer. */
async function refusedIn(folder: string): Promise<{ line: string; spelled: string }[]> {
  const own = engineFor(folder);
  const problems = await own.open();
  own.close();
  if (problems.length === 0) return [];
  const error = projectFault(problems, folder);
  assert.ok(error instanceof RegistryError, error.message);
  const lines = error.message.split("\n");
  return error.diagnostics.map(({ code, pointer, place }, at) => ({
    line: lines[at]!,
    spelled: `${place.file} ${code} ${pointer}`,
  }));
}

test("what is wrong with each registry of the engine's table has the file that it is in", async () => {
  assert.deepEqual(await refusedIn(registriesWith({})), []);
  const rows = rowsOf(join(tables, "bad_registries.ndjson"));
  const wrong: string[] = [];
  for (const row of rows) {
    const file = row.file!;
    const document = documentOf(row, readFileSync(join(tables, "good_registries", file)));
    const expected = row.diagnostics.map(({ code, pointer }) => `${file} ${code} ${pointer as string}`);
    const said = (await refusedIn(registriesWith({ [file]: document }))).map(({ spelled }) => spelled);
    if (said.join() !== expected.join()) wrong.push(`${row.case}: expected ${expected.join()}; found ${said.join()}`);
  }
  assert.equal(wrong.join("\n"), "");
  assert.ok(rows.length >= 80);
});

test("a diagnostic has the line of its field, or of its table, whatever stands between", async () => {
  const keys = `# one
[[key]]
key_id = 1
name = "id"
type = "int"
nullable = false
allow_write = false
doc = """
type = "no"
[[key]]
"""

  [[key]]
  key_id = 7
  name = "score"
  type = "flaot"
  nullable = true
[[key]]
key_id = 8
name = "price"
type = "float"
`;
  assert.deepEqual(
    (await refusedIn(registriesWith({ "keys.toml": keys, "endpoints.test.toml": "[[endpoint]]\nkind = \n" }))).map(
      ({ line }) => line,
    ),
    [
      "keys.toml:16:3: bad_value: `type` is `flaot`; expected one of: int, float, string, bool, vector; " +
        "did you mean `float`?",
      "keys.toml:18:3: missing_field: the field `nullable` is missing",
      "endpoints.test.toml:2:8: toml_syntax: Error while parsing key-value pair: expected value, saw '\\n'",
    ],
  );
});

test("the files of other environments are held to the same rules, and to the same endpoints", async () => {
  const endpoint = (id: string, host = "a"): string =>
    `[[endpoint]]\nendpoint_id = "${id}"\nname = "${id}"\nkind = "redis"\n` +
    `resolver = { type = "static", host = "${host}", port = 1 }\n`;
  const folder = registriesWith({
    "endpoints.test.toml": endpoint("ep_0001") + endpoint("ep_0002"),
    "endpoints.dev.toml": endpoint("ep_0001", ""),
    "endpoints.prod.toml": endpoint("ep_0003") + endpoint("ep_0002").replace('"redis"', '"http"'),
  });
  assert.deepEqual(
    (await refusedIn(folder)).map(({ spelled }) => spelled),
    [
      "endpoints.dev.toml bad_value /endpoint/0/resolver/host",
      "endpoints.prod.toml environments_differ /endpoint",
      "endpoints.prod.toml environments_differ /endpoint/0",
      "endpoints.prod.toml environments_differ /endpoint/1/kind",
    ],
  );
  const [misnamed] = await refusedIn(registriesWith({}, "tset"));
  assert.match(misnamed!.line, /^rankd\.toml:2:1: bad_value: .*`tset`.*did you mean `test`/);
});
