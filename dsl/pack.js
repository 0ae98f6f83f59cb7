// pack.js: makes what dslc is installed from: tarballs for npm, or a folder that holds all that it needs.
//
//   node pack.js tarballs DIR   DIR/rankd-plan-VERSION.tgz and DIR/rankd-dslc-VERSION.tgz
//   node pack.js tree DIR       DIR/node_modules with both, and TypeScript
//
// Run `npm ci && npm run build` before. Neither form needs the network, here or where it is installed.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const repository = dirname(here);
const installed = join(here, "node_modules");

/** What the tarball of dslc holds of other packages, so that TypeScript is all that npm has to find elsewhere. */
const bundled = [
  "@jitl/quickjs-ffi-types",
  "@jitl/quickjs-wasmfile-release-sync",
  "quickjs-emscripten-core",
  "re2js",
  "smol-toml",
];

const readJson = (file) => JSON.parse(readFileSync(file, "utf8"));
const writeJson = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);

/** A file of a package that is of use where it runs. */
const isWanted = (file) => !/\.(map|tsbuildinfo)$/.test(file);

/** The authoring package, with the operators and no project's tokens. */
async function stagePlan(folder) {
  const { bindings, loadRegistries } = await import("@rankd/dslc");
  const declared = loadRegistries(join(repository, "registry"), "test");
  const none = { keys: [], params: [], features: [], endpoints: [], capabilities: [], digests: {} };
  cpSync(join(here, "packages/plan/src"), join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "src/generated.ts"), bindings({ ...declared, ...none }));
  cpSync(join(here, "packages/plan/package.json"), join(folder, "package.json"));
  cpSync(join(repository, "LICENSE"), join(folder, "LICENSE"));
}

/** The compiler, with the operators and all packages that it runs with but TypeScript. */
function stageCompiler(folder) {
  const from = join(here, "packages/dslc");
  for (const part of ["bin", "dist"])
    cpSync(join(from, part), join(folder, part), { recursive: true, filter: isWanted });
  cpSync(join(repository, "registry/ops.toml"), join(folder, "ops.toml"));
  cpSync(join(repository, "LICENSE"), join(folder, "LICENSE"));
  const description = readJson(join(from, "package.json"));
  for (const name of bundled) {
    cpSync(join(installed, name), join(folder, "node_modules", name), { recursive: true, filter: isWanted });
    description.dependencies[name] ??= readJson(join(installed, name, "package.json")).version;
  }
  writeJson(join(folder, "package.json"), { ...description, bundleDependencies: bundled });
}

function npmPack(folder, out) {
  const args = ["pack", folder, "--pack-destination", out, "--offline", "--ignore-scripts", "--loglevel=error"];
  const done = spawnSync("npm", args, { stdio: ["ignore", "ignore", "inherit"], cwd: folder });
  if (done.status !== 0) throw new Error(`npm pack of ${basename(folder)} failed`);
}

async function main([form, to]) {
  if (!["tarballs", "tree"].includes(form) || to === undefined) {
    process.stderr.write("usage: node pack.js tarballs|tree DIR\n");
    return 2;
  }
  const out = resolve(to);
  const scope = "node_modules/@rankd";
  const folder = form === "tree" ? out : mkdtempSync(join(tmpdir(), "rankd-pack-"));
  if (form === "tree") rmSync(join(out, "node_modules"), { recursive: true, force: true });
  mkdirSync(join(folder, scope), { recursive: true });
  mkdirSync(out, { recursive: true });
  const [plan, compiler] = ["plan", "dslc"].map((name) => join(folder, scope, name));
  await stagePlan(plan);
  stageCompiler(compiler);
  if (form === "tree") {
    // Messages in other languages are half of its files, and dslc prints none of them.
    const isLocal = (file) => /[/\\]lib[/\\][a-z]{2}(-[a-z]+)?$/.test(file);
    const typescript = join(installed, "typescript");
    cpSync(typescript, join(out, "node_modules/typescript"), { recursive: true, filter: (file) => !isLocal(file) });
  } else {
    npmPack(plan, out);
    npmPack(compiler, out);
    rmSync(folder, { recursive: true });
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
