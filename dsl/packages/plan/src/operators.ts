// operators.ts: descriptions of operators as data, from which the methods of sets are created.

/** The form of an operator's param in plans. */
export interface ParamInfo {
  /** The name in the artifact. */
  readonly name: string;
  /** The name in the options of the method. */
  readonly option: string;
  readonly kind: string;
  /** Whether a param of the request may set the value. Default: false. */
  readonly bindable?: boolean;
}

/** An operator as a method. */
export interface OperatorInfo {
  readonly op: string;
  /** Empty for operators of `core`, otherwise the namespace. */
  readonly scope: string;
  readonly method: string;
  readonly inputs: number;
  /** The number of inputs that may be omitted. Default: 0. */
  readonly optionalInputs?: number;
  readonly params: readonly ParamInfo[];
}
