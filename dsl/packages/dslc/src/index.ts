// index.ts: the public interface of the compiler as a library.
export { bindings } from "./bindings.js";
export { type Checker, type Problem, type Verdict } from "./checker.js";
export { Compiler, defaultLimits } from "./compile.js";
export { type Diagnostic, type Place, toLine } from "./diagnostic.js";
export { Engine, findEngine } from "./engine.js";
export { prettyJson, sha256 } from "./json.js";
export { type Compiled, type CompilerOptions } from "./plan_compilation.js";
export { planNameOf } from "./plan_names.js";
export { findProject, loadProject, loadRegistries, type Project } from "./project.js";
export { ProjectError } from "./project_error.js";
export { type Registries } from "./registries.js";
