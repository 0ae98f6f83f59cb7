"""Checks a request and gives what a plan needs of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .branches import bindings_of, is_within, sources_of
from .experiments import ArmError, Arms, Declared, arms_of
from .registry import Key, Param, Registry
from .store import ID_MAX, parse_id, parse_text_id
from .templates import holes_of
from .vectors import Vector, as_vector

_FIELDS = {
    "request_id", "user_id", "plan", "context", "param_overrides", "output_keys", "deadline_ms", "explain", "candidates",
    "experiments",
}

MOST_CANDIDATES = 10_000

# The operators with a template of keys.
KEYED = {"core::list", "core::set", "core::sorted_set", "core::hash", "core::strings", "core::members_of"}


class RequestError(Exception):
    """The request is refused."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Asked:
    """A request that is fine."""

    user: int | str
    params: dict[int, Any]
    shown: list[Key]
    candidates: list[dict[int, Any]]
    arms: Arms | None = None


def read_request(
    request: dict[str, Any], plan: dict[str, Any], registry: Registry, experiments: Declared | None = None
) -> Asked:
    """Raises RequestError for the fault; which one, where there are several, is not specified."""
    if not set(request) <= _FIELDS:
        raise RequestError("unknown_field")
    plan_name = plan["plan_name"]
    if request.get("plan", plan_name) != plan_name:
        raise RequestError("plan_mismatch")
    if not isinstance(request.get("request_id", ""), str):
        raise RequestError("wrong_type")
    params = _params(request.get("context", {}), request.get("param_overrides", {}), registry)
    user, shown = _user(request, registry), _shown(request.get("output_keys"), registry)
    try:
        arms = arms_of(experiments or {}, plan_name, request, params, registry)
    except ArmError as error:
        raise RequestError(error.code) from error
    params |= arms.values if arms is not None else {}
    running = set(sources_of(plan, params, registry))
    nodes = [node for node in plan["nodes"] if node["node_id"] in running]
    if "user_id" not in request and any(node["op"] == "core::viewer" for node in nodes):
        raise RequestError("missing_field")
    given = {**request.get("context", {}), **request.get("param_overrides", {})}
    if any(param.required and param.name not in given for param in _params_of(nodes, plan, registry)):
        raise RequestError("missing_field")
    if not all(is_within(binding, params) for node in nodes for binding in bindings_of(node)):
        raise RequestError("param_out_of_range")
    return Asked(
        user=user,
        params=params,
        shown=shown,
        candidates=_candidates(request, plan, nodes, registry),
        arms=arms,
    )


def _user(request: dict[str, Any], registry: Registry) -> int | str:
    if registry.has_text_ids:
        return "" if "user_id" not in request else _text_id(request["user_id"], "bad_user_id")
    value = request.get("user_id", 1)
    number = parse_id(value) if isinstance(value, str) else value
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= ID_MAX:
        raise RequestError("bad_user_id")
    return number


def _text_id(value: Any, code: str) -> str:
    name = parse_text_id(value) if isinstance(value, str) else None
    if name is None:
        raise RequestError(code)
    return name


def _params(context: dict[str, Any], overrides: dict[str, Any], registry: Registry) -> dict[int, Any]:
    values = {number: param.default for number, param in registry.params.items()}
    for name, value in context.items():
        param = _param_named(name, registry)
        if not param.in_context:
            raise RequestError("wrong_source")
        values[param.number] = _param_value(param, value)
    for name, value in overrides.items():
        param = _param_named(name, registry)
        if not param.writable:
            raise RequestError("unwritable_param")
        if name in context:
            raise RequestError("duplicate_value")
        values[param.number] = _param_value(param, value)
    return values


def _params_of(nodes: list[dict[str, Any]], plan: dict[str, Any], registry: Registry) -> list[Param]:
    """The params that these nodes of a plan read, in formulas, in keys and in conditions."""
    numbers: set[int] = set()

    def walk(tree: Any) -> None:
        if isinstance(tree, dict):
            if "param_id" in tree:
                numbers.add(tree["param_id"])
            for part in tree.values():
                walk(part)

    names: set[str] = set()
    for node in nodes:
        params = node.get("params") or {}
        for condition in params.get("pred_ids", []):
            walk(plan["pred_table"][condition])
        for table in ("expr", "pred"):
            if f"{table}_id" in params:
                walk(plan[f"{table}_table"][params[f"{table}_id"]])
        if node["op"] in KEYED:
            names |= {name[2:] for name in holes_of(params["key"]) if name.startswith("P.")}
        if node["op"] == "core::sample":
            names |= {name[2:] for name in holes_of(params["seed"]) if name.startswith("P.")}
    return [param for param in registry.params.values() if param.number in numbers or param.name in names]


def _param_named(name: str, registry: Registry) -> Param:
    param = registry.param_named(name)
    if param is None:
        raise RequestError("unknown_param")
    if param.blocked:
        raise RequestError("blocked_param")
    return param


def _param_value(param: Param, value: Any) -> Any:
    if value is None:
        if not param.nullable:
            raise RequestError("null_param")
        return None
    return _of_type(value, param.type)


def _candidates(
    request: dict[str, Any], plan: dict[str, Any], running: list[dict[str, Any]], registry: Registry
) -> list[dict[int, Any]]:
    """The rows that a request carries, by the numbers of their keys; columns are made rows first."""
    nodes = [node for node in plan["nodes"] if node["op"] == "core::candidates"]
    if not nodes:
        if "candidates" in request:
            raise RequestError("unknown_field")
        return []
    read = [node for node in running if node["op"] == "core::candidates"]
    if "candidates" not in request:
        if not read:
            return []
        raise RequestError("missing_field")
    given = request["candidates"]
    if isinstance(given, dict):
        if len({len(column) for column in given.values()}) > 1:
            raise RequestError("wrong_length")
        given = [dict(zip(given, row)) for row in zip(*given.values())]
    if len(given) > MOST_CANDIDATES:
        raise RequestError("too_many_candidates")
    return [_candidate(row, _keys_of(nodes), _keys_of(read), registry) for row in given]


def _keys_of(candidates: list[dict[str, Any]]) -> set[int]:
    return {number for node in candidates for number in (node.get("params") or {}).get("keys") or []}


def _candidate(row: dict[str, Any], taken: set[int], read: set[int], registry: Registry) -> dict[int, Any]:
    out: dict[int, Any] = {}
    for name, value in row.items():
        key = registry.key_named(name)
        if key is None:
            raise RequestError("unknown_key")
        if key.number == 1:
            out[1] = _text_id(value, "bad_id") if registry.has_text_ids else _candidate_id(value)
        elif key.number not in taken:
            raise RequestError("unknown_column")
        elif value is None and not key.nullable:
            raise RequestError("null_value")
        else:
            out[key.number] = None if value is None else _of_key(value, key)
    if 1 not in out or any(not registry.keys[number].nullable and number not in out for number in read):
        raise RequestError("missing_field")
    return out


def _candidate_id(value: Any) -> int:
    number = parse_id(value) if isinstance(value, str) else value
    if not isinstance(number, int) or isinstance(number, bool) or not -ID_MAX - 1 <= number <= ID_MAX:
        raise RequestError("bad_id")
    return number


def _of_key(value: Any, key: Key) -> Any:
    return _vector(value, key.dimensions) if key.type == "vector" else _of_type(value, key.type)


def _of_type(value: Any, kind: str) -> Any:
    wanted = {"int": int, "float": (int, float), "bool": bool, "string": str}[kind]
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind != "bool"):
        raise RequestError("wrong_type")
    return float(value) if kind == "float" else value


def _vector(value: Any, dimensions: int) -> Vector:
    if not isinstance(value, list):
        raise RequestError("wrong_type")
    if len(value) != dimensions:
        raise RequestError("wrong_length")
    vector = as_vector(value, dimensions)
    if vector is None:
        raise RequestError("out_of_range")
    return vector


def _shown(names: list[str] | None, registry: Registry) -> list[Key]:
    keys = sorted(registry.keys.values(), key=lambda key: key.number)
    if names is None:
        return [key for key in keys if key.readable and not key.blocked]
    for name in names:
        _check_shown(registry.key_named(name))
    if len(set(names)) < len(names):
        raise RequestError("duplicate_value")
    return [key for key in keys if key.name in names]


def _check_shown(key: Key | None) -> None:
    if key is None:
        raise RequestError("unknown_key")
    if key.blocked:
        raise RequestError("blocked_key")
    if not key.readable:
        raise RequestError("unreadable_key")
