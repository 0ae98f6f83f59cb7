"""bench/benchlib/comparison.py: whether ours became slower or faster from one file of samples to another.

What ours did not do must not count: the machine is never the same twice. So a change is told only when
  1. the ranks of the rounds say so (Mann and Whitney, corrected for how many rows there are), and
  2. it is larger than the least that matters, and than what nineteen of twenty rows of the other contenders changed by,
     whose programs are the same in both files."""
import math
from typing import NamedTuple

from benchlib import results, stats

LEAST_CHANGE = 0.05
CHANCE = 0.05
CONTROLS = 0.95


class Change(NamedTuple):
    row: str
    contender: str
    unit: str
    old: float
    new: float
    p: float
    verdict: str  # slower, faster or same

    @property
    def ratio(self):
        return ratio_of(self.old, self.new)


class Comparison(NamedTuple):
    changes: list
    threshold: float  # as a part: 0.05 for five percent
    controls: int
    only_old: list
    only_new: list
    min_rows: int  # how many must change for any to be told, with so few rounds


def ratio_of(old, new):
    if old == new:
        return 1.0
    return new / old if old > 0 else math.inf


def columns_of(rows):
    return {(row.id, name): (row, column) for row in rows for name, column in row.columns.items()}


def threshold_of(old, new, shared):
    """The change beyond which a row stands out, and how many rows of others say so."""
    changes = []
    for key in shared:
        before, after = old[key][1], new[key][1]
        if before.kind != results.OURS and before.median > 0 and after.median > 0:
            changes.append(abs(math.log(after.median / before.median)))
    if not changes:
        return LEAST_CHANGE, 0
    return max(LEAST_CHANGE, math.expm1(stats.quantile(changes, CONTROLS))), len(changes)


def verdict_of(ratio, p, threshold):
    if p >= CHANCE:
        return "same"
    if ratio > 1 + threshold:
        return "slower"
    return "faster" if ratio < 1 / (1 + threshold) else "same"


def compare(old_rows, new_rows):
    old, new = columns_of(old_rows), columns_of(new_rows)
    shared = [key for key in old if key in new]
    threshold, controls = threshold_of(old, new, shared)
    mine = [key for key in shared if old[key][1].kind == results.OURS]
    pairs = [(old[key][1], new[key][1]) for key in mine]
    chances = stats.among_many([stats.rank_test(before.values, after.values) for before, after in pairs])
    changes = []
    for key, (before, after), p in zip(mine, pairs, chances):
        ratio = ratio_of(before.median, after.median)
        changes.append(Change(*key, old[key][0].metric.unit, before.median, after.median, p,
                              verdict_of(ratio, p, threshold)))
    changes.sort(key=lambda change: -change.ratio)
    return Comparison(changes, threshold, controls, [key for key in old if key not in new],
                      [key for key in new if key not in old], min_rows(pairs))


def min_rows(pairs):
    """How many rows must change at once to be told from chance: few rounds say little, many rows say much by chance."""
    least = min((stats.min_p(len(before.values), len(after.values)) for before, after in pairs), default=0.0)
    return max(1, math.ceil(least * len(pairs) / CHANCE))


def text_of(done):
    """What a person wants to read, and a line for each row that changed."""
    lines = [f"{len(done.changes)} rows of ours are in both files. A change counts from {done.threshold:.1%}: "
             + (f"{done.controls} rows of others, whose programs did not change, say what the machine does by itself."
                if done.controls else "no other contender is in both files, so the machine itself may be the reason.")]
    if done.min_rows > len(done.changes):
        lines.append("There are too few rounds for any statement: measure again with more of them (--rounds).")
    elif done.min_rows > 1:
        lines.append(f"With so few rounds fewer than {done.min_rows} changed rows cannot be told from chance (--rounds).")
    for verdict in ("slower", "faster"):
        told = [change for change in done.changes if change.verdict == verdict]
        lines.append(f"{verdict}: {len(told)}")
        lines += [f"  {change.row} | {change.contender}: {change.old:.4g} → {change.new:.4g} {change.unit}, "
                  f"{change.ratio:.2f} times, p = {change.p:.2g}" for change in told]
    if done.only_old or done.only_new:
        lines.append(f"not in both: {len(done.only_old)} of the old file, {len(done.only_new)} of the new one")
    return "\n".join(lines)
