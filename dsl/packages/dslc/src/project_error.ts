// project_error.ts: what ends a command before any plan is looked at.

/** What is wrong with the project itself; there is no plan to point into. */
export class ProjectError extends Error {}
