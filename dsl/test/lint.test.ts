// lint.test.ts: the lint rules find what the compiler refuses, and nothing in the plans of the repository.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import plugin from "@rankd/eslint-plugin";
import * as parser from "@typescript-eslint/parser";
import { Linter } from "eslint";

import { repository } from "./support.js";

const linter = new Linter();

function lint(text: string, filename = "feed.plan.ts"): string[] {
  const config = [
    { files: ["**/*.ts"], languageOptions: { parser: parser as never }, ...(plugin.configs["recommended"] as object) },
  ];
  return linter.verify(text, config, { filename }).map(({ ruleId, line, column, message }) => {
    assert.ok(ruleId, message);
    return `${ruleId.replace("rankd/", "")} ${line}:${column}`;
  });
}

test("values of rows and requests do not branch a plan", () => {
  assert.deepEqual(lint("if (P.x) f();"), ["no-runtime-branch 1:5"]);
  assert.deepEqual(lint("const a = Key.id > 3 && b ? 1 : 2;"), ["no-runtime-branch 1:11"]);
  assert.deepEqual(lint("while (!P.x) f();\ndo f(); while (Key.x);\nfor (; P.y; ) f();\nswitch (P.z) {}").length, 4);
  assert.deepEqual(lint("if (list.some((x) => use(Key.id, x))) f();\nif (flag) g(Key.id);"), []);
});

test("only the authoring package and the project's files are imported", () => {
  assert.deepEqual(
    lint('import { E } from "@rankd/plan";\nimport { a } from "./shared";\nexport { b } from "../b";'),
    [],
  );
  assert.deepEqual(lint('import fs from "node:fs";\nexport * from "x";\nexport const y = import("./z");'), [
    "no-foreign-import 1:16",
    "no-foreign-import 2:15",
    "no-foreign-import 3:25",
  ]);
});

test("what is not in the sandbox is named", () => {
  assert.deepEqual(lint("f(Date.now(), Math.random());"), ["no-ambient 1:3", "no-ambient 1:15"]);
  assert.deepEqual(lint('eval("1"); new Function("1"); process.exit(); fetch("x");').length, 4);
  assert.deepEqual(lint("const process = 3; f(process, o.eval);"), []);
});

test("a plan is called as its file", () => {
  assert.deepEqual(lint('definePlan({ name: "feed", build });'), []);
  assert.deepEqual(lint('definePlan({ name: "other", build });'), ["plan-name 1:20"]);
});

test("the plans of the repository have nothing to report about", () => {
  for (const folder of ["plans", "dsl/examples", "rankd/cli/demo/plans"]) {
    const files = readdirSync(join(repository, folder)).filter((name) => name.endsWith(".plan.ts"));
    assert.ok(files.length > 0, folder);
    for (const name of files)
      assert.deepEqual(lint(readFileSync(join(repository, folder, name), "utf8"), name), [], name);
  }
});
