"""The arms that a request is in, and experiments that a seed makes for a plan."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, field
from typing import Any

from .branches import bindings_of
from .registry import Param, Registry
from .worlds import Row, World, value_of_type

# What experiments.toml holds, as a TOML parser gives it.
Declared = dict[str, Any]

UNITS = ["int", "string"]


class ArmError(Exception):
    """The request names arms that it cannot be in."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class Arms:
    """By experiment the arm, and what params have there."""

    names: dict[str, str] = field(default_factory=dict)
    overridden: list[str] = field(default_factory=list)
    values: dict[int, Any] = field(default_factory=dict)


def bucket_of(salt: str, unit: str, buckets: int) -> int:
    digest = hashlib.sha256(salt.encode() + b"\0" + unit.encode()).digest()
    return int.from_bytes(digest[:8], "big") % buckets


def arms_of(declared: Declared, plan: str, request: dict[str, Any], params: dict[int, Any], registry: Registry) -> Arms | None:
    """None where no experiment runs for the plan, and the request names none."""
    running = [each for each in declared.get("experiment", []) if each["status"] == "active" and plan in each["plans"]]
    forced = request.get("experiments", {})
    _check_forced(running, forced)
    if not running:
        return None
    out = Arms()
    taken = {each["layer"] for each in running if each["name"] in forced}
    layers = {layer["name"]: layer for layer in declared["layer"]}
    for each in running:
        if each["name"] in forced:
            arm = next(arm for arm in each["arms"] if arm["name"] == forced[each["name"]])
        elif each["layer"] in taken or not _is_about(each, params, registry):
            continue
        else:
            arm = _arm_by_bucket(each, layers[each["layer"]], request, params, registry)
        if arm is not None:
            _enter(out, each["name"], arm, request, registry)
    return out


def _check_forced(running: list[Row], forced: dict[str, str]) -> None:
    layers: set[str] = set()
    for name, arm in forced.items():
        found = next((each for each in running if each["name"] == name), None)
        if found is None:
            raise ArmError("unknown_experiment")
        if all(each["name"] != arm for each in found["arms"]):
            raise ArmError("unknown_arm")
        if found["layer"] in layers:
            raise ArmError("layer_conflict")
        layers.add(found["layer"])


def _is_about(experiment: Row, params: dict[int, Any], registry: Registry) -> bool:
    if "filter" not in experiment:
        return True
    param = _param(experiment["filter"]["param"], registry)
    value = params[param.number]
    return value is not None and value in [_typed(param, each) for each in experiment["filter"]["in"]]


def _arm_by_bucket(
    experiment: Row, layer: Row, request: dict[str, Any], params: dict[int, Any], registry: Registry
) -> Row | None:
    unit = layer.get("unit", "user_id")
    value = request.get("user_id") if unit == "user_id" else params[_param(unit, registry).number]
    if value is None:
        return None
    text = str(int(value)) if unit == "user_id" and not registry.has_text_ids else str(value)
    bucket = bucket_of(layer["salt"], text, layer.get("buckets", 10_000))
    return next((arm for arm in experiment["arms"] if arm["from"] <= bucket <= arm["to"]), None)


def _enter(out: Arms, name: str, arm: Row, request: dict[str, Any], registry: Registry) -> None:
    out.names[name] = arm["name"]
    given = request.get("param_overrides", {})
    for each, value in arm.get("set", {}).items():
        if each not in given:
            param = _param(each, registry)
            out.values[param.number] = _typed(param, value)
        elif name not in out.overridden:
            out.overridden.append(name)


def _param(name: str, registry: Registry) -> Param:
    param = registry.param_named(name)
    assert param is not None
    return param


def _typed(param: Param, value: Any) -> Any:
    return float(value) if param.type == "float" else value


def make_experiments(world: World, seed: int, plan: dict[str, Any]) -> Declared:
    """What experiments.toml may hold beside this plan: often nothing."""
    rng = random.Random(f"experiments {seed}")
    if rng.random() < 0.5:
        return {}
    usable = [row for row in world.params if row.get("status") != "blocked"]
    settable = [row for row in usable if row.get("source") != "context"]
    rng.shuffle(settable)
    layers = [_layer(rng, number, usable) for number in range(rng.randint(1, 3))]
    experiments: list[Row] = []
    for at, layer in enumerate(layers):
        # A param is set in one layer only.
        own = settable[at :: len(layers)]
        experiments += _experiments(rng, layer, own, usable, plan, len(experiments))
    return {"layer": layers, "experiment": experiments}


def _layer(rng: random.Random, number: int, usable: list[Row]) -> Row:
    layer: Row = {"name": f"layer_{number}", "salt": f"{rng.random()} é {number}"}
    units = [row["name"] for row in usable if row["type"] in UNITS]
    if units and rng.random() < 0.4:
        layer["unit"] = rng.choice(units)
    if rng.random() < 0.8:
        layer["buckets"] = rng.choice([1, 2, 7, 100, 1_000_000])
    return layer


def _experiments(
    rng: random.Random, layer: Row, own: list[Row], usable: list[Row], plan: dict[str, Any], first: int
) -> list[Row]:
    buckets = layer.get("buckets", 10_000)
    cuts = sorted(rng.sample(range(buckets), min(buckets, rng.randint(1, 5))))
    arms = [
        {"name": f"arm_{at}", "from": start, "to": end}
        for at, (start, end) in enumerate(zip(cuts, [cut - 1 for cut in cuts[1:]] + [buckets - 1]))
    ]
    if rng.random() < 0.3:
        arms.pop()
    out: list[Row] = []
    while arms:
        count = rng.randint(1, len(arms))
        number = first + len(out)
        made: Row = {"id": f"exp_{number:04}", "name": f"experiment_{number}", "layer": layer["name"]}
        made["status"] = rng.choice(["active", "active", "active", "draft", "ended"])
        made["plans"] = rng.choice([[plan["plan_name"]], ["other", plan["plan_name"]], ["other"]])
        made["arms"] = [arm | _settings(rng, own, plan) for arm in arms[:count]]
        if rng.random() < 0.3 and usable:
            row = rng.choice(usable)
            values = [value_of_type(rng, row["type"]) for _ in range(3)]
            made["filter"] = {"param": row["name"], "in": [*values, row.get("default", values[0])]}
        out.append(made)
        arms = arms[count:]
    return out


def _settings(rng: random.Random, own: list[Row], plan: dict[str, Any]) -> Row:
    chosen = [row for row in own if rng.random() < 0.5]
    return {"set": {row["name"]: _value(rng, row, plan) for row in chosen}} if chosen else {}


def _value(rng: random.Random, row: Row, plan: dict[str, Any]) -> Any:
    """A value that every option takes which is bound to the param."""
    bindings = [each for node in plan["nodes"] for each in bindings_of(node) if each["param_id"] == row["param_id"]]
    if not bindings:
        return value_of_type(rng, row["type"])
    least, most = max(each["min"] for each in bindings), min(each["max"] for each in bindings)
    return rng.choice([least, most, min(most, least + 1)]) if row["type"] == "int" else rng.choice([least, most])


def name_arms(declared: Declared, seed: str, request: dict[str, Any]) -> dict[str, Any]:
    """The request; now and then it names arms, and rarely some that are not there."""
    rng = random.Random(f"arms {seed}")
    if rng.random() < 0.8:
        return request
    all_of_them = declared.get("experiment", [])
    chosen = rng.sample(all_of_them, min(len(all_of_them), rng.choice([1, 1, 1, 2])))
    names = {each["name"]: rng.choice(each["arms"])["name"] for each in chosen}
    if rng.random() < 0.05:
        names["none"] = "arm_0"
    return request | {"experiments": names}


def spelled(declared: Declared) -> str:
    """As TOML."""
    lines: list[str] = []
    for table, rows in declared.items():
        for row in rows:
            lines += [f"[[{table}]]", *(f"{name} = {_value_text(value)}" for name, value in row.items()), ""]
    return "\n".join(lines)


def _value_text(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_value_text(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value_text, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value) if isinstance(value, bool) else repr(value)
