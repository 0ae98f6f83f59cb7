#!/usr/bin/env python3
"""Compares rankd with the ONNX files of scikit-learn and CatBoost, estimator by estimator.

    the packages of train.py, in any versions; then
    python tests/rankd/op/onnx/estimators.py scikit-learn [RANKD] [NAME…]
    python tests/rankd/op/onnx/estimators.py catboost [RANKD] [NAME…]

The rows have each threshold of the model and the numbers next to it, nulls, zeros of both signs, numbers that are too
small to be normal, and large ones: the largest floats for trees, and 1e6 for models that multiply, because sums of
larger floats overflow. Each line of the table is one model: its scores, those with the bits of ONNX Runtime, how far
the others are apart from them, and how many scores are more than 1e-5 apart from the prediction of the library itself.
A distance is a share of numbers that are greater than one. If rankd agrees with the library and not with ONNX Runtime,
the distances are those from the library. So are those of models that ONNX Runtime cannot run; they have a group of
their own. Their distances may be large, because the converter rounds thresholds of doubles to floats. A line may also
say that rankd refuses the model, and why, or that the converter does. The last lines have the sums of each group. Status 1: a score of rankd
is more than 1e-5 apart from both. RANKD may be `-`: then only the operators of the files are printed."""

from __future__ import annotations

import json
import re
import signal
import sys
import tempfile
from importlib import metadata
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.pop(0)  # three folders have a train.py, and two have a matrix.py
HERE = Path(__file__).resolve().parent
parts = SourceFileLoader("onnx_train", str(HERE / "train.py")).load_module()
hard = SourceFileLoader("hard_rows", str(HERE.parent / "trained_versions" / "matrix.py")).load_module()
cases = SourceFileLoader("estimator_cases", str(HERE / "estimator_cases.py")).load_module()
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import skl2onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402

ROWS = 1000
NEAR = 1e-5
UNRUN = "not run by ONNX Runtime"
SECONDS = 60  # skl2onnx converts an infinite threshold of a tree of doubles forever
MULTIPLY = {"Gemm", "MatMul", "LinearRegressor", "LinearClassifier", "Scaler", "Normalizer", "Mul", "Div", "Pow", "Sub"}


class Prepared(NamedTuple):
    """A converted model, rows, and the scores of ONNX Runtime and of the library itself."""

    made: onnx.ModelProto
    rows: np.ndarray
    expected: list[np.ndarray]
    own: list[np.ndarray]
    taken: np.ndarray  # the rows of these
    complaint: str  # of the library, if it takes no row
    group: str


# How rows are given to a model


COLUMNS = ("columns", "frame", "guessed")  # inputs with one column each
DOUBLES = ("doubles", "guessed")
TYPES = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.DOUBLE: np.float64, onnx.TensorProto.INT64: np.int64,
         onnx.TensorProto.BOOL: np.bool_}


def frame_of(case: Any, rows: np.ndarray) -> Any:
    """The rows as a frame of pandas; its real columns are doubles if skl2onnx guesses the types of the inputs."""
    import pandas as pd
    kinds = {name: np.float64 if kind == "float" and case.inputs in DOUBLES else parts.ARRAYS[kind]
             for name, kind in parts.KEYS.items()}
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


def data_of(case: Any, rows: np.ndarray) -> Any:
    """The rows as the library takes them."""
    if case.inputs in ("frame", "guessed"):
        return frame_of(case, rows)
    return rows.astype(np.float64 if case.inputs == "doubles" else np.float32)


def fed(case: Any, made: onnx.ModelProto, rows: np.ndarray) -> dict[str, np.ndarray]:
    """The rows as ONNX Runtime takes them."""
    names = list(parts.KEYS)
    return {each.name: (rows[:, [names.index(each.name)]] if case.inputs in COLUMNS else rows).astype(
        TYPES[each.type.tensor_type.elem_type]) for each in made.graph.input}


def train(case: Any) -> Any:
    rows = parts.rows_of(ROWS, 1, case.nulls)
    target = case.target(rows)
    if case.fit is not None:
        return case.fit(case.made(), data_of(case, rows), target)
    return case.made().fit(data_of(case, rows), target)


def is_catboost(model: Any) -> bool:
    return type(model).__module__.startswith("catboost")


def convert(case: Any, model: Any) -> onnx.ModelProto:
    if is_catboost(model):
        with tempfile.TemporaryDirectory() as scratch:
            model.save_model(f"{scratch}/it.onnx", format="onnx")
            made = onnx.load(f"{scratch}/it.onnx")
    else:
        more: dict[str, Any] = {"target_opset": case.opset} if case.opset else {}
        if case.options:
            of_a_step = isinstance(next(iter(case.options)), type)
            more["options"] = case.options if of_a_step else {id(model): case.options}
        if case.without:
            more["black_op"] = set(case.without)
        if case.inputs == "guessed":
            return skl2onnx.to_onnx(model, frame_of(case, parts.rows_of(1, 1, False)), **more)
        if case.inputs in COLUMNS:
            types = [(name, parts.TYPES[kind]([None, 1])) for name, kind in parts.KEYS.items()]
            return skl2onnx.to_onnx(model, initial_types=types, **more)
        table = parts.DoubleTensorType if case.inputs == "doubles" else parts.FloatTensorType
        made = skl2onnx.to_onnx(model, initial_types=[("X", table([None, len(parts.KEYS)]))], **more)
        last = made.graph.node[-1]
        if case.inputs == "doubles" and last.op_type == "TreeEnsembleRegressor":
            made.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT  # skl2onnx says double
    parts.name_columns(made)
    return made


# Scores


def columns_of(found: Any, count: int) -> list[np.ndarray]:
    """The columns of an output of ONNX Runtime."""
    if isinstance(found, list) and isinstance(found[0], dict):  # ZipMap makes a map for each row
        found = [list(each.values()) for each in found]
    elif isinstance(found, list):  # a sequence has a table for each label
        found = np.hstack(found)
    return list(np.asarray(found, dtype=float).reshape(count, -1).T)


def is_real(value: onnx.ValueInfoProto) -> bool:
    kind = value.type.tensor_type.elem_type
    return value.type.HasField("sequence_type") or kind in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)


def runtime_scores(case: Any, made: onnx.ModelProto, rows: np.ndarray) -> list[np.ndarray]:
    """ONNX Runtime's scores by the rule of rankd: all real outputs; for two classes, the second one."""
    outputs = list(made.graph.output)
    found = parts.session_of(made).run([each.name for each in outputs], fed(case, made, rows))
    out = [column for value, each in zip(outputs, found) if is_real(value) for column in columns_of(each, len(rows))]
    has_labels = not all(is_real(each) for each in outputs)
    return out[1:] if has_labels and len(out) == 2 else out


def own_scores(case: Any, model: Any, rows: np.ndarray) -> list[np.ndarray]:
    """The predictions of the library, in the same form."""
    data = data_of(case, rows)
    name = case.own or next((each for each in ("predict_proba", "decision_function") if hasattr(model, each)), "predict")
    found = getattr(model, name)(data)
    found = np.hstack(found) if isinstance(found, list) else found  # a table for each label
    out = list(np.asarray(found, dtype=float).reshape(len(rows), -1).T)
    return out[1:] if len(out) == 2 and name == "predict_proba" else out


def optimized(made: onnx.ModelProto) -> onnx.ModelProto:
    """The model as ONNX Runtime saves it once it has folded constants and removed nodes."""
    with tempfile.TemporaryDirectory() as scratch:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = f"{scratch}/it.onnx"
        onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath)


# Rows that are hard


def thresholds(made: onnx.ModelProto) -> dict[str, set[float]]:
    """The numbers that splits compare each key with; if one scaler comes before the trees, before it scales them."""
    out: dict[str, set[float]] = {name: set() for name in parts.KEYS}
    names = list(parts.KEYS)
    scalers = [each for each in made.graph.node if each.op_type == "Scaler"]
    offset, scale = np.zeros(len(names)), np.ones(len(names))
    if len(scalers) == 1:
        lists = {each.name: np.array(each.floats) for each in scalers[0].attribute}
        if len(lists["scale"]) == len(names):
            offset, scale = lists["offset"], lists["scale"]
    for node in made.graph.node:
        if not node.op_type.startswith("TreeEnsemble"):
            continue
        lists = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        values = lists.get("nodes_values")
        if values is None:
            values = numpy_helper.to_array(lists["nodes_values_as_tensor"])
        for mode, at, value in zip(lists["nodes_modes"], lists["nodes_featureids"], values):
            if mode != b"LEAF" and at < len(names):
                out[names[at]] |= {float(value), float(value / scale[at] + offset[at])}
    return {name: set(sorted(each)[:: max(1, len(each) // 300)]) for name, each in out.items()}


def hard_rows(case: Any, made: onnx.ModelProto) -> np.ndarray:
    rows = hard.hard_rows(thresholds(made), case.inputs not in DOUBLES, 11)[:ROWS]
    usual = parts.rows_of(ROWS, 11, False)
    if {each.op_type for each in made.graph.node} & MULTIPLY:
        rows = np.where(np.abs(rows) > 1e6, usual, rows)
    if case.inputs in COLUMNS:
        whole = [kind != "float" for kind in parts.KEYS.values()]  # integers and flags of numpy have no NaN
        rows = np.where(np.isnan(rows) & whole, usual, rows)
    return rows


# A line of the table


def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The distances of scores, as a share of numbers that are greater than one; 0 for two nulls or the same infinity."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        out = np.abs(a - b) / np.maximum(1.0, np.abs(a))
    return np.where(same, 0.0, np.where(np.isnan(out), np.inf, out))


def last_line(why: BaseException) -> str:
    lines = [each for each in str(why).strip().splitlines() if each.strip()] or [type(why).__name__]
    return re.sub(r"\s+", " ", lines[0])[:110].replace("|", "/")


def refusal(text: str) -> str:
    """The sentence of rankd's first diagnostic."""
    found = re.search(r'"code":"(\w+)".*?"message":"((?:[^"\\]|\\.)*)"', text, re.DOTALL)
    return f"{found[1]}: {found[2]}" if found else " ".join(text.split())[-200:]


class Totals:
    def __init__(self) -> None:
        self.groups: dict[str, dict[str, float]] = {}

    def add(self, group: str, **values: float) -> None:
        sums = self.groups.setdefault(group, {})
        for name, value in values.items():
            sums[name] = max(sums.get(name, 0), value) if name == "apart" else sums.get(name, 0) + value

    def lines(self) -> list[str]:
        out = ["| group | models | scores | with the same bits | apart at most | refused | not converted |",
               "|---|---|---|---|---|---|---|"]
        for group, sums in self.groups.items():
            value = {name: sums.get(name, 0) for name in ("models", "scores", "equal", "apart", "refused", "unmade")}
            out.append(f"| {group} | {value['models']} | {value['scores']} | {value['equal']} | {value['apart']:.1e} | "
                       f"{value['refused']} | {value['unmade']} |")
        return out


def give_up(*_: Any) -> None:
    raise TimeoutError(f"skl2onnx took more than {SECONDS} seconds")


def prepare(case: Any) -> Prepared:
    model = train(case)
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    try:
        made = convert(case, model)
    finally:
        signal.alarm(0)
    if case.optimized:
        made = optimized(made)
    rows = hard_rows(case, made)
    group = case.group
    try:
        expected = runtime_scores(case, made, rows)
    except Exception:  # it knows fewer types than the converter, and no model that has neither classes nor targets
        if not is_catboost(model):  # the file has the thresholds of scikit-learn as floats
            rows = parts.rows_of(ROWS, 11, case.nulls and case.inputs not in COLUMNS)
        expected, group = own_scores(case, model, rows), UNRUN
    complaint = ""
    known = ~np.isnan(rows).any(axis=1)
    for taken in (known | case.nulls, known):  # trees that were trained without nulls route them by chance
        try:
            return Prepared(made, rows, expected, own_scores(case, model, rows[taken]), taken, "", group)
        except Exception as why:  # many estimators refuse NaN
            complaint = last_line(why)
    return Prepared(made, rows, expected, [], taken, complaint, group)


def own_differences(of: Prepared, found: list[np.ndarray]) -> str:
    """How many scores are far from the library's own."""
    if of.complaint or len(of.own) != len(found):
        return of.complaint or f"{len(of.own)} columns"
    far = sum(int((apart(a, b[of.taken]) > NEAR).sum()) for a, b in zip(of.own, found))
    return f"{far} of {int(of.taken.sum()) * len(found)}"


def distances(of: Prepared, found: list[np.ndarray]) -> np.ndarray:
    """The distances from ONNX Runtime, or from the library if rankd agrees with the library instead."""
    from_runtime = np.concatenate([apart(a, b) for a, b in zip(of.expected, found)])
    if from_runtime.max() <= NEAR or of.complaint or len(of.own) != len(found):
        return from_runtime
    from_library = np.concatenate([apart(a, b[of.taken]) for a, b in zip(of.own, found)])
    return from_library if from_library.max() <= NEAR else from_runtime


def compare(case: Any, rankd: str, totals: Totals) -> str:
    start = f"| {case.group} | {case.name} |"
    try:
        of = prepare(case)
    except Exception as why:  # the library, the converter or ONNX Runtime
        totals.add(case.group, unmade=1)
        return f"{start} not converted: {type(why).__name__}: {last_line(why)} | | | |"
    if rankd == "-":
        return f"{start} {' '.join(sorted({each.op_type for each in of.made.graph.node}))}"
    try:
        found = [np.array([np.nan if each is None else each for each in column], dtype=float)
                 for column in parts.rankd_scores(rankd, case, of.made, of.rows, len(of.expected))]
    except SystemExit as why:
        totals.add(of.group, refused=1)
        return f"{start} refused: {refusal(str(why))} | | | |"
    distance = distances(of, found)
    equal = int((distance == 0).sum())
    totals.add(of.group, models=1, scores=len(distance), equal=equal, apart=float(distance.max()))
    return f"{start} {len(distance)} | {equal} | {distance.max():.1e} | {own_differences(of, found)} |"


def main() -> int:
    trainer = sys.argv[1]
    rankd = sys.argv[2] if len(sys.argv) > 2 else "build/release/bin/rankd"
    wanted = sys.argv[3:]
    names = (trainer, "skl2onnx", "onnx", "onnxruntime") if trainer == "scikit-learn" else (trainer, "onnxruntime")
    print(", ".join(f"{name} {metadata.version(name)}" for name in names))
    print("\n| group | model | scores | equal | apart | far from the library |\n|---|---|---|---|---|---|")
    totals = Totals()
    for case in cases.of_catboost() if trainer == "catboost" else cases.of_scikit_learn():
        if not wanted or any(each in case.name for each in wanted):
            print(compare(case, rankd, totals), flush=True)
    print("\n" + "\n".join(totals.lines()))
    return 1 if any(sums.get("apart", 0) > NEAR for group, sums in totals.groups.items() if group != UNRUN) else 0


if __name__ == "__main__":
    raise SystemExit(main())
