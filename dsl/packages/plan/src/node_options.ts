// node_options.ts: the types of the options that the operators' methods accept.
import type { KeyToken, ParamToken, Payload, ValueType } from "./tokens.js";

/** The options of every operator. */
export interface NodeOptions {
  /** The id of the node; by default it is made from the operator's name. */
  readonly as?: string;
  /** A note that traces show; null means no note. */
  readonly trace?: string | null;
  /** The timeout in milliseconds, after which it fails with `node_timeout`. */
  readonly timeoutMs?: number;
  /** Rows at this node are kept as data, if the server has a folder for them. */
  readonly capture?: NodeCapture;
  /** Rows of this node are kept for other requests, if the server has a cache. */
  readonly cache?: NodeCache;
  /** Payloads for capabilities at this node, by their ids; the plan then requires them. */
  readonly extensions?: Readonly<Record<string, Payload>>;
}

/** How long the rows of a node are kept; their key is derived. */
export interface NodeCache {
  /** The age in milliseconds up to which they are used: 1 to 86400000. */
  readonly ttlMs: number;
  /** The time after that in which they are still used, while new ones are made; by default they are not. */
  readonly staleMs?: number;
  /** More rows are not kept: 1 to 1000000; default 10000. */
  readonly maxRows?: number;
  /** The values that they depend on, according to the author: if the key is another one, the plan is not compiled. */
  readonly by?: readonly (
    "user" | ParamToken<"int"> | ParamToken<"float"> | ParamToken<"string"> | ParamToken<"bool">
  )[];
}

/** Which rows at a node are captured, and of which requests. */
export interface NodeCapture {
  /** The share of the requests, by a hash of their ids; default all. */
  readonly sample?: number;
  /** The columns in addition to the ids; default all. */
  readonly keys?: readonly KeyToken<ValueType, { read: true }>[];
  /** More rows are counted and left out: 1 to 10000; default 500. */
  readonly maxRows?: number;
  /** The rows that the node returns, the rows that it reads, or both. */
  readonly side?: "out" | "in" | "both";
}

/** The options of every operator that asks a store, or a server of models. */
export interface ServerNodeOptions extends NodeOptions {
  /** The number of retries if the store does not answer for a moment: 1 to 5. */
  readonly retries?: number;
}

/** The options of every operator that reads a store. */
export interface StoreNodeOptions extends ServerNodeOptions {
  /** A read that has no answer after this many milliseconds is sent a second time. */
  readonly hedgeMs?: number;
}
