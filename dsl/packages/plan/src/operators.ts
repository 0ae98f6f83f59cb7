// operators.ts: descriptions of operators as data, from which the methods of sets are created.

/** How a param of an operator is written in a plan. */
export interface ParamInfo {
  /** In the artifact. */
  readonly name: string;
  /** In the options of the method. */
  readonly option: string;
  readonly kind: string;
  /** Whether a param of the request may set the value; by default it may not. */
  readonly bindable?: boolean;
}

/** An operator as a method. */
export interface OperatorInfo {
  readonly op: string;
  /** Empty for operators of `core`, otherwise the namespace. */
  readonly scope: string;
  readonly method: string;
  readonly inputs: number;
  /** The number of inputs that may be left out; default 0. */
  readonly optionalInputs?: number;
  readonly params: readonly ParamInfo[];
}
