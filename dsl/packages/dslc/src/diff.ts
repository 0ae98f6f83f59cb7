// diff.ts: the structural difference of two plans, by the rules of `rankd diff`: a matching of their nodes, and what
// differs in each pair.
import { byBytes, sha256 } from "./json.js";
import type { StatedField, StatedNode, StatedPlan } from "./stated_plan.js";

/** A node is added, removed, or the same under another id; it takes the rows of another node, or has another param. */
export type ChangeKind = "added" | "removed" | "renamed" | "moved" | "changed";

/** One difference. What does not apply is null. */
export interface PlanChange {
  readonly kind: ChangeKind;
  /** Its id in the second plan, of a removed one in the first; null: the plan itself. */
  readonly node: string | null;
  /** Its id in the first plan where that is another one. */
  readonly was: string | null;
  /** A param, `inputs`, `trace`, `outputs` or a capability. */
  readonly field: string | null;
  readonly before: string | null;
  readonly after: string | null;
}

const extensionsText = (all: ReadonlyMap<string, string>): string =>
  [...all].map(([capability, payload]) => `${capability} ${payload}\n`).join("");

/** What the matching knows of one plan. */
interface Side {
  readonly plan: StatedPlan;
  readonly byId: ReadonlyMap<string, number>;
  readonly users: readonly (readonly number[])[];
  /** Operator and params without edges. */
  readonly own: readonly string[];
  /** Hashes of `own` and of the content of all sources. */
  readonly content: readonly string[];
}

function sideOf(plan: StatedPlan): Side {
  const users = plan.nodes.map((): number[] => []);
  const own = plan.nodes.map((node, at) => {
    for (const source of node.sources) users[source]!.push(at);
    const lines = node.fields.filter(({ edge }) => edge === undefined).map(({ name, text }) => `${name} ${text}\n`);
    return `${node.op.name}\n${lines.join("")}${extensionsText(node.extensions)}`;
  });
  const content: string[] = [];
  for (const at of plan.order)
    content[at] = sha256(own[at]! + plan.nodes[at]!.sources.map((source) => content[source]!).join(""));
  return { plan, byId: new Map(plan.nodes.map((node, at) => [node.id, at])), users, own, content };
}

/** Pairs the nodes of two plans; what is paired stays so. */
class Matcher {
  private readonly to: (number | undefined)[];
  private readonly from: (number | undefined)[];

  constructor(
    private readonly before: Side,
    private readonly after: Side,
  ) {
    this.to = before.own.map(() => undefined);
    this.from = after.own.map(() => undefined);
  }

  run(): readonly (number | undefined)[] {
    this.byId();
    this.byContent();
    while (this.byNeighbours());
    return this.to;
  }

  private pair(before: number, after: number): void {
    this.to[before] = after;
    this.from[after] = before;
  }

  private haveSameOp(before: number, after: number): boolean {
    return this.before.plan.nodes[before]!.op.name === this.after.plan.nodes[after]!.op.name;
  }

  private byId(): void {
    this.before.plan.nodes.forEach((node, at) => {
      const same = this.after.byId.get(node.id);
      if (same !== undefined && this.haveSameOp(at, same)) this.pair(at, same);
    });
  }

  private byContent(): void {
    const open = new Map<string, number[]>();
    this.from.forEach((paired, at) => {
      if (paired !== undefined) return;
      const content = this.after.content[at]!;
      if (!open.get(content)?.push(at)) open.set(content, [at]);
    });
    this.to.forEach((paired, at) => {
      const same = paired === undefined ? open.get(this.before.content[at]!)?.shift() : undefined;
      if (same !== undefined) this.pair(at, same);
    });
  }

  /** Looks for pairs with many neighbours before those with few, so that no weak pair is in the way of a strong one. */
  private byNeighbours(): boolean {
    const many = 4;
    let found = false;
    for (const params of ["equal", "any"] as const)
      for (let least = many; least > 0; --least)
        this.to.forEach((paired, at) => {
          if (paired !== undefined) return;
          const best = this.bestFor(at, params);
          if (best === undefined || best.common < least) return;
          this.pair(at, best.at);
          found = true;
        });
    return found;
  }

  /** The unmatched node of the second plan that has the most matched neighbours in common, the first of several. */
  private bestFor(at: number, params: "equal" | "any"): { at: number; common: number } | undefined {
    const common = new Map<number, number>();
    const count = (others: readonly number[]): void => {
      for (const other of others)
        if (this.from[other] === undefined && this.haveSameOp(at, other))
          common.set(other, (common.get(other) ?? 0) + 1);
    };
    for (const source of this.before.plan.nodes[at]!.sources) {
      const paired = this.to[source];
      if (paired !== undefined) count(this.after.users[paired]!);
    }
    for (const user of this.before.users[at]!) {
      const paired = this.to[user];
      if (paired !== undefined) count(this.after.plan.nodes[paired]!.sources);
    }
    const [outputs, others] = [this.before.plan.outputs, this.after.plan.outputs];
    outputs.forEach((output, place) => {
      if (output === at && place < others.length) count([others[place]!]);
    });
    let best: { at: number; common: number } | undefined;
    for (const [other, number] of [...common].sort(([a], [b]) => a - b)) {
      if (params === "equal" && this.before.own[at] !== this.after.own[other]) continue;
      if (best === undefined || number > best.common) best = { at: other, common: number };
    }
    return best;
  }
}

/** Compares nodes that were matched. */
class Comparison {
  private readonly changes: PlanChange[] = [];
  private readonly to: readonly (number | undefined)[];

  constructor(
    private readonly before: StatedPlan,
    private readonly after: StatedPlan,
  ) {
    this.to = new Matcher(sideOf(before), sideOf(after)).run();
  }

  run(): PlanChange[] {
    const from = this.after.nodes.map((): StatedNode | undefined => undefined);
    this.before.nodes.forEach((node, at) => {
      const paired = this.to[at];
      if (paired === undefined) this.only("removed", this.before, node);
      else from[paired] = node;
    });
    this.after.nodes.forEach((node, at) => {
      const was = from[at];
      if (was === undefined) this.only("added", this.after, node);
      else this.pair(was, node);
    });
    if (!this.areSame(this.before.outputs, this.after.outputs))
      this.add("changed", undefined, "outputs", this.idsOf("before", "outputs"), this.idsOf("after", "outputs"));
    this.compare(undefined, "fallback_plan", this.before.fallback, this.after.fallback);
    this.fragments(this.before.fragments, this.after.fragments);
    this.extensions(this.before.extensions, this.after.extensions, undefined);
    return this.changes;
  }

  private idsOf(side: "before" | "after", nodes: "outputs" | readonly number[]): string {
    const of = this[side];
    return (nodes === "outputs" ? of.outputs : nodes).map((at) => of.nodes[at]!.id).join(", ");
  }

  private only(kind: "added" | "removed", of: StatedPlan, node: StatedNode): void {
    const parts = [node.op.name];
    if (node.inputs.length > 0) parts.push(`inputs: ${node.inputs.map((at) => of.nodes[at]!.id).join(", ")}`);
    for (const { name, text } of node.fields) parts.push(`${name}: ${text}`);
    const what = parts.join(", ");
    const [before, after] = kind === "removed" ? [what, null] : [null, what];
    this.changes.push({ kind, node: node.id, was: null, field: null, before, after });
  }

  private pair(was: StatedNode, is: StatedNode): void {
    const both = { was, is };
    if (was.id !== is.id)
      this.changes.push({ kind: "renamed", node: is.id, was: was.id, field: null, before: was.id, after: is.id });
    if (!this.areSame(was.inputs, is.inputs))
      this.add("moved", both, "inputs", this.idsOf("before", was.inputs), this.idsOf("after", is.inputs));
    const fieldsOf = (node: StatedNode): Map<string, StatedField> =>
      new Map(node.fields.map((field) => [field.name, field]));
    const [old, now] = [fieldsOf(was), fieldsOf(is)];
    for (const name of new Set([...old.keys(), ...now.keys()])) this.field(both, name, old.get(name), now.get(name));
    this.compare(both, "trace", was.trace, is.trace);
    this.extensions(was.extensions, is.extensions, both);
  }

  /** Whether the nodes of one list became those of the other. */
  private areSame(was: readonly number[], is: readonly number[]): boolean {
    return was.length === is.length && was.every((at, place) => this.to[at] === is[place]);
  }

  private field(both: Both, name: string, old: StatedField | undefined, now: StatedField | undefined): void {
    if (old?.edge === undefined || now?.edge === undefined) this.compare(both, name, old?.text, now?.text);
    else if (this.to[old.edge] !== now.edge) this.add("moved", both, name, old.text, now.text);
  }

  /** Versions alone: what else a use says shows in its nodes. */
  private fragments(was: ReadonlyMap<string, string>, is: ReadonlyMap<string, string>): void {
    for (const id of [...new Set([...was.keys(), ...is.keys()])].sort(byBytes))
      this.compare(undefined, `fragment ${id}`, was.get(id), is.get(id));
  }

  /** By capability. */
  private extensions(was: ReadonlyMap<string, string>, is: ReadonlyMap<string, string>, both: Both | undefined): void {
    for (const capability of [...new Set([...was.keys(), ...is.keys()])].sort(byBytes))
      this.compare(both, capability, was.get(capability), is.get(capability));
  }

  private compare(both: Both | undefined, field: string, before: string | undefined, after: string | undefined): void {
    if (before !== after) this.add("changed", both, field, before ?? null, after ?? null);
  }

  /** Of a pair of nodes, or of the plans. */
  private add(
    kind: ChangeKind,
    both: Both | undefined,
    field: string,
    before: string | null,
    after: string | null,
  ): void {
    const was = both === undefined || both.was.id === both.is.id ? null : both.was.id;
    this.changes.push({ kind, node: both?.is.id ?? null, was, field, before, after });
  }
}

interface Both {
  readonly was: StatedNode;
  readonly is: StatedNode;
}

/** Removed nodes, then those of `after` in its order, then what is different of the plans themselves. Names of plans,
 * places in source files and the order of nodes do not count. Nothing: the plans do the same. */
export function differences(before: StatedPlan, after: StatedPlan): readonly PlanChange[] {
  return new Comparison(before, after).run();
}
