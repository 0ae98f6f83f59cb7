#!/usr/bin/env python3
"""Trains models with LightGBM and XGBoost, and compares the scores of rankd with the trainers' own.

    python3 -m venv V && V/bin/pip install lightgbm xgboost-cpu
    V/bin/python tests/rankd/op/trained/train.py write           the files of this folder, which the tests read
    V/bin/python tests/rankd/op/trained/train.py check RANKD     10 000 new rows of each model, bit for bit
    V/bin/python tests/rankd/op/trained/train.py time RANKD      rows per second of 100 trees with 31 leaves

NAME.txt or NAME.json is the model as the trainer saved it, NAME.rows.json has rows and the trainer's scores of them."""

from __future__ import annotations

import argparse
import json
import statistics
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, NamedTuple

import lightgbm as lgb
import numpy as np
import xgboost as xgb

HERE = Path(__file__).resolve().parent
KEYS = {"price": "float", "age": "int", "fresh": "bool", "brand": "int", "rating": "float"}
CATEGORY = "brand"
BRANDS = 40
OUTPUTS = 3


class Case(NamedTuple):
    """A model to train."""

    name: str
    target: Callable[[np.ndarray], np.ndarray]
    params: dict[str, Any]
    rounds: int = 6
    categories: bool = False
    nulls: bool = True
    dump: bool = False  # LightGBM's JSON in place of its text


def rows_of(count: int, seed: int, nulls: bool) -> np.ndarray:
    """Rows with zeros, nulls (NaN), negative categories and ones that training has not seen."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([
        np.round(rng.lognormal(2, 1, count), 2),
        rng.integers(-3, 60, count),
        rng.integers(0, 2, count),
        rng.integers(-1, BRANDS + 4, count),
        np.round(rng.normal(0, 2, count), 3),
    ]).astype(float)
    rows[rng.random(count) < 0.15, 4] = 0.0
    rows[rng.random(count) < 0.10, 1] = 0.0
    if nulls:
        rows[rng.random(rows.shape) < 0.12] = np.nan
    return rows


def number(rows: np.ndarray) -> np.ndarray:
    price, age, fresh, brand, rating = np.nan_to_num(rows, nan=3.0).T
    return np.log1p(price) + 0.02 * age * fresh + np.where(brand % 3 == 1, 1.5, 0.0) + 0.3 * rating


def positive(rows: np.ndarray) -> np.ndarray:
    return np.round(np.exp(0.5 * number(rows)) / 3)


def yes_or_no(rows: np.ndarray) -> np.ndarray:
    return (number(rows) > 2.7).astype(float)


def grade(rows: np.ndarray) -> np.ndarray:
    return np.clip(np.digitize(number(rows), [2.0, 2.8, 3.6]), 0, 3)


def which(rows: np.ndarray) -> np.ndarray:
    return np.digitize(number(rows), [2.2, 3.2])


LIGHTGBM = [
    Case("lightgbm_regression", number, {"objective": "regression"}),
    Case("lightgbm_binary_zero_as_missing", yes_or_no, {"objective": "binary", "sigmoid": 1.7, "zero_as_missing": True}),
    Case("lightgbm_lambdarank_no_missing", grade, {"objective": "lambdarank", "use_missing": False}),
    Case("lightgbm_multiclass_categories", which, {"objective": "multiclass", "num_class": OUTPUTS}, 3, categories=True),
    Case("lightgbm_ova_categories", which, {"objective": "multiclassova", "num_class": OUTPUTS}, 2, categories=True),
    Case("lightgbm_poisson_dart", positive, {"objective": "poisson", "boosting": "dart", "drop_rate": 0.5}),
    Case("lightgbm_forest", yes_or_no, {"objective": "binary", "boosting": "rf", "bagging_freq": 1,
                                        "bagging_fraction": 0.6}, categories=True),
    Case("lightgbm_sqrt_without_nulls", lambda rows: 5 * number(rows) - 9, {"objective": "regression", "reg_sqrt": True},
         nulls=False),
    Case("lightgbm_cross_entropy_lambda", yes_or_no, {"objective": "cross_entropy_lambda"}, 3),
    Case("lightgbm_dump", which, {"objective": "multiclass", "num_class": OUTPUTS}, 2, categories=True, dump=True),
]
XGBOOST = [
    Case("xgboost_regression", number, {"objective": "reg:squarederror"}),
    Case("xgboost_binary_categories", yes_or_no, {"objective": "binary:logistic", "max_cat_to_onehot": 1}, categories=True),
    Case("xgboost_onehot", yes_or_no, {"objective": "binary:logitraw", "max_cat_to_onehot": 100}, 3, categories=True),
    Case("xgboost_ndcg", grade, {"objective": "rank:ndcg"}),
    Case("xgboost_softprob", which, {"objective": "multi:softprob", "num_class": OUTPUTS}, 3, categories=True),
    Case("xgboost_poisson_dart", positive, {"objective": "count:poisson", "booster": "dart", "rate_drop": 0.5}),
    Case("xgboost_forest", number, {"objective": "reg:squarederror", "num_parallel_tree": 3, "subsample": 0.7,
                                    "base_score": 0.25}, 2),
    Case("xgboost_tweedie", positive, {"objective": "reg:tweedie"}, 3),
]


def train_lightgbm(case: Case, leaves: int = 8) -> lgb.Booster:
    rows = rows_of(1500, 1, case.nulls)
    own = {"num_leaves": leaves, "min_data_in_leaf": 5, "min_data_per_group": 5, "cat_smooth": 1, "verbose": -1,
           "num_threads": 1, "seed": 3}
    data = lgb.Dataset(rows, case.target(rows), feature_name=list(KEYS),
                       group=[30] * 50 if "rank" in case.name else None,
                       categorical_feature=[CATEGORY] if case.categories else [])
    return lgb.train(own | case.params, data, case.rounds)


def matrix(case: Case, rows: np.ndarray, target: np.ndarray | None = None) -> xgb.DMatrix:
    rows = rows.copy()
    brand = list(KEYS).index(CATEGORY)
    rows[rows[:, brand] < 0, brand] = np.nan if case.categories else -1  # XGBoost refuses negative categories
    types = ["c" if case.categories and name == CATEGORY else "q" for name in KEYS]
    return xgb.DMatrix(rows, target, feature_names=list(KEYS), feature_types=types, enable_categorical=True)


def train_xgboost(case: Case) -> xgb.Booster:
    rows = rows_of(1500, 1, case.nulls)
    data = matrix(case, rows, case.target(rows))
    if "ndcg" in case.name:
        data.set_group([30] * 50)
    return xgb.train({"max_depth": 3, "nthread": 1, "seed": 3} | case.params, data, case.rounds)


def scores_of(case: Case, model: Any, rows: np.ndarray, raw: bool = False) -> list[list[float]]:
    """The trainer's scores, or what they are made of, a list for each output."""
    if isinstance(model, xgb.Booster):
        found = model.predict(matrix(case, rows), output_margin=raw)
    else:
        found = model.predict(rows, num_threads=1, raw_score=raw)
    return np.asarray(found, dtype=float).reshape(len(rows), -1).T.tolist()


def save(case: Case, model: Any, folder: Path, name: str) -> None:
    if isinstance(model, xgb.Booster):
        model.save_model(str(folder / f"{name}.json"))
    elif case.dump:
        (folder / f"{name}.json").write_text(json.dumps(model.dump_model()), encoding="utf-8")
    else:
        model.save_model(str(folder / f"{name}.txt"))  # old versions take no paths


def trained() -> list[tuple[Case, Any]]:
    return [(case, train_lightgbm(case)) for case in LIGHTGBM] + [(case, train_xgboost(case)) for case in XGBOOST]


def row_value(value: float, kind: str) -> Any:
    if np.isnan(value):
        return None
    return {"float": float, "int": int, "bool": bool}[kind](value)


def columns_of(rows: np.ndarray) -> dict[str, list[Any]]:
    return {name: [row_value(each, kind) for each in rows[:, at]] for at, (name, kind) in enumerate(KEYS.items())}


def in_range(case: Case, rows: np.ndarray) -> np.ndarray:
    """Rows that the trainer takes: XGBoost refuses negative categories."""
    brand = list(KEYS).index(CATEGORY)
    if case.categories and case.name.startswith("xgboost"):
        rows[rows[:, brand] < 0, brand] = np.nan
    return rows


def write() -> None:
    for old in [*HERE.glob("*.json"), *HERE.glob("*.txt")]:
        old.unlink()
    for case, model in trained():
        save(case, model, HERE, case.name)
        rows = in_range(case, rows_of(40, 2, nulls=True))
        text = {"columns": columns_of(rows), "sums": scores_of(case, model, rows, raw=True),
                "scores": scores_of(case, model, rows)}
        lines = [f'"{name}": {json.dumps(values)}' for name, values in text.items()]
        (HERE / f"{case.name}.rows.json").write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


def key_text(number: int, name: str, kind: str) -> str:
    is_id = "false" if name == "id" else "true"
    return (f'[[key]]\nkey_id = {number}\nname = "{name}"\ntype = "{kind}"\nnullable = {is_id}\n'
            f"allow_read = true\nallow_write = {is_id}\n")


def make_project(folder: Path, outputs: int) -> None:
    """One plan, which gives the model's scores of the candidates of a request."""
    for part in ("registry", "plans", "models"):
        (folder / part).mkdir()
    names = [("id", "int"), *KEYS.items(), *((f"score_{at}", "float") for at in range(outputs))]
    keys = "".join(key_text(at + 1, name, kind) for at, (name, kind) in enumerate(names))
    (folder / "registry" / "keys.toml").write_text(keys, encoding="utf-8")
    for name in ("params.toml", "endpoints.dev.toml"):
        (folder / "registry" / name).write_text("# none\n", encoding="utf-8")
    (folder / "rankd.toml").write_text('name = "trained"\nenvironment = "dev"\nregistry = "registry"\nplans = "plans"\n'
                                       'models = "models"\n', encoding="utf-8")
    first_score = len(KEYS) + 2
    call = {"models": ["it"], "out_keys": list(range(first_score, first_score + outputs))}
    plan = {"schema_version": 1, "plan_name": "scores", "outputs": ["scored"], "nodes": [
        {"node_id": "rows", "op": "core::candidates", "inputs": [], "params": {"keys": list(range(2, first_score))}},
        {"node_id": "scored", "op": "core::call_models", "inputs": ["rows"], "params": call}]}
    (folder / "plans" / "scores.json").write_text(json.dumps(plan), encoding="utf-8")


def rankd_scores(rankd: str, case: Case, model: Any, rows: np.ndarray, outputs: int) -> list[list[float]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_project(folder, outputs)
        save(case, model, folder / "models", "it")
        request = {"candidates": {"id": list(range(len(rows)))} | columns_of(rows)}
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        answer = subprocess.run([rankd, "rank", "--project", scratch, "--plan", "scores",
                                 "--request", str(folder / "request.json")], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise SystemExit(f"{case.name}: {answer.stdout}{answer.stderr}")
    fields = [each["fields"] for each in json.loads(answer.stdout)["candidates"]]
    return [[each[f"score_{at}"] for each in fields] for at in range(outputs)]


def ulps(a: float, b: float) -> int:
    """How many doubles, or floats where both are floats, lie between two numbers."""
    def place(x: float, kind: str) -> int:
        bits = struct.unpack("<q" if kind == "d" else "<i", struct.pack(f"<{kind}", x))[0]
        return bits if bits >= 0 else -(bits & (2 ** (63 if kind == "d" else 31) - 1))
    kind = "f" if np.float32(a) == a and np.float32(b) == b else "d"
    return abs(place(a, kind) - place(b, kind))


def check(rankd: str, count: int) -> int:
    worst = 0
    for case, model in trained():
        rows = in_range(case, rows_of(count, 7, nulls=True))
        expected = scores_of(case, model, rows)
        found = rankd_scores(rankd, case, model, rows, len(expected))
        apart = [ulps(a, b) for left, right in zip(expected, found) for a, b in zip(left, right)]
        equal = apart.count(0)
        worst = max(worst, *apart)
        print(f"{case.name:34} {count} rows, {len(expected)} outputs: {equal} of {len(apart)} equal, "
              f"{max(apart)} ulps apart at most")
    return 0 if worst == 0 else 1


def time_it(rankd: str, categories: bool) -> None:
    """LightGBM's own predictor on one thread against the node of a plan, on one worker; by turns, on a busy machine."""
    case = Case("lightgbm_large", number, {"objective": "regression"}, 100, categories)
    model = train_lightgbm(case, leaves=31)
    rows = rows_of(10_000, 9, nulls=True)
    theirs, ours = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_project(folder, 1)
        save(case, model, folder / "models", "it")
        request = {"candidates": {"id": list(range(len(rows)))} | columns_of(rows)}
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        command = [rankd, "rank", "--project", scratch, "--plan", "scores", "--workers", "1", "--explain", "--json",
                   "--request", str(folder / "request.json")]
        for _ in range(21):
            begin = time.perf_counter()
            model.predict(rows, num_threads=1)
            theirs.append(time.perf_counter() - begin)
            answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            node = next(each for each in answer["explain"]["nodes"] if each["node"] == "scored")
            ours.append(node["run_us"] / 1e6)
    for name, times in (("LightGBM", theirs), ("rankd", ours)):
        print(f"{'categories' if categories else 'numbers':10} {name:9} {len(rows) / statistics.median(times):10,.0f} rows/s, at best {len(rows) / min(times):10,.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["write", "check", "time"])
    parser.add_argument("rankd", nargs="?", default="build/release/bin/rankd")
    parser.add_argument("--rows", type=int, default=10_000)
    options = parser.parse_args()
    if options.what == "write":
        write()
    elif options.what == "time":
        time_it(options.rankd, categories=False)
        time_it(options.rankd, categories=True)
    else:
        return check(options.rankd, options.rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
