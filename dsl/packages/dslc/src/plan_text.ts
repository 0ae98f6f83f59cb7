// plan_text.ts: parses a file of a plan, and refuses a file that would affect the other files of the TypeScript
// program.
import ts = require("typescript");

import { type Diagnostic, diagnostic, startOf } from "./diagnostic.js";
import { placeOf } from "./transform.js";

/**
 * The maximum depth of the syntax tree. The type checker and the emitter recurse once for each level. Node's stack has
 * room for more levels. A text that overflows the stack nevertheless is refused, too.
 */
const maxTextDepth = 800;

/** A file as it is passed to the program. */
export interface PlanText {
  readonly text: string;
  /** An empty module if the text is refused. */
  readonly source: ts.SourceFile;
  readonly refusals: readonly Diagnostic[];
}

/** Returns the diagnostic about a text that is nested too deeply for the compiler. */
export function tooDeep(place: Diagnostic["place"]): Diagnostic {
  return diagnostic("text_too_deep", `the text has more than ${maxTextDepth} levels of nesting`, place, {
    hint: "split the expression: name its parts by `const`, or build it in a loop",
  });
}

/** Parses a file, whose name in source positions is `shown`. Never throws. */
export function parsePlanText(
  file: string,
  shown: string,
  text: string,
  options: ts.CreateSourceFileOptions | ts.ScriptTarget,
): PlanText {
  const parse = (content: string): ts.SourceFile => ts.createSourceFile(file, content, options, true);
  let refusals: readonly Diagnostic[];
  try {
    const source = parse(text);
    refusals = refusalsOf(shown, source);
    if (refusals.length === 0) return { text, source, refusals };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    refusals = [tooDeep(startOf(shown))];
  }
  return { text, source: parse("export {};\n"), refusals };
}

/** Finds text that must not be in a program that all plans of a build share. */
function refusalsOf(shown: string, source: ts.SourceFile): Diagnostic[] {
  const found: Diagnostic[] = [];
  const refuse = (from: number, to: number, message: string, hint: string): void => {
    found.push(diagnostic("not_in_plan", message, placeOf(shown, source, from, to), { hint }));
  };
  for (const { pos, end } of ts.getLeadingCommentRanges(source.text, 0) ?? []) {
    const comment = source.text.slice(pos, end);
    if (/^\/\/\/\s*</.test(comment))
      refuse(
        pos,
        end,
        "a plan must not contain `///` directives, because they change how other plans are read",
        "delete the line",
      );
    else if (/^\/\/\/?\s*@ts-nocheck/i.test(comment))
      refuse(pos, end, "the types of plans are always checked", "delete the line, and write `as any` if you must");
  }
  const visited = visitAll(source, (node) => {
    const isGlobal =
      ts.isModuleDeclaration(node) &&
      (ts.isStringLiteral(node.name) || (node.flags & ts.NodeFlags.GlobalAugmentation) !== 0);
    if (!isGlobal && !ts.isNamespaceExportDeclaration(node)) return;
    const hint = "declare the type in a module, and import it";
    refuse(node.getStart(source), node.getEnd(), "a plan must not change the types of other files", hint);
  });
  if (visited !== undefined) found.push(tooDeep(placeOf(shown, source, visited.getStart(source), visited.getEnd())));
  return found;
}

/** Visits all parts of a file without recursion. Stops at the first part that is too deep, and returns this part. */
function visitAll(source: ts.SourceFile, see: (node: ts.Node) => void): ts.Node | undefined {
  let level: ts.Node[] = [source];
  for (let depth = 0; level.length > 0; ++depth) {
    if (depth > maxTextDepth) return level[0];
    const next: ts.Node[] = [];
    for (const node of level) {
      see(node);
      ts.forEachChild(node, (child) => void next.push(child));
    }
    level = next;
  }
  return undefined;
}
