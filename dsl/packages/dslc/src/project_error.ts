// project_error.ts: errors that end a command before any plan is compiled, or that refuse a single request.

/** An error in the project itself, which concerns no single plan. */
export class ProjectError extends Error {}

/** The error for a file of the project that is not TOML. */
export class TomlSyntaxError extends ProjectError {}

/** The error for an engine that cannot be started, or that has ended without an answer. */
export class EngineError extends ProjectError {}

/** The refusal of a question from the studio. The code is intended for programs. */
export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
