// browser_host.ts: replaces the parts of Node that the compiler uses in a web worker: files (sent by the page), paths,
// hashes.

const files = new Map<string, string>();

/** Sets all files that exist from now on, by absolute path. */
export function mount(given: Readonly<Record<string, string>>): void {
  files.clear();
  for (const [path, text] of Object.entries(given)) files.set(path, text);
}

const encoder = new TextEncoder();

/** The parts of Node's interface that the compiler uses. */
export const Buffer = {
  from: (text: string): Uint8Array => encoder.encode(text),
  byteLength: (text: string): number => encoder.encode(text).length,
  compare(a: Uint8Array, b: Uint8Array): number {
    const length = Math.min(a.length, b.length);
    for (let at = 0; at < length; ++at) if (a[at] !== b[at]) return a[at]! < b[at]! ? -1 : 1;
    return Math.sign(a.length - b.length);
  },
};

/** Replaces `node:fs`. It contains the given files. */
export const fs = {
  existsSync: (path: string): boolean =>
    files.has(path) || [...files.keys()].some((each) => each.startsWith(`${path}/`)),
  /** All files are texts. */
  readFileSync(path: string): string {
    const text = files.get(path);
    if (text === undefined)
      throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: "ENOENT" });
    return text;
  },
  /** There are no symbolic links. */
  realpathSync: (path: string): string => path,
};

function resolve(...parts: readonly string[]): string {
  const from = parts.reduce((path, part) => (part.startsWith("/") ? part : `${path}/${part}`), "");
  const out: string[] = [];
  for (const part of from.split("/")) {
    if (part === "..") out.pop();
    else if (part !== "" && part !== ".") out.push(part);
  }
  return `/${out.join("/")}`;
}

const dirname = (path: string): string => path.slice(0, path.lastIndexOf("/")) || "/";

/** Replaces `node:path` for absolute paths. */
export const path = {
  sep: "/",
  resolve,
  join: resolve,
  dirname,
  basename: (of: string): string => of.slice(of.lastIndexOf("/") + 1),
  relative(from: string, to: string): string {
    const [a, b] = [from, to].map((each) =>
      resolve(each)
        .split("/")
        .filter((part) => part !== ""),
    ) as [string[], string[]];
    let same = 0;
    while (same < a.length && a[same] === b[same]) ++same;
    return [...a.slice(same).map(() => ".."), ...b.slice(same)].join("/");
  },
};

/** Replaces `node:url`. */
export const url = { fileURLToPath: (of: URL | string): string => decodeURIComponent(new URL(of).pathname) };

const roundConstants = new Uint32Array(64);
const firstState = new Uint32Array(8);
{
  // Computes the constants of SHA-256: the fractional parts of roots of the first primes (FIPS 180-4).
  const fraction = (of: number): number => Math.floor((of - Math.floor(of)) * 2 ** 32);
  let found = 0;
  for (let prime = 2; found < 64; ++prime) {
    if (Array.from({ length: prime - 2 }, (_, at) => at + 2).some((each) => prime % each === 0)) continue;
    if (found < 8) firstState[found] = fraction(Math.sqrt(prime));
    roundConstants[found] = fraction(Math.cbrt(prime));
    ++found;
  }
}

const rotated = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

function addBlock(state: Uint32Array, view: DataView, at: number): void {
  const words = new Uint32Array(64);
  for (let i = 0; i < 16; ++i) words[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < 64; ++i) {
    const [x, y] = [words[i - 15]!, words[i - 2]!];
    const small0 = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3);
    const small1 = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10);
    words[i] = words[i - 16]! + small0 + words[i - 7]! + small1;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; ++i) {
    const big1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const first = (h + big1 + ((e & f) ^ (~e & g)) + roundConstants[i]! + words[i]!) | 0;
    const big0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const second = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  for (const [at2, word] of [a, b, c, d, e, f, g, h].entries()) state[at2] = state[at2]! + word;
}

/** Returns the SHA-256 of bytes in hexadecimal digits. It is synchronous, unlike the function of browsers. */
export function sha256(bytes: Uint8Array): string {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const state = firstState.slice();
  for (let at = 0; at < padded.length; at += 64) addBlock(state, view, at);
  return [...state].map((word) => word.toString(16).padStart(8, "0")).join("");
}

/** Replaces `node:crypto`. The compiler uses only the SHA-256 of a text. */
export const crypto = {
  createHash: () => ({ update: (text: string) => ({ digest: () => sha256(encoder.encode(text)) }) }),
};

/** Replaces `process`. The compiler uses it to measure the CPU time. */
export const process = {
  env: {},
  argv: [],
  platform: "linux",
  cpuUsage(before = { user: 0, system: 0 }): { user: number; system: number } {
    return { user: performance.now() * 1000 - before.user, system: 0 };
  },
};

declare const performance: { now(): number };
