// project_error.ts: errors that end a command before any plan is compiled, and refusals of single questions.

/** What is wrong with the project itself; there is no plan to point into. */
export class ProjectError extends Error {}

/** A file of the project is not TOML. */
export class TomlSyntaxError extends ProjectError {}

/** The engine cannot be started, or ended before it answered. */
export class EngineError extends ProjectError {}

/** A question of the studio that is not answered. The code is for programs. */
export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
