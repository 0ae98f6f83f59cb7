// graph.ts: cycles, depth and reach of a plan's graph, as the engine looks at them.
import type { Problem } from "./reader.js";

/** A node with the positions of the nodes that it takes rows from. */
export interface GraphNode {
  readonly id: string;
  readonly pointer: string;
  readonly sources: readonly number[];
  /** Nodes that it waits for without taking their rows. */
  readonly after: readonly number[];
  /** The node that stands in for it; another kind of substitute adds no edge. */
  readonly fallback: { readonly use: number | "input" | "empty" } | undefined;
}

/** The edge into a node at a place of the list of all. */
const edgeAt = (node: GraphNode, place: number): number | undefined =>
  place < node.sources.length ? node.sources[place] : node.after[place - node.sources.length];
const edgesOf = (node: GraphNode): readonly number[] =>
  node.after.length === 0 ? node.sources : [...node.sources, ...node.after];

const maxDepth = 1000;
const mostCircles = 20;

function about(node: GraphNode, code: string, message: string): Problem {
  return { code, pointer: node.pointer, message, hint: "", node: node.id };
}

/** Sources before their users; shorter than the list where there are cycles. */
export function orderOf(nodes: readonly GraphNode[]): number[] {
  const users = nodes.map((): number[] => []);
  const waiting = nodes.map((node) => node.sources.length + node.after.length);
  nodes.forEach((node, index) => {
    for (const source of edgesOf(node)) users[source]!.push(index);
  });
  const order = nodes.flatMap((_, index) => (waiting[index] === 0 ? [index] : []));
  for (const at of order) for (const user of users[at]!) if (--waiting[user]! === 0) order.push(user);
  return order;
}

/** Complains about every cycle, spelled out along the data. */
export function checkCircles(nodes: readonly GraphNode[], problems: Problem[]): void {
  const state = nodes.map((): "unseen" | "on path" | "done" => "unseen");
  const next = nodes.map(() => 0);
  let found = 0;
  const report = (path: readonly number[], closing: number): void => {
    if (++found > mostCircles) return;
    const cycle = path.slice(path.indexOf(closing)).reverse();
    const start = cycle.indexOf(Math.min(...cycle));
    const turned = [...cycle.slice(start), ...cycle.slice(0, start)];
    const names = [...turned.slice(0, 8), turned[0]!].map((index) => `\`${nodes[index]!.id}\``);
    problems.push(about(nodes[turned[0]!]!, "cycle", `the nodes form a cycle: ${names.join(" → ")}`));
  };
  for (let start = 0; start < nodes.length; ++start) {
    if (state[start] !== "unseen") continue;
    const path = [start];
    state[start] = "on path";
    while (path.length > 0) {
      const at = path.at(-1)!;
      const source = edgeAt(nodes[at]!, next[at]!++);
      if (source === undefined) {
        state[at] = "done";
        path.pop();
      } else if (state[source] === "unseen") {
        state[source] = "on path";
        path.push(source);
      } else if (state[source] === "on path") report(path, source);
    }
  }
}

/** Complains when the longest way has too many nodes. */
export function checkDepth(nodes: readonly GraphNode[], order: readonly number[], problems: Problem[]): void {
  const depth = nodes.map(() => 1);
  for (const at of order) {
    for (const source of edgesOf(nodes[at]!)) depth[at] = Math.max(depth[at]!, depth[source]! + 1);
    if (depth[at]! <= maxDepth) continue;
    problems.push(about(nodes[at]!, "plan_too_deep", `more than ${maxDepth} nodes follow one another up to here`));
    return;
  }
}

/** Complains about every node from which no output can be reached. */
export function checkReach(nodes: readonly GraphNode[], outputs: readonly number[], problems: Problem[]): void {
  const reaches = new Set<number>();
  const open = [...outputs];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (reaches.has(at)) continue;
    reaches.add(at);
    const { sources, fallback } = nodes[at]!;
    open.push(...sources);
    if (typeof fallback?.use === "number") open.push(fallback.use);
  }
  nodes.forEach((node, index) => {
    if (!reaches.has(index)) problems.push(about(node, "reaches_no_output", `no output depends on \`${node.id}\``));
  });
}
