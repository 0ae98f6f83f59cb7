"""The ops of the capability of arithmetic, as decision 0013 says: what is no finite number is null."""

from __future__ import annotations

import math
from collections.abc import Callable

CAPABILITY = "cap.rfc.0001.arithmetic.v1"


def _floor(x: float) -> float:
    # Python's floor is an int, which has no -0 and no infinity.
    return math.copysign(float(math.floor(x)), x) if math.isfinite(x) else x


def _ceil(x: float) -> float:
    return math.copysign(float(math.ceil(x)), x) if math.isfinite(x) else x


def _log(x: float) -> float:
    return math.log(x) if x > 0 else math.nan


def _log1p(x: float) -> float:
    return math.log1p(x) if x > -1 else math.nan


def _div(a: float, b: float) -> float:
    return a / b if b != 0 else math.nan


# Those of the math module call the C library, as the engine does.
UNARY: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "floor": _floor,
    "ceil": _ceil,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": _log,
    "log1p": _log1p,
}
BINARY: dict[str, Callable[[float, float], float]] = {
    "div": _div,
    "min": lambda a, b: b if b < a else a,
    "max": lambda a, b: b if b > a else a,
    "pow": math.pow,
}
OPS = [*UNARY, *BINARY, "clamp", "if"]


def computed(function: Callable[..., float], *operands: float) -> float | None:
    """The finite number that a function gives, or null."""
    if any(map(math.isnan, operands)):
        return None
    try:
        result = function(*operands)
    except (OverflowError, ValueError):
        return None
    return result if math.isfinite(result) else None


def clamped(x: float, lo: float, hi: float) -> float | None:
    """The number from lo to hi that is closest to x."""
    if not lo <= hi:
        return None
    return computed(lambda: lo if x < lo else hi if hi < x else x)
