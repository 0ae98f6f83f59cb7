// key_template.ts: keys of a store as text with holes, such as `trending:{country}`, as the engine reads them.
import { endOf } from "./bound_params.js";
import type { ColumnNode } from "./columns.js";
import { floatOf } from "./items.js";
import type { Entry, Registries } from "./project.js";
import { didYouMean, integerOf, type Problem, pointerTo } from "./reader.js";

/** Where the value in a hole comes from. */
export interface TemplateHole {
  readonly name: string;
  readonly from: "key" | "param";
}

/** Why a text is no template. */
export interface TemplateProblem {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

const maxBytes = 511;
const doubled = "braces of the key itself are doubled: `{{` and `}}`";
/** What kinds of values keys are made of. */
const holeTypes: readonly string[] = ["int", "string", "bool"];

/** Whether a value that stands before `text` can be told from it. */
const endsValue = (text: string): boolean => /[^A-Za-z0-9_.%-]/.test(text);

/** A bound that may be absent. */
const bound = (value: unknown, otherwise: number): number => (value == null ? otherwise : floatOf(value));

const spelled = (hole: TemplateHole): string => `{${hole.from === "param" ? "P." : ""}${hole.name}}`;

/** The holes of a template, or what is wrong with it. */
export function parseTemplate(text: string): readonly TemplateHole[] | TemplateProblem {
  if (text === "") return { code: "empty_key_template", message: "the key is empty", hint: "" };
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    return {
      code: "key_template_too_long",
      message: `the key has ${bytes} bytes, ${maxBytes} are allowed`,
      hint: "",
    };
  const holes: TemplateHole[] = [];
  let literal = "";
  for (let at = 0; at < text.length;) {
    const char = text[at]!;
    if (char !== "{" && char !== "}") {
      literal += char;
      ++at;
    } else if (text[at + 1] === char) {
      literal += char;
      at += 2;
    } else if (char === "}") {
      return { code: "unbalanced_brace", message: "a `}` closes no hole", hint: doubled };
    } else {
      const [end, next] = [text.indexOf("}", at), text.indexOf("{", at + 1)];
      if (end < 0 || (next >= 0 && next < end))
        return { code: "unbalanced_brace", message: "a `{` is not closed", hint: doubled };
      const inside = text.slice(at + 1, end);
      const found = /^(P\.)?([A-Za-z_][A-Za-z0-9_]*)$/.exec(inside);
      if (found === null)
        return {
          code: "bad_hole",
          message: `{${inside}} names neither a key nor a param`,
          hint: "write {NAME} for a column and {P.NAME} for a param; braces of the key itself are doubled",
        };
      const hole: TemplateHole = { name: found[2]!, from: found[1] === undefined ? "key" : "param" };
      const before = holes.at(-1);
      if (before !== undefined && !endsValue(literal))
        return {
          code: "ambiguous_key_template",
          message: `the holes ${spelled(before)} and ${spelled(hole)} are not kept apart, so that two pairs of values would have one key`,
          hint: "put a character such as `:` between them, other than letters, digits, `_.-%`",
        };
      holes.push(hole);
      literal = "";
      at = end + 1;
    }
  }
  return holes;
}

/** The holes of a text; none where it is no template. */
export function holesOf(text: unknown): readonly TemplateHole[] {
  const parsed = typeof text === "string" ? parseTemplate(text) : [];
  return "code" in parsed ? [] : parsed;
}

/** Complains about holes that name nothing that plans may read. */
export function checkHoles(
  text: string,
  declared: Registries,
  report: (code: string, message: string, hint?: string) => void,
): void {
  for (const { name, from } of holesOf(text)) {
    const all: readonly Entry[] = from === "key" ? declared.keys : declared.params;
    const entry = all.find((each) => each.name === name);
    const named = `${from} \`${name}\``;
    if (entry === undefined)
      report(
        `unknown_${from}`,
        `no ${from} is called \`${name}\``,
        didYouMean(
          name,
          all.map((each) => each.name),
        ),
      );
    else if (entry.status === "blocked") report(`blocked_${from}`, `${named} is blocked`);
    else if (!entry.read) report(`unreadable_${from}`, `${named} must not be read by plans`);
    else if (!holeTypes.includes(entry.type))
      report(
        `wrong_${from}_type`,
        `${named} is of type ${entry.type}; keys are made of one of: ${holeTypes.join(", ")}`,
      );
  }
}

/** Complains where the params of an operator with named keys do not fit each other; each of them has the right shape. */
export function checkNamed(node: ColumnNode, declared: Registries, problems: Problem[]): void {
  const report = (code: string, param: string, message: string, hint = ""): void => {
    const pointer = pointerTo(pointerTo(node.pointer, "params"), param);
    problems.push({ code, pointer, message, hint, node: node.id });
  };
  const { keys, fields, min, max, of, out_key: out } = node.params;
  if (node.op?.name === "core::hash" && Array.isArray(keys) && Array.isArray(fields) && keys.length !== fields.length)
    report("wrong_length", "fields", `\`fields\` has ${fields.length} items, and \`keys\` has ${keys.length}`);
  if (node.op?.name === "core::sorted_set" && bound(endOf(max, "min"), Infinity) < bound(endOf(min, "max"), -Infinity))
    report("out_of_range", "max", "`max` must not be less than `min`");
  const key = declared.keys.find((each) => each.id === Number(integerOf(out)));
  if (node.op?.name !== "core::members_of" || of === "sorted_set" || key === undefined) return;
  if (key.type !== "float" || key.status === "blocked" || !key.write) return;
  const hint = "name a key of type bool, or say `of` sorted_set";
  report(
    "wrong_key_type",
    "out_key",
    `key ${key.id} (${key.name}) is of type float, and members of a set have no scores`,
    hint,
  );
}
