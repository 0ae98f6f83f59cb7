"""bench/benchlib/results.py: samples put together into rows: one metric of one point, with a column of values for each
contender."""
import json
from typing import NamedTuple

from benchlib import stats, suite

OURS, RIVAL, REFERENCE = "ours", "rival", "reference"


class Column(NamedTuple):
    """What one contender measured: one value for each round, the median of what its process printed."""
    kind: str
    values: list
    cpu: list  # CPU time as a part of the wall time
    peak_kib: int

    @property
    def median(self):
        return stats.median(self.values)


class Row(NamedTuple):
    id: str
    point: suite.Point
    metric: suite.Metric
    columns: dict  # by contender

    def best(self, *kinds):
        """The contender of these kinds with the lowest median; None where there is none."""
        names = [name for name, column in self.columns.items() if column.kind in kinds]
        return min(names, key=lambda name: self.columns[name].median, default=None)


def read_samples(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def write_samples(path, samples):
    path.write_text("".join(json.dumps(sample, separators=(",", ":")) + "\n" for sample in samples), encoding="utf-8")


def by_round(samples, value):
    """The median of `value` in each round, in the order of the rounds."""
    rounds = {}
    for sample in samples:
        rounds.setdefault(sample["round"], []).append(value(sample))
    return [stats.median(rounds[number]) for number in sorted(rounds)]


def column_of(samples, metric):
    """None where the samples do not have this metric."""
    if any(metric.value(sample) is None for sample in samples):
        return None
    return Column(samples[0].get("kind", RIVAL), by_round(samples, metric.value),
                  by_round(samples, lambda sample: sample["cpu_ns"] / max(sample["wall_ns"], 1)),
                  max(sample["peak_kib"] for sample in samples))


def rows_of(samples, cases):
    """Every metric of every point, in the order of the suite and of the first samples."""
    grouped = {}
    for sample in samples:
        key = (sample["subject"], sample["case"])
        point = json.dumps(sample["params"])
        grouped.setdefault(key, {}).setdefault(point, {}).setdefault(sample["contender"], []).append(sample)
    rows = []
    for case in cases:
        for params, contenders in grouped.get((case.subject, case.name), {}).items():
            point = suite.Point(case, json.loads(params))
            for metric in case.metrics:
                columns = {name: column_of(each, metric) for name, each in contenders.items()}
                columns = {name: column for name, column in columns.items() if column}
                if columns:
                    rows.append(Row(suite.row_id(point, metric), point, metric, columns))
    return rows


class Verdict(NamedTuple):
    """A target beside what ours reached."""
    row: Row
    contender: str
    value: float
    limit: float
    text: str

    @property
    def is_met(self):
        return self.value <= self.limit


def verdicts_of(row):
    mine = row.best(OURS)
    for target in row.point.case.targets:
        if mine is None or not target.meets(row.point, row.metric):
            continue
        value = row.columns[mine].median
        if target.at_most is not None:
            yield Verdict(row, mine, value, target.at_most, f"≤ {target.at_most:g}")
            continue
        rival = row.best(RIVAL)
        if rival is not None:
            text = f"≤ {target.factor_of_best:g} × {rival}"
            yield Verdict(row, mine, value, row.columns[rival].median * target.factor_of_best, text)


class Loss(NamedTuple):
    """A row in which another contender was better than the best of ours."""
    row: Row
    ours: str
    rival: str
    ratio: float
    p: float


def losses_of(rows):
    """The worst first."""
    found = []
    for row in rows:
        mine, rival = row.best(OURS), row.best(RIVAL)
        if mine is None or rival is None:
            continue
        ours, theirs = row.columns[mine], row.columns[rival]
        if ours.median > theirs.median:
            ratio = ours.median / theirs.median if theirs.median else float("inf")
            found.append(Loss(row, mine, rival, ratio, stats.rank_test(ours.values, theirs.values)))
    return sorted(found, key=lambda loss: -loss.ratio)
