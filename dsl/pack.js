// pack.js: makes what dslc is installed from: tarballs for npm, or a folder that holds all that it needs.
//
//   node pack.js tarballs DIR [RANKD]   DIR/rankd-plan-VERSION.tgz and DIR/rankd-dslc-VERSION.tgz; with the program
//                                       RANKD, which checks plans, also DIR/rankd-engine-linux-x64-VERSION.tgz
//   node pack.js tree DIR               DIR/node_modules with the first two, and TypeScript
//
// Run `npm ci && npm run build` before. Neither form needs the network, here or where it is installed.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
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
  const none = { keys: [], params: [], endpoints: [], digests: {} };
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

/** Libraries that every Linux has in the version that programs need. */
const isOfSystem = (name) => /^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread)\b/.test(name);

/** The program rankd with the libraries that it was built with, and a script that starts it with these. */
function stageEngine(folder, program) {
  const listed = spawnSync("ldd", [program], { encoding: "utf8" });
  if (listed.status !== 0) throw new Error(`ldd ${program} failed: ${listed.stderr}`);
  mkdirSync(join(folder, "bin"), { recursive: true });
  mkdirSync(join(folder, "lib"));
  for (const [, name, file] of listed.stdout.matchAll(/^\s*(\S+) => (\S+) \(/gm))
    if (!isOfSystem(name)) cpSync(realpathSync(file), join(folder, "lib", name));
  cpSync(program, join(folder, "lib/rankd"));
  const script = '#!/bin/sh\nlib=$(dirname "$(readlink -f "$0")")/../lib\n';
  writeFileSync(join(folder, "bin/rankd"), `${script}LD_LIBRARY_PATH=$lib exec "$lib/rankd" "$@"\n`, { mode: 0o755 });
  cpSync(join(repository, "LICENSE"), join(folder, "LICENSE"));
  const { version, license, engines } = readJson(join(here, "packages/dslc/package.json"));
  writeJson(join(folder, "package.json"), {
    name: `@rankd/engine-${process.platform}-${process.arch}`,
    version,
    description: "The program rankd, by which dslc checks plans and runs their tests",
    license,
    files: ["bin", "lib"],
    os: [process.platform],
    cpu: [process.arch],
    engines,
  });
}

function npmPack(folder, out) {
  const args = ["pack", folder, "--pack-destination", out, "--offline", "--ignore-scripts", "--loglevel=error"];
  const done = spawnSync("npm", args, { stdio: ["ignore", "ignore", "inherit"], cwd: folder });
  if (done.status !== 0) throw new Error(`npm pack of ${basename(folder)} failed`);
}

async function main([form, to, program]) {
  if (!["tarballs", "tree"].includes(form) || to === undefined) {
    process.stderr.write("usage: node pack.js tarballs DIR [RANKD] | tree DIR\n");
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
    if (program !== undefined) {
      const engine = join(folder, scope, "engine");
      stageEngine(engine, resolve(program));
      npmPack(engine, out);
    }
    rmSync(folder, { recursive: true });
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
