// index.ts: the compiler as a library.
export { bindings } from "./bindings.js";
export { type Compiled, Compiler, type CompilerOptions, defaultLimits, planNameOf } from "./compile.js";
export { type Diagnostic, type Place, toLine } from "./diagnostic.js";
export {
  comparePlans,
  comparisonJson,
  comparisonText,
  type PlanComparison,
  type RightArtifact,
} from "./diff_report.js";
export { parseExact } from "./exact_json.js";
export { prettyJson, sha256 } from "./json.js";
export { findProject, loadProject, loadRegistries, type Project, ProjectError, type Registries } from "./project.js";
export { type Problem } from "./reader.js";
export { validate } from "./validate.js";
