#!/usr/bin/env python3
"""Compares answers of the shop that `rankd init shop` writes, whose ids are strings, with those of the interpreter.

Plans and data are those of the shop, with more of both to look at the ids: names with bytes that keys escape, malformed
ones, equal scores, draws. The bytes of the answers must be the same for several numbers of workers, and in Redis and a
cluster."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))

from oracle.compare import PATIENCE_S, Pair, RedisCluster, RedisServer, difference, expected_as_json  # noqa: E402
from oracle.experiments import Declared  # noqa: E402
from oracle.interpreter import Known, interpret  # noqa: E402
from oracle.registry import load_registry  # noqa: E402
from oracle.store import load_store  # noqa: E402

NOW = 1_795_000_000
LONG = "ö" * 64  # the longest id that there is
STRANGE = ["7", "007", "-0", "a b", "a/b", "a%b", "{id}", "Ä", "ä", "\U0001f9ed", "x\x01y", LONG]
# Members of a set and elements of a list that are no ids.
MALFORMED = ["", "ö" * 65, "nul\0"]
MEMBERS = ["ana", "ben", "zoë", "fatou@club", "odd one", "nobody"]


def more_data() -> list[dict[str, Any]]:
    """Records of the member `odd one`, and what their ids name."""
    key = "odd%20one"
    spelled = {name: "".join(_escaped(byte) for byte in name.encode("utf-8")) for name in STRANGE}
    return [
        {"hash": f"user:{key}", "fields": {"country": "XX", "budget": "30", "favourite": "odd"}},
        {"list": f"viewed:{key}", "values": [*STRANGE, *MALFORMED, "7", 7, 8]},
        {"list": f"cart:{key}", "values": [7, 8, -9]},
        {"set": f"bought:{key}", "members": [*STRANGE[:6], *MALFORMED]},
        {"sorted_set": "trending:XX", "scores": {name: 1 for name in [*STRANGE, *MALFORMED]}},
        *({"hash": f"product:{text}", "fields": {"title": name, "category": "odd", "price": "3", "stock": "1"}}
          for name, text in spelled.items() if len(text) < 400),
        *({"sorted_set": f"similar:{text}", "scores": {"mug-steel": 2, other: 2}}
          for (name, text), other in zip(spelled.items(), reversed(STRANGE))),
    ]


def _escaped(byte: int) -> str:
    plain = chr(byte).isalnum() and byte < 128 or chr(byte) in "_.-"
    return chr(byte) if plain else f"%{byte:02X}"


def more_plans() -> list[dict[str, Any]]:
    """Plans for what those of the shop do not ask."""

    def plan(name: str, *nodes: dict[str, Any]) -> dict[str, Any]:
        return {"schema_version": 1, "plan_name": name, "nodes": list(nodes), "outputs": [nodes[-1]["node_id"]]}

    def node(name: str, op: str, inputs: list[str], **params: Any) -> dict[str, Any]:
        return {"node_id": name, "op": f"core::{op}", "inputs": inputs, "params": params}

    trending = node("all", "sorted_set", [], endpoint="ep_0001", key="trending:{P.country}", count=100, out_key=13)
    return [
        plan("drawn", trending, node("some", "sample", ["all"], count=4, seed="{P.member}")),
        plan("by_id", node("all", "candidates", [], keys=[14]), node("sorted", "sort", ["all"], by=1, order="desc")),
        plan("slots", trending, node("mixed", "diversify", ["all"], strategy="quota", by=1, values=["Ä", "7"], every_nth=2)),
        plan("fused", trending, node("again", "list", [], endpoint="ep_0001", key="viewed:{P.member}", count=30),
             node("both", "concat", ["all"], rhs="again", out_key=11, sources=["a", "b"]),
             node("fused", "rank_fusion", ["both"], by=11, out_key=21)),
        plan("known", node("all", "candidates", [], keys=[14]), node("viewer", "viewer", [], endpoint="ep_0001"),
             node("seen", "members_of", ["all"], endpoint="ep_0001", key="bought:{P.member}", out_key=12),
             node("joined", "join", ["seen"], rhs="viewer", how="left", select=[15])),
    ]


def make_request(rng: random.Random, plan: dict[str, Any], products: list[str]) -> dict[str, Any]:
    names = [*products, *STRANGE]
    context: dict[str, Any] = {"now": NOW + rng.choice([0, 86_400 * 60])}
    for name, values in (
        ("member", [*MEMBERS, None]),
        ("country", ["DE", "FR", "US", "XX", "??"]),
        ("product", [*names, None]),
        ("category", ["tents", "food", "shoes", "odd", None]),
    ):
        if rng.random() < 0.85:
            context[name] = rng.choice(values)
    request: dict[str, Any] = {"plan": plan["plan_name"], "context": context}
    if rng.random() < 0.9:
        request["user_id"] = rng.choice([*MEMBERS, *STRANGE]) if rng.random() < 0.9 else rng.choice([7, "", "ö" * 65, None])
    if any(node["op"] == "core::candidates" for node in plan["nodes"]):
        ids: list[Any] = rng.choices(names, k=rng.choice([0, 1, 5, 30]))
        if rng.random() < 0.1:
            ids.insert(0, rng.choice([7, None, 1.5, *MALFORMED]))
            request["user_id"] = "ana"  # which of several faults is reported is not specified
        columns = {"id": ids, "relevance": [round(rng.random(), 2) for _ in ids]}
        rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
        request["candidates"] = columns if rng.random() < 0.5 else rows
    if rng.random() < 0.5:
        request["param_overrides"] = {"page_size": rng.randint(1, 50)}
    return request


def answers(rankd: Path, folder: Path, requests: str, workers: int) -> str:
    done = subprocess.run(
        [str(rankd), "batch", "--project", str(folder), "--workers", str(workers)], input=requests, check=False,
        capture_output=True, text=True, timeout=PATIENCE_S,
    )
    return done.stdout


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="shop.py", description=__doc__)
    parser.add_argument("--rankd", type=Path, required=True, metavar="PATH", help="the engine")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--requests", type=int, default=400, metavar="N", help="of all plans (default: %(default)s)")
    parser.add_argument("--redis", action="store_true", help="the same of a redis-server")
    parser.add_argument("--redis-cluster", action="store_true", help="the same of a cluster of three")
    args = parser.parse_args(arguments)
    rankd = args.rankd.resolve()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="rankd_shop_") as scratch:
        folder = Path(scratch) / "shop"
        subprocess.run([str(rankd), "init", "shop", str(folder)], check=True, stdout=subprocess.DEVNULL)
        with (folder / "data" / "more.ndjson").open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in more_data())
        for plan in more_plans():
            (folder / "plans" / f"{plan['plan_name']}.json").write_text(json.dumps(plan), encoding="utf-8")
        (folder / "registry" / "experiments.toml").unlink()  # tests/oracle/experiments.py is about these
        store = load_store(sorted((folder / "data").glob("*.ndjson")))
        models = {"buys": json.loads((folder / "models" / "buys.json").read_text(encoding="utf-8"))}
        known = Known(load_registry(folder / "registry"), store, models)
        files = [path for path in sorted((folder / "plans").glob("*.json")) if not path.name.endswith(".tests.json")]
        plans = [json.loads(path.read_text(encoding="utf-8")) for path in files]
        products = [name.removeprefix("product:") for name in store.hashes if name.startswith("product:") and "%" not in name]
        pairs = [Pair(plan, make_request(rng, plan, products)) for plan in plans for _ in range(args.requests // len(plans))]
        text = "".join(json.dumps(pair.request) + "\n" for pair in pairs)
        first = answers(rankd, folder, text, 1)
        wrong = _differences(known, pairs, first)
        if answers(rankd, folder, text, 4) != first:
            wrong.append("4 workers give other bytes than 1")
        endpoints = folder / "registry" / "endpoints.dev.toml"
        embedded = endpoints.read_text(encoding="utf-8")
        for wanted, kind in ((args.redis, RedisServer), (args.redis_cluster, RedisCluster)):
            if wanted:
                endpoints.write_text(embedded, encoding="utf-8")
                with kind(rankd) as server:
                    server.move_in(folder)
                    there = answers(rankd, folder, text, 2).splitlines()
                    for number, (line, other) in enumerate(zip(first.splitlines(), there, strict=True), 1):
                        if line != other:
                            wrong.append(f"{kind.__name__}, request {number}: other bytes\n{line}\n{other}")
    print("\n".join(wrong[:3]) or f"{len(pairs)} requests for {len(plans)} plans: the same answers")
    return 1 if wrong else 0


def _differences(known: Known, pairs: list[Pair], text: str) -> list[str]:
    lines = text.splitlines()
    if len(lines) != len(pairs):
        return [f"{len(lines)} answers to {len(pairs)} requests"]
    out = []
    for number, (pair, line) in enumerate(zip(pairs, lines), 1):
        pair = Pair(pair.plan, pair.request, f"line_{number}")
        expected = interpret(known, pair.plan, pair.request)
        what = difference(expected, json.loads(line), pair)
        if what is not None:
            shown = json.dumps(expected_as_json(expected), ensure_ascii=False)
            out.append(f"request {number}: {what}\n{json.dumps(pair.request)}\nexpected {shown}\ngot      {line}")
    return out


if __name__ == "__main__":
    sys.exit(main())
