// node_options.ts: the types of the options that the operators' methods accept.
import type { KeyToken, ParamToken, Payload, ValueType } from "./tokens.js";

/** The options of every operator. */
export interface NodeOptions {
  /** The id of the node. By default, it is derived from the operator's name. */
  readonly as?: string;
  /** A note that is shown in traces. Null means no note. */
  readonly trace?: string | null;
  /** The timeout in milliseconds. If it is exceeded, the node fails with `node_timeout`. */
  readonly timeoutMs?: number;
  /** Captures rows at this node, if the server has a folder for captures. */
  readonly capture?: NodeCapture;
  /** Caches the rows of this node for other requests, if the server has a cache. */
  readonly cache?: NodeCache;
  /**
   * Payloads for capabilities at this node, by the ids of the capabilities. The plan then requires these capabilities.
   */
  readonly extensions?: Readonly<Record<string, Payload>>;
}

/** How long the rows of a node are cached. The cache key is derived automatically. */
export interface NodeCache {
  /** The age in milliseconds up to which rows are used without a refresh: 1 to 86400000. */
  readonly ttlMs: number;
  /** The additional time in which rows are still used while new rows are computed. By default, it is 0. */
  readonly staleMs?: number;
  /** The maximum number of rows that are cached: 1 to 1000000, by default 10000. */
  readonly maxRows?: number;
  /**
   * The values that the rows depend on, according to the author. If the derived key differs, the plan is not compiled.
   */
  readonly by?: readonly (
    "user" | ParamToken<"int"> | ParamToken<"float"> | ParamToken<"string"> | ParamToken<"bool">
  )[];
}

/** Which rows at a node are captured, and for which requests. */
export interface NodeCapture {
  /** The share of the requests, chosen by a hash of their ids. By default, all requests. */
  readonly sample?: number;
  /** The columns to capture in addition to the ids. By default, all columns. */
  readonly keys?: readonly KeyToken<ValueType, { read: true }>[];
  /** The maximum number of captured rows: 1 to 10000, by default 500. Further rows are counted and left out. */
  readonly maxRows?: number;
  /** Whether to capture the rows that the node returns, the rows that it reads, or both. */
  readonly side?: "out" | "in" | "both";
}

/** The options of every operator that sends requests to a store or a model server. */
export interface ServerNodeOptions extends NodeOptions {
  /** The number of retries after a temporary failure of the store: 1 to 5. */
  readonly retries?: number;
}

/** The options of every operator that reads a store. */
export interface StoreNodeOptions extends ServerNodeOptions {
  /** The time in milliseconds after which a read without an answer is sent a second time. */
  readonly hedgeMs?: number;
}
