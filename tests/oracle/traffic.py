#!/usr/bin/env python3
"""Compares `rankd diff --traffic` with the interpreter: which answers of two plans differ, and by how much.

The record is written here, by the format of docs/replay.md, and holds requests without reads: `--live` asks the store.
"""

from __future__ import annotations

import copy
import json
import math
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))

from oracle.compare import PATIENCE_S, Project, make_project, read_arguments  # noqa: E402
from oracle.generate import make_plan, make_request  # noqa: E402
from oracle.interpreter import Answer, Failure, interpret  # noqa: E402

DEPTH = 7
P = 0.9
HEAD = b"rankd traffic 1\n"
PROJECT, PLAN, REQUEST = 1, 2, 3


def crc32c(data: bytes) -> int:
    """Castagnoli, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def number(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def integer(value: int) -> bytes:
    return number(value << 1 if value >= 0 else -value * 2 - 1)


def text(value: str) -> bytes:
    data = value.encode()
    return number(len(data)) + data


def texts(values: list[tuple[str, str]]) -> bytes:
    return number(len(values)) + b"".join(text(name) + text(value) for name, value in values)


def frame(kind: int, content: bytes) -> bytes:
    checked = bytes([kind]) + content
    return struct.pack("<II", len(content), crc32c(checked)) + checked


def record(rankd: Path, project: Project, plan: str, requests: list[dict[str, Any]]) -> bytes:
    """A record of these requests, in which nothing was read and every answer is empty."""
    words = [str(rankd), "registry", "--digests", "--json", "--project", str(project.folder)]
    shown = json.loads(subprocess.run(words, capture_output=True, check=True, timeout=PATIENCE_S).stdout)
    known = list(shown["digests"].items())
    files = [
        (file.name, file.read_text(encoding="utf-8"))
        for file in sorted((project.folder / "registry").iterdir())
        if file.name != "experiments.toml"
    ]
    out = HEAD + frame(PROJECT, text("test") + text("dev") + texts(files) + texts(known) + integer(0))
    empty_plan = number(1) + text(plan) + text("") + text("") + texts([]) + number(0) + number(0) + text("")
    out += frame(PLAN, empty_plan + integer(0) + number(0))
    for at, request in enumerate(requests):
        body = struct.pack("<QI", at, 1) + integer(1_700_000_000_000) + text("") + text(f"r{at}")
        body += text(json.dumps(request)) + text("ok") + number(0) + number(0) + text("") + text("")
        out += frame(REQUEST, body)
    return out


def edited(plan: dict[str, Any], seed: int) -> dict[str, Any]:
    """The plan with other counts, orders and thresholds."""
    draws = random.Random(f"edit {seed}")
    out = copy.deepcopy(plan)
    for node in out["nodes"]:
        params = node["params"]
        if node["op"] == "core::take" and isinstance(params.get("count"), int) and draws.random() < 0.7:
            params["count"] = max(1, params["count"] + draws.choice([-3, -1, 1, 4]))
        if node["op"] == "core::sort" and draws.random() < 0.5:
            params["order"] = "asc" if params.get("order") == "desc" else "desc"
    _shift(out.get("pred_table", {}), draws)
    ops = {node["node_id"]: node["op"] for node in out["nodes"]}
    if draws.random() < 0.7 and "core::paginate" not in ops.values():
        for at, node in enumerate(out["outputs"]):
            params = draws.choice([("core::take", {"count": draws.randint(1, 9)}), ("core::sort", {"by": 1, "order": "desc"})])
            out["nodes"].append({"node_id": f"last_{at}", "op": params[0], "inputs": [node], "params": params[1]})
            out["outputs"][at] = f"last_{at}"
    return out


def _shift(tree: Any, draws: random.Random) -> None:
    """Moves some numbers of formulas."""
    if not isinstance(tree, dict):
        return
    if tree.get("op") == "const_number" and abs(tree["value"]) < 1e6 and draws.random() < 0.3:
        tree["value"] += draws.choice([-1, 1])
    for side in tree.values():
        _shift(side, draws)


def ids_of(answer: Answer | Failure) -> list[Any]:
    """The ids, each with how often it has come before."""
    if isinstance(answer, Failure):
        return []
    seen: dict[Any, int] = {}
    out = []
    for candidate in answer.candidates:
        out.append((candidate.id, seen.setdefault(candidate.id, 0)))
        seen[candidate.id] += 1
    return out


def spelled(answer: Answer | Failure) -> Any:
    """Everything of an answer that counts, so that equal answers are equal to Python, NaN and -0 included."""
    if isinstance(answer, Failure):
        return answer.code
    rows = [(one.id, [(name, type(value).__name__, repr(value)) for name, value in one.fields]) for one in answer.candidates]
    return rows, answer.more, [each["code"] for each in answer.degraded]


def overlap(one: list[Any], other: list[Any]) -> float:
    one, other = one[:DEPTH], other[:DEPTH]
    longer = max(len(one), len(other))
    return len(set(one) & set(other)) / longer if longer else 1.0


def rbo(one: list[Any], other: list[Any]) -> float:
    """The agreement at each depth by its weight, and that at the last one for all that would follow."""
    depths = range(1, max(len(one), len(other)) + 1)
    agreement = [len(set(one[:depth]) & set(other[:depth])) / depth for depth in depths]
    if not agreement:
        return 1.0
    seen = math.fsum((1 - P) * P**place * each for place, each in enumerate(agreement))
    return seen + agreement[-1] * P ** len(agreement)


def change(one: Answer | Failure, other: Answer | Failure) -> str:
    """What kind of difference there is."""
    if spelled(one) == spelled(other):
        return "equal"
    if isinstance(one, Failure) or isinstance(other, Failure):
        return "error"
    ours, theirs = ids_of(one), ids_of(other)
    if [each for each, _ in ours] == [each for each, _ in theirs]:
        return "values"
    return "order" if sorted(ours, key=repr) == sorted(theirs, key=repr) else "candidates"


def measures(one: Answer | Failure, other: Answer | Failure) -> tuple[float, float]:
    if isinstance(one, Failure) != isinstance(other, Failure):
        return 0.0, 0.0
    if spelled(one) == spelled(other):
        return 1.0, 1.0
    return overlap(ids_of(one), ids_of(other)), rbo(ids_of(one), ids_of(other))


def reports(expected: list[tuple[Answer | Failure, Answer | Failure]], said: dict[str, Any]) -> list[str]:
    """Everything in which the engine's comparison differs from that of the interpreter's answers."""
    kinds = [change(one, other) for one, other in expected]
    values = [measures(one, other) for one, other in expected]
    out = []
    if said["compared"] != len(expected) or said["not_recorded"] != 0:
        return [f"{said['compared']} compared of {len(expected)}, {said['first_not_recorded']} is missing"]
    found = {each["number"]: each for each in said["changed"]}
    for at, kind in enumerate(kinds):
        theirs = found.get(at)
        if (theirs["change"] if theirs else "equal") != kind:
            out.append(f"request {at}: {theirs and theirs['change']}, where {kind} is expected")
        elif theirs and not all(math.isclose(theirs[name], value, abs_tol=1e-12) for name, value in zip(("overlap", "rbo"), values[at])):
            out.append(f"request {at}: overlap {theirs['overlap']} and rbo {theirs['rbo']}, expected {values[at]}")
        elif theirs and kind != "error":
            out.extend(_wrong_moves(at, *expected[at], theirs))
    answered = [at for at, pair in enumerate(expected) if not any(isinstance(each, Failure) for each in pair)]
    if said["answered"] != len(answered):
        out.append(f"{said['answered']} answered by both, expected {len(answered)}")
    for place, name in enumerate(("overlap", "rbo")):
        mean = math.fsum(values[at][place] for at in answered) / len(answered) if answered else None
        if said[name] != mean and (None in (said[name], mean) or not math.isclose(said[name], mean, abs_tol=1e-9)):
            out.append(f"mean {name} {said[name]}, expected {mean}")
    if said["changed"] != sorted(said["changed"], key=lambda each: (each["rbo"], each["overlap"], each["number"])):
        out.append("the most changed requests do not come first")
    return out


def _wrong_moves(at: int, one: Any, other: Any, said: dict[str, Any]) -> list[str]:
    """The ids that came and went are those that are said to, at their first positions."""
    ours, theirs = ({}, {})
    for answer, positions in ((one, ours), (other, theirs)):
        for position, candidate in enumerate(answer.candidates, 1):
            positions.setdefault(candidate.id, position)
    alone = {(key, ours.get(key), theirs.get(key)) for key in ours.keys() ^ theirs.keys()}
    named = {(move["id"], move["was"], move["is"]) for move in said["moves"] if None in (move["was"], move["is"])}
    if said["moved"] > len(said["moves"]):  # more than are explained
        return [] if named <= alone else [f"request {at}: moves {named - alone} that are none"]
    out = [] if named == alone else [f"request {at}: {sorted(named ^ alone, key=repr)} came or went"]
    return out + [f"request {at}: id {move['id']} has no reason" for move in said["moves"] if not move["why"]]


def _is_faulty(answer: Answer | Failure) -> bool:
    """Whether the request itself is at fault: a server refuses it, and records nothing."""
    return isinstance(answer, Failure) and not answer.node


def compare_seed(rankd: Path, project: Project, seed: int, count: int) -> tuple[int, int, list[str]]:
    """How many requests were compared, how many differ, and what is wrong."""
    name = f"plan_{seed}"
    plan, _ = make_plan(project.world, seed, name)
    candidate = edited(plan, seed)
    requests = [make_request(project.world, f"{seed} {at}", plan) for at in range(count)]
    requests = [each for each in requests if not _is_faulty(interpret(project.known, plan, each))]
    files = [project.folder / f"{kind}.json" for kind in ("before", "after")]
    for file, of in zip(files, (plan, candidate)):
        file.write_text(json.dumps(of), encoding="utf-8")
    traffic = project.folder / "t.rec"
    traffic.write_bytes(record(rankd, project, name, requests))
    words = [str(rankd), "diff", *map(str, files), "--project", str(project.folder), "--traffic", str(traffic)]
    words += ["--live", "--json", "--depth", str(DEPTH), "--changed", "1000", "--workers", "2"]
    done = subprocess.run(words, capture_output=True, timeout=PATIENCE_S, check=False)
    try:
        said = json.loads(done.stdout)["traffic"]
    except (ValueError, KeyError):
        return 0, 0, [f"no comparison: {done.stdout[:500]!r} {done.stderr[:500]!r}"]
    expected = [(interpret(project.known, plan, each), interpret(project.known, candidate, each)) for each in requests]
    different = sum(change(*each) != "equal" for each in expected)
    wrong = reports(expected, said)
    if done.returncode != int(different != 0):
        wrong.append(f"exit status {done.returncode}")
    return len(expected), different, wrong


def main() -> int:
    args = read_arguments(None)
    with tempfile.TemporaryDirectory(prefix="rankd_traffic_") as scratch:
        project = make_project(Path(scratch) / "project", args.seed)
        compared = different = 0
        for seed in range(args.seed, args.seed + args.count):
            one, other, wrong = compare_seed(args.rankd, project, seed, args.requests)
            compared, different = compared + one, different + other
            for each in wrong:
                print(f"seed {seed}: {each}")
            if wrong:
                return 1
    print(f"{compared} requests compared, {different} different")
    return 0 if different else 1


if __name__ == "__main__":
    sys.exit(main())
