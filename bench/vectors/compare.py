#!/usr/bin/env python3
"""bench/vectors/compare.py: the nearest vectors by rankd and by FAISS, on the same data, in one run.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install faiss-cpu numpy
    /tmp/venv/bin/python bench/vectors/compare.py --rankd build/release/bin/rankd

Vectors lie near a space of 16 dimensions, as those of trained models do; queries are others of the same kind. One thread,
one query at a time, the median of all queries and the best of three rounds. Recall is the share of the exact nearest that is found; exact searches must agree."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def make_data(np: Any, count: int, dimensions: int, queries: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(count + queries, 16)) @ rng.normal(size=(16, dimensions)) / 4
    rows += 0.2 * rng.normal(size=rows.shape)
    rows = rows.astype("float32")
    return rows[:count], rows[count:]


def write_lines(file: Path, rows: Any) -> None:
    with file.open("w", encoding="utf-8") as out:
        for number, row in enumerate(rows.tolist()):
            out.write(json.dumps({"id": number, "vector": row}) + "\n")


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

    def search(self, name: str, metric: str, count: int, *more: str) -> tuple[list[list[int]], float]:
        """Ids of each query, and the median of their microseconds."""
        words = ["vectors", "search", str(self._folder / name), "--queries", str(self._folder / "queries.ndjson")]
        words += ["--metric", metric, "--count", str(count), *more]
        done = subprocess.run([self._program, *words], check=True, capture_output=True, text=True)
        ids = [[number for number, _ in json.loads(line)["nearest"]] for line in done.stdout.splitlines()]
        return ids, float(re.match(r"([0-9.]+) us", done.stderr)[1])


def timed(index: Any, queries: Any, count: int) -> tuple[list[list[int]], float]:
    ids, times = [], []
    for at in range(len(queries)):
        begin = time.perf_counter()
        found = index.search(queries[at : at + 1], count)
        times.append(time.perf_counter() - begin)
        ids.append(found[1][0].tolist())
    return ids, statistics.median(times) * 1e6


def recall(found: list[list[int]], exact: list[list[int]]) -> float:
    return sum(len(set(a) & set(b)) for a, b in zip(found, exact)) / sum(map(len, exact))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rankd", default="build/release/bin/rankd")
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--lists", type=int, default=316)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3, help="of each the fastest counts")
    asked = parser.parse_args()
    import faiss
    import numpy as np

    faiss.omp_set_num_threads(1)
    data, queries = make_data(np, asked.vectors, asked.dimensions, asked.queries)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_lines(folder / "data.ndjson", data)
        write_lines(folder / "queries.ndjson", queries)
        ours = Rankd(asked.rankd, folder)
        flat_s, lists_s = ours.build("flat"), ours.build("lists", "--lists", str(asked.lists), "--seed", "1")

        flat = faiss.IndexFlatL2(asked.dimensions)
        flat.add(data)
        begin = time.perf_counter()
        inverted = faiss.IndexIVFFlat(faiss.IndexFlatL2(asked.dimensions), asked.dimensions, asked.lists)
        inverted.train(data)
        inverted.add(data)
        trained_s = time.perf_counter() - begin

        def best(run: Any) -> tuple[list[list[int]], float]:
            return min((run() for _ in range(asked.rounds)), key=lambda each: each[1])

        exact, faiss_us = best(lambda: timed(flat, queries, asked.count))
        same, rankd_us = best(lambda: ours.search("flat", "l2", asked.count))
        print(f"{asked.vectors} x {asked.dimensions}, {asked.queries} queries, the nearest {asked.count}, l2, one thread")
        print(f"building: rankd {flat_s:.1f} s, with {asked.lists} lists {lists_s:.1f} s; FAISS lists {trained_s:.1f} s")
        print("| search | rankd us | recall | FAISS us | recall |\n|---|---|---|---|---|")
        print(f"| exact | {rankd_us:.0f} | {recall(same, exact):.4f} | {faiss_us:.0f} | 1 |")
        for probe in (1, 4, 8, 16, 32):
            inverted.nprobe = probe
            theirs, theirs_us = best(lambda: timed(inverted, queries, asked.count))
            found, ours_us = best(lambda: ours.search("lists", "l2", asked.count, "--probe", str(probe)))
            print(f"| {probe} of {asked.lists} lists | {ours_us:.0f} | {recall(found, exact):.4f} "
                  f"| {theirs_us:.0f} | {recall(theirs, exact):.4f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
