#!/usr/bin/env python3
"""Trains small models with old and new versions of XGBoost and LightGBM, whose files differ in form.

    for v in 1.5.2 1.7.6 2.0.3 2.1.4 3.0.5 3.1.3 3.2.0 3.3.0 3.4.1; do    and the same for lightgbm 2.0.5 2.0.12 2.1.2
        pip install --no-deps --target /tmp/$v xgboost==$v          numpy<2, scipy and pandas are in the environment
        PYTHONPATH=/tmp/$v python tests/rankd/op/trained_versions/train.py xgboost
    done
    PYTHONPATH=/tmp/2.1.2 python tests/rankd/op/trained_versions/train.py lightgbm 2.1.2 xentropy    and xentlambda, forest

Each run writes the files of its version: the model as the trainer saved it, and NAME.rows.json with rows and the
trainer's scores of them. Some files are changed after they were saved, and then loaded and scored by the trainer again: a base
score at its bounds, and thresholds that a sentinel value makes infinite. `train.py score NAME` scores a file that is
there already: sets_of_categories and sentinel are two."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
KEYS = {"price": "float", "age": "int", "fresh": "bool", "brand": "int", "rating": "float"}
BRAND = list(KEYS).index("brand")


def rows_of(count: int, seed: int) -> np.ndarray:
    """Rows with nulls (NaN), zeros, and numbers near the ends of the floats."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([
        np.round(rng.lognormal(2, 1, count), 2), rng.integers(-3, 60, count), rng.integers(0, 2, count),
        rng.integers(0, 6, count), np.round(rng.normal(0, 2, count), 3)]).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[:3, 0] = [3.4e38, 1e-45, -3.4e38]
    return rows


def target(rows: np.ndarray) -> np.ndarray:
    price, age, _, brand, rating = np.nan_to_num(rows, nan=3.0).T
    return 0.02 * age + np.where(brand % 3 == 1, 1.5, 0.0) + 0.3 * rating + np.where(price > 8, 1.0, 0.0)


def row_value(value: float, kind: str) -> Any:
    return None if np.isnan(value) else {"float": float, "int": int, "bool": bool}[kind](value)


def write(name: str, ending: str, model: str, rows: np.ndarray, sums: np.ndarray, scores: np.ndarray) -> None:
    (HERE / (name + ending)).write_text(model, encoding="utf-8")
    columns = {key: [row_value(each, kind) for each in rows[:, at]] for at, (key, kind) in enumerate(KEYS.items())}
    lists = [np.asarray(each, dtype=float).reshape(len(rows), -1).T.tolist() for each in (sums, scores)]
    text = {"columns": columns, "sums": lists[0], "scores": lists[1]}
    lines = [f'"{key}": {json.dumps(values)}' for key, values in text.items()]
    (HERE / f"{name}.rows.json").write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


def of_xgboost() -> None:
    import xgboost as xgb
    version = xgb.__version__
    name = "xgboost_" + version.replace(".", "_")

    def matrix(rows: np.ndarray, label: np.ndarray | None = None) -> Any:
        types = ["c" if key == "brand" else "q" for key in KEYS]
        return xgb.DMatrix(rows, label, feature_names=list(KEYS), feature_types=types, enable_categorical=True)

    def save(case: str, text: str, rows: np.ndarray) -> None:
        (HERE / "scratch.json").write_text(text, encoding="utf-8")
        model = xgb.Booster()
        model.load_model(HERE / "scratch.json")
        (HERE / "scratch.json").unlink()
        write(f"{name}_{case}", ".json", text, rows, model.predict(matrix(rows), output_margin=True),
              model.predict(matrix(rows)))

    def saved(model: Any) -> str:
        model.save_model(HERE / "scratch.json")
        return (HERE / "scratch.json").read_text(encoding="utf-8")

    train_rows, rows = rows_of(400, 1), rows_of(24, 2)
    own: dict[str, Any] = {"max_depth": 3, "nthread": 1, "tree_method": "hist", "max_cat_to_onehot": 1}
    data = matrix(train_rows, target(train_rows))
    if version.startswith("1.5"):  # trains with categories on a GPU alone
        own = {"max_depth": 3, "nthread": 1, "tree_method": "exact"}
        data = xgb.DMatrix(train_rows, target(train_rows), feature_names=list(KEYS), feature_types=["q"] * len(KEYS))
    model = xgb.train(own, data, 2)
    text = saved(model)
    save("categories", text, rows)
    if version == "3.2.0":
        model.save_model(HERE / f"{name}_categories.ubj")
    if version in ("3.3.0", "3.4.1"):  # which write the weights of trees into the booster gbtree
        save("dart", saved(xgb.train(own | {"rate_drop": 0.5, "one_drop": 1, "seed": 3}, data, 4)), rows)
    if version in ("1.7.6", "2.0.3", "3.1.3", "3.2.0"):
        yes = (target(train_rows) > 1).astype(float)
        text = saved(xgb.train(own | {"objective": "binary:logistic", "max_depth": 1}, matrix(train_rows, yes), 1))
        for case, base in (("low_base", "1E-8"), ("high_base", "9.999999E-1")):
            document = json.loads(text)
            params = document["learner"]["learner_model_param"]
            params["base_score"] = f"[{base}]" if params["base_score"].startswith("[") else base
            save(case, json.dumps(document), rows)
    if version in ("2.0.3", "3.2.0"):
        document = json.loads(text)
        for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
            tree["split_type"] = [0] * len(tree["split_type"])
        first = document["learner"]["gradient_booster"]["model"]["trees"][0]
        for case, threshold in (("infinity", float("inf")), ("minus_infinity", float("-inf"))):
            first["split_conditions"][0] = threshold
            first["split_indices"][0] = 0
            save(case, json.dumps(document), rows)
    if version in ("3.1.3", "3.2.0"):
        import pandas as pd
        frame = pd.DataFrame(np.nan_to_num(train_rows, nan=1.0), columns=list(KEYS))
        frame["brand"] = pd.Categorical(frame["brand"].astype(int), categories=range(6))
        model = xgb.train(own, xgb.DMatrix(frame, target(train_rows), enable_categorical=True), 2)
        asked = pd.DataFrame(rows, columns=list(KEYS))
        asked["brand"] = pd.Categorical.from_codes(np.nan_to_num(rows[:, BRAND], nan=-1).astype(int),
                                                   categories=range(6))
        asked = xgb.DMatrix(asked, enable_categorical=True)
        write(f"{name}_pandas", ".json", saved(model), rows, model.predict(asked, output_margin=True),
              model.predict(asked))
    (HERE / "scratch.json").unlink(missing_ok=True)


def score_again(name: str) -> None:
    """Scores a file that was written by hand or elsewhere, with some of the keys as features."""
    import xgboost as xgb
    model = xgb.Booster()
    model.load_model(HERE / (name + ".json"))
    text = (HERE / (name + ".json")).read_text(encoding="utf-8")
    rows = rows_of(24, 2)
    at = [list(KEYS).index(each) for each in model.feature_names]
    types = model.feature_types or ["q"] * len(at)
    asked = xgb.DMatrix(rows[:, at], feature_names=model.feature_names, feature_types=types, enable_categorical=True)
    write(name, ".json", text, rows, model.predict(asked, output_margin=True), model.predict(asked))


def of_lightgbm(version: str, objective: str = "regression") -> None:
    import lightgbm as lgb
    train_rows, rows = rows_of(400, 1), rows_of(24, 2)
    rows[:3, 0] = [3.4e38, 0.0, -1.0]
    wanted = target(train_rows)
    if objective != "regression":
        wanted = (wanted > 1).astype(float)
    data = lgb.Dataset(train_rows, wanted, feature_name=list(KEYS), categorical_feature=["brand"])
    own = {"objective": objective, "num_leaves": 5, "min_data_in_leaf": 5, "num_threads": 1, "verbose": -1,
           "learning_rate": 0.4}
    if objective == "forest":
        own |= {"objective": "binary", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6,
                "feature_fraction": 0.9}
    model = lgb.train(own, data, 3)
    model.save_model(str(HERE / "scratch.txt"))
    text = (HERE / "scratch.txt").read_text(encoding="utf-8")
    (HERE / "scratch.txt").unlink()
    name = "lightgbm_" + version.replace(".", "_") + ("" if objective == "regression" else "_" + objective)
    write(name, ".txt", text, rows, model.predict(rows, raw_score=True),
          model.predict(rows))


if __name__ == "__main__":
    if sys.argv[1] == "xgboost":
        of_xgboost()
    elif sys.argv[1] == "score":
        score_again(sys.argv[2])
    else:
        of_lightgbm(*sys.argv[2:])
