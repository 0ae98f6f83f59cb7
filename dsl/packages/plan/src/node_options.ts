// node_options.ts: what the methods of all operators take.
import type { KeyToken, ParamToken, Payload, ValueType } from "./tokens.js";

/** What every operator takes. */
export interface NodeOptions {
  /** The id of the node; made of the operator's name where absent. */
  readonly as?: string;
  /** A note that traces show; null is none. */
  readonly trace?: string | null;
  /** It has failed, with `node_timeout`, when it has not ended after so many milliseconds. */
  readonly timeoutMs?: number;
  /** Rows at this node are kept as data, where the server has a folder for them. */
  readonly capture?: NodeCapture;
  /** Rows of this node are kept for other requests, where the server has a cache. */
  readonly cache?: NodeCache;
  /** What is said of capabilities at this node, by their ids; the plan then requires them. */
  readonly extensions?: Readonly<Record<string, Payload>>;
}

/** How long the rows of a node are kept; what they depend on is derived. */
export interface NodeCache {
  /** So old they are taken as they are: 1 to 86400000. */
  readonly ttlMs: number;
  /** So long after that they are still taken, while new ones are made; not at all where absent. */
  readonly staleMs?: number;
  /** More rows are not kept: 1 to 1000000; 10000 where absent. */
  readonly maxRows?: number;
  /** What they depend on, as its author knows it: another key is a mistake, and the plan is not compiled. */
  readonly by?: readonly (
    "user" | ParamToken<"int"> | ParamToken<"float"> | ParamToken<"string"> | ParamToken<"bool">
  )[];
}

/** Which rows at a node are captured, and of which requests. */
export interface NodeCapture {
  /** The share of the requests, by a hash of their ids; all where absent. */
  readonly sample?: number;
  /** The columns beside the ids; all where absent. */
  readonly keys?: readonly KeyToken<ValueType, { read: true }>[];
  /** More rows are counted and left out: 1 to 10000; 500 where absent. */
  readonly maxRows?: number;
  /** The rows that the node gives, those that it takes, or both. */
  readonly side?: "out" | "in" | "both";
}

/** What every operator takes that asks a store, or a server of models. */
export interface ServerNodeOptions extends NodeOptions {
  /** So often it is run again where the store does not answer for a moment: 1 to 5. */
  readonly retries?: number;
}

/** What every operator takes that reads a store. */
export interface StoreNodeOptions extends ServerNodeOptions {
  /** A read that has no answer after so many milliseconds is asked a second time. */
  readonly hedgeMs?: number;
}
