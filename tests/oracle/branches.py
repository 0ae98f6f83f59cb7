"""Which nodes of a plan run for the params of a request, and the options to which these params give values."""

from __future__ import annotations

from typing import Any

from .expressions import Scope, holds
from .fallbacks import substitute
from .registry import Registry

BOUND_PARAMS = "cap.rfc.0003.bound_params.v1"
BRANCH = "cap.rfc.0005.branch.v1"

Node = dict[str, Any]


def sources_of(plan: dict[str, Any], params: dict[int, Any], registry: Registry) -> dict[str, list[str]]:
    """The nodes that each node takes rows of, without those that are not needed: one of those among which it chooses.

    What stands in for a node that is needed is needed as well."""
    scope = Scope(registry, params)
    nodes = {node["node_id"]: node for node in plan["nodes"]}
    out: dict[str, list[str]] = {}
    wanted = list(plan["outputs"])
    while wanted:
        name = wanted.pop()
        if name not in out:
            out[name] = _sources(nodes[name], plan, scope)
            wanted += out[name]
            other = substitute(nodes[name])
            wanted += [] if other is None else [other]
    return out


def named_nodes(params: dict[str, Any]) -> list[str]:
    """Returns the nodes that params name, in the order of the operator's params."""
    return [params[each] for each in ("rhs", "only", "except", "changes") if params.get(each) is not None]


def _sources(node: Node, plan: dict[str, Any], scope: Scope) -> list[str]:
    params = node.get("params") or {}
    if node["op"] != "core::choose":
        return list(node["inputs"]) + named_nodes(params)
    truths = [holds(plan["pred_table"][name], {}, scope) for name in params["pred_ids"]]
    return [node["inputs"][truths.index(True) if True in truths else -1]]


def bindings_of(node: Node) -> list[dict[str, Any]]:
    """What binds options of a node to params."""
    return [value for value in (node.get("params") or {}).values() if isinstance(value, dict) and "param_id" in value]


def is_within(binding: dict[str, Any], params: dict[int, Any]) -> bool:
    """Whether a param has a value that the option takes."""
    value = params[binding["param_id"]]
    return value is not None and binding["min"] <= value <= binding["max"]


def settled(options: dict[str, Any], params: dict[int, Any]) -> dict[str, Any]:
    """Options with the values that params give."""
    is_bound = {name: isinstance(value, dict) and "param_id" in value for name, value in options.items()}
    return {name: params[value["param_id"]] if is_bound[name] else value for name, value in options.items()}
