// buckets.ts: computes the buckets of `E.bucket` for known values, for tests of plans and programs that prepare data.
const word = 2n ** 64n - 1n;

/** Returns the UTF-8 bytes of a text. An invalid code point counts as U+FFFD. */
function bytesOf(text: string): number[] {
  return [...text].flatMap((each) => {
    const point = each.codePointAt(0)!;
    const code = point >= 0xd800 && point <= 0xdfff ? 0xfffd : point;
    if (code < 0x80) return [code];
    if (code < 0x800) return [0xc0 | (code >> 6), 0x80 | (code & 63)];
    if (code < 0x10000) return [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63)];
    return [0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63)];
  });
}

/** Returns the 64-bit FNV-1a hash of the bytes. */
const hashOf = (text: string): bigint =>
  bytesOf(text).reduce((hash, byte) => ((hash ^ BigInt(byte)) * 0x100000001b3n) & word, 0xcbf29ce484222325n);

/** Returns the result of SplitMix64's finalizer. */
function mixed(value: bigint): bigint {
  let out = (value + 0x9e3779b97f4a7c15n) & word;
  out = ((out ^ (out >> 30n)) * 0xbf58476d1ce4e5b9n) & word;
  out = ((out ^ (out >> 27n)) * 0x94d049bb133111ebn) & word;
  return out ^ (out >> 31n);
}

/** Returns the bucket that `E.bucket` computes for a 64-bit integer or a string, from 0 to `count` - 1. */
export function bucketOf(value: string | number | bigint, count: number, seed = ""): number {
  const drawn = typeof value === "string" ? hashOf(value) : BigInt(value) & word;
  return Number(mixed(hashOf(seed) ^ mixed(drawn)) % BigInt(count));
}
