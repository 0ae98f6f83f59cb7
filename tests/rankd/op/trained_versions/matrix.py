#!/usr/bin/env python3
"""Compares rankd with trainers on the rows where they are most likely to differ, objective by objective.

    pip install --no-deps --target /tmp/2.0.3 xgboost==2.0.3      beside numpy<2, scipy, pandas, lightgbm and xgboost-cpu
    PYTHONPATH=/tmp/2.0.3 python tests/rankd/op/trained_versions/matrix.py xgboost [RANKD]
    python tests/rankd/op/trained_versions/matrix.py lightgbm [RANKD]

XGBoost 3.3 and later need Python 3.12. The rows have each threshold of the model, the numbers next to it on both sides,
nulls, zeros of both signs, numbers that are too small to be normal, the largest ones, and categories that training did
not see. Each line of the table is one objective with one option: the scores that have the same bits as the trainer's,
of all, and how many floats or doubles lie between the others. The last line has the sums of the whole table. Status 1:
a score differs."""

from __future__ import annotations

import inspect
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "trained"))
from train import BRANDS, Case, KEYS, grade, number, positive, rankd_scores, rows_of, ulps, which, yes_or_no  # noqa: E402

MOST_ROWS = 4000
BRAND = list(KEYS).index("brand")


class Option(NamedTuple):
    """What is added to the parameters of a trainer, beside what the target must be."""

    name: str
    params: dict[str, Any] = {}
    categories: bool = False
    only: tuple[str, ...] = ()  # objectives; all of them if it is empty
    rounds: int = 4
    kind: str = ""  # early, pandas, infinity, spaces or dump


def two(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([number(rows), positive(rows)])


def one_class(rows: np.ndarray) -> np.ndarray:
    return np.zeros(len(rows))


def lifetime(rows: np.ndarray) -> np.ndarray:
    return np.exp(0.3 * number(rows))


LOGISTIC = ("binary:logistic", "binary:logitraw", "reg:logistic")
FEW_OF_XGBOOST = ("reg:squarederror", "binary:logistic", "count:poisson", "multi:softprob")
XGBOOST = [("reg:squarederror", number), ("binary:logistic", yes_or_no), ("binary:logitraw", yes_or_no),
           ("reg:logistic", yes_or_no), ("count:poisson", positive), ("reg:gamma", lambda rows: positive(rows) + 1),
           ("reg:tweedie", positive), ("reg:pseudohubererror", number), ("reg:absoluteerror", number),
           ("rank:ndcg", grade), ("rank:pairwise", grade), ("multi:softprob", which)]
XGBOOST_OPTIONS = [Option("usual"), Option("dart", {"booster": "dart", "rate_drop": 0.5}),
                   Option("forest", {"num_parallel_tree": 3, "subsample": 0.7}),
                   Option("categories", {"tree_method": "hist", "max_cat_to_onehot": 1}, categories=True)]
FEW_XGBOOST_OPTIONS = [
    Option("one-hot", {"tree_method": "hist", "max_cat_to_onehot": 100}, categories=True, only=FEW_OF_XGBOOST),
    Option("pandas", {"tree_method": "hist", "max_cat_to_onehot": 1}, True, FEW_OF_XGBOOST, kind="pandas"),
    Option("dart of categories", {"booster": "dart", "rate_drop": 0.5, "tree_method": "hist", "max_cat_to_onehot": 1},
           categories=True, only=FEW_OF_XGBOOST),
    Option("dropped trees", {"rate_drop": 0.5, "one_drop": 1}, only=FEW_OF_XGBOOST),  # a dart since 3.3
    Option("early stop", {"eta": 1.0}, rounds=40, only=FEW_OF_XGBOOST, kind="early"),
    Option("leaves alone", {"gamma": 1e9}, only=FEW_OF_XGBOOST),
    Option("deep", {"max_depth": 14, "min_child_weight": 0}, only=FEW_OF_XGBOOST),
    Option("leaf by leaf", {"tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 40, "max_depth": 0},
           only=FEW_OF_XGBOOST),
    Option("exact", {"tree_method": "exact"}, only=FEW_OF_XGBOOST),
    Option("pruned", {"gamma": 5.0, "max_depth": 8, "tree_method": "exact"}, only=FEW_OF_XGBOOST),
    Option("tiny base", {"base_score": 1e-8}, only=(*LOGISTIC, "count:poisson", "reg:squarederror")),
    Option("base next to one", {"base_score": 0.9999999}, only=LOGISTIC),
    Option("huge base", {"base_score": 1e30}, only=("count:poisson", "reg:gamma", "reg:tweedie", "reg:squarederror")),
    Option("negative base", {"base_score": -7.5}, only=("reg:squarederror", "rank:ndcg", "multi:softprob")),
    Option("spaces in names", only=("reg:squarederror",), kind="spaces")]
MORE_OF_XGBOOST = [("survival:aft", lifetime, {}), ("survival:cox", lifetime, {}), ("rank:map", yes_or_no, {}),
                   ("reg:squaredlogerror", positive, {}), ("reg:quantileerror", number, {"quantile_alpha": 0.3}),
                   ("reg:quantileerror", number, {"quantile_alpha": [0.1, 0.5, 0.9]}),
                   ("reg:squarederror", two, {"tree_method": "hist"}),
                   ("binary:logistic", lambda rows: (two(rows) > 2).astype(float), {"tree_method": "hist"}),
                   ("reg:squarederror", two, {"tree_method": "hist", "multi_strategy": "multi_output_tree"}),
                   ("multi:softprob", one_class, {"num_class": 1}), ("binary:logistic", one_class, {}),
                   ("multi:softmax", which, {"num_class": 3}), ("binary:hinge", yes_or_no, {}),
                   ("reg:squarederror", number, {"booster": "gblinear"})]
FEW_OF_LIGHTGBM = ("regression", "binary", "multiclass")
LIGHTGBM = [("regression", number), ("regression_l1", number), ("huber", number), ("fair", number),
            ("quantile", number), ("mape", number), ("binary", yes_or_no), ("cross_entropy", yes_or_no),
            ("cross_entropy_lambda", yes_or_no), ("poisson", positive), ("gamma", lambda rows: positive(rows) + 1),
            ("tweedie", positive), ("lambdarank", grade), ("rank_xendcg", grade), ("multiclass", which),
            ("multiclassova", which)]
LIGHTGBM_OPTIONS = [Option("usual"), Option("zero_as_missing", {"zero_as_missing": True}),
                    Option("no missing", {"use_missing": False}), Option("dart", {"boosting": "dart"}),
                    Option("categories", categories=True)]
FEW_LIGHTGBM_OPTIONS = [
    Option("one-hot", {"max_cat_to_onehot": 100}, categories=True, only=FEW_OF_LIGHTGBM),
    Option("pandas", categories=True, only=FEW_OF_LIGHTGBM, kind="pandas"),
    Option("zero categories", {"zero_as_missing": True}, categories=True, only=FEW_OF_LIGHTGBM),
    Option("known categories", {"use_missing": False}, categories=True, only=FEW_OF_LIGHTGBM),
    Option("dump", categories=True, only=(*FEW_OF_LIGHTGBM, "cross_entropy", "cross_entropy_lambda"), kind="dump"),
    Option("dump of zeros", {"zero_as_missing": True}, only=FEW_OF_LIGHTGBM, kind="dump"),
    Option("forest", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6, "feature_fraction": 0.9},
           only=(*FEW_OF_LIGHTGBM, "poisson")),
    Option("goss", {"boosting": "goss"}, only=FEW_OF_LIGHTGBM),
    Option("early stop", {"learning_rate": 1.0}, rounds=60, only=FEW_OF_LIGHTGBM, kind="early"),
    Option("leaves alone", {"min_data_in_leaf": 750, "min_sum_hessian_in_leaf": 1e9}, only=(*FEW_OF_LIGHTGBM, "poisson")),
    Option("deep", {"num_leaves": 200, "min_data_in_leaf": 1}, only=FEW_OF_LIGHTGBM),
    Option("infinity", only=FEW_OF_LIGHTGBM, kind="infinity"),
    Option("square root", {"reg_sqrt": True}, only=("regression", "regression_l1", "huber", "fair")),
    Option("flat sigmoid", {"sigmoid": 0.3}, only=("binary", "multiclassova")),
    Option("from zero", {"boost_from_average": False}, only=FEW_OF_LIGHTGBM),
    Option("linear trees", {"linear_tree": True}, only=FEW_OF_LIGHTGBM),
    Option("linear dump", {"linear_tree": True}, only=("regression",), kind="dump"),
    Option("spaces in names", only=("regression",), kind="spaces")]
MORE_OF_LIGHTGBM = [("binary", one_class, {}), ("multiclass", one_class, {"num_class": 2}), ("none", number, {}),
                    ("quantile_l2", number, {})]


def splits_of_lightgbm(node: Any, names: list[str]) -> list[tuple[str, Any]]:
    if "left_child" not in node:
        return []
    below = splits_of_lightgbm(node["left_child"], names) + splits_of_lightgbm(node["right_child"], names)
    return [(names[node["split_feature"]], node["threshold"]), *below]


def thresholds(model: Any) -> dict[str, set[float]]:
    """The numbers that splits compare each feature with."""
    splits: list[tuple[str, Any]] = []
    if type(model).__module__.startswith("lightgbm"):
        dump = model.dump_model()
        for tree in dump["tree_info"]:
            splits += splits_of_lightgbm(tree["tree_structure"], dump["feature_names"])
    else:
        try:
            table = model.trees_to_dataframe()
            splits = list(zip(table["Feature"], table["Split"]))
        except Exception:  # XGBoost 1.5 dumps no trees with categories, and no version dumps a gblinear so
            pass
    found: dict[str, set[float]] = {name: set() for name in KEYS}
    for name, value in splits:
        try:
            found[name].add(float(value))
        except (KeyError, TypeError, ValueError):
            pass
    return found


def hard_rows(known: dict[str, set[float]], floats: bool, seed: int) -> np.ndarray:
    """Usual rows, with values exchanged for those at which splits turn, and for the ends of the numbers."""
    rng = np.random.default_rng(seed)
    kind = np.float32 if floats else np.float64
    ends = [0.0, -0.0, 5e-324, -5e-324, 1e-40, -1e-40, 1.1754943508222875e-38, 3.4028234663852886e38,
            -3.4028234663852886e38, 1e-36, -1e-36, 1e-35, 1.0000000180025095e-35]
    rows = rows_of(MOST_ROWS, seed, nulls=True)
    for at, (name, type_name) in enumerate(KEYS.items()):
        if type_name == "bool":
            continue
        if type_name == "int":
            values = [float(each) for each in (0, -1, 43, 44, 64, 100, 2**24 - 1, 2**24 + 1, 2**31 - 1, 2**31, 2**32 + 1,
                                               2**53, -2**31, -2**53)]
            values += [float(round(each) + step) for each in known[name] if abs(each) < 2**53 for step in (-1, 0, 1)]
            chosen = rng.random(MOST_ROWS) < 0.3
            rows[chosen, at] = rng.choice(values, chosen.sum())
            continue
        values = list(ends)
        for each in known[name]:
            if np.isfinite(each):
                values += [float(kind(each)), float(np.nextafter(kind(each), kind(np.inf))),
                           float(np.nextafter(kind(each), kind(-np.inf))), float(np.nextafter(each, np.inf)),
                           float(np.nextafter(each, -np.inf))]
        values = [each for each in values if np.isfinite(each)]
        chosen = rng.random(MOST_ROWS) < 0.7
        rows[chosen, at] = rng.choice(values, chosen.sum())
    return rows


def frame(rows: np.ndarray) -> Any:
    """The rows with a column of categories that has the categories 0 to BRANDS + 3."""
    import pandas as pd
    out = pd.DataFrame(rows, columns=list(KEYS))
    codes = np.nan_to_num(rows[:, BRAND], nan=-1).astype(int)
    out["brand"] = pd.Categorical.from_codes(np.where(codes < BRANDS + 4, codes, -1), categories=range(BRANDS + 4))
    return out


class Trainer:
    """Trains a model of one case with one option, and predicts with it."""

    def __init__(self, name: str, case: Case, option: Option):
        self.name, self.case, self.option = name, case, option

    def names(self) -> list[str]:
        return [name.replace("a", " a", 1) for name in KEYS] if self.option.kind == "spaces" else list(KEYS)

    def matrix(self, rows: np.ndarray, target: np.ndarray | None = None) -> Any:
        import xgboost as xgb
        if self.option.kind == "pandas":
            return xgb.DMatrix(frame(rows), target, enable_categorical=True)
        types = ["c" if self.case.categories and name == "brand" else "q" for name in KEYS]
        if self.case.name == "xgboost_aft":
            return xgb.DMatrix(rows, label_lower_bound=target, label_upper_bound=target, feature_names=self.names())
        return xgb.DMatrix(rows, target, feature_names=self.names(), feature_types=types, enable_categorical=True)

    def train(self) -> Any:
        rows = rows_of(1500, 1, self.case.nulls)
        if self.option.kind == "infinity":
            rows[::20, 0] = np.inf
            rows[7::20, 4] = -np.inf
        target = self.case.target(np.nan_to_num(rows, nan=np.nan, posinf=50.0, neginf=-3.0))
        return self.train_xgboost(rows, target) if self.name == "xgboost" else self.train_lightgbm(rows, target)

    def train_xgboost(self, rows: np.ndarray, target: np.ndarray) -> Any:
        import xgboost as xgb
        if self.case.categories or self.option.kind == "pandas":
            rows[rows[:, BRAND] < 0, BRAND] = np.nan
        data = self.matrix(rows, target)
        if "ndcg" in self.case.name:
            data.set_group([30] * 50)
        params = {"max_depth": 3, "nthread": 1, "seed": 3} | self.case.params
        if self.option.kind != "early":
            return xgb.train(params, data, self.case.rounds)
        other = rows_of(500, 4, self.case.nulls)
        model = xgb.train(params, data, self.case.rounds, evals=[(self.matrix(other, self.case.target(other)), "other")],
                          early_stopping_rounds=3, verbose_eval=False)
        return model[:model.best_iteration + 1]

    def train_lightgbm(self, rows: np.ndarray, target: np.ndarray) -> Any:
        import lightgbm as lgb
        own = {"num_leaves": 8, "min_data_in_leaf": 5, "min_data_per_group": 5, "cat_smooth": 1, "verbose": -1,
               "num_threads": 1, "seed": 3}
        groups = [30] * 50 if "rank" in self.case.name else None
        by = ["brand"] if self.case.categories and self.option.kind != "pandas" else "auto"
        data = frame(rows) if self.option.kind == "pandas" else rows
        made = lgb.Dataset(data, target, group=groups, categorical_feature=by, feature_name=self.names())
        params = own | self.case.params
        more: dict[str, Any] = {}
        if self.option.kind == "early":
            other = rows_of(500, 4, self.case.nulls)
            params["metric"] = {"binary": "binary_logloss", "multiclass": "multi_logloss"}.get(params["objective"], "l2")
            more["valid_sets"] = [lgb.Dataset(other, self.case.target(other), reference=made)]
            if "early_stopping_rounds" in inspect.signature(lgb.train).parameters:
                more |= {"early_stopping_rounds": 3, "verbose_eval": False}
            else:
                more["callbacks"] = [lgb.early_stopping(3, verbose=False)]
        try:
            return lgb.train(params, made, self.case.rounds, **more)
        except lgb.basic.LightGBMError as why:
            if "Unknown parameter: cat_smooth" not in str(why):  # as versions before 2.0.8 say
                raise
        old = {name: value for name, value in params.items() if name not in ("cat_smooth", "min_data_per_group")}
        return lgb.train(old, lgb.Dataset(data, target, group=groups, categorical_feature=by, feature_name=self.names()),
                         self.case.rounds, **more)

    def predict(self, model: Any, rows: np.ndarray) -> list[list[float]]:
        if self.name == "xgboost":
            found = model.predict(self.matrix(rows))
        else:
            found = model.predict(frame(rows) if self.option.kind == "pandas" else rows)
        return np.asarray(found, dtype=float).reshape(len(rows), -1).T.tolist()


class Totals:
    """The sums of all lines of a table."""

    def __init__(self) -> None:
        self.lines = self.scores = self.equal = self.refused = self.not_trained = 0

    def __str__(self) -> str:
        return (f"{self.lines} lines, {self.scores} scores, {self.equal} equal; {self.refused} models refused, "
                f"{self.not_trained} not trained")


def compare(trainer: str, objective: str, target: Any, option: Option, rankd: str, totals: Totals) -> str:
    floats = trainer == "xgboost"
    params = {"objective": objective} | ({"num_class": 3} if objective.startswith("multi") else {}) | option.params
    ranks = "rank" in objective or "ndcg" in objective
    name = f"{trainer}_{'aft' if objective == 'survival:aft' else ''}" \
           f"{'ndcg' if floats and ranks else ''}{'rank' if not floats and ranks else ''}"
    case = Case(name, target, params, option.rounds, option.categories, dump=option.kind == "dump")
    own = Trainer(trainer, case, option)
    start = f"| {objective} | {option.name} |"
    try:
        model = own.train()
    except Exception as why:  # an option that this version does not have
        totals.not_trained += 1
        return f"{start} not trained: {(str(why).strip() or type(why).__name__).splitlines()[-1][:60]} | | |"
    rows = hard_rows(thresholds(model), floats, 11)
    if option.kind == "pandas":
        rows[(rows[:, BRAND] < 0) | (rows[:, BRAND] > BRANDS + 3), BRAND] = np.nan
    try:
        expected = own.predict(model, rows)
    except Exception:  # XGBoost refuses some categories
        rows[(rows[:, BRAND] < 0) | (rows[:, BRAND] > BRANDS), BRAND] = np.nan
        expected = own.predict(model, rows)
    try:
        found = rankd_scores(rankd, case, model, rows, len(expected))
    except SystemExit as why:
        totals.refused += 1
        code = re.search(r'"code":"(\w+)"(?!.*"code")', " ".join(str(why).split()))
        return f"{start} refused: {code[1] if code else str(why)[-100:]} | | |"
    apart = [ulps(a, b) for left, right in zip(expected, found) for a, b in zip(left, right)]
    totals.lines += 1
    totals.scores += len(apart)
    totals.equal += apart.count(0)
    return f"{start} {len(apart)} | {apart.count(0)} | {max(apart)} |"


def main() -> int:
    trainer = sys.argv[1]
    rankd = sys.argv[2] if len(sys.argv) > 2 else "build/release/bin/rankd"
    module = __import__(trainer)
    version = module.__version__ if trainer == "xgboost" else metadata.version(trainer)  # 2.0.5 calls itself 2.0.1
    print(f"{trainer} {version}\n\n| objective | option | scores | equal | apart at most |\n|---|---|---|---|---|")
    is_xgboost = trainer == "xgboost"
    objectives, options = (XGBOOST, XGBOOST_OPTIONS) if is_xgboost else (LIGHTGBM, LIGHTGBM_OPTIONS)
    cases = [(objective, target, option) for objective, target in objectives for option in options]
    for option in FEW_XGBOOST_OPTIONS if is_xgboost else FEW_LIGHTGBM_OPTIONS:
        cases += [(objective, target, option) for objective, target in objectives if objective in option.only]
    for objective, target, params in MORE_OF_XGBOOST if is_xgboost else MORE_OF_LIGHTGBM:
        name = ", ".join([target.__name__, *(f"{key} {value}" for key, value in params.items())])
        cases.append((objective, target, Option(name, params)))
    totals = Totals()
    for objective, target, option in cases:
        print(compare(trainer, objective, target, option, rankd, totals), flush=True)
    print(f"\n{trainer} {version}: {totals}")
    return 0 if totals.equal == totals.scores else 1


if __name__ == "__main__":
    raise SystemExit(main())
