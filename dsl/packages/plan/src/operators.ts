// operators.ts: operators as data, of which the methods of sets are made.

/** How a param of an operator is written in a plan. */
export interface ParamInfo {
  /** In the artifact. */
  readonly name: string;
  /** In the options of the method. */
  readonly option: string;
  readonly kind: string;
  /** Whether a param of the request may give the value; not where absent. */
  readonly bindable?: boolean;
}

/** An operator as a method. */
export interface OperatorInfo {
  readonly op: string;
  /** Empty for those of `core`, otherwise the namespace. */
  readonly scope: string;
  readonly method: string;
  readonly inputs: number;
  /** So many of the inputs may be left out; none where absent. */
  readonly optionalInputs?: number;
  readonly params: readonly ParamInfo[];
}
