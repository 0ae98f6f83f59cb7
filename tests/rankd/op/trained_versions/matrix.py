#!/usr/bin/env python3
"""Compares rankd with trainers on the rows where they are most likely to differ, objective by objective.

    pip install --no-deps --target /tmp/2.0.3 xgboost==2.0.3      beside numpy<2, scipy, lightgbm and xgboost-cpu
    PYTHONPATH=/tmp/2.0.3 python tests/rankd/op/trained_versions/matrix.py xgboost [RANKD]
    python tests/rankd/op/trained_versions/matrix.py lightgbm [RANKD]

The rows have each threshold of the model, the numbers next to it on both sides, nulls, zeros of both signs, numbers
that are too small to be normal, and the largest ones. Each line of the table is one objective with one option: the
scores that have the same bits as the trainer's, of all, and how many floats or doubles lie between the others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "trained"))
from train import (Case, KEYS, grade, matrix, number, positive, rankd_scores, rows_of, scores_of, train_lightgbm,  # noqa: E402
                   train_xgboost, ulps, which, yes_or_no)

MOST_ROWS = 4000


class Option(NamedTuple):
    """What is added to the parameters of a trainer, beside what the target must be."""

    name: str
    params: dict[str, Any] = {}
    categories: bool = False


XGBOOST = [("reg:squarederror", number), ("binary:logistic", yes_or_no), ("binary:logitraw", yes_or_no),
           ("reg:logistic", yes_or_no), ("count:poisson", positive), ("reg:gamma", lambda rows: positive(rows) + 1),
           ("reg:tweedie", positive), ("reg:pseudohubererror", number), ("reg:absoluteerror", number),
           ("rank:ndcg", grade), ("rank:pairwise", grade), ("multi:softprob", which)]
XGBOOST_OPTIONS = [Option("usual"), Option("dart", {"booster": "dart", "rate_drop": 0.5}),
                   Option("forest", {"num_parallel_tree": 3, "subsample": 0.7}),
                   Option("categories", {"tree_method": "hist", "max_cat_to_onehot": 1}, categories=True)]
LIGHTGBM = [("regression", number), ("regression_l1", number), ("huber", number), ("fair", number),
            ("quantile", number), ("mape", number), ("binary", yes_or_no), ("cross_entropy", yes_or_no),
            ("cross_entropy_lambda", yes_or_no), ("poisson", positive), ("gamma", lambda rows: positive(rows) + 1),
            ("tweedie", positive), ("lambdarank", grade), ("rank_xendcg", grade), ("multiclass", which),
            ("multiclassova", which)]
LIGHTGBM_OPTIONS = [Option("usual"), Option("zero_as_missing", {"zero_as_missing": True}),
                    Option("no missing", {"use_missing": False}), Option("dart", {"boosting": "dart"}),
                    Option("categories", categories=True)]


def thresholds(model: Any) -> dict[str, set[float]]:
    """The numbers that splits compare each feature with."""
    found: dict[str, set[float]] = {name: set() for name in KEYS}
    if hasattr(model, "trees_to_dataframe"):
        try:
            table = model.trees_to_dataframe()
        except ValueError:  # XGBoost 1.5 dumps no trees with categories
            return found
        feature, split = ("Feature", "Split") if "Feature" in table else ("split_feature", "threshold")
        for name, value in zip(table[feature], table[split]):
            try:
                found[name].add(float(value))
            except (KeyError, TypeError, ValueError):
                pass
    return found


def hard_rows(model: Any, floats: bool, seed: int) -> np.ndarray:
    """Usual rows, with values exchanged for those at which splits turn, and for the ends of the numbers."""
    rng = np.random.default_rng(seed)
    kind = np.float32 if floats else np.float64
    ends = [0.0, -0.0, 5e-324, -5e-324, 1e-40, -1e-40, 1.1754943508222875e-38, 3.4028234663852886e38,
            -3.4028234663852886e38, 1e-36, -1e-36, 1e-35, 1.0000000180025095e-35]
    rows = rows_of(MOST_ROWS, seed, nulls=True)
    for at, (name, type_name) in enumerate(KEYS.items()):
        if type_name != "float":
            continue
        values = list(ends)
        for each in thresholds(model)[name]:
            if np.isfinite(each):
                values += [float(kind(each)), float(np.nextafter(kind(each), kind(np.inf))),
                           float(np.nextafter(kind(each), kind(-np.inf))), float(np.nextafter(each, np.inf)),
                           float(np.nextafter(each, -np.inf))]
        chosen = rng.random(MOST_ROWS) < 0.7
        rows[chosen, at] = rng.choice(values, chosen.sum())
    return rows


def compare(trainer: str, objective: str, target: Any, option: Option, rankd: str) -> str:
    floats = trainer == "xgboost"
    params = {"objective": objective} | option.params | ({"num_class": 3} if objective.startswith("multi") else {})
    name = f"{trainer}_{'ndcg' if floats and objective.startswith('rank') else ''}" \
           f"{'rank' if not floats and ('rank' in objective or 'ndcg' in objective) else ''}"
    case = Case(name, target, params, 4, option.categories)
    try:
        model = train_xgboost(case) if floats else train_lightgbm(case)
    except Exception as why:  # an option that this version does not have
        return f"| {objective} | {option.name} | not trained: {str(why).splitlines()[0][:60]} | | |"
    rows = hard_rows(model, floats, 11)
    brand = list(KEYS).index("brand")
    if floats and option.categories:
        rows[(rows[:, brand] < 0) | (rows[:, brand] > 40), brand] = np.nan
    expected = scores_of(case, model, rows)
    found = rankd_scores(rankd, case, model, rows, len(expected))
    apart = [ulps(a, b) for left, right in zip(expected, found) for a, b in zip(left, right)]
    return f"| {objective} | {option.name} | {len(apart)} | {apart.count(0)} | {max(apart)} |"


def main() -> int:
    trainer = sys.argv[1]
    rankd = sys.argv[2] if len(sys.argv) > 2 else "build/release/bin/rankd"
    module = __import__(trainer)
    print(f"{trainer} {module.__version__}\n\n| objective | option | scores | equal | apart at most |\n|---|---|---|---|---|")
    objectives, options = (XGBOOST, XGBOOST_OPTIONS) if trainer == "xgboost" else (LIGHTGBM, LIGHTGBM_OPTIONS)
    for objective, target in objectives:
        for option in options:
            print(compare(trainer, objective, target, option, rankd), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
