// checker.ts: the interface to the engine's check of artifacts.

/** A diagnostic of the engine. */
export interface Problem {
  readonly code: string;
  /** JSON pointer into the artifact or the registry. */
  readonly pointer: string;
  readonly message: string;
  readonly hint: string;
  /** The node that the diagnostic is about, or empty. */
  readonly node: string;
  /** The file that the diagnostic is about, or empty for the artifact. */
  readonly source: string;
}

/** The engine's answer about an artifact. */
export interface Verdict {
  readonly problems: readonly Problem[];
  /** Empty if there are problems. */
  readonly warnings: readonly Problem[];
  /** For each node with a cache, the inputs that its rows depend on, such as `["user", "P.surface"]`. */
  readonly caches: Readonly<Record<string, readonly string[]>>;
}

/** Checks artifacts. Rejects with an EngineError if the engine cannot answer. */
export interface Checker {
  /** `name` is the required name of the plan, if any. */
  plan(artifact: string, name: string | undefined): Promise<Verdict>;
  tests(artifact: string): Promise<Verdict>;
}
