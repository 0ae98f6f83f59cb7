#!/usr/bin/env python3
"""Compares the engine's answers with the interpreter's, for plans, data and requests that a seed makes."""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))

from oracle import vocabulary  # noqa: E402
from oracle.generate import make_data, make_plan, make_request  # noqa: E402
from oracle.interpreter import Answer, Failure, interpret  # noqa: E402
from oracle.registry import Registry, load_registry  # noqa: E402
from oracle.store import Store, load_store  # noqa: E402

# This many seeds in a row share their data, and so a project.
SEEDS_PER_PROJECT = 500
PATIENCE_S = 120
PROJECT = """name = "oracle"
environment = "dev"
registry = "registry"
plans = "plans"
data = "data"
"""


@dataclass(frozen=True)
class Project:
    """A project on disk, and the same as the interpreter sees it."""

    folder: Path
    registry: Registry
    store: Store


def make_project(folder: Path, data_seed: int) -> Project:
    """A project in `folder`, which is created."""
    (folder / "plans").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "rankd.toml").write_text(PROJECT, encoding="utf-8")
    shutil.copytree(REPOSITORY / "registry", folder / "registry")
    _append(folder / "registry" / "keys.toml", vocabulary.EXTRA_KEYS)
    _append(folder / "registry" / "params.toml", vocabulary.EXTRA_PARAMS)
    data = folder / "data" / "data.ndjson"
    data.write_text(make_data(data_seed), encoding="utf-8")
    return Project(folder, load_registry(folder / "registry"), load_store([data]))


def _append(file: Path, text: str) -> None:
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")


@dataclass(frozen=True)
class Case:
    """A plan and a request, and how to run them."""

    seed: int
    plan: dict[str, Any]
    request: dict[str, Any]
    workers: int | None


def make_case(seed: int) -> Case:
    """The case of a seed."""
    name = f"plan_{seed}"
    workers = random.Random(f"workers {seed}").choice([None, 1, 2, 4])
    return Case(seed, make_plan(seed, name), make_request(seed, name), workers)


def run_engine(rankd: Path, project: Project, case: Case) -> tuple[dict[str, Any], int]:
    """The engine's response and exit status; a response of our own where it gives none."""
    name = case.plan["plan_name"]
    plan_file = project.folder / "plans" / f"{name}.json"
    request_file = project.folder / "request.json"
    plan_file.write_text(json.dumps(case.plan), encoding="utf-8")
    request_file.write_text(json.dumps(case.request), encoding="utf-8")
    command = [str(rankd), "rank", "--plan", name, "--request", str(request_file), "--project", str(project.folder)]
    if case.workers is not None:
        command += ["--workers", str(case.workers)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
        response = json.loads(done.stdout.decode("utf-8"), parse_int=_parse_int)
    except subprocess.TimeoutExpired:
        return {"no_response": f"none within {PATIENCE_S} s"}, -1
    except ValueError:
        return {"no_response": repr(done.stdout), "stderr": repr(done.stderr)}, done.returncode
    plan_file.unlink()
    return response, done.returncode


def _parse_int(text: str) -> int | float:
    # Shortest round-trip prints the double -0 without a point.
    return -0.0 if text == "-0" else int(text)


def difference(expected: Answer | Failure, response: dict[str, Any], status: int, case: Case) -> str | None:
    """What is different about the engine's response, or None."""
    if "no_response" in response:
        return "no JSON"
    if isinstance(expected, Failure):
        return _difference_of_errors(expected, response, status)
    if "error" in response:
        return "an error, where none is expected"
    if status != 0:
        return f"exit status {status} with an answer"
    return _difference_of_heads(expected, response, case) or _difference_of_rows(expected, response)


def _difference_of_errors(expected: Failure, response: dict[str, Any], status: int) -> str | None:
    error = response.get("error")
    if error is None:
        return "no error, where one is expected"
    if status != 1:
        return f"exit status {status} with an error"
    if error.get("code") != expected.code:
        return "another error code"
    return None if error.get("node") == expected.node else "another node"


def _difference_of_heads(expected: Answer, response: dict[str, Any], case: Case) -> str | None:
    wanted = case.request.get("request_id")
    if wanted is not None and response.get("request_id") != wanted:
        return "another request_id"
    if response.get("plan") != case.plan["plan_name"]:
        return "another plan"
    if response.get("malformed_ids", 0) != expected.malformed_ids:
        return "another number of malformed ids"
    if not case.request.get("explain", False):
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
    return {"candidates": rows, "malformed_ids": expected.malformed_ids}


def report(case: Case, what: str, expected: Answer | Failure, response: dict[str, Any]) -> None:
    """Prints everything that is needed to look at a difference."""
    print(f"seed {case.seed}: {what}; replay with --seed {case.seed} --count 1")
    print(f"workers: {case.workers}; --keep keeps the project")
    for title, value in (
        ("plan", case.plan),
        ("request", case.request),
        ("expected", expected_as_json(expected)),
        ("got", response),
    ):
        print(f"{title}: {json.dumps(value, ensure_ascii=False)}")


class Tally:
    """Counts what was compared, and shows it on a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self.done = self.errors = self.empty = self.differences = 0

    def add(self, expected: Answer | Failure) -> None:
        self.done += 1
        self.errors += isinstance(expected, Failure)
        self.empty += isinstance(expected, Answer) and not expected.candidates
        if sys.stderr.isatty():
            print(f"\r{self}", end="\n" if self.done == self._total else "", file=sys.stderr, flush=True)

    def __str__(self) -> str:
        return (
            f"{self.done}/{self._total} compared: {self.errors} with an error, {self.empty} without candidates, "
            f"{self.differences} different"
        )


def compare_all(args: argparse.Namespace, scratch: Path) -> Tally:
    """Compares the cases of all seeds; stops at the first difference unless told to go on."""
    tally = Tally(args.count)
    project: Project | None = None
    for seed in range(args.seed, args.seed + args.count):
        data_seed = seed // SEEDS_PER_PROJECT
        folder = scratch / f"project_{data_seed}"
        if project is None or project.folder != folder:
            project = make_project(folder, data_seed)
        case = make_case(seed)
        expected = interpret(project.registry, project.store, case.plan, case.request)
        response, status = run_engine(args.rankd, project, case)
        what = difference(expected, response, status, case)
        tally.differences += what is not None
        tally.add(expected)
        if what is not None:
            report(case, what, expected, response)
            if not args.go_on:
                break
    return tally


def read_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="compare.py", description=__doc__)
    default = REPOSITORY / "build" / "release" / "bin" / "rankd"
    parser.add_argument("--rankd", type=Path, default=default, metavar="PATH", help="the engine (default: %(default)s)")
    parser.add_argument("--seed", type=_natural, default=1, metavar="N", help="the first seed (default: 1)")
    parser.add_argument("--count", type=_natural, default=200, metavar="N", help="how many seeds (default: 200)")
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
        tally = compare_all(args, scratch)
    finally:
        if args.keep:
            print(f"kept: {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    print(tally)
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
