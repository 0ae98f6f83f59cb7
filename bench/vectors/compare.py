#!/usr/bin/env python3
"""bench/vectors/compare.py: the nearest vectors by rankd, FAISS and hnswlib, on the same data, in one run.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install faiss-cpu hnswlib numpy
    /tmp/venv/bin/python bench/vectors/compare.py --rankd build/release/bin/rankd

Vectors lie near a space of 16 dimensions, as those of trained models do; queries are others of the same kind. Every
library searches on one thread, one query at a time. In each round, every search has its turn, so that a machine that is
busy for a while slows all of them. The time of a search is the median of its queries in its fastest round. Recall is
the share of the exact nearest vectors that a search finds."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Found = tuple[list[list[int]], float]

M = 16
EF_CONSTRUCTION = 200


def make_data(np: Any, count: int, dimensions: int, queries: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(count + queries, 16)) @ rng.normal(size=(16, dimensions)) / 4
    rows += 0.2 * rng.normal(size=rows.shape)
    rows = rows.astype("float32")
    return rows[:count], rows[count:]


def write_lines(file: Path, rows: Any) -> None:
    with file.open("w", encoding="utf-8") as out:
        for number, row in enumerate(rows):
            out.write(json.dumps({"id": number, "vector": row.tolist()}) + "\n")


class Rankd:
    """The command line of rankd on one folder."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder

    def build(self, name: str, *more: str) -> float:
        begin = time.perf_counter()
        words = ["vectors", "build", str(self._folder / "data.ndjson"), "--out", str(self._folder / name), *more]
        subprocess.run([self._program, *words], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin

    def search(self, name: str, metric: str, count: int, *more: str) -> Found:
        """Ids of each query, and the median of their microseconds."""
        words = ["vectors", "search", str(self._folder / name), "--queries", str(self._folder / "queries.ndjson")]
        words += ["--metric", metric, "--count", str(count), *more]
        done = subprocess.run([self._program, *words], check=True, capture_output=True, text=True)
        ids = [[number for number, _ in json.loads(line)["nearest"]] for line in done.stdout.splitlines()]
        return ids, float(re.match(r"([0-9.]+) us", done.stderr)[1])


def timed(search: Callable[[Any], list[int]], queries: Any) -> Found:
    """Returns the ids for each query, and the median of the microseconds."""
    ids, times = [], []
    for at in range(len(queries)):
        begin = time.perf_counter()
        found = search(queries[at : at + 1])
        times.append(time.perf_counter() - begin)
        ids.append(found)
    return ids, statistics.median(times) * 1e6


def recall(found: list[list[int]], exact: list[list[int]]) -> float:
    return sum(len(set(a) & set(b)) for a, b in zip(found, exact)) / sum(map(len, exact))


def timed_build(build: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    built = build()
    return built, time.perf_counter() - begin


def faiss_searches(faiss: Any, data: Any, asked: argparse.Namespace, report: Callable[[str, float], None],
                   queries: Any) -> dict[str, Callable[[], Found]]:
    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatL2(asked.dimensions)
    flat.add(data)

    def build() -> Any:
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(asked.dimensions), asked.dimensions, asked.lists)
        index.train(data)
        index.add(data)
        return index

    inverted, seconds = timed_build(build)
    report("FAISS, lists", seconds)

    def search(index: Any, probe: int = 0) -> Found:
        if probe:
            index.nprobe = probe
        return timed(lambda query: index.search(query, asked.count)[1][0].tolist(), queries)

    out: dict[str, Callable[[], Found]] = {"FAISS, exact": lambda: search(flat)}
    for probe in asked.probe:
        out[f"FAISS, {probe} of {asked.lists} lists"] = lambda probe=probe: search(inverted, probe)
    return out


def hnsw_searches(hnswlib: Any, data: Any, asked: argparse.Namespace, report: Callable[[str, float], None],
                  queries: Any) -> dict[str, Callable[[], Found]]:
    def build() -> Any:
        index = hnswlib.Index(space="l2", dim=asked.dimensions)
        index.init_index(max_elements=len(data), M=M, ef_construction=EF_CONSTRUCTION, random_seed=1)
        index.set_num_threads(1)
        index.add_items(data)
        return index

    index, seconds = timed_build(build)
    report(f"hnswlib, M {M}, ef_construction {EF_CONSTRUCTION}", seconds)

    def search(ef: int) -> Found:
        index.set_ef(ef)
        return timed(lambda query: index.knn_query(query, k=asked.count)[0][0].tolist(), queries)

    return {f"hnswlib, ef {ef}": lambda ef=ef: search(ef) for ef in asked.ef}


def rankd_searches(asked: argparse.Namespace, report: Callable[[str, float], None],
                   folder: Path) -> dict[str, Callable[[], Found]]:
    ours = Rankd(asked.rankd, folder)
    report("rankd, reading NDJSON, no lists", ours.build("flat"))
    report("rankd, reading NDJSON, lists", ours.build("lists", "--lists", str(asked.lists), "--seed", "1"))
    report(f"rankd, reading NDJSON, hnsw, m {M}, ef_construction {EF_CONSTRUCTION}",
           ours.build("hnsw", "--index", "hnsw", "--metric", "l2", "--m", str(M),
                      "--ef-construction", str(EF_CONSTRUCTION), "--seed", "1"))
    out: dict[str, Callable[[], Found]] = {"rankd, exact": lambda: ours.search("flat", "l2", asked.count)}
    for probe in asked.probe:
        out[f"rankd, {probe} of {asked.lists} lists"] = lambda probe=probe: ours.search(
            "lists", "l2", asked.count, "--probe", str(probe))
    for ef in asked.ef:
        out[f"rankd, hnsw, ef {ef}"] = lambda ef=ef: ours.search("hnsw", "l2", asked.count, "--ef-search", str(ef))
    return out


def describe_machine() -> str:
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    load = f", load {os.getloadavg()[0]:.0f}" if hasattr(os, "getloadavg") else ""
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} CPUs{load}"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rankd", default="build/release/bin/rankd")
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--lists", type=int, default=316)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--probe", type=int, nargs="+", default=[1, 4, 8, 16, 32])
    parser.add_argument("--ef", type=int, nargs="+", default=[10, 20, 40, 80, 160])
    parser.add_argument("--no-hnswlib", action="store_true", help="hnswlib takes long to build a large index")
    parser.add_argument("--rounds", type=int, default=3, help="the fastest round of each search counts")
    return parser.parse_args()


def main() -> int:
    asked = parse_arguments()
    try:
        import faiss
        import hnswlib
        import numpy as np
    except ImportError as error:
        print(f"{error}; install the libraries: pip install faiss-cpu hnswlib numpy", file=sys.stderr)
        return 2

    def report(what: str, seconds: float) -> None:
        print(f"built in {seconds:.1f} s: {what}", flush=True)

    print(f"{time.strftime('%Y-%m-%d')}, {describe_machine()}, FAISS {faiss.__version__}")
    print(f"{asked.vectors} x {asked.dimensions}, {asked.queries} queries, nearest {asked.count}, l2", flush=True)
    data, queries = make_data(np, asked.vectors, asked.dimensions, asked.queries)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_lines(folder / "data.ndjson", data)
        write_lines(folder / "queries.ndjson", queries)
        searches = rankd_searches(asked, report, folder)
        (folder / "data.ndjson").unlink()
        searches |= faiss_searches(faiss, data, asked, report, queries)
        if not asked.no_hnswlib:
            searches |= hnsw_searches(hnswlib, data, asked, report, queries)
        fastest: dict[str, Found] = {}
        for _ in range(asked.rounds):
            for name, search in searches.items():
                fastest[name] = min(search(), fastest.get(name, ([], float("inf"))), key=lambda each: each[1])
        exact = fastest["FAISS, exact"][0]
        print("| search | us | recall |\n|---|---|---|")
        for name, (found, us) in fastest.items():
            print(f"| {name} | {us:.0f} | {recall(found, exact):.4f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
