#!/usr/bin/env python3
"""Trains models with scikit-learn and CatBoost, converts them to ONNX, and compares the scores of rankd with ONNX Runtime's.

    python3 -m venv V
    V/bin/pip install scikit-learn==1.6.1 skl2onnx==1.20.0 onnx==1.17.0 protobuf==5.29.5 onnxruntime lightgbm xgboost-cpu catboost
    V/bin/python tests/rankd/op/onnx/train.py write [NAME…]   the files of this folder, which the tests read
    V/bin/python tests/rankd/op/onnx/train.py check RANKD     10 000 new rows of each model
    V/bin/python tests/rankd/op/onnx/train.py time RANKD      rows per second of 100 trees with 31 leaves

NAME.onnx is the model as skl2onnx or CatBoost wrote it, NAME.rows.json has rows and the scores of ONNX Runtime on one thread.
Newer versions of onnx or protobuf refuse what skl2onnx 1.20.0 makes of HistGradientBoosting."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Callable, NamedTuple

import catboost
import numpy as np
import onnx
import onnxruntime
import skl2onnx
from skl2onnx.common.data_types import BooleanTensorType, DoubleTensorType, FloatTensorType, Int64TensorType
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (BaggingClassifier, ExtraTreesClassifier, GradientBoostingClassifier,
                              GradientBoostingRegressor, HistGradientBoostingClassifier, HistGradientBoostingRegressor,
                              RandomForestClassifier, RandomForestRegressor, StackingRegressor, VotingRegressor)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (KBinsDiscretizer, MinMaxScaler, Normalizer, OneHotEncoder, OrdinalEncoder,
                                   PolynomialFeatures, PowerTransformer, StandardScaler)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "trained"))
from train import KEYS, columns_of, make_project, number, positive, rows_of, ulps, which, yes_or_no  # noqa: E402

HERE = Path(__file__).resolve().parent
TYPES = {"float": FloatTensorType, "int": Int64TensorType, "bool": BooleanTensorType}
ARRAYS = {"float": np.float32, "int": np.int64, "bool": np.bool_}
warnings.filterwarnings("ignore")


class Case(NamedTuple):
    """A model to train, and how its inputs are declared: one table of floats, one of doubles, or a column each."""

    name: str
    made: Any
    target: Callable[[np.ndarray], np.ndarray]
    inputs: str = "floats"
    nulls: bool = False
    exact: bool = True  # else products are added up in another order, or exp and tanh are other approximations
    own: bool = False  # the scores are CatBoost's own, because ONNX Runtime reads the file in another way
    options: dict[str, Any] = {}  # of skl2onnx


def two(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([number(rows), positive(rows)])


def encoded() -> Any:
    """Brands as a column each, prices and ratings scaled, the rest as it is."""
    parts = [("scaled", StandardScaler(), [0, 4]), ("brand", OneHotEncoder(handle_unknown="ignore"), [3]),
             ("rest", "passthrough", [1, 2])]
    return ColumnTransformer(parts)


def encoders(encoder: Any) -> Any:
    """Brands and freshness by one encoder, the rest as it is."""
    return ColumnTransformer([("both", encoder, [3, 2]), ("rest", "passthrough", [0, 1, 4])])


def joined() -> Any:
    return ColumnTransformer([("all", "passthrough", list(range(len(KEYS))))])


SMALL = {"max_depth": 3, "random_state": 3}
FOREST = {"n_estimators": 4, "max_depth": 4, "random_state": 3}
CATBOOST = {"depth": 3, "random_seed": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
CASES = [
    Case("tree", DecisionTreeRegressor(**SMALL), number),
    Case("tree_binary", DecisionTreeClassifier(**SMALL), yes_or_no),
    Case("forest", RandomForestRegressor(**FOREST), number),
    Case("forest_doubles", RandomForestRegressor(**FOREST), number, "doubles"),
    Case("forest_columns", make_pipeline(joined(), RandomForestRegressor(**FOREST)), number, "columns"),
    Case("forest_two_targets", RandomForestRegressor(**FOREST), two),
    Case("forest_classes", RandomForestClassifier(**FOREST), which),
    Case("extra_trees_binary", ExtraTreesClassifier(**FOREST), yes_or_no),
    Case("boosting", GradientBoostingRegressor(n_estimators=6, **SMALL), number),
    Case("boosting_binary", GradientBoostingClassifier(n_estimators=6, **SMALL), yes_or_no),
    Case("boosting_classes", GradientBoostingClassifier(n_estimators=3, **SMALL), which),
    Case("hist", HistGradientBoostingRegressor(max_iter=6, **SMALL), number, nulls=True),
    Case("hist_binary", HistGradientBoostingClassifier(max_iter=6, **SMALL), yes_or_no, nulls=True),
    Case("hist_classes", HistGradientBoostingClassifier(max_iter=3, **SMALL), which, nulls=True),
    Case("filled_forest", make_pipeline(SimpleImputer(strategy="median"), StandardScaler(),
                                        RandomForestRegressor(**FOREST)), number, nulls=True),
    Case("linear", LinearRegression(), number, exact=False),
    Case("linear_doubles", make_pipeline(StandardScaler(), LinearRegression()), number, "doubles", exact=False),
    Case("linear_two_targets", LinearRegression(), two, exact=False),
    Case("ridge_filled", make_pipeline(SimpleImputer(), MinMaxScaler(), Normalizer(), Ridge()), number, nulls=True,
         exact=False),
    Case("ridge_encoded", make_pipeline(encoded(), Ridge()), number, exact=False),
    Case("ridge_two_encoded", make_pipeline(encoders(OneHotEncoder(handle_unknown="ignore")), Ridge()), number,
         exact=False),
    Case("ridge_dropped", make_pipeline(encoders(OneHotEncoder(drop="first", handle_unknown="ignore")), Ridge()),
         number, exact=False),
    Case("ridge_ordinal", make_pipeline(encoders(OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1)), Ridge()), number, exact=False),
    Case("ridge_bins", make_pipeline(KBinsDiscretizer(3, encode="ordinal"), Ridge()), number, exact=False),
    Case("ridge_power", make_pipeline(PowerTransformer(), Ridge()), number, exact=False),
    Case("ridge_polynomial", make_pipeline(MinMaxScaler(), PolynomialFeatures(3), Ridge()), number, exact=False),
    Case("logistic", make_pipeline(joined(), StandardScaler(), LogisticRegression()), yes_or_no, "columns",
         exact=False),
    Case("logistic_classes", make_pipeline(StandardScaler(), LogisticRegression()), which, exact=False),
    Case("sgd", make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=3)), yes_or_no, exact=False),
    Case("sgd_classes", make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=3)), which,
         exact=False),
    Case("sgd_huber", make_pipeline(StandardScaler(), SGDClassifier(loss="modified_huber", random_state=3)), yes_or_no,
         exact=False),
    Case("poisson", make_pipeline(StandardScaler(), PoissonRegressor()), positive, exact=False),
    Case("network", make_pipeline(StandardScaler(), MLPRegressor((5,), random_state=3)), number, exact=False),
    Case("network_classes", make_pipeline(StandardScaler(), MLPClassifier((5,), activation="tanh", random_state=3)),
         which, exact=False),
    Case("calibrated", CalibratedClassifierCV(LogisticRegression(), cv=2), yes_or_no, exact=False),
    Case("voting", VotingRegressor([("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=3))]), number, exact=False),
    Case("catboost", catboost.CatBoostRegressor(iterations=6, **CATBOOST), number, nulls=True),
    Case("catboost_binary", catboost.CatBoostClassifier(iterations=6, **CATBOOST), yes_or_no, nulls=True),
    Case("catboost_classes", catboost.CatBoostClassifier(iterations=3, loss_function="MultiClass", **CATBOOST), which,
         nulls=True),
    Case("stacking", StackingRegressor([("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=3))]), number,
         exact=False),
    Case("catboost_average_binary", catboost.CatBoostClassifier(iterations=6, boost_from_average=True, **CATBOOST),
         yes_or_no, nulls=True, exact=False, own=True),
    Case("catboost_targets", catboost.CatBoostRegressor(iterations=3, loss_function="MultiRMSE", **CATBOOST), two,
         exact=False, own=True),
    Case("catboost_variance", catboost.CatBoostRegressor(iterations=3, loss_function="RMSEWithUncertainty", **CATBOOST),
         number, nulls=True, exact=False, own=True),
    Case("boosting_raw", GradientBoostingClassifier(n_estimators=6, **SMALL), yes_or_no,
         options={"raw_scores": True, "zipmap": False}),
    Case("boosting_columns_classes", GradientBoostingClassifier(n_estimators=3, **SMALL), which,
         options={"zipmap": "columns"}),
    Case("one_vs_rest", OneVsRestClassifier(LogisticRegression()), which, exact=False),
    Case("bagging", BaggingClassifier(DecisionTreeClassifier(**SMALL), n_estimators=3, random_state=3), which),
    Case("network_two_targets", make_pipeline(StandardScaler(), MLPRegressor((5,), random_state=3)), two, exact=False),
    Case("whitened", make_pipeline(StandardScaler(), PCA(3, whiten=True), Ridge()), number, exact=False),
    Case("bayes", make_pipeline(MinMaxScaler(), MultinomialNB()), which, exact=False),
]


def name_columns(made: onnx.ModelProto) -> None:
    """Adds the names of keys to the metadata. CatBoost's own entries stay: they state its loss function."""
    made.metadata_props.add(key="feature_names", value=json.dumps(list(KEYS)))


def converted(case: Case, model: Any) -> onnx.ModelProto:
    if isinstance(model, catboost.CatBoost):
        with tempfile.TemporaryDirectory() as scratch:
            model.save_model(f"{scratch}/it.onnx", format="onnx")
            made = onnx.load(f"{scratch}/it.onnx")
        made.graph.input[0].name, made.graph.node[0].input[0] = "X", "X"
        name_columns(made)
        return made
    if case.inputs == "columns":
        types = [(name, TYPES[kind]([None, 1])) for name, kind in KEYS.items()]
        return skl2onnx.to_onnx(model, initial_types=types)
    table = DoubleTensorType if case.inputs == "doubles" else FloatTensorType
    made = skl2onnx.to_onnx(model, initial_types=[("X", table([None, len(KEYS)]))],
                            options={id(model): case.options} if case.options else None)
    if case.inputs == "doubles" and made.graph.node[-1].op_type == "TreeEnsembleRegressor":
        made.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT  # skl2onnx says double, which it is not
    name_columns(made)
    return made


def trained(case: Case) -> Any:
    rows = rows_of(1500, 1, case.nulls).astype(np.float32)
    target = case.target(rows)
    if isinstance(case.made, catboost.CatBoostClassifier):
        target = target.astype(int)  # it writes no other labels into ONNX
    return case.made.fit(rows.astype(np.float64) if case.inputs == "doubles" else rows, target)


def inputs_of(case: Case, rows: np.ndarray) -> dict[str, np.ndarray]:
    if case.inputs == "columns":
        return {name: rows[:, [at]].astype(ARRAYS[kind]) for at, (name, kind) in enumerate(KEYS.items())}
    return {"X": rows.astype(np.float64 if case.inputs == "doubles" else np.float32)}


def session_of(made: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])


def scores_of(case: Case, made: onnx.ModelProto, rows: np.ndarray) -> list[list[float]]:
    """ONNX Runtime's scores, a list for each output: of two classes the probability of the second."""
    found = session_of(made).run(None, inputs_of(case, rows))
    if len(found) > 2:  # ZipMap makes an output for each class, after the labels
        return [np.asarray(each, dtype=float).tolist() for each in found[1:]]
    if len(found) == 1:
        return np.asarray(found[0], dtype=float).reshape(len(rows), -1).T.tolist()
    scores = [list(each.values()) for each in found[1]] if isinstance(found[1], list) else found[1]
    table = np.asarray(scores, dtype=float).T.tolist()
    return table[1:] if len(table) == 2 else table


def own_scores(case: Case, model: Any, rows: np.ndarray) -> list[list[float]]:
    """The scores of scikit-learn."""
    rows = rows.astype(np.float64 if case.inputs == "doubles" else np.float32)
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(rows), dtype=float).reshape(len(rows), -1).T.tolist()
    table = np.asarray(model.predict_proba(rows), dtype=float).T.tolist()
    return table[1:] if len(table) == 2 else table


def test_rows(case: Case, count: int, seed: int) -> np.ndarray:
    """Rows with nulls where the model was trained with some. Integers have no NaN."""
    return rows_of(count, seed, case.nulls and case.inputs != "columns")


def write(names: list[str]) -> None:
    if not names:
        for old in [*HERE.glob("*.json"), *HERE.glob("*.onnx")]:
            old.unlink()
    for case in CASES:
        if names and case.name not in names:
            continue
        model = trained(case)
        made = converted(case, model)
        (HERE / f"{case.name}.onnx").write_bytes(made.SerializeToString())
        rows = test_rows(case, 40, 2)
        scores = own_scores(case, model, rows) if case.own else scores_of(case, made, rows)
        text = {"exact": case.exact, "columns": columns_of(rows), "scores": scores}
        lines = [f'"{name}": {json.dumps(values)}' for name, values in text.items()]
        (HERE / f"{case.name}.rows.json").write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


def request_in(folder: Path, made: onnx.ModelProto, rows: np.ndarray, outputs: int) -> None:
    make_project(folder, outputs)
    (folder / "models" / "it.onnx").write_bytes(made.SerializeToString())
    request = {"candidates": {"id": list(range(len(rows)))} | columns_of(rows)}
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")


def rankd_scores(rankd: str, case: Case, made: onnx.ModelProto, rows: np.ndarray, outputs: int) -> list[list[float]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        request_in(folder, made, rows, outputs)
        answer = subprocess.run([rankd, "rank", "--project", scratch, "--plan", "scores",
                                 "--request", str(folder / "request.json")], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise SystemExit(f"{case.name}: {answer.stdout}{answer.stderr}")
    fields = [each["fields"] for each in json.loads(answer.stdout)["candidates"]]
    return [[each.get(f"score_{at}") for each in fields] for at in range(outputs)]


def apart(a: float, b: float) -> float:
    """The difference, as a share of numbers that are greater than one."""
    return abs(a - b) / max(1.0, abs(a))


def check(rankd: str, count: int) -> int:
    failed = False
    for case in CASES:
        model = trained(case)
        made = converted(case, model)
        rows = test_rows(case, count, 7)
        theirs = own_scores(case, model, rows) if case.own else scores_of(case, made, rows)
        ours = rankd_scores(rankd, case, made, rows, len(theirs))
        pairs = [(a, b) for left, right in zip(theirs, ours) for a, b in zip(left, right)]
        equal = sum(a == b for a, b in pairs)
        furthest = max(apart(a, b) for a, b in pairs)
        steps = max(ulps(a, b) for a, b in pairs)
        own = [apart(a, b) for left, right in zip(own_scores(case, model, rows), ours) for a, b in zip(left, right)]
        failed |= (equal < len(pairs)) if case.exact else furthest > 2e-6
        print(f"{case.name:20} {equal:6} of {len(pairs):6} equal, {furthest:.1e} ({steps} floats) apart; "
              f"scikit-learn: {sum(each > 1e-5 for each in own):5} by more than 1e-5, {max(own):.1e} at most", flush=True)
    return 1 if failed else 0


def time_it(rankd: str, case: Case) -> None:
    """ONNX Runtime's session on one thread against the node of a plan, on one worker; by turns, on a busy machine."""
    model = trained(case)
    made = converted(case, model)
    session = session_of(made)
    rows = test_rows(case, 10_000, 9)
    given = inputs_of(case, rows)
    theirs, ours = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        request_in(folder, made, rows, 1)
        command = [rankd, "rank", "--project", scratch, "--plan", "scores", "--workers", "1", "--explain", "--json",
                   "--request", str(folder / "request.json")]
        for _ in range(21):
            begin = time.perf_counter()
            session.run(None, given)
            theirs.append(time.perf_counter() - begin)
            answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            node = next(each for each in answer["explain"]["nodes"] if each["node"] == "scored")
            ours.append(node["run_us"] / 1e6)
    for name, times in (("ONNX Runtime", theirs), ("rankd", ours)):
        print(f"{case.name:16} {name:12} {len(rows) / statistics.median(times):10,.0f} rows/s, "
              f"at best {len(rows) / min(times):10,.0f}")


LARGE = [
    Case("boosting_large", HistGradientBoostingRegressor(max_iter=100, max_leaf_nodes=31, random_state=3), number,
         nulls=True),
    Case("logistic_large", make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()), yes_or_no, nulls=True),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["write", "check", "time"])
    parser.add_argument("rankd", nargs="*", default=[])
    parser.add_argument("--rows", type=int, default=10_000)
    options = parser.parse_args()
    rankd = options.rankd[0] if options.rankd else "build/release/bin/rankd"
    if options.what == "write":
        write(options.rankd)
    elif options.what == "time":
        for case in LARGE:
            time_it(rankd, case)
    else:
        return check(rankd, options.rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
