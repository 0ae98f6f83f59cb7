// browser.test.ts: the compiler as a script for a browser: it makes the bytes that the command makes.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { createContext, runInContext } from "node:vm";

import { loadProject } from "@rankd/dslc";

import { sha256 } from "../packages/dslc/dist/browser_host.js";
import { browserProject } from "../packages/dslc/dist/browser_project.js";
import { browserScript } from "../packages/dslc/dist/bundle.js";
import type { Diagnostic, Place } from "../packages/dslc/dist/diagnostic.js";
import type { NodeOption } from "../packages/dslc/dist/options.js";
import { repository, scratchFolder } from "./support.js";

interface Answer {
  readonly file?: string;
  readonly artifact?: string | null;
  readonly diagnostics?: readonly Diagnostic[];
  readonly options?: readonly NodeOption[];
  readonly places?: Readonly<Record<string, Place>>;
  readonly error?: string;
}

/** What a worker of a browser has and the language has not; nothing of Node. */
function workerScope(): Record<string, unknown> {
  const scope: Record<string, unknown> = {
    WorkerGlobalScope: class {},
    fetch: () => assert.fail("it asks the network"),
  };
  for (const name of [
    "TextEncoder",
    "TextDecoder",
    "URL",
    "performance",
    "WebAssembly",
    "atob",
    "setTimeout",
    "console",
  ])
    scope[name] = (globalThis as Record<string, unknown>)[name];
  return scope;
}

const scope = workerScope();
let count = 0;
const waiting = new Map<number, (answer: Answer) => void>();

/** The answer of the script to a message, both by way of JSON: nothing else goes from one to the other. */
async function ask(message: object): Promise<Answer> {
  const number = ++count;
  return await new Promise((done) => {
    waiting.set(number, done);
    (scope["onmessage"] as (event: object) => void)({
      data: JSON.parse(JSON.stringify({ number, ...message })) as object,
    });
  });
}

before(() => {
  scope["self"] = createContext(scope);
  scope["postMessage"] = (answer: Answer & { number: number }) => {
    const { number, ...rest } = JSON.parse(JSON.stringify(answer)) as Answer & { number: number };
    waiting.get(number)!(rest);
    waiting.delete(number);
  };
  runInContext(browserScript(), scope);
});

/** The projects that `rankd init` writes, and this repository. */
const projects = ["demo", "empty", "shop"].map((name) => join(repository, "rankd/cli", name));

test("the script compiles the plans of all demos to the bytes that dslc build has written", async () => {
  let compared = 0;
  for (const from of projects) {
    const folder = join(scratchFolder(), "project");
    cpSync(from, folder, { recursive: true });
    // The registries of the demo are those of the repository.
    if (from.endsWith("demo")) cpSync(join(repository, "registry"), join(folder, "registry"), { recursive: true });
    assert.deepEqual(await ask(browserProject(loadProject(folder))), {});
    for (const name of readdirSync(join(folder, "plans")).filter((each) => each.endsWith(".plan.ts"))) {
      const file = `plans/${name}`;
      const text = readFileSync(join(folder, file), "utf8");
      const { artifact, diagnostics, options, places, ...rest } = await ask({ file, text });
      assert.deepEqual([rest, diagnostics], [{ file }, []]);
      assert.equal(places!["/plan_name"]!.file, file);
      assert.equal(artifact, readFileSync(join(folder, file.replace(".plan.ts", ".json")), "utf8"), file);
      assert.ok(options!.some((each) => each.why === ""));
      ++compared;
    }
  }
  assert.ok(compared >= 12, `${compared} plans`);
});

test("what is wrong is told as by the command, and a plan that hangs is ended", async () => {
  const folder = join(scratchFolder(), "project");
  cpSync(join(repository, "rankd/cli/shop"), folder, { recursive: true });
  assert.deepEqual(await ask(browserProject(loadProject(folder))), {});
  const file = "plans/home.plan.ts";
  const text = readFileSync(join(folder, file), "utf8");
  const wrong = await ask({ file, text: text.replace("Key.interest", "Key.intrest") });
  assert.equal(wrong.artifact, null);
  assert.equal(wrong.diagnostics![0]!.code, "type_error");
  const endless = await ask({ file, text: `${text}\nfor (;;);\n` });
  assert.deepEqual(
    endless.diagnostics!.map(({ code }) => code),
    ["time_limit"],
  );
  assert.equal((await ask({ file, text })).artifact, readFileSync(join(folder, "plans/home.json"), "utf8"));
});

test("the files of a project are those that are there, and a project that is wrong says why", async () => {
  const folder = join(scratchFolder(), "project");
  cpSync(join(repository, "rankd/cli/shop"), folder, { recursive: true });
  writeFileSync(join(folder, "plans/shared.ts"), "export const count = 3;\n");
  const project = browserProject(loadProject(folder));
  assert.deepEqual(await ask(project), {});
  const file = "plans/home.plan.ts";
  const own = readFileSync(join(folder, file), "utf8").replace("atMost: 2", "atMost: count");
  const { artifact, diagnostics } = await ask({ file, text: `import { count } from "./shared.js";\n${own}` });
  assert.deepEqual(diagnostics, []);
  assert.match(artifact!, /"at_most": 3/);
  rmSync(join(folder, "plans/shared.ts"));
  const { [join(folder, "registry/keys.toml")]: keys, ...files } = browserProject(loadProject(folder)).files;
  assert.ok(keys !== undefined && !Object.keys(files).some((each) => each.endsWith("shared.ts")));
  assert.match((await ask({ ...project, files })).error!, /keys\.toml is missing/);
  assert.match((await ask({ file, text: own })).error!, /no project/);
});

test("digests are those of SHA-256", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 1000]) {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 7) % 256);
    assert.equal(sha256(bytes), createHash("sha256").update(bytes).digest("hex"), `${length} bytes`);
  }
});

test("nothing that pages of the server share is left to the script, nor a way to the network", () => {
  for (const name of ["indexedDB", "caches", "BroadcastChannel", "importScripts", "Worker", "SharedWorker", "fetch"])
    assert.equal(scope[name], undefined, name);
});
