// project_error.ts: an error that ends a command before any plan is compiled.

/** What is wrong with the project itself; there is no plan to point into. */
export class ProjectError extends Error {}

/** A file of the project is not TOML. */
export class TomlSyntaxError extends ProjectError {}

/** The engine cannot be started, or ended before it answered. */
export class EngineError extends ProjectError {}
