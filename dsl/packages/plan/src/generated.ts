// generated.ts: the tokens of the registries and the methods of the operators. Written by `dslc bindings` from registry/*.toml.
// digest capabilities 9879802cfe3d993c9492761de6896f33f0f343cec90b308725e9fce850cb1628
// digest endpoints 577a4b0a70287f84245696c5951d8e15d336af35b7e7d85a433a8e1da5af5598
// digest keys 787d03992b267fd1ac54c92cd28ddcc4dfba60cde12665ffa9fad04c890d3599
// digest ops 9f619e2eb0173dc012306c0c482a5fbac21a0f3624547445f0d460fec883e8a5
// digest params 30ccc7d6c0b222bffc8a3bb8c02e60cd1e47edd7406eb678590d96cbd42c1c88
import type { NodeFailure } from "./failures.js";
import type { NodeOptions, ServerNodeOptions, StoreNodeOptions } from "./node_options.js";
import type { OperatorInfo } from "./operators.js";
import {
  type BoundParam,
  type EndpointToken,
  endpointToken,
  type ExprFor,
  type KeyToken,
  keyToken,
  type ParamToken,
  paramToken,
  type Payload,
  type Predicate,
  type Truth,
  type ValueType,
  type Whole,
} from "./tokens.js";

/** The keys that plans may name. */
export const Key = {
  /** The candidate's id, on every row. Key 1, int. */
  id: keyToken<"int", { read: true }>(1, "id", "int"),
  /** Score of the first model. Key 1001, float. */
  model_score_1: keyToken<"float", { read: true; write: true }>(1001, "model_score_1", "float"),
  /** Score of the second model. Key 1002, float. */
  model_score_2: keyToken<"float", { read: true; write: true }>(1002, "model_score_2", "float"),
  /** The score that decides the order of the answer. Key 2001, float. */
  final_score: keyToken<"float", { read: true; write: true }>(2001, "final_score", "float"),
  /** Country of the user, as the store has it. Key 3001, string, may be null. */
  country: keyToken<"string", { read: true; write: true }>(3001, "country", "string"),
  /** Title of the media. Key 3002, string, may be null. */
  title: keyToken<"string", { read: true; write: true }>(3002, "title", "string"),
  /** Features for early-stage ranking. Key 4001, vector of 8 dimensions, may be null. */
  features_esr: keyToken<"vector", { read: true; write: true }>(4001, "features_esr", "vector"),
  /** Features for late-stage ranking. Key 4002, vector of 8 dimensions, may be null. */
  features_lsr: keyToken<"vector", { read: true; write: true }>(4002, "features_lsr", "vector"),
} as const;

/** The params that requests may override. */
export const P = {
  /** Weight of the penalty for the age of media. Param 1, float. */
  media_age_penalty_weight: paramToken<"float">(1, "media_age_penalty_weight", "float"),
  /** Titles that match are dropped. Param 2, string. */
  blocklist_regex: paramToken<"string">(2, "blocklist_regex", "string"),
  /** Least score that passes early-stage ranking. Param 3, float. */
  esr_cutoff: paramToken<"float">(3, "esr_cutoff", "float"),
  /** How many candidates a page shows. Param 4, int. */
  page_size: paramToken<"int", "default">(4, "page_size", "int"),
  /** Whether candidates are ranked by the new model. Param 5, bool. */
  new_model: paramToken<"bool">(5, "new_model", "bool"),
  /** The part of the product that shows the candidates. Param 6, string. */
  surface: paramToken<"string">(6, "surface", "string"),
} as const;

/** Where data comes from. */
export const EP = {
  /** ep_0001, of kind redis. */
  redis_default: endpointToken<"redis">("ep_0001", "redis_default"),
  /** ep_0002, of kind http. */
  http_api: endpointToken<"http">("ep_0002", "http_api"),
} as const;

/** What stands in for a node that fails. */
export interface NodeFallback {
  /** The failures that it stands in for. */
  readonly on: readonly NodeFailure[];
  /** Another set, whose nodes then run; the rows that the node takes; or none. */
  readonly use: CandidateSet | "input" | "empty";
  /** Keys that the node gives its rows, and what stands in does not: they are null then. */
  readonly nulls?: readonly KeyToken<ValueType, { read: true }>[];
}

/** Options of core::aggregate. */
export interface AggregateOptions extends NodeOptions {
  /** `of`. */
  readonly of: "count" | "sum" | "mean" | "min" | "max";
  /** `key`. Only where of is sum or mean or min or max, and then required. */
  readonly key?: KeyToken<"int" | "float", { read: true }>;
  /** `per`. */
  readonly per?: KeyToken<"int" | "float" | "string" | "bool", { read: true }>;
  /** `out_key`. */
  readonly outKey: KeyToken<"float", { write: true }>;
}

/** Options of core::at_least. */
export interface AtLeastOptions<Count extends number | bigint> extends NodeOptions {
  /** `count`. At least 1. */
  readonly count: (Count & Whole<Count, 1>) | BoundParam<"int">;
}

/** Options of core::call_models. */
export interface CallModelsOptions extends NodeOptions {
  /** `models`. At least 1 of them. */
  readonly models: readonly string[];
  /** `out_keys`. At least 1 of them. */
  readonly outKeys: readonly KeyToken<"float", { write: true }>[];
}

/** Options of core::call_remote_model. */
export interface CallRemoteModelOptions<RowsPerCall extends number | bigint> extends ServerNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"http">;
  /** `model`. */
  readonly model: string;
  /** `version`. */
  readonly version?: string;
  /** `inputs`. At least 1 of them. */
  readonly inputs: readonly KeyToken<"int" | "float" | "string" | "bool", { read: true }>[];
  /** `tensor`. */
  readonly tensor?: string;
  /** `floats`. */
  readonly floats?: "fp64" | "fp32";
  /** `outputs`. At least 1 of them. */
  readonly outputs?: readonly string[];
  /** `out_keys`. At least 1 of them. */
  readonly outKeys: readonly KeyToken<"float", { write: true }>[];
  /** `missing`. */
  readonly missing?: number | bigint;
  /** `rows_per_call`. From 1 to 10000. */
  readonly rowsPerCall?: RowsPerCall & Whole<RowsPerCall, 1>;
}

/** Options of core::candidates. */
export interface CandidatesOptions extends NodeOptions {
  /** `keys`. */
  readonly keys?: readonly KeyToken<"int" | "float" | "string" | "bool" | "vector", { write: true }>[];
}

/** Options of core::concat. */
export interface ConcatOptions extends NodeOptions {
  /** `rhs`. */
  readonly rhs: CandidateSet;
  /** `out_key`. */
  readonly outKey?: KeyToken<"string", { write: true }>;
  /** `sources`. At least 2 of them. */
  readonly sources?: readonly string[];
}

/** Options of core::decode. */
export interface DecodeOptions extends NodeOptions {
  /** `key`. */
  readonly key: KeyToken<"string", { read: true }>;
  /** `format`. */
  readonly format: "json" | "float32" | "float64" | "int64" | "base64_float32" | "base64_float64" | "base64_int64";
  /** `members`. Only where format is json. */
  readonly members?: readonly string[];
  /** `out_keys`. At least 1 of them. */
  readonly outKeys: readonly KeyToken<"int" | "float" | "string" | "bool" | "vector", { write: true }>[];
}

/** Options of core::decode_ids. */
export interface DecodeIdsOptions<Count extends number | bigint> extends NodeOptions {
  /** `key`. */
  readonly key: KeyToken<"string", { read: true }>;
  /** `format`. */
  readonly format: "json" | "int64" | "base64_int64";
  /** `count`. From 1 to 10000000. */
  readonly count: (Count & Whole<Count, 1>) | BoundParam<"int">;
}

/** Options of core::dedupe. */
export interface DedupeOptions extends NodeOptions {
  /** `by`. */
  readonly by?: KeyToken<"int" | "float" | "string" | "bool", { read: true }>;
  /** `strategy`. */
  readonly strategy?: "first" | "last" | "max_by";
  /** `score_key`. Only where strategy is max_by, and then required. */
  readonly scoreKey?: KeyToken<"int" | "float", { read: true }>;
}

/** Options of core::diversify. */
export interface DiversifyOptions<AtMost extends number | bigint, Window extends number | bigint, EveryNth extends number | bigint, First extends number | bigint, Count extends number | bigint> extends NodeOptions {
  /** `strategy`. */
  readonly strategy: "window" | "quota" | "mmr";
  /** `by`. Only where strategy is window or quota, and then required. */
  readonly by?: KeyToken<"int" | "float" | "string" | "bool", { read: true }>;
  /** `at_most`. From 1 to 10000000. Only where strategy is window, and then required. */
  readonly atMost?: AtMost & Whole<AtMost, 1>;
  /** `window`. From 2 to 10000000. Only where strategy is window. */
  readonly window?: Window & Whole<Window, 1>;
  /** `values`. At least 1 of them. Only where strategy is quota, and then required. */
  readonly values?: readonly (number | bigint)[] | readonly string[];
  /** `every_nth`. From 1 to 10000000. Only where strategy is quota, and then required. */
  readonly everyNth?: EveryNth & Whole<EveryNth, 1>;
  /** `first`. From 1 to 10000000. Only where strategy is quota. */
  readonly first?: First & Whole<First, 1>;
  /** `overflow`. Only where strategy is window or quota. */
  readonly overflow?: "later" | "drop";
  /** `relevance`. Only where strategy is mmr, and then required. */
  readonly relevance?: KeyToken<"int" | "float", { read: true }>;
  /** `similarity`. Only where strategy is mmr, and then required. */
  readonly similarity?: KeyToken<"vector", { read: true }>;
  /** `lambda`. From 0 to 1. Only where strategy is mmr, and then required. */
  readonly lambda?: number | bigint | BoundParam<"float">;
  /** `count`. From 1 to 10000000. Only where strategy is mmr. */
  readonly count?: (Count & Whole<Count, 1>) | BoundParam<"int">;
}

/** Options of core::extract_features. */
export interface ExtractFeaturesOptions extends NodeOptions {
  /** `transform`. */
  readonly transform: "bucket" | "clip" | "is_null" | "log1p" | "one_hot";
  /** `keys`. At least 1 of them. */
  readonly keys: readonly KeyToken<"int" | "float" | "string" | "bool", { read: true }>[];
  /** `out_keys`. At least 1 of them. */
  readonly outKeys: readonly KeyToken<"float", { write: true }>[];
  /** `boundaries`. At least 1 of them, ascending. Only where transform is bucket, and then required. */
  readonly boundaries?: readonly (number | bigint)[];
  /** `min`. Only where transform is clip. */
  readonly min?: number | bigint | BoundParam<"float">;
  /** `max`. Only where transform is clip. */
  readonly max?: number | bigint | BoundParam<"float">;
  /** `values`. At least 1 of them. Only where transform is one_hot, and then required. */
  readonly values?: readonly (number | bigint)[] | readonly string[];
}

/** Options of core::fetch_features. */
export interface FetchFeaturesOptions extends StoreNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"embedded" | "redis">;
  /** `keys`. At least 1 of them. */
  readonly keys: readonly KeyToken<"int" | "float" | "string" | "bool" | "vector", { write: true }>[];
  /** `hash`. Letters, digits and `_`, no digit in front. */
  readonly hash?: string;
  /** `by`. */
  readonly by?: KeyToken<"int", { read: true }>;
}

/** Options of core::filter. */
export interface FilterOptions extends NodeOptions {
  /** `pred_id`. */
  readonly pred: Truth;
}

/** Options of core::flag. */
export interface FlagOptions extends NodeOptions {
  /** `out_key`. */
  readonly outKey: KeyToken<"bool", { write: true }>;
  /** `pred_id`. */
  readonly pred: Truth;
}

/** Options of core::follow. */
export interface FollowOptions<Fanout extends number | bigint> extends StoreNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"embedded" | "redis">;
  /** `fanout`. From 1 to 10000000. */
  readonly fanout: (Fanout & Whole<Fanout, 1>) | BoundParam<"int">;
}

/** Options of core::hash. */
export interface HashOptions extends StoreNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"embedded" | "redis">;
  /** `key`. The text of a key of the store, with `{NAME}` for a column and `{P.NAME}` for a param. */
  readonly key: string;
  /** `keys`. At least 1 of them. */
  readonly keys: readonly KeyToken<"int" | "float" | "string" | "bool" | "vector", { write: true }>[];
  /** `fields`. */
  readonly fields?: readonly string[];
}

/** Options of core::jitter. */
export interface JitterOptions extends NodeOptions {
  /** `key`. */
  readonly key: KeyToken<"int" | "float", { read: true }>;
  /** `amount`. From 0 to 1000000000. */
  readonly amount: number | bigint | BoundParam<"float">;
  /** `seed`. The text of a key of the store, with `{NAME}` for a column and `{P.NAME}` for a param. */
  readonly seed: string;
  /** `out_key`. */
  readonly outKey: KeyToken<"float", { write: true }>;
}

/** Options of core::join. */
export interface JoinOptions extends NodeOptions {
  /** `rhs`. */
  readonly rhs: CandidateSet;
  /** `how`. */
  readonly how: "inner" | "left" | "semi" | "anti" | "broadcast";
  /** `by`. Only where how is inner or left or semi or anti. */
  readonly by?: KeyToken<"int" | "float" | "string" | "bool", { read: true }>;
  /** `select`. Only where how is inner or left or broadcast, and then required. */
  readonly select?: readonly KeyToken<"int" | "float" | "string" | "bool", { read: true }>[];
  /** `map`. Only where how is inner or left or broadcast. */
  readonly map?: readonly KeyToken<"int" | "float" | "string" | "bool", { write: true }>[];
  /** `on_missing`. Only where how is left or broadcast. */
  readonly onMissing?: "null" | "default" | "error";
}

/** Options of core::list. */
export interface ListOptions<Count extends number | bigint, Offset extends number | bigint> extends StoreNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"embedded" | "redis">;
  /** `key`. The text of a key of the store, with `{NAME}` for a column and `{P.NAME}` for a param. */
  readonly key: string;
  /** `count`. From 1 to 10000000. */
  readonly count: (Count & Whole<Count, 1>) | BoundParam<"int">;
  /** `offset`. From 0 to 2000000000. */
  readonly offset?: (Offset & Whole<Offset, 0>) | BoundParam<"int">;
}

/** Options of core::media. */
export interface MediaOptions<Fanout extends number | bigint> extends StoreNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"embedded" | "redis">;
  /** `fanout`. From 1 to 10000. */
  readonly fanout: (Fanout & Whole<Fanout, 1>) | BoundParam<"int">;
}

/** Options of core::members_of. */
export interface MembersOfOptions extends StoreNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"embedded" | "redis">;
  /** `key`. The text of a key of the store, with `{NAME}` for a column and `{P.NAME}` for a param. */
  readonly key: string;
  /** `of`. */
  readonly of?: "set" | "sorted_set";
  /** `member`. */
  readonly member?: KeyToken<"int" | "string", { read: true }>;
  /** `out_key`. */
  readonly outKey: KeyToken<"bool" | "float", { write: true }>;
}

/** Options of core::nearest. */
export interface NearestOptions<Count extends number | bigint, Probe extends number | bigint, EfSearch extends number | bigint> extends NodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"vectors">;
  /** `query`. */
  readonly query: KeyToken<"vector", { read: true }>;
  /** `count`. From 1 to 100000. */
  readonly count: (Count & Whole<Count, 1>) | BoundParam<"int">;
  /** `out_key`. */
  readonly outKey?: KeyToken<"float", { write: true }>;
  /** `probe`. From 1 to 65536. */
  readonly probe?: (Probe & Whole<Probe, 1>) | BoundParam<"int">;
  /** `ef_search`. From 1 to 100000. */
  readonly efSearch?: (EfSearch & Whole<EfSearch, 1>) | BoundParam<"int">;
  /** `only`. */
  readonly only?: CandidateSet;
  /** `except`. */
  readonly except?: CandidateSet;
  /** `changes`. */
  readonly changes?: CandidateSet;
}

/** Options of core::paginate. */
export interface PaginateOptions<Size extends number | bigint> extends NodeOptions {
  /** `size`. From 1 to 10000. */
  readonly size: (Size & Whole<Size, 1>) | BoundParam<"int">;
}

/** Options of core::rank_fusion. */
export interface RankFusionOptions extends NodeOptions {
  /** `by`. */
  readonly by: KeyToken<"int" | "float" | "string" | "bool", { read: true }>;
  /** `k`. From 0 to 1000000000. */
  readonly k?: number | bigint;
  /** `out_key`. */
  readonly outKey: KeyToken<"float", { write: true }>;
}

/** Options of core::recommendation. */
export interface RecommendationOptions<Fanout extends number | bigint> extends StoreNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"embedded" | "redis">;
  /** `fanout`. From 1 to 10000000. */
  readonly fanout: (Fanout & Whole<Fanout, 1>) | BoundParam<"int">;
}

/** Options of core::sample. */
export interface SampleOptions<Count extends number | bigint> extends NodeOptions {
  /** `count`. From 1 to 10000000. */
  readonly count: Count & Whole<Count, 1>;
  /** `seed`. The text of a key of the store, with `{NAME}` for a column and `{P.NAME}` for a param. */
  readonly seed: string;
}

/** Options of core::set. */
export interface SetOptions<Count extends number | bigint> extends StoreNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"embedded" | "redis">;
  /** `key`. The text of a key of the store, with `{NAME}` for a column and `{P.NAME}` for a param. */
  readonly key: string;
  /** `count`. From 1 to 10000000. */
  readonly count: (Count & Whole<Count, 1>) | BoundParam<"int">;
}

/** Options of core::sort. */
export interface SortOptions extends NodeOptions {
  /** `by`. */
  readonly by: KeyToken<"int" | "float" | "string" | "bool", { read: true }>;
  /** `order`. */
  readonly order?: "asc" | "desc";
}

/** Options of core::sorted_set. */
export interface SortedSetOptions<Count extends number | bigint, Offset extends number | bigint> extends StoreNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"embedded" | "redis">;
  /** `key`. The text of a key of the store, with `{NAME}` for a column and `{P.NAME}` for a param. */
  readonly key: string;
  /** `count`. From 1 to 10000000. */
  readonly count: (Count & Whole<Count, 1>) | BoundParam<"int">;
  /** `offset`. From 0 to 2000000000. */
  readonly offset?: (Offset & Whole<Offset, 0>) | BoundParam<"int">;
  /** `order`. */
  readonly order?: "asc" | "desc";
  /** `min`. */
  readonly min?: number | bigint | BoundParam<"float">;
  /** `max`. */
  readonly max?: number | bigint | BoundParam<"float">;
  /** `out_key`. */
  readonly outKey?: KeyToken<"float", { write: true }>;
}

/** Options of core::strings. */
export interface StringsOptions extends StoreNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"embedded" | "redis">;
  /** `key`. The text of a key of the store, with `{NAME}` for a column and `{P.NAME}` for a param. */
  readonly key: string;
  /** `out_key`. */
  readonly outKey: KeyToken<"int" | "float" | "string" | "bool" | "vector", { write: true }>;
}

/** Options of core::take. */
export interface TakeOptions<Count extends number | bigint> extends NodeOptions {
  /** `count`. At least 1. */
  readonly count: (Count & Whole<Count, 1>) | BoundParam<"int">;
}

/** Options of core::viewer. */
export interface ViewerOptions extends StoreNodeOptions {
  /** `endpoint`. */
  readonly endpoint: EndpointToken<"embedded" | "redis">;
}

/** Options of core::vm. */
export interface VmOptions<OutKey extends KeyToken<"float" | "int" | "string", { write: true }>> extends NodeOptions {
  /** `out_key`. */
  readonly outKey: OutKey;
  /** `expr_id`. */
  readonly expr: ExprFor<OutKey>;
}

/** Options of test::busy_cpu. */
export interface TestBusyCpuOptions<BusyWaitMs extends number | bigint> extends NodeOptions {
  /** `busy_wait_ms`. From 0 to 3600000. */
  readonly busyWaitMs: BusyWaitMs & Whole<BusyWaitMs, 0>;
}

/** Options of test::fixed_source. */
export interface TestFixedSourceOptions<RowCount extends number | bigint> extends NodeOptions {
  /** `row_count`. From 0 to 10000000. */
  readonly rowCount?: RowCount & Whole<RowCount, 0>;
}

/** Options of test::sleep. */
export interface TestSleepOptions<DurationMs extends number | bigint> extends NodeOptions {
  /** `duration_ms`. From 0 to 3600000. */
  readonly durationMs: DurationMs & Whole<DurationMs, 0>;
  /** `fail_after_sleep`. */
  readonly failAfterSleep?: boolean;
}

/** Where rows come from. */
export interface PlanContext {
  /** Returns the candidates of the request as rows, with the columns of these keys. */
  candidates(options?: CandidatesOptions): CandidateSet;
  /** Returns the first ids of the list under `key`, for each row or once. */
  list<Count extends number | bigint, Offset extends number | bigint>(options: ListOptions<Count, Offset>): CandidateSet;
  /** Returns the smallest ids of the set under `key`, for each row or once. */
  set<Count extends number | bigint>(options: SetOptions<Count>): CandidateSet;
  /** Returns the first ids of the sorted set under `key`, with their scores, for each row or once. */
  sortedSet<Count extends number | bigint, Offset extends number | bigint>(options: SortedSetOptions<Count, Offset>): CandidateSet;
  /** Returns one row: the user of the request, with the country of hash user:ID. */
  viewer(options: ViewerOptions): CandidateSet;
  /** The rows of `then` where the condition holds, otherwise those of `otherwise`. It is decided when a request is read, so it has params only; the nodes that only the other side needs do not run. */
  choose(
    condition: Predicate | ParamToken<"bool">,
    then: () => CandidateSet,
    otherwise: () => CandidateSet,
    options?: NodeOptions,
  ): CandidateSet;
  /** The rows of the case that the param names, otherwise those of `otherwise`; the others do not run. */
  switch(
    param: ParamToken<"string">,
    cases: Readonly<Record<string, () => CandidateSet>>,
    otherwise: () => CandidateSet,
    options?: NodeOptions,
  ): CandidateSet;
  /** States that the plan needs a capability of the engine, and what `extensions` of the artifact says of it. The compiler states those itself that a plan needs by what it uses. */
  requireCapability(id: string, payload?: Payload): void;
  /** Operators of `test`. */
  readonly test: {
    /** Returns rows with the ids 1 to row_count. */
    fixedSource<RowCount extends number | bigint>(options?: TestFixedSourceOptions<RowCount>): CandidateSet;
  };
}

/** Rows on their way through a plan; each method makes a node that takes them. */
export interface CandidateSet {
  /** Adds a float column: a count, sum, mean, minimum or maximum over all rows, or over those with the same value. */
  aggregate(options: AggregateOptions): CandidateSet;
  /** Returns all rows if there are at least `count`; otherwise the node fails, and its fallback provides the rows. */
  atLeast<Count extends number | bigint>(options: AtLeastOptions<Count>): CandidateSet;
  /** Adds float columns: the scores of models from files. */
  callModels(options: CallModelsOptions): CandidateSet;
  /** Adds float columns: the scores of a model that another server runs (Open Inference Protocol V2). */
  callRemoteModel<RowsPerCall extends number | bigint>(options: CallRemoteModelOptions<RowsPerCall>): CandidateSet;
  /** Returns the rows of the input, followed by the rows of another node. */
  concat(options: ConcatOptions): CandidateSet;
  /** Adds columns: members of the JSON text under `key`, or the packed vector in it. */
  decode(options: DecodeOptions): CandidateSet;
  /** Returns the first ids of the array under `key`, which is a JSON or packed text, for each row. */
  decodeIds<Count extends number | bigint>(options: DecodeIdsOptions<Count>): CandidateSet;
  /** Keeps one row for each value of a key, `id` by default. */
  dedupe(options?: DedupeOptions): CandidateSet;
  /** Keeps rows with the same value apart, moves some rows to fixed positions, or prefers rows unlike earlier rows. */
  diversify<AtMost extends number | bigint, Window extends number | bigint, EveryNth extends number | bigint, First extends number | bigint, Count extends number | bigint>(options: DiversifyOptions<AtMost, Window, EveryNth, First, Count>): CandidateSet;
  /** Adds float columns: other columns after one transform, in the form that models expect. */
  extractFeatures(options: ExtractFeaturesOptions): CandidateSet;
  /** Adds columns: the fields of hash features:ID, by the names of their keys. */
  fetchFeatures(options: FetchFeaturesOptions): CandidateSet;
  /** Keeps the rows for which a predicate holds. */
  filter(options: FilterOptions): CandidateSet;
  /** Adds a bool column: whether a predicate holds for each row. */
  flag(options: FlagOptions): CandidateSet;
  /** Returns the first ids of list follow:ID, each with its country, for each row. */
  follow<Fanout extends number | bigint>(options: FollowOptions<Fanout>): CandidateSet;
  /** Adds columns: fields of the hash under `key`. */
  hash(options: HashOptions): CandidateSet;
  /** Adds a float column: `key` plus noise from -`amount` to `amount`, the same for the same seed and id. */
  jitter(options: JitterOptions): CandidateSet;
  /** Combines each row with the rows of another node that have the same value of a key. */
  join(options: JoinOptions): CandidateSet;
  /** Returns the first ids of the list under `key`, for each row or once. */
  list<Count extends number | bigint, Offset extends number | bigint>(options: ListOptions<Count, Offset>): CandidateSet;
  /** Returns the first ids of list media:ID, for each row. */
  media<Fanout extends number | bigint>(options: MediaOptions<Fanout>): CandidateSet;
  /** Adds a column: whether the set under `key` has a member, or the score of the member. */
  membersOf(options: MembersOfOptions): CandidateSet;
  /** Returns the ids of the vectors in a file that are nearest to the vector of each row, the nearest first. */
  nearest<Count extends number | bigint, Probe extends number | bigint, EfSearch extends number | bigint>(options: NearestOptions<Count, Probe, EfSearch>): CandidateSet;
  /** Returns one page of the rows: the first page, or the page that begins at the cursor of the request. */
  paginate<Size extends number | bigint>(options: PaginateOptions<Size>): CandidateSet;
  /** Keeps one row of each id, and adds a float column: the sum of 1 / (k + rank) over the lists that have the id. */
  rankFusion(options: RankFusionOptions): CandidateSet;
  /** Returns the first ids of list recommendation:ID, each with its country, for each row. */
  recommendation<Fanout extends number | bigint>(options: RecommendationOptions<Fanout>): CandidateSet;
  /** Keeps `count` rows, chosen by a hash of a seed and the row ids. The order of the rows stays the same. */
  sample<Count extends number | bigint>(options: SampleOptions<Count>): CandidateSet;
  /** Returns the smallest ids of the set under `key`, for each row or once. */
  set<Count extends number | bigint>(options: SetOptions<Count>): CandidateSet;
  /** Sorts the rows by a key; the sort is stable, and nulls are last. */
  sort(options: SortOptions): CandidateSet;
  /** Returns the first ids of the sorted set under `key`, with their scores, for each row or once. */
  sortedSet<Count extends number | bigint, Offset extends number | bigint>(options: SortedSetOptions<Count, Offset>): CandidateSet;
  /** Adds a column: the string under `key`, read as the type of `out_key`. */
  strings(options: StringsOptions): CandidateSet;
  /** Returns the first rows in the current order. */
  take<Count extends number | bigint>(options: TakeOptions<Count>): CandidateSet;
  /** Adds a column of numbers or strings: the value of an expression for each row. */
  vm<OutKey extends KeyToken<"float" | "int" | "string", { write: true }>>(options: VmOptions<OutKey>): CandidateSet;
  /** This set, for which something stands in when its node fails. */
  orElse(fallback: NodeFallback): CandidateSet;
  /** Operators of `test`. */
  readonly test: {
    /** Returns its input rows after computing for `busy_wait_ms`. */
    busyCpu<BusyWaitMs extends number | bigint>(options: TestBusyCpuOptions<BusyWaitMs>): CandidateSet;
    /** Returns its input rows after `duration_ms`. */
    sleep<DurationMs extends number | bigint>(options: TestSleepOptions<DurationMs>): CandidateSet;
  };
}

/** The operators as data. */
export const operators: readonly OperatorInfo[] = [
  {
    op: "core::aggregate",
    scope: "",
    method: "aggregate",
    inputs: 1,
    params: [
      { name: "of", option: "of", kind: "choice" },
      { name: "key", option: "key", kind: "key_id" },
      { name: "per", option: "per", kind: "key_id" },
      { name: "out_key", option: "outKey", kind: "key_id" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::at_least",
    scope: "",
    method: "atLeast",
    inputs: 1,
    params: [
      { name: "count", option: "count", kind: "int", bindable: true },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::call_models",
    scope: "",
    method: "callModels",
    inputs: 1,
    params: [
      { name: "models", option: "models", kind: "names" },
      { name: "out_keys", option: "outKeys", kind: "key_ids" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::call_remote_model",
    scope: "",
    method: "callRemoteModel",
    inputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "model", option: "model", kind: "string" },
      { name: "version", option: "version", kind: "string" },
      { name: "inputs", option: "inputs", kind: "key_ids" },
      { name: "tensor", option: "tensor", kind: "string" },
      { name: "floats", option: "floats", kind: "choice" },
      { name: "outputs", option: "outputs", kind: "texts" },
      { name: "out_keys", option: "outKeys", kind: "key_ids" },
      { name: "missing", option: "missing", kind: "float" },
      { name: "rows_per_call", option: "rowsPerCall", kind: "int" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::candidates",
    scope: "",
    method: "candidates",
    inputs: 0,
    params: [
      { name: "keys", option: "keys", kind: "key_ids" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::choose",
    scope: "",
    method: "choose",
    inputs: 64,
    optionalInputs: 62,
    params: [
      { name: "pred_ids", option: "predIds", kind: "pred_ids" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::concat",
    scope: "",
    method: "concat",
    inputs: 1,
    params: [
      { name: "rhs", option: "rhs", kind: "node_ref" },
      { name: "out_key", option: "outKey", kind: "key_id" },
      { name: "sources", option: "sources", kind: "texts" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::decode",
    scope: "",
    method: "decode",
    inputs: 1,
    params: [
      { name: "key", option: "key", kind: "key_id" },
      { name: "format", option: "format", kind: "choice" },
      { name: "members", option: "members", kind: "texts" },
      { name: "out_keys", option: "outKeys", kind: "key_ids" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::decode_ids",
    scope: "",
    method: "decodeIds",
    inputs: 1,
    params: [
      { name: "key", option: "key", kind: "key_id" },
      { name: "format", option: "format", kind: "choice" },
      { name: "count", option: "count", kind: "int", bindable: true },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::dedupe",
    scope: "",
    method: "dedupe",
    inputs: 1,
    params: [
      { name: "by", option: "by", kind: "key_id" },
      { name: "strategy", option: "strategy", kind: "choice" },
      { name: "score_key", option: "scoreKey", kind: "key_id" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::diversify",
    scope: "",
    method: "diversify",
    inputs: 1,
    params: [
      { name: "strategy", option: "strategy", kind: "choice" },
      { name: "by", option: "by", kind: "key_id" },
      { name: "at_most", option: "atMost", kind: "int" },
      { name: "window", option: "window", kind: "int" },
      { name: "values", option: "values", kind: "literals" },
      { name: "every_nth", option: "everyNth", kind: "int" },
      { name: "first", option: "first", kind: "int" },
      { name: "overflow", option: "overflow", kind: "choice" },
      { name: "relevance", option: "relevance", kind: "key_id" },
      { name: "similarity", option: "similarity", kind: "key_id" },
      { name: "lambda", option: "lambda", kind: "float", bindable: true },
      { name: "count", option: "count", kind: "int", bindable: true },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::extract_features",
    scope: "",
    method: "extractFeatures",
    inputs: 1,
    params: [
      { name: "transform", option: "transform", kind: "choice" },
      { name: "keys", option: "keys", kind: "key_ids" },
      { name: "out_keys", option: "outKeys", kind: "key_ids" },
      { name: "boundaries", option: "boundaries", kind: "ascending" },
      { name: "min", option: "min", kind: "float", bindable: true },
      { name: "max", option: "max", kind: "float", bindable: true },
      { name: "values", option: "values", kind: "literals" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::fetch_features",
    scope: "",
    method: "fetchFeatures",
    inputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "keys", option: "keys", kind: "key_ids" },
      { name: "hash", option: "hash", kind: "name" },
      { name: "by", option: "by", kind: "key_id" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::filter",
    scope: "",
    method: "filter",
    inputs: 1,
    params: [
      { name: "pred_id", option: "pred", kind: "pred_id" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::flag",
    scope: "",
    method: "flag",
    inputs: 1,
    params: [
      { name: "out_key", option: "outKey", kind: "key_id" },
      { name: "pred_id", option: "pred", kind: "pred_id" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::follow",
    scope: "",
    method: "follow",
    inputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "fanout", option: "fanout", kind: "int", bindable: true },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::hash",
    scope: "",
    method: "hash",
    inputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "key", option: "key", kind: "key_template" },
      { name: "keys", option: "keys", kind: "key_ids" },
      { name: "fields", option: "fields", kind: "texts" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::jitter",
    scope: "",
    method: "jitter",
    inputs: 1,
    params: [
      { name: "key", option: "key", kind: "key_id" },
      { name: "amount", option: "amount", kind: "float", bindable: true },
      { name: "seed", option: "seed", kind: "key_template" },
      { name: "out_key", option: "outKey", kind: "key_id" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::join",
    scope: "",
    method: "join",
    inputs: 1,
    params: [
      { name: "rhs", option: "rhs", kind: "node_ref" },
      { name: "how", option: "how", kind: "choice" },
      { name: "by", option: "by", kind: "key_id" },
      { name: "select", option: "select", kind: "key_ids" },
      { name: "map", option: "map", kind: "key_ids" },
      { name: "on_missing", option: "onMissing", kind: "choice" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::list",
    scope: "",
    method: "list",
    inputs: 1,
    optionalInputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "key", option: "key", kind: "key_template" },
      { name: "count", option: "count", kind: "int", bindable: true },
      { name: "offset", option: "offset", kind: "int", bindable: true },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::media",
    scope: "",
    method: "media",
    inputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "fanout", option: "fanout", kind: "int", bindable: true },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::members_of",
    scope: "",
    method: "membersOf",
    inputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "key", option: "key", kind: "key_template" },
      { name: "of", option: "of", kind: "choice" },
      { name: "member", option: "member", kind: "key_id" },
      { name: "out_key", option: "outKey", kind: "key_id" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::nearest",
    scope: "",
    method: "nearest",
    inputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "query", option: "query", kind: "key_id" },
      { name: "count", option: "count", kind: "int", bindable: true },
      { name: "out_key", option: "outKey", kind: "key_id" },
      { name: "probe", option: "probe", kind: "int", bindable: true },
      { name: "ef_search", option: "efSearch", kind: "int", bindable: true },
      { name: "only", option: "only", kind: "node_ref" },
      { name: "except", option: "except", kind: "node_ref" },
      { name: "changes", option: "changes", kind: "node_ref" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::paginate",
    scope: "",
    method: "paginate",
    inputs: 1,
    params: [
      { name: "size", option: "size", kind: "int", bindable: true },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::rank_fusion",
    scope: "",
    method: "rankFusion",
    inputs: 1,
    params: [
      { name: "by", option: "by", kind: "key_id" },
      { name: "k", option: "k", kind: "float" },
      { name: "out_key", option: "outKey", kind: "key_id" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::recommendation",
    scope: "",
    method: "recommendation",
    inputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "fanout", option: "fanout", kind: "int", bindable: true },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::sample",
    scope: "",
    method: "sample",
    inputs: 1,
    params: [
      { name: "count", option: "count", kind: "int" },
      { name: "seed", option: "seed", kind: "key_template" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::set",
    scope: "",
    method: "set",
    inputs: 1,
    optionalInputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "key", option: "key", kind: "key_template" },
      { name: "count", option: "count", kind: "int", bindable: true },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::sort",
    scope: "",
    method: "sort",
    inputs: 1,
    params: [
      { name: "by", option: "by", kind: "key_id" },
      { name: "order", option: "order", kind: "choice" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::sorted_set",
    scope: "",
    method: "sortedSet",
    inputs: 1,
    optionalInputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "key", option: "key", kind: "key_template" },
      { name: "count", option: "count", kind: "int", bindable: true },
      { name: "offset", option: "offset", kind: "int", bindable: true },
      { name: "order", option: "order", kind: "choice" },
      { name: "min", option: "min", kind: "float", bindable: true },
      { name: "max", option: "max", kind: "float", bindable: true },
      { name: "out_key", option: "outKey", kind: "key_id" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::strings",
    scope: "",
    method: "strings",
    inputs: 1,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "key", option: "key", kind: "key_template" },
      { name: "out_key", option: "outKey", kind: "key_id" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::take",
    scope: "",
    method: "take",
    inputs: 1,
    params: [
      { name: "count", option: "count", kind: "int", bindable: true },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::viewer",
    scope: "",
    method: "viewer",
    inputs: 0,
    params: [
      { name: "endpoint", option: "endpoint", kind: "endpoint_ref" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "core::vm",
    scope: "",
    method: "vm",
    inputs: 1,
    params: [
      { name: "out_key", option: "outKey", kind: "key_id" },
      { name: "expr_id", option: "expr", kind: "expr_id" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "test::busy_cpu",
    scope: "test",
    method: "busyCpu",
    inputs: 1,
    params: [
      { name: "busy_wait_ms", option: "busyWaitMs", kind: "int" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "test::fixed_source",
    scope: "test",
    method: "fixedSource",
    inputs: 0,
    params: [
      { name: "row_count", option: "rowCount", kind: "int" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
  {
    op: "test::sleep",
    scope: "test",
    method: "sleep",
    inputs: 1,
    params: [
      { name: "duration_ms", option: "durationMs", kind: "int" },
      { name: "fail_after_sleep", option: "failAfterSleep", kind: "bool" },
      { name: "trace", option: "trace", kind: "string" },
    ],
  },
];
