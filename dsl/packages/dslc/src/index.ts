// index.ts: the public interface of the compiler as a library.
export { bindings } from "./bindings.js";
export { type Checker, type Problem, type Verdict } from "./checker.js";
export { type Compiled, Compiler, type CompilerOptions, defaultLimits, planNameOf } from "./compile.js";
export { type Diagnostic, type Place, toLine } from "./diagnostic.js";
export { Engine, findEngine } from "./engine.js";
export { prettyJson, sha256 } from "./json.js";
export { findProject, loadProject, loadRegistries, type Project } from "./project.js";
export { ProjectError } from "./project_error.js";
export { type Registries } from "./registries.js";
