// bundle.ts: bundles the compiler, TypeScript and QuickJS from the installed packages into one script for a web worker.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import ts = require("typescript");

import { libraryRoots } from "./plan_files.js";

const here = dirname(fileURLToPath(import.meta.url));
const quickjs = "@jitl/quickjs-wasmfile-release-sync";
const nodeRequire = createRequire(import.meta.url);

/** Modules that need Node, and their replacements for a browser. */
const instead = new Map([
  [join(here, "runner.js"), join(here, "browser_runner.js")],
  [nodeRequire.resolve(`${quickjs}/emscripten-module`), "emscripten-module.browser.mjs"],
]);

/** The loader of the bundle, which calls the functions of modules. The bundle defines `modules` before it. */
const loader = `
const loaded = new Map();
const load = (id) => {
  const known = loaded.get(id);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  loaded.set(id, module);
  const [body, imports, isOwn] = modules.get(id);
  const host = id === hostId ? {} : load(hostId);
  const require = (name) => {
    const target = imports[name];
    if (target === undefined) throw new Error(id + " has no module " + name);
    if (target.startsWith("node:")) return host[target.slice(5)] ?? { createRequire: () => ({ resolve: () => library }) };
    const found = load(target);
    // As in Node, the exports of a CommonJS module are also the default export that an ES module imports.
    return isOwn && !modules.get(target)[2] ? Object.create(found, { default: { value: found } }) : found;
  };
  body(require, module, module.exports, host.process, host.Buffer);
  return module.exports;
};
load(mainId);
`;

/** Collects modules: one module and everything that it imports. */
class Bundle {
  private readonly modules = new Map<string, string>();

  add(file: string): void {
    if (this.modules.has(file)) return;
    this.modules.set(file, "");
    const isOwn = /\.mjs$/.test(file) || dirname(file) === here;
    const text = readFileSync(file, "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, "");
    const body = isOwn ? asCommonJs(file, text) : text;
    const imports: Record<string, string> = {};
    // The bundle ignores calls of `require` in TypeScript, because TypeScript requires only modules of Node, and only
    // if it runs in Node.
    const names = isTypeScript(file) ? [] : [...body.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name]) => name!);
    for (const name of names) imports[name] = this.targetOf(name, file);
    this.modules.set(
      file,
      `modules.set(${JSON.stringify(file)}, [function (require, module, exports, process, Buffer) {${body}\n}, ` +
        `${JSON.stringify(imports)}, ${String(isOwn)}]);\n`,
    );
  }

  private targetOf(name: string, importer: string): string {
    // browser_host.ts contains a replacement for each module of Node.
    if (name.startsWith("node:")) return name;
    const found = name.startsWith(".") ? resolve(dirname(importer), name) : createRequire(importer).resolve(name);
    const other = instead.get(found);
    const file = other === undefined ? found : resolve(dirname(found), other);
    this.add(file);
    return file;
  }

  text(): string {
    return [...this.modules.values()].join("");
  }
}

const isTypeScript = (file: string): boolean => file.endsWith("/typescript.js");

function asCommonJs(file: string, text: string): string {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  // In the built modules, TypeScript has compiled `import ts = require(…)` to a call of `__require`, a function that
  // Node's `createRequire` returns. In a CommonJS module, `require` does the same.
  return outputText
    .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(file).href))
    .replaceAll("__require(", "require(")
    .replaceAll('require("module")', 'require("node:module")');
}

/** The folder of TypeScript's declarations of the language. */
export const standardFolder = dirname(nodeRequire.resolve("typescript"));

/** Returns the script. Cost: half a second, and ten megabytes. */
export function browserScript(): string {
  const bundle = new Bundle();
  const host = join(here, "browser_host.js");
  const main = join(here, "browser.js");
  bundle.add(host);
  bundle.add(main);
  const wasm = readFileSync(nodeRequire.resolve(`${quickjs}/wasm`)).toString("base64");
  return (
    `(() => {\nconst modules = new Map();\nconst hostId = ${JSON.stringify(host)};\nconst mainId = ${JSON.stringify(main)};\n` +
    `const library = ${JSON.stringify(libraryRoots[0])};\n` +
    `const quickjsWasm = Uint8Array.from(atob("${wasm}"), (each) => each.charCodeAt(0)).buffer;\n` +
    `${bundle.text()}${loader}})();\n`
  );
}
