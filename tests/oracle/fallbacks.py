"""What stands in for nodes that fail: which nodes wait for it, and which run only then."""

from __future__ import annotations

import random
from typing import Any

FALLBACK = "cap.rfc.0004.fallback.v1"

Node = dict[str, Any]
Edges = dict[str, list[str]]


def substitute(node: Node) -> str | None:
    """The node that stands in for `node`, where one does."""
    use = (node.get("fallback") or {}).get("use")
    return use["node"] if isinstance(use, dict) else None


def answers(node: Node, code: str) -> bool:
    """Whether something stands in for `node` when it fails by that code."""
    patterns = (node.get("fallback") or {}).get("on", [])
    return any(code == each or (each[-1] == "*" and code.startswith(each[:-1])) for each in patterns)


def wakers_of(plan: dict[str, Any], edges: Edges) -> dict[str, set[str]]:
    """Of each node that only substitutes need, the nodes with whose failure it runs; `edges` has those of the rows.

    What would then wait for itself runs in any case, and so does all that it needs."""
    nodes = [node for node in plan["nodes"] if node["node_id"] in edges]
    anyway = set(plan["outputs"])
    while True:
        wakers = _wakers(nodes, edges, _reached(list(anyway), edges))
        waits = with_waits(nodes, edges, wakers)
        circular = {name for name, by in wakers.items() if any(name in _reached([each], waits) for each in by)}
        if not circular:
            return wakers
        anyway |= circular


def _wakers(nodes: list[Node], edges: Edges, live: set[str]) -> dict[str, set[str]]:
    wakers: dict[str, set[str]] = {}
    for node in nodes:
        first = substitute(node)
        without = live | _reached([node["node_id"]], edges)  # these have run before the node fails
        for name in () if first is None else _reached([first], edges, without):
            wakers.setdefault(name, set()).add(node["node_id"])
    return wakers


def _reached(first: list[str], edges: Edges, without: set[str] | frozenset[str] = frozenset()) -> set[str]:
    found: set[str] = set()
    wanted = list(first)
    while wanted:
        name = wanted.pop()
        if name in found or name in without:
            continue
        found.add(name)
        wanted += edges[name]
    return found


def with_waits(nodes: list[Node], edges: Edges, wakers: dict[str, set[str]]) -> Edges:
    """The edges, and for each node what it waits for besides: those that wake it, and substitutes of what it reads."""
    by_name = {node["node_id"]: node for node in nodes}
    out: Edges = {}
    for name in by_name:
        waits = set(edges[name]) | wakers.get(name, set())
        for source in edges[name]:
            other = substitute(by_name[source])
            while other is not None and other not in waits:
                waits.add(other)
                other = substitute(by_name[other])
        out[name] = [each for each in waits if each in by_name]
    return out


_PATTERNS = [["*"], ["*"], ["test_failure", "too_few_rows"], ["store_*", "null_value"], ["non_finite_value", "test_*", "bad_regex"]]


KINDS = ("empty", "input", "source", "existing", "take", "failing")


def add_fallbacks(
    nodes: list[Node], keys: dict[str, set[int]], rng: random.Random, kinds: tuple[str, ...] = KINDS
) -> list[Node]:
    """Gives some nodes something of these kinds that stands in for them, and returns the nodes that this needs."""
    more: list[Node] = []
    before: list[str] = []
    for node in nodes:
        name = node["node_id"]
        if rng.random() < 0.6:
            made, use, has = _made(node, before, keys, f"substitute_{len(more)}", rng.choice(kinds), rng)
            node["fallback"] = {"on": rng.choice(_PATTERNS), "use": use}
            nulls = sorted(keys[name] - has)
            if nulls:
                node["fallback"]["nulls"] = nulls
            more += made
        before.append(name)
    return more


def _made(
    node: Node, before: list[str], keys: dict[str, set[int]], name: str, kind: str, rng: random.Random
) -> tuple[list[Node], str | dict[str, str], set[int]]:
    """New nodes, what is used, and its keys, all of which the node has as well: columns stay as they are."""
    own = keys[node["node_id"]]
    first = node["inputs"][0] if node["inputs"] and keys[node["inputs"][0]] <= own else None
    if kind == "input" and first is not None:
        return [], "input", keys[first]
    known = [each for each in before if keys[each] <= own]
    if kind == "existing" and known:
        other = rng.choice(known)
        return [], {"node": other}, keys[other]
    if kind == "take" and first is not None:
        params = {"count": rng.randint(1, 3)}
        return [{"node_id": name, "op": "core::take", "inputs": [first], "params": params}], {"node": name}, keys[first]
    if kind == "failing" and first is not None:
        params = {"duration_ms": 0, "fail_after_sleep": True}
        made: Node = {"node_id": name, "op": "test::sleep", "inputs": [first], "params": params}
        if rng.random() < 0.7:
            made["fallback"] = {"on": ["test_failure"], "use": rng.choice(["input", "empty"])}
        return [made], {"node": name}, keys[first]
    if kind == "source":
        params = {"row_count": rng.randint(1, 4)}
        return [{"node_id": name, "op": "test::fixed_source", "inputs": [], "params": params}], {"node": name}, {1}
    return [], "empty", own
