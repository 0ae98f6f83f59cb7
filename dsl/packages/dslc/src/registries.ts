// registries.ts: the declarations of a project's registries, as the compiler uses them.

/** Registry → id of an entry → digest of what the entry means to the plans that refer to it. */
export type EntryDigests = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** A key or a param of the registry. Only params have `context` and `required`. */
export interface Entry {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly status: string;
  readonly read: boolean;
  readonly write: boolean;
  /** Whether a request gives its value in `context`. */
  readonly context: boolean;
  /** Whether a request must. */
  readonly required: boolean;
  readonly replacedBy: number | undefined;
  readonly doc: string;
  /** Undefined if there is no default. */
  readonly standard: unknown;
  /** The length of a vector; 0 for other types. */
  readonly dimensions: number;
}

/** An endpoint, as far as plans see it. */
export interface Endpoint {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
}

/** A param of an operator, as `rankd ops --toml` prints it. */
export interface OpParam {
  readonly name: string;
  readonly kind: string;
  readonly required: boolean;
  readonly min?: number | bigint;
  readonly max?: number | bigint;
  /** Only for lists. */
  readonly min_items?: number | bigint;
  readonly use?: "read" | "write";
  readonly choices?: readonly string[];
  readonly key_types?: readonly string[];
  readonly endpoint_kinds?: readonly string[];
  /** Another param, a choice: this one has an effect only if that has one of `when_values`. */
  readonly when?: string;
  readonly when_values?: readonly string[];
  /** Whether a param of the request may set the value; by default it may not. */
  readonly bindable?: boolean;
  /** The capability that a plan must require to set it; absent if every plan may. */
  readonly capability?: string;
}

/** An operator. */
export interface Op {
  readonly name: string;
  readonly inputs: number;
  /** The number of inputs that may be left out. */
  readonly optionalInputs: number;
  readonly doc: string;
  readonly params: readonly OpParam[];
}

/** An op of expressions and predicates: its fields, each with its kind, in order. */
export interface TreeOp {
  readonly name: string;
  readonly fields: readonly (readonly [string, string])[];
  /** The capability that a plan must require to use it; absent if every plan may. */
  readonly capability?: string;
}

/** Everything that plans may name. */
export interface Registries {
  readonly keys: readonly Entry[];
  readonly params: readonly Entry[];
  readonly endpoints: readonly Endpoint[];
  readonly ops: readonly Op[];
  readonly treeOps: readonly TreeOp[];
  /** Section → SHA-256, as the engine computes them. */
  readonly digests: Readonly<Record<string, string>>;
  /** The digests of the meaning of each entry to plans, as the engine computes them. */
  readonly entryDigests: EntryDigests;
  /** Digest of the output of `rankd ops --toml`, in the project or next to the compiler, and of own_ops.toml. */
  readonly opsDigest: string;
}
