#!/usr/bin/env python3
"""Tries pipelines of scikit-learn: each encoder with each scaler before each learner, as one table and as columns.

    the packages of train.py; then
    python tests/rankd/op/onnx/matrix.py [RANKD]

Prints a table with a row for each learner and a column for each encoder: of how many pipelines rankd gives the scores
of ONNX Runtime, of how many that skl2onnx converts and ONNX Runtime runs. What rankd refuses follows below."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, Callable

import numpy as np

sys.path.pop(0)  # both folders have a train.py; the one beside this file takes `train` from ../trained
parts = SourceFileLoader("onnx_train", str(Path(__file__).resolve().parent / "train.py")).load_module()
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.ensemble import (ExtraTreesRegressor, GradientBoostingClassifier, GradientBoostingRegressor,  # noqa: E402
                              HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor)
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge  # noqa: E402
from sklearn.neural_network import MLPRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import (MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder, OrdinalEncoder,  # noqa: E402
                                   PolynomialFeatures, RobustScaler, StandardScaler)
from sklearn.svm import LinearSVR  # noqa: E402
from sklearn.tree import DecisionTreeRegressor  # noqa: E402

Make = Callable[[], Any]
ENCODERS: dict[str, Make] = {
    "none": lambda: "passthrough",
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "drop first": lambda: OneHotEncoder(drop="first", handle_unknown="ignore"),
    "if_binary": lambda: OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
    "ordinal": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
}
SCALERS: dict[str, Make] = {
    "none": lambda: "passthrough", "standard": StandardScaler, "min-max": MinMaxScaler, "max-abs": MaxAbsScaler,
    "robust": RobustScaler, "normalizer": Normalizer, "filled": lambda: make_pipeline(SimpleImputer(), StandardScaler()),
    "polynomial": lambda: PolynomialFeatures(2),
}
SMALL = {"max_depth": 3, "random_state": 3}
LEARNERS: dict[str, tuple[Make, Any]] = {
    "linear": (LinearRegression, parts.number), "ridge": (Ridge, parts.number), "lasso": (Lasso, parts.number),
    "svr": (lambda: LinearSVR(random_state=3, max_iter=10_000), parts.number),
    "logistic": (lambda: LogisticRegression(max_iter=2000), parts.yes_or_no),
    "classes": (lambda: LogisticRegression(max_iter=2000), parts.which),
    "tree": (lambda: DecisionTreeRegressor(**SMALL), parts.number),
    "forest": (lambda: RandomForestRegressor(n_estimators=3, **SMALL), parts.number),
    "forest of classes": (lambda: RandomForestClassifier(n_estimators=3, **SMALL), parts.which),
    "extra trees": (lambda: ExtraTreesRegressor(n_estimators=3, **SMALL), parts.number),
    "boosting": (lambda: GradientBoostingRegressor(n_estimators=4, **SMALL), parts.number),
    "boosting, binary": (lambda: GradientBoostingClassifier(n_estimators=4, **SMALL), parts.yes_or_no),
    "histograms": (lambda: HistGradientBoostingRegressor(max_iter=4, **SMALL), parts.number),
    "network": (lambda: MLPRegressor((4,), random_state=3, max_iter=300), parts.number),
}


def verdict(encoder: Make, scaler: Make, learner: Make, target: Any, inputs: str, rankd: str) -> str:
    """`equal`, `not converted`, or what is wrong."""
    table = ColumnTransformer([("encoded", encoder(), [3, 2]), ("scaled", scaler(), [0, 1, 4])])
    case = parts.Case("pipeline", make_pipeline(table, learner()), target, inputs)
    try:
        model = parts.trained(case)
        made = parts.converted(case, model)
        rows = parts.test_rows(case, 200, 5)
        expected = parts.scores_of(case, made, rows)
    except Exception:  # neither is rankd's business
        return "not converted"
    try:
        found = parts.rankd_scores(rankd, case, made, rows, len(expected))
    except SystemExit as why:
        return str(why).strip().splitlines()[-1][-160:]
    wrong = sum(abs(a - b) > 1e-5 * max(1.0, abs(a)) for left, right in zip(expected, found)
                for a, b in zip(left, right) if not np.isnan(a))
    return "equal" if wrong == 0 else f"{wrong} scores differ"


def main() -> int:
    rankd = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin/rankd"
    print("| learner | " + " | ".join(ENCODERS) + " |\n" + "|---" * (len(ENCODERS) + 1) + "|")
    problems: dict[str, list[str]] = {}
    for name, (learner, target) in LEARNERS.items():
        cells = []
        for encoder in ENCODERS:
            fine = tried = 0
            for scaler in SCALERS:
                for inputs in ("floats", "columns"):
                    said = verdict(ENCODERS[encoder], SCALERS[scaler], learner, target, inputs, rankd)
                    tried += said != "not converted"
                    fine += said == "equal"
                    if said not in ("equal", "not converted"):
                        problems.setdefault(said, []).append(f"{name}, {encoder}, {scaler}, {inputs}")
            cells.append(f"{fine} of {tried}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    for said, where in problems.items():
        print(f"\n{said}\n    {len(where)} pipelines, such as {where[0]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
