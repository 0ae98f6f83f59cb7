"""Time limits, retries and hedges of nodes: with a store that answers, and time enough, they change nothing."""

from __future__ import annotations

import random
from typing import Any

TIMEOUTS = "cap.rfc.0007.timeouts.v1"
RETRIES = "cap.rfc.0008.retries.v1"
HEDGE = "cap.rfc.0012.hedge.v1"

Node = dict[str, Any]


def add_limits(nodes: list[Node], rng: random.Random) -> set[str]:
    """Gives some nodes limits that no run reaches, and returns the capabilities that the plan then needs."""
    out: set[str] = set()
    for node in nodes:
        if rng.random() < 0.3:
            node["timeout_ms"] = rng.choice([600_000, 3_600_000])
            out.add(TIMEOUTS)
        if "endpoint" in node["params"] and node["op"] != "core::nearest" and rng.random() < 0.5:
            node["retries"] = rng.randint(1, 5)
            out.add(RETRIES)
            if rng.random() < 0.5 and node["op"] != "core::call_remote_model":
                node["hedge_ms"] = rng.randint(1, 1000)
                out.add(HEDGE)
    return out
