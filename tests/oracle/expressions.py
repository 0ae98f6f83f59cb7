"""Evaluates expressions and predicates on one row, as the specification and decision 0003 say."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .arithmetic import BINARY, UNARY, clamped, computed
from .draws import drawn, hashed
from .patterns import BadPattern, compile_pattern
from .registry import Registry
from .vectors import PRODUCTS

Tree = dict[str, Any]
Row = dict[int, Any]
# None is null, an int is exact, a float is a double.
Number = int | float | None

FORMULAS = "cap.rfc.0006.formulas.v1"
TEXT_OPS = ["const_text", "concat", "length", "bucket_text"]
FORMULA_OPS = ["mod", "bucket", *TEXT_OPS, "cmp_text", "starts_with", "ends_with", "contains"]
LONGEST_JOINED = 65_536
EXACT, DOUBLE, NULL = "exact", "double", "null"
_KINDS = {"int": EXACT, "bool": EXACT, "float": DOUBLE}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class PatternError(Exception):
    """A pattern is null, or none."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Scope:
    """What does not change from row to row."""

    registry: Registry
    params: dict[int, Any]


def number_kind(tree: Tree, scope: Scope) -> str:
    """Whether an expression is exact, double or always null: known without any row."""
    match tree["op"]:
        case "const_number":
            return EXACT if isinstance(tree["value"], int) else DOUBLE
        case "const_null":
            return NULL
        case "key_ref":
            return _KINDS.get(scope.registry.keys[tree["key_id"]].type, NULL)
        case "param_ref":
            return _KINDS.get(scope.registry.params[tree["param_id"]].type, NULL)
        case "bucket" | "bucket_text" | "length":
            return EXACT
        case "mod":
            kinds = [number_kind(tree["a"], scope), number_kind(tree["b"], scope)]
            return DOUBLE if DOUBLE in kinds else EXACT
        case "coalesce" | "if":
            return _coalesced_kind(number_kind(tree["a"], scope), number_kind(tree["b"], scope))
        case _:
            return DOUBLE


def _coalesced_kind(left: str, right: str) -> str:
    # What is always null has no say: coalesce(null, id) is the id, and ids stay int64.
    if NULL in (left, right):
        return right if left == NULL else left
    return EXACT if left == right == EXACT else DOUBLE


def evaluate(tree: Tree, row: Row, scope: Scope) -> Number:
    """The value of an expression on a row."""
    op = tree["op"]
    if op == "const_number":
        return tree["value"]
    if op in ("key_ref", "param_ref"):
        return _as_number(_raw(tree, row, scope))
    if op == "coalesce":
        return _coalesce(tree, row, scope)
    if op == "neg":
        value = evaluate(tree["x"], row, scope)
        return None if value is None else -float(value)
    if op in _ARITHMETIC:
        left, right = evaluate(tree["a"], row, scope), evaluate(tree["b"], row, scope)
        return None if left is None or right is None else _ARITHMETIC[op](float(left), float(right))
    if op == "if":
        return _of_kind(tree, evaluate(tree["a" if holds(tree["pred"], row, scope) else "b"], row, scope), scope)
    if op == "mod":
        return _remainder(tree, row, scope)
    if op == "bucket":
        value = evaluate(tree["x"], row, scope)
        return None if value is None else drawn(tree.get("seed", ""), int(value)) % tree["count"]
    if op in ("length", "bucket_text"):
        return _measured(tree, text_value(tree["x"], row, scope))
    if op in PRODUCTS:
        a, b = _raw(tree["a"], row, scope), _raw(tree["b"], row, scope)
        return None if a is None or b is None else PRODUCTS[op](a, b)
    if op in UNARY or op in BINARY or op == "clamp":
        return _computed(tree, row, scope)
    if op == "const_null":
        return None
    raise ValueError(f"no expression is called {op}")


def text_value(tree: Tree, row: Row, scope: Scope) -> str | None:
    """The value of an expression that is taken for a string."""
    match tree["op"]:
        case "const_text":
            return tree["value"]
        case "const_null":
            return None
        case "coalesce":
            value = text_value(tree["a"], row, scope)
            return text_value(tree["b"], row, scope) if value is None else value
        case "if":
            return text_value(tree["a" if holds(tree["pred"], row, scope) else "b"], row, scope)
        case "concat":
            return _joined(text_value(tree["a"], row, scope), text_value(tree["b"], row, scope))
    value = _raw(tree, row, scope)
    return value if isinstance(value, str) else None


def _joined(a: str | None, b: str | None) -> str | None:
    if a is None or b is None or len((a + b).encode("utf-8")) > LONGEST_JOINED:
        return None
    return a + b


def _measured(tree: Tree, text: str | None) -> int | None:
    if text is None:
        return None
    return len(text) if tree["op"] == "length" else drawn(tree.get("seed", ""), hashed(text)) % tree["count"]


def _remainder(tree: Tree, row: Row, scope: Scope) -> Number:
    a, b = evaluate(tree["a"], row, scope), evaluate(tree["b"], row, scope)
    if a is None or b is None:
        return None
    if number_kind(tree, scope) == DOUBLE:
        return computed(math.fmod, float(a), float(b))
    if b == 0:
        return None
    remains = abs(int(a)) % abs(int(b))
    return -remains if a < 0 else remains


def _coalesce(tree: Tree, row: Row, scope: Scope) -> Number:
    value = evaluate(tree["a"], row, scope)
    if value is None:
        value = evaluate(tree["b"], row, scope)
    return _of_kind(tree, value, scope)


def _of_kind(tree: Tree, value: Number, scope: Scope) -> Number:
    """What a choice took, as a double where one of its sides may be one."""
    if value is not None and number_kind(tree, scope) == DOUBLE:
        return float(value)
    return value


def _computed(tree: Tree, row: Row, scope: Scope) -> Number:
    op = tree["op"]
    fields = ("x", "lo", "hi") if op == "clamp" else ("x",) if op in UNARY else ("a", "b")
    operands: list[float] = []
    for field in fields:
        value = evaluate(tree[field], row, scope)
        if value is None:
            return None
        operands.append(float(value))
    if op == "clamp":
        return clamped(*operands)
    return computed(UNARY[op] if op in UNARY else BINARY[op], *operands)


def _raw(tree: Tree, row: Row, scope: Scope) -> Any:
    """The value of a key or param itself, strings included."""
    return row.get(tree["key_id"]) if tree["op"] == "key_ref" else scope.params.get(tree["param_id"])


def _as_number(value: Any) -> Number:
    if isinstance(value, (str, tuple)):
        return None
    return int(value) if isinstance(value, bool) else value


def holds(tree: Tree, row: Row, scope: Scope) -> bool:
    """Whether a predicate holds on a row."""
    match tree["op"]:
        case "const_bool":
            return tree["value"]
        case "and":
            return holds(tree["a"], row, scope) and holds(tree["b"], row, scope)
        case "or":
            return holds(tree["a"], row, scope) or holds(tree["b"], row, scope)
        case "not":
            return not holds(tree["x"], row, scope)
        case "cmp":
            return _compare(tree, row, scope)
        case "in":
            return _is_in(tree, row, scope)
        case "is_null":
            return _is_null(tree["x"], row, scope)
        case "not_null":
            return not _is_null(tree["x"], row, scope)
        case "regex":
            return _matches(tree, row, scope)
        case "cmp_text" | "starts_with" | "ends_with" | "contains":
            return _related(tree, row, scope)
    raise ValueError(f"no predicate is called {tree['op']}")


def _is_null(tree: Tree, row: Row, scope: Scope) -> bool:
    if tree["op"] in ("key_ref", "param_ref"):
        return _raw(tree, row, scope) is None
    return evaluate(tree, row, scope) is None


def _compare(tree: Tree, row: Row, scope: Scope) -> bool:
    left, right, sign = tree["a"], tree["b"], tree["cmp"]
    if sign in ("==", "!=") and "const_null" in (left["op"], right["op"]):
        tested = left if right["op"] == "const_null" else right
        return _is_null(tested, row, scope) == (sign == "==")
    a, b = evaluate(left, row, scope), evaluate(right, row, scope)
    if a is None or b is None or a != a or b != b:
        return False
    # Python compares an int with a float as the real numbers that they are.
    return _COMPARISONS[sign](a, b)


def _is_in(tree: Tree, row: Row, scope: Scope) -> bool:
    elements = tree["list"]
    if elements and isinstance(elements[0], str):
        return _raw(tree["lhs"], row, scope) in elements
    value = evaluate(tree["lhs"], row, scope)
    return value is not None and any(value == element for element in elements)


def _related(tree: Tree, row: Row, scope: Scope) -> bool:
    a, b = _text(tree["a"], row, scope), _text(tree["b"], row, scope)
    if a is None or b is None:
        return False
    match tree["op"]:
        case "starts_with":
            return a.startswith(b)
        case "ends_with":
            return a.endswith(b)
        case "contains":
            return b in a
    return _COMPARISONS[tree["cmp"]](a, b)


def _text(source: Tree, row: Row, scope: Scope) -> bytes | None:
    """Strings are compared byte by byte."""
    match source["kind"]:
        case "literal":
            value = source["value"]
        case "key":
            value = row.get(source["key_id"])
        case _:
            value = scope.params.get(source["param_id"])
    return value.encode("utf-8") if isinstance(value, str) else None


def _matches(tree: Tree, row: Row, scope: Scope) -> bool:
    text = row.get(tree["key_id"])
    return text is not None and compile_pattern(_pattern(tree, scope), tree["flags"]).search(text) is not None


def _pattern(tree: Tree, scope: Scope) -> Any:
    pattern = tree["pattern"]
    return pattern["value"] if pattern["kind"] == "literal" else scope.params.get(pattern["param_id"])


def check_patterns(tree: Tree, scope: Scope) -> None:
    """Raises PatternError for the first pattern, from the left, that is null or none."""
    for regex in _regexes(tree):
        pattern = _pattern(regex, scope)
        if pattern is None:
            raise PatternError("regex_pattern_null")
        try:
            compile_pattern(pattern, regex["flags"])
        except BadPattern as error:
            raise PatternError("bad_regex") from error


def _regexes(tree: Tree) -> Iterator[Tree]:
    if tree.get("op") == "regex":  # a string of a test of two has no op
        yield tree
    for field in ("pred", "x", "lo", "hi", "lhs", "a", "b"):
        if field in tree:
            yield from _regexes(tree[field])
