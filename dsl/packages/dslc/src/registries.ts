// registries.ts: the declarations of a project's registries, as the compiler uses them.

/** Maps each registry and each id of an entry to a digest of everything in the entry that affects plans. */
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
  /** Whether a request sets the value in `context`. */
  readonly context: boolean;
  /** Whether a request must set the value. */
  readonly required: boolean;
  readonly replacedBy: number | undefined;
  readonly doc: string;
  /** Undefined if there is no default. */
  readonly standard: unknown;
  /** The dimensions of a vector; 0 for other types. */
  readonly dimensions: number;
}

/** The parts of an endpoint's declaration that plans use. */
export interface Endpoint {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
}

/** A param of an operator, as printed by `rankd ops --toml`. */
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
  /**
   * The name of another param, which is a choice. This param has an effect only if the other param has one of
   * `when_values`.
   */
  readonly when?: string;
  readonly when_values?: readonly string[];
  /** Whether a param of the request may set the value. Default: false. */
  readonly bindable?: boolean;
  /** The capability that a plan must require to set the param. Absent if every plan may set it. */
  readonly capability?: string;
}

/** An operator. */
export interface Op {
  readonly name: string;
  readonly inputs: number;
  /** The number of inputs that may be omitted. */
  readonly optionalInputs: number;
  readonly doc: string;
  readonly params: readonly OpParam[];
}

/** An op of expressions and predicates: its fields in order, each with its kind. */
export interface TreeOp {
  readonly name: string;
  readonly fields: readonly (readonly [string, string])[];
  /** The capability that a plan must require to use the op. Absent if every plan may use it. */
  readonly capability?: string;
}

/** Everything that plans may refer to by name. */
export interface Registries {
  readonly keys: readonly Entry[];
  readonly params: readonly Entry[];
  readonly endpoints: readonly Endpoint[];
  readonly ops: readonly Op[];
  readonly treeOps: readonly TreeOp[];
  /** Maps each section to its SHA-256, as the engine computes it. */
  readonly digests: Readonly<Record<string, string>>;
  /** For each entry, the digest of everything that affects plans, as the engine computes it. */
  readonly entryDigests: EntryDigests;
  /** The digest of the output of `rankd ops --toml` (of the project or of the compiler) and of own_ops.toml. */
  readonly opsDigest: string;
}
