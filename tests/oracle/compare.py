#!/usr/bin/env python3
"""Compares the engine's answers with the interpreter's, for plans, data and requests that a seed makes."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))

from oracle.caches import has_caches  # noqa: E402
from oracle.data import make_data, make_models  # noqa: E402
from oracle.experiments import make_experiments, name_arms, spelled  # noqa: E402
from oracle.generate import make_plan, make_request  # noqa: E402
from oracle.interpreter import Answer, Failure, Known, interpret  # noqa: E402
from oracle.registry import load_registry  # noqa: E402
from oracle.store import load_store  # noqa: E402
from oracle.vectors import as_float32, file_bytes  # noqa: E402
from oracle.worlds import World, make_world  # noqa: E402

# This many seeds in a row share registries and data, and so a project.
SEEDS_PER_PROJECT = 20
# Every so many seeds the first request is answered by `rankd rank`, too.
SEEDS_PER_RANK = 10
# Rows in all nodes of a plan, times its requests; the interpreter takes a few microseconds for each.
MOST_ROWS_PER_SEED = 60_000
PATIENCE_S = 300
REDIS_STARTS_S = 30
WORKERS = (1, 2, 8)
# Cursors hold the time at which they were made.
_CURSOR = re.compile(rb'"next_cursor":"[^"]*"')
PROJECT = """name = "oracle"
environment = "dev"
registry = "registry"
plans = "plans"
data = "data"
models = "models"

[cursor]
key = "the key of comparisons"
"""


@dataclass(frozen=True)
class Project:
    """A project on disk, and the same as the interpreter sees it."""

    folder: Path
    world: World
    known: Known


class HeldPort:
    """A port of 127.0.0.1 that nobody else is given; a server that sets SO_REUSEADDR can listen at it."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]

    def close(self) -> None:
        self._socket.close()


class RedisServer:
    """A redis-server that keeps nothing on disk, for as long as the block lasts."""

    def __init__(self, rankd: Path, *more: str) -> None:
        self._rankd = rankd
        self._more = more
        self._process: subprocess.Popen[bytes] | None = None
        self._held: HeldPort | None = None
        self.port = 0

    def __enter__(self) -> RedisServer:
        self._held = HeldPort()
        self.port = self._held.number
        words = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen([*words, *self._more], stdout=subprocess.DEVNULL)
        limit = time.monotonic() + REDIS_STARTS_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except ConnectionRefusedError:
                if time.monotonic() > limit or self._process.poll() is not None:
                    raise
                time.sleep(0.01)

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._held is not None:
            self._held.close()

    def tell(self, command: str) -> bytes:
        """The reply to a command, which is short."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as connection:
            connection.sendall(command.encode() + b"\r\n")
            return connection.recv(100_000)

    def must(self, command: str) -> None:
        reply = self.tell(command)
        if reply != b"+OK\r\n":
            raise RuntimeError(f"{command}: {reply!r}")

    def move_in(self, folder: Path) -> None:
        """Gives the server the data of the project in `folder` instead of what it had, and the project the server."""
        self.must("FLUSHALL")
        place = f'type = "static", host = "127.0.0.1", port = {self.port}'
        self._move_in(folder, f"redis://127.0.0.1:{self.port}", place)

    def _move_in(self, folder: Path, url: str, resolver: str) -> None:
        subprocess.run(
            [str(self._rankd), "load", str(folder / "data"), "--store", url],
            check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL,
        )
        patience = "policy = { connect_timeout_ms = 60000, request_timeout_ms = 60000 }"  # a busy machine is no fault
        place = f"resolver = {{ {resolver} }}\n{patience}"
        endpoints = folder / "registry" / "endpoints.dev.toml"
        text = endpoints.read_text(encoding="utf-8").replace('kind = "embedded"', 'kind = "redis"')
        text = re.sub(r"^policy = (?!\{ metric).*\n", "", text, flags=re.MULTILINE)  # files of vectors stay files
        text, moved = re.subn(r'resolver = \{ ?"?type"? = "embedded".*', place, text)
        if moved == 0:
            raise RuntimeError("the project has no embedded store to replace")
        endpoints.write_text(text, encoding="utf-8")


class RedisCluster(RedisServer):
    """Three servers that share the keys, for as long as the block lasts."""

    NODES = 3

    def __init__(self, rankd: Path) -> None:
        super().__init__(rankd)
        self._stack = contextlib.ExitStack()
        self._nodes: list[RedisServer] = []

    def __enter__(self) -> RedisCluster:
        with contextlib.ExitStack() as stack:
            for number in range(self.NODES):
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rankd_node_"))
                bus = stack.enter_context(contextlib.closing(HeldPort())).number
                node = RedisServer(
                    self._rankd, "--cluster-enabled", "yes", "--cluster-port", str(bus), "--dir", folder
                )
                self._nodes.append(stack.enter_context(node))
                first, last = (16384 * at // self.NODES for at in (number, number + 1))
                node.must(f"CLUSTER SET-CONFIG-EPOCH {number + 1}")
                node.must(f"CLUSTER ADDSLOTSRANGE {first} {last - 1}")
                self._nodes[0].must(f"CLUSTER MEET 127.0.0.1 {node.port} {bus}")
            limit = time.monotonic() + REDIS_STARTS_S
            while not all(self._is_complete(node) for node in self._nodes):
                if time.monotonic() > limit:
                    raise RuntimeError("the servers make no cluster")
                time.sleep(0.01)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _is_complete(self, node: RedisServer) -> bool:
        info = node.tell("CLUSTER INFO")
        return b"cluster_state:ok" in info and b"cluster_size:3" in info

    def move_in(self, folder: Path) -> None:
        for node in self._nodes:
            node.must("FLUSHALL")
        port = self._nodes[1].port
        nodes = f'[{{ host = "127.0.0.1", port = {port} }}]'
        self._move_in(folder, f"redis-cluster://127.0.0.1:{port}", f'type = "cluster", nodes = {nodes}')


def make_project(folder: Path, seed: int) -> Project:
    """A project in `folder`, which is created."""
    for name in ("plans", "data", "models", "registry"):
        (folder / name).mkdir(parents=True)
    (folder / "rankd.toml").write_text(PROJECT, encoding="utf-8")
    world = make_world(seed)
    for name, text in world.files.items():
        (folder / "registry" / name).write_text(text, encoding="utf-8")
    data = folder / "data" / "data.ndjson"
    data.write_text(make_data(world, seed), encoding="utf-8")
    models = make_models(world, seed)
    for name, model in models.items():
        (folder / "models" / f"{name}.json").write_text(json.dumps(model), encoding="utf-8")
    if world.vectors is not None:
        (folder / "items.rvec").write_bytes(file_bytes(world.vectors))
    known = Known(load_registry(folder / "registry"), load_store([data]), models, vectors=world.vectors)
    return Project(folder, world, known)


@dataclass(frozen=True)
class Case:
    """A plan and requests for it, and how to run them."""

    seed: int
    plan: dict[str, Any]
    requests: list[dict[str, Any]]
    workers: int | None
    experiments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """One request of a case, and the id of an answer to it that brings none."""

    plan: dict[str, Any]
    request: dict[str, Any]
    default_id: str | None = None


def make_case(world: World, seed: int, requests: int) -> Case:
    """The case of a seed; fewer requests where each would take the interpreter long."""
    name = f"plan_{seed}"
    plan, rows = make_plan(world, seed, name)
    count = max(1, min(requests, MOST_ROWS_PER_SEED // max(rows, 1)))
    workers = random.Random(f"workers {seed}").choice([None, 1, 2, 4])
    experiments = make_experiments(world, seed, plan)
    asked = [make_request(world, f"{seed} {i}", plan) for i in range(count)]
    if experiments:
        asked = [name_arms(experiments, f"{seed} {i}", request) for i, request in enumerate(asked)]
    if has_caches(plan):
        # Each twice, so that rows are taken; and no node tells what it did, since that depends on what was there.
        asked = [{name: each[name] for name in each if name != "explain"} for each in asked] * 2
    return Case(seed, plan, asked, workers, experiments)


@dataclass(frozen=True)
class Outcome:
    """What the engine gave: responses in the order of the requests, and its exit status."""

    responses: list[dict[str, Any]]
    status: int
    trouble: str | None = None


def run_batch(rankd: Path, project: Project, case: Case) -> Outcome:
    """All requests of a case in one process."""
    requests = project.folder / "requests.ndjson"
    requests.write_text("".join(json.dumps(each) + "\n" for each in case.requests), encoding="utf-8")
    kept = ["--cache-mib", "16"] if has_caches(case.plan) else []
    return _run(rankd, project, case, ["batch", "--allow-degraded", *kept, "--in", str(requests)])


def run_rank(rankd: Path, project: Project, case: Case) -> Outcome:
    """The first request of a case."""
    request = project.folder / "request.json"
    request.write_text(json.dumps(case.requests[0]), encoding="utf-8")
    return _run(rankd, project, case, ["rank", "--request", str(request)])


def write_experiments(project: Project, case: Case) -> None:
    file = project.folder / "registry" / "experiments.toml"
    file.unlink(missing_ok=True)
    if case.experiments:
        file.write_text(spelled(case.experiments), encoding="utf-8")


def _run(rankd: Path, project: Project, case: Case, words: list[str]) -> Outcome:
    name = case.plan["plan_name"]
    plan_file = project.folder / "plans" / f"{name}.json"
    plan_file.write_text(json.dumps(case.plan), encoding="utf-8")
    write_experiments(project, case)
    command = [str(rankd), *words, "--plan", name, "--project", str(project.folder)]
    if case.workers is not None:
        command += ["--workers", str(case.workers)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
        # Not splitlines(): it would cut at U+2028 too.
        lines = done.stdout.decode("utf-8").split("\n")
        responses = [json.loads(line, parse_int=_parse_int) for line in lines if line]
    except subprocess.TimeoutExpired:
        return Outcome([], -1, f"no answer within {PATIENCE_S} s")
    except ValueError as error:
        return Outcome([], done.returncode, f"no JSON: {error}; {done.stdout[:2000]!r} {done.stderr!r}")
    plan_file.unlink()
    return Outcome(responses, done.returncode, done.stderr.decode("utf-8", "replace") if not responses else None)


def _parse_int(text: str) -> int | float:
    # Shortest round-trip prints the double -0 without a point.
    return -0.0 if text == "-0" else int(text)


def difference(expected: Answer | Failure, response: dict[str, Any], pair: Pair) -> str | None:
    """What is different about the engine's response, or None."""
    if isinstance(expected, Failure):
        # Of several nodes that fail, the first is named: where a part runs by itself, that may be another one.
        if has_caches(pair.plan) and expected.node and _is_of_a_node(response.get("error", {})):
            return None
        return _difference_of_errors(expected, response)
    if "error" in response:
        return "an error, where none is expected"
    return _difference_of_heads(expected, response, pair) or _difference_of_rows(expected, response)


def _is_of_a_node(error: dict[str, Any]) -> bool:
    """Whether a node failed as data and plans make it fail, and not because the engine is wrong."""
    return "node" in error and error.get("code") not in ("internal_error", "stopped")


def _difference_of_errors(expected: Failure, response: dict[str, Any]) -> str | None:
    error = response.get("error")
    if error is None:
        return "no error, where one is expected"
    if error.get("code") != expected.code:
        return "another error code"
    return None if error.get("node") == expected.node else "another node"


def _difference_of_heads(expected: Answer, response: dict[str, Any], pair: Pair) -> str | None:
    wanted = pair.request.get("request_id", pair.default_id)
    if wanted is not None and response.get("request_id") != wanted:
        return "another request_id"
    if response.get("plan") != pair.plan["plan_name"]:
        return "another plan"
    arms = expected.arms
    if response.get("experiments") != (None if arms is None else arms.names):
        return "other arms of experiments"
    if sorted(response.get("experiments_overridden", [])) != sorted([] if arms is None else arms.overridden):
        return "other experiments are overridden"
    if response.get("degraded", []) != expected.degraded:
        return f"other substitutes: expected {expected.degraded}, got {response.get('degraded')}"
    if ("next_cursor" in response) != expected.more:
        return "another page follows, or none"
    if response.get("malformed_ids", 0) != expected.malformed_ids:
        return "another number of malformed ids"
    if response.get("malformed_values", 0) != expected.malformed_values:
        return "another number of malformed values"
    if not pair.request.get("explain", False):
        return "explained without being asked" if "explain" in response else None
    nodes = response["explain"]["nodes"]
    counts = {node["node"]: (node["rows_in"], node["rows_out"]) for node in nodes}
    if counts != expected.row_counts:
        return f"other counts of rows: expected {expected.row_counts}, got {counts}"
    return None


def _difference_of_rows(expected: Answer, response: dict[str, Any]) -> str | None:
    candidates = response.get("candidates", [])
    for index, (ours, theirs) in enumerate(zip(expected.candidates, candidates)):
        fields = list(theirs["fields"].items())
        if theirs["id"] != ours.id or len(fields) != len(ours.fields):
            return f"candidate {index}"
        if not all(_same(a, b) for a, b in zip(ours.fields, fields)):
            return f"the fields of candidate {index}"
    if len(candidates) != len(expected.candidates):
        return "another number of candidates"
    return None


def _same(ours: tuple[str, Any], theirs: tuple[str, Any]) -> bool:
    """Whether two fields have the same name and value; doubles bit by bit."""
    if ours[0] != theirs[0]:
        return False
    if isinstance(ours[1], list):
        return isinstance(theirs[1], list) and ours[1] == [as_float32(each) for each in theirs[1]]
    if not isinstance(ours[1], float):
        return type(ours[1]) is type(theirs[1]) and ours[1] == theirs[1]
    if isinstance(theirs[1], bool) or not isinstance(theirs[1], (int, float)):
        return False
    return struct.pack("d", ours[1]) == struct.pack("d", _to_double(theirs[1]))


def _to_double(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def expected_as_json(expected: Answer | Failure) -> dict[str, Any]:
    """The interpreter's answer in the form of the engine's."""
    if isinstance(expected, Failure):
        return {"error": {"code": expected.code, "node": expected.node}}
    rows = [{"id": candidate.id, "fields": dict(candidate.fields)} for candidate in expected.candidates]
    return {"candidates": rows, "malformed_ids": expected.malformed_ids, "malformed_values": expected.malformed_values}


def report(case: Case, number: int, what: str, expected: Answer | Failure | None, got: Any) -> None:
    """Prints everything that is needed to look at a difference."""
    print(f"seed {case.seed}, request {number}: {what}; replay with --seed {case.seed} --count 1")
    print(f"workers: {case.workers}; --keep keeps the project")
    for title, value in (
        ("plan", case.plan),
        ("experiments", case.experiments),
        ("request", case.requests[number]),
        ("expected", expected and expected_as_json(expected)),
        ("got", got),
    ):
        print(f"{title}: {json.dumps(value, ensure_ascii=False)}")


class Tally:
    """Counts what was compared, and shows it on a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self.plans = self.pairs = self.errors = self.empty = self.pages = self.differences = 0

    def add(self, expected: list[Answer | Failure]) -> None:
        self.plans += 1
        self.pairs += len(expected)
        self.errors += sum(isinstance(each, Failure) for each in expected)
        self.empty += sum(isinstance(each, Answer) and not each.candidates for each in expected)
        if sys.stderr.isatty():
            print(f"\r{self}", end="\n" if self.plans == self._total else "", file=sys.stderr, flush=True)

    def __str__(self) -> str:
        return (
            f"{self.plans} of {self._total} plans, {self.pairs} requests compared: {self.errors} with an error, "
            f"{self.empty} without candidates, {self.pages} second pages, {self.differences} different"
        )


def compare_outcome(case: Case, expected: list[Answer | Failure], outcome: Outcome, names_lines: bool) -> int:
    """Reports what is different about the responses to the first requests of a case; how many are."""
    if outcome.trouble is not None or len(outcome.responses) != len(expected):
        report(case, 0, "no answer for each request", None, outcome.trouble or outcome.responses)
        return 1
    differences = 0
    for number, (ours, theirs) in enumerate(zip(expected, outcome.responses)):
        default_id = f"line_{number + 1}" if names_lines else None
        what = difference(ours, theirs, Pair(case.plan, case.requests[number], default_id))
        if what is not None:
            report(case, number, what, ours, theirs)
            differences += 1
    wanted = int(any(isinstance(each, Failure) for each in expected))
    if outcome.status != wanted:
        report(case, 0, f"exit status {outcome.status}, where {wanted} is expected", None, outcome.responses)
        differences += 1
    return differences


def compare_case(rankd: Path, project: Project, case: Case, tally: Tally) -> list[dict[str, Any]]:
    """Compares all answers to the requests of a case, and returns them."""
    known = replace(project.known, experiments=case.experiments)
    expected = [interpret(known, case.plan, request) for request in case.requests]
    all_answers = run_batch(rankd, project, case)
    tally.differences += compare_outcome(case, expected, all_answers, names_lines=True)
    if case.seed % SEEDS_PER_RANK == 0:
        outcome = run_rank(rankd, project, case)
        tally.differences += compare_outcome(case, expected[:1], outcome, names_lines=False)
    tally.add(expected)
    return all_answers.responses


def difference_of_pages(project: Project, case: Case, turned: list[dict[str, Any]], lines: list[bytes]) -> str | None:
    """What is different about the pages that cursors ask for; these stand behind the requests of the case."""
    known = replace(project.known, experiments=case.experiments)
    for number, (request, line) in enumerate(zip(turned, lines), len(case.requests) + 1):
        plain = {name: value for name, value in request.items() if name != "cursor"}
        expected = interpret(known, case.plan, plain, page=1)
        pair = Pair(case.plan, plain, f"line_{number}")
        what = difference(expected, json.loads(line, parse_int=_parse_int), pair)
        if what is not None:
            return f"the second page of {plain}: {what}; expected {expected_as_json(expected)}, got {line!r}"
    return None


def disagreement_of_workers(
    rankd: Path, project: Project, case: Case, before: list[dict[str, Any]], tally: Tally
) -> str | None:
    """Which number of workers gives other bytes than one worker does, or None; of second pages, too."""
    # Explanations tell times.
    requests = [{name: each[name] for name in each if name != "explain"} for each in case.requests]
    turned = [
        request | {"cursor": answer["next_cursor"]} for request, answer in zip(requests, before) if "next_cursor" in answer
    ]
    tally.pages += len(turned)
    requests += turned
    requests_file = project.folder / "requests.ndjson"
    requests_file.write_text("".join(json.dumps(each) + "\n" for each in requests), encoding="utf-8")
    name = case.plan["plan_name"]
    plan_file = project.folder / "plans" / f"{name}.json"
    plan_file.write_text(json.dumps(case.plan), encoding="utf-8")
    write_experiments(project, case)
    command = [str(rankd), "batch", "--allow-degraded", "--in", str(requests_file), "--plan", name, "--project", str(project.folder)]
    first: bytes | None = None
    for workers in WORKERS:
        done = subprocess.run(
            [*command, "--workers", str(workers)], capture_output=True, timeout=PATIENCE_S, check=False
        )
        if done.stdout.count(b"\n") != len(requests):
            return f"{workers} workers: no answer for each request; {done.stderr!r}"
        answers = _CURSOR.sub(b'"next_cursor":""', done.stdout)
        if first is None:
            first = answers
            what = difference_of_pages(project, case, turned, done.stdout.split(b"\n")[len(case.requests) :])
            if what is not None:
                return what
        elif answers != first:
            return f"{workers} workers give other bytes than {WORKERS[0]}"
    plan_file.unlink()
    return None


def compare_all(args: argparse.Namespace, scratch: Path, server: RedisServer | None) -> Tally:
    """Compares the cases of all seeds; stops at the first that differs unless told to go on."""
    tally = Tally(args.count)
    project: Project | None = None
    for seed in range(args.seed, args.seed + args.count):
        folder = scratch / f"project_{seed // SEEDS_PER_PROJECT}"
        if project is None or project.folder != folder:
            if project is not None and not args.keep:
                shutil.rmtree(project.folder)
            project = make_project(folder, seed // SEEDS_PER_PROJECT)
            if server is not None:
                server.move_in(project.folder)
        try:
            case = make_case(project.world, seed, args.requests)
            answers = compare_case(args.rankd, project, case, tally)
            if args.all_workers and (what := disagreement_of_workers(args.rankd, project, case, answers, tally)):
                report(case, 0, what, None, None)
                tally.differences += 1
        except KeyboardInterrupt:
            break  # what has been compared is worth knowing
        if tally.differences and not args.go_on:
            break
    return tally


def read_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="compare.py", description=__doc__)
    default = REPOSITORY / "build" / "release" / "bin" / "rankd"
    parser.add_argument("--rankd", type=Path, default=default, metavar="PATH", help="the engine (default: %(default)s)")
    parser.add_argument("--seed", type=_natural, default=1, metavar="N", help="the first seed (default: 1)")
    parser.add_argument("--count", type=_natural, default=200, metavar="N", help="seeds, a plan each (default: 200)")
    parser.add_argument("--requests", type=_natural, default=50, metavar="N", help="for each plan (default: 50)")
    parser.add_argument("--all-workers", action="store_true", help="the bytes are the same for 1, 2 and 8 workers, too")
    parser.add_argument("--redis", action="store_true", help="the data is in a redis-server, not in embedded stores")
    parser.add_argument("--redis-cluster", action="store_true", help="the data is in a cluster of three redis-servers")
    parser.add_argument("--keep", action="store_true", help="keep the projects that were made, and say where")
    parser.add_argument("--go-on", action="store_true", help="report all differences, not just the first")
    args = parser.parse_args(arguments)
    args.rankd = args.rankd.resolve()
    if not args.rankd.is_file():
        parser.error(f"there is no {args.rankd}; build it, or name another by --rankd")
    return args


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return number


def main(arguments: list[str] | None = None) -> int:
    args = read_arguments(arguments)
    scratch = Path(tempfile.mkdtemp(prefix="rankd_oracle_"))
    try:
        if args.redis or args.redis_cluster:
            with RedisCluster(args.rankd) if args.redis_cluster else RedisServer(args.rankd) as server:
                tally = compare_all(args, scratch, server)
        else:
            tally = compare_all(args, scratch, None)
    finally:
        if args.keep:
            print(f"kept: {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    print(tally)
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
