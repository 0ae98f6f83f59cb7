"""Features of one row, as the page says: read from a hash, made of a value, or the score of a model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from .registry import Key, Registry
from .store import parse_id
from .vectors import as_vector, vector_of_text

Row = dict[int, Any]
Model = dict[str, Any]

_DECIMAL = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_BOOLS = {"true": True, "1": True, "false": False, "0": False}


def spelled(key: Key, text: Any) -> Any:
    """What the text of a feature spells, or the vector that it is, or None where it is none of the key's type."""
    if key.type == "vector":
        return vector_of_text(text, key.dimensions) if isinstance(text, str) else as_vector(text, key.dimensions)
    if not isinstance(text, str):
        return None
    match key.type:
        case "string":
            return text
        case "bool":
            return _BOOLS.get(text)
        case "int":
            return parse_id(text)
    if _DECIMAL.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def transformed(params: dict[str, Any], value: Any, place: int) -> float | None:
    """The feature at `place` among those of a node, made of one value; it need not be finite."""
    return _TRANSFORMS[params["transform"]](params, value, place)


def _bucket(params: dict[str, Any], value: Any, place: int) -> float | None:
    # Python compares an int with a float as the real numbers that they are.
    return None if value is None else float(sum(each <= value for each in params["boundaries"]))


def _clip(params: dict[str, Any], value: Any, place: int) -> float | None:
    if value is None:
        return None
    low, high = params.get("min"), params.get("max")
    if low is not None and float(value) < low:
        return float(low)
    return float(high) if high is not None and float(value) > high else float(value)


def _is_null(params: dict[str, Any], value: Any, place: int) -> float | None:
    return float(value is None)


def _log1p(params: dict[str, Any], value: Any, place: int) -> float | None:
    if value is None:
        return None
    return math.log1p(float(value)) if float(value) > -1 else math.nan


def _one_hot(params: dict[str, Any], value: Any, place: int) -> float | None:
    return float(value is not None and value == params["values"][place])


_TRANSFORMS: dict[str, Callable[[dict[str, Any], Any, int], float | None]] = {
    "bucket": _bucket,
    "clip": _clip,
    "is_null": _is_null,
    "log1p": _log1p,
    "one_hot": _one_hot,
}


def sum_of(model: Model, row: Row, registry: Registry) -> float | None:
    """What a model adds up for a row; it need not be finite."""

    def value_of(name: str) -> float | None:
        key = registry.key_named(name)
        value = None if key is None else row.get(key.number)
        return None if value is None else float(value)

    total = float(model.get("intercept", 0))
    if model["kind"] == "trees":
        values = [value_of(name) for name in model["keys"]]
        for tree in model["trees"]:
            total += _leaf(tree, model["split"], values)
        return total
    is_known = True
    for weight in model["weights"]:
        value = value_of(weight["key"])
        if value is None:
            value = weight.get("when_null")
        if value is None:
            is_known = False
        else:
            total += float(weight["weight"]) * float(value)
    return total if is_known else None


def _leaf(tree: dict[str, Any], split: str, values: list[float | None]) -> float:
    at = 0
    while tree["feature"][at] >= 0:
        value, threshold = values[tree["feature"][at]], tree["threshold"][at]
        if value is None:
            left = tree["null_left"][at]
        else:
            left = value < threshold if split == "<" else value <= threshold
        at = tree["left" if left else "right"][at]
    return float(tree["value"][at])


def linked(model: Model, total: float) -> float:
    """The score that a finite sum means."""
    if not model.get("sigmoid", False):
        return total
    try:
        return 1 / (1 + math.exp(-total))
    except OverflowError:
        return 0.0  # one divided by infinity
