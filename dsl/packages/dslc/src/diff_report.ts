// diff_report.ts: what `dslc diff` says of two plans, in the words and bytes of `rankd diff`.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { columnsOf } from "./columns.js";
import { differences, type PlanChange } from "./diff.js";
import { byBytes, sha256 } from "./json.js";
import { type Project, ProjectError } from "./project.js";
import { statedPlan, type StatedPlan } from "./stated_plan.js";
import { reasonOf } from "./write.js";

/** An artifact that was found right: its bytes, and what `parseExact` reads in them. */
export interface RightArtifact {
  readonly bytes: Buffer;
  readonly value: unknown;
}

/** Something that is not written in the nodes and differs because of them, or because of the plans' names. */
interface Consequence {
  readonly what: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** All that distinguishes two plans. */
export interface PlanComparison {
  readonly before: { readonly plan: string; readonly digest: string };
  readonly after: { readonly plan: string; readonly digest: string };
  readonly equal: boolean;
  readonly changes: readonly PlanChange[];
  readonly consequences: readonly Consequence[];
}

interface Model {
  readonly name: string;
  readonly sha256: string;
}

/** The models that a plan calls, with the digests of their files. */
function modelsOf(plan: StatedPlan, project: Project): Model[] {
  const names = plan.nodes.flatMap((node) =>
    node.op.name === "core::call_models" ? ((node.params["models"] ?? []) as string[]) : [],
  );
  return [...new Set(names)].sort(byBytes).map((name) => {
    if (project.models === undefined)
      throw new ProjectError(`the plan ${plan.name} calls the model ${name}, and rankd.toml names no folder of models`);
    const [json, text] = [join(project.models, `${name}.json`), join(project.models, `${name}.txt`)];
    const file = existsSync(text) && !existsSync(json) ? text : json;
    try {
      return { name, sha256: sha256(readFileSync(file)) };
    } catch (error) {
      throw new ProjectError(`the plan ${plan.name} calls the model ${name}, and ${file}: ${reasonOf(error)}`);
    }
  });
}

const budgetFields = ["rows", "bytes", "deadline_ms", "default_deadline_ms", "in_flight"];

/** What rankd.toml grants to a plan of that name. */
function budgetOf(plan: StatedPlan, project: Project): string[] {
  const own = (project.budget["plan"] as Record<string, unknown> | undefined)?.[plan.name];
  const budget = { ...project.budget, ...(own as Record<string, unknown> | undefined) } as Record<string, unknown>;
  return budgetFields.flatMap((name) => (budget[name] === undefined ? [] : [`${name} ${String(budget[name])}`]));
}

/** The names of the columns that candidates may have. */
function answerColumns(plan: StatedPlan, project: Project): string[] {
  const columns = columnsOf(plan.nodes, project.declared);
  const ids = new Set(plan.outputs.flatMap((at) => [...columns[at]!]));
  return project.declared.keys
    .filter((key) => ids.has(key.id))
    .map((key) => key.name)
    .sort(byBytes);
}

const modelLines = (models: readonly Model[]): string[] => models.map(({ name, sha256 }) => `${name} ${sha256}`);

/** With models, a plan is its artifact and theirs. */
function digestOf(artifact: RightArtifact, models: readonly Model[]): string {
  const own = sha256(artifact.bytes);
  return models.length === 0 ? own : sha256([own, ...modelLines(models)].join("\n"));
}

/** Compares two plans of a project, by the rules of `rankd diff`. */
export function comparePlans(before: RightArtifact, after: RightArtifact, project: Project): PlanComparison {
  const sides = [before, after].map((artifact) => {
    const plan = statedPlan(artifact.value, project.declared);
    const models = modelsOf(plan, project);
    const follows = {
      columns: answerColumns(plan, project),
      budget: budgetOf(plan, project),
      capabilities: plan.capabilities,
      models: modelLines(models),
    };
    return { plan, follows, shown: { plan: plan.name, digest: digestOf(artifact, models) } };
  });
  const [old, now] = [sides[0]!, sides[1]!];
  const changes = differences(old.plan, now.plan);
  const consequences = (["columns", "budget", "capabilities", "models"] as const)
    .map((what): Consequence => ({ what, before: old.follows[what], after: now.follows[what] }))
    .filter((each) => each.before.join("\n") !== each.after.join("\n"));
  const equal = changes.length === 0 && consequences.length === 0;
  return { before: old.shown, after: now.shown, equal, changes, consequences };
}

/** For people: one line for each difference. */
export function comparisonText(found: PlanComparison): string {
  const joined = (items: readonly string[]): string => (items.length === 0 ? "(none)" : items.join(", "));
  const lines = [
    ...found.changes.map(lineOf),
    ...found.consequences.map(({ what, before, after }) => `follows  ${what}: ${joined(before)} → ${joined(after)}`),
  ];
  return lines.map((line) => `${printableLine(line)}\n`).join("");
}

/** For programs: one object. */
export function comparisonJson({ before, after, equal, changes, consequences }: PlanComparison): string {
  return `${JSON.stringify({ before, after, equal, changes, consequences })}\n`;
}

function lineOf({ kind, node, was, field, before, after }: PlanChange): string {
  const head = kind.padEnd(9);
  if (kind === "renamed") return `${head}${was ?? ""} → ${node ?? ""}`;
  const about = node === null ? "" : `${node}: `;
  if (kind === "added") return `${head}${about}${after ?? ""}`;
  if (kind === "removed") return `${head}${about}${before ?? ""}`;
  return `${head}${about}${field ?? ""}: ${before ?? "(none)"} → ${after ?? "(none)"}`;
}

/** Nothing in the line steers a terminal: written as rankd writes it. */
function printableLine(text: string): string {
  const short: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
  const spelled = (found: string): string => {
    const code = found.codePointAt(0)!;
    const digits = code.toString(16).padStart(2, "0");
    return short[found] ?? (code < 0x80 ? `\\x${digits}` : `\\u{${digits}}`);
  };
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, spelled);
}
