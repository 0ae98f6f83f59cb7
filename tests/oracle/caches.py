"""Nodes whose rows are kept: as long as the data stay as they are, that changes no answer."""

from __future__ import annotations

import random
from typing import Any

CACHE = "cap.rfc.0011.cache.v1"

Node = dict[str, Any]

# They read what no key of kept rows has.
_OF_THE_REQUEST = {"core::candidates", "core::paginate"}


def part_of(node: Node, by_id: dict[str, Node]) -> dict[str, Node]:
    """The node and all that its rows are made of, by id."""
    part: dict[str, Node] = {}
    open_ids = [node["node_id"]]
    while open_ids:
        name = open_ids.pop()
        if name in part:
            continue
        part[name] = by_id[name]
        open_ids += part[name]["inputs"]
        open_ids += [value for value in part[name]["params"].values() if isinstance(value, str) and value in by_id]
    return part


def add_caches(nodes: list[Node], rng: random.Random) -> set[str]:
    """Gives some nodes a cache, and returns the capabilities that the plan then needs."""
    by_id = {node["node_id"]: node for node in nodes}
    added = False
    for node in nodes:
        if rng.random() >= 0.4:
            continue
        part = part_of(node, by_id)
        if any("fallback" in each or each["op"] in _OF_THE_REQUEST or "cache" in each for each in part.values()):
            continue
        # Nor may it be made of the rows of one that was given a cache before.
        if any("cache" in other and node["node_id"] in part_of(other, by_id) for other in nodes):
            continue
        node["cache"] = {"ttl_ms": rng.choice([1, 1_000, 86_400_000])}
        if rng.random() < 0.5:
            node["cache"]["stale_ms"] = rng.choice([1, 86_400_000])
        if rng.random() < 0.3:
            node["cache"]["max_rows"] = rng.choice([1, 3, 1_000_000])
        added = True
    return {CACHE} if added else set()


def has_caches(plan: dict[str, Any]) -> bool:
    """Whether rows of any node are kept."""
    return any("cache" in node for node in plan["nodes"])
