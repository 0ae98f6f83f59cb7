"""Makes plans that are valid by construction, and requests; the same seed makes the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import arithmetic
from . import vocabulary as words
from .branches import BOUND_PARAMS, BRANCH, bindings_of
from .expressions import FORMULA_OPS, FORMULAS
from .fallbacks import FALLBACK, KINDS, add_fallbacks, substitute
from .interpreter import edges_into
from .caches import add_caches
from .limits import add_limits
from .vectors import PRODUCTS, VECTORS
from .worlds import World, is_readable, is_writable, value_of_type, vector_of

LONGEST_LIST = max(len(words.IDS), len(words.TEXT_IDS))
MOST_ROWS = 1_500
MANY_ROWS = 20_000
MOST_CANDIDATES = 40

Tree = dict[str, Any]
Node = dict[str, Any]


def make_expression(world: World, rng: random.Random, depth: int) -> Tree:
    """An expression of at most `depth` levels below its root."""
    if depth == 0 or rng.random() < 0.2:
        return _leaf(world, rng)
    if rng.random() < 0.08 and world.vector_keys:
        return _product(world, rng)
    op = rng.choice(["add", "sub", "mul", "coalesce", "coalesce", "neg"])
    if rng.random() < 0.15:
        if rng.random() < 0.4:
            return _bucket(world, rng, depth - 1)
        if rng.random() < 0.4:
            return _of_text(world, rng, depth - 1)
        op = "mod"
    elif rng.random() < 0.4:
        op = rng.choice([*arithmetic.OPS, "div", "if", "if"])
    if op == "clamp":
        return _clamp(world, rng, depth - 1)
    if op == "neg" or op in arithmetic.UNARY:
        return {"op": op, "x": make_expression(world, rng, depth - 1)}
    sides = {"a": make_expression(world, rng, depth - 1), "b": make_expression(world, rng, depth - 1)}
    if op == "if":
        return {"op": op, "pred": make_predicate(world, rng, rng.randint(0, min(depth - 1, 2)))} | sides
    return {"op": op} | sides


def _product(world: World, rng: random.Random) -> Tree:
    """Of two vectors of the same length, which may be the same."""
    key = rng.choice(list(world.vector_keys))
    alike = [each for each, size in world.vector_keys.items() if size == world.vector_keys[key]]
    return {"op": rng.choice(["dot", "cosine"]), "a": _key(key), "b": _key(rng.choice(alike))}


def _bucket(world: World, rng: random.Random, depth: int) -> Tree:
    seed: Tree = {} if rng.random() < 0.3 else {"seed": words.string(rng)}
    return {"op": "bucket", "x": _whole(world, rng, depth), "count": rng.choice([1, 2, 7, 100, 1_000_000])} | seed


def make_text(world: World, rng: random.Random, depth: int) -> Tree:
    """An expression of strings, of at most `depth` levels below its root."""
    if depth == 0 or rng.random() < 0.2:
        return _text_leaf(world, rng)
    op = rng.choice(["concat", "concat", "concat", "coalesce", "if"])
    sides = {"op": op, "a": make_text(world, rng, depth - 1), "b": make_text(world, rng, depth - 1)}
    return sides | ({"pred": make_predicate(world, rng, rng.randint(0, 1))} if op == "if" else {})


def _text_leaf(world: World, rng: random.Random) -> Tree:
    chance = rng.random()
    if chance < 0.3:
        return {"op": "const_text", "value": _some_text(world, rng)}
    if chance < 0.45 and world.pattern_params:
        return _param(rng.choice(world.pattern_params))
    return {"op": "const_null"} if chance < 0.5 else _key(_string_key(world, rng))


def _of_text(world: World, rng: random.Random, depth: int) -> Tree:
    """A number that a string has."""
    text = make_text(world, rng, depth)
    if rng.random() < 0.5:
        return {"op": "length", "x": text}
    seed: Tree = {} if rng.random() < 0.3 else {"seed": words.string(rng)}
    return {"op": "bucket_text", "x": text, "count": rng.choice([1, 2, 7, 100, 1_000_000])} | seed


def _whole(world: World, rng: random.Random, depth: int) -> Tree:
    """An expression that gives integers or null."""
    if depth > 0 and rng.random() < 0.5:
        if rng.random() < 0.2:
            return _of_text(world, rng, depth - 1)
        return {"op": "mod", "a": _whole(world, rng, depth - 1), "b": _whole(world, rng, depth - 1)}
    params = [_param(number) for number in world.exact_params[:2]]
    constant: Tree = {"op": "const_number", "value": rng.choice(words.IDS)}
    exact = _key(world.exact_key)
    return rng.choice([exact, exact, constant, *params, *map(_key, world.other_keys[:1])])


def _clamp(world: World, rng: random.Random, depth: int) -> Tree:
    """Mostly between two constants that do not cross."""
    ends = [_const(rng), _const(rng)]
    ends.sort(key=lambda end: float(end["value"]))
    if rng.random() < 0.3:
        ends[rng.randint(0, 1)] = make_expression(world, rng, min(depth, 1))
    return {"op": "clamp", "x": make_expression(world, rng, depth), "lo": ends[0], "hi": ends[1]}


def _leaf(world: World, rng: random.Random) -> Tree:
    chance = rng.random()
    if chance < 0.4:
        return _const(rng)
    if chance < 0.62:
        return _key(world.exact_key)
    if chance < 0.78:
        return _key(rng.choice(world.float_keys or [1]))
    if chance < 0.83:
        return _key(rng.choice([*world.string_keys, *world.other_keys]))
    if chance < 0.96 and world.readable_params:
        return _param(rng.choice(world.readable_params))
    return {"op": "const_null"}


def _const(rng: random.Random) -> Tree:
    return {"op": "const_number", "value": words.number(rng)}


def _key(number: int) -> Tree:
    return {"op": "key_ref", "key_id": number}


def _param(number: int) -> Tree:
    return {"op": "param_ref", "param_id": number}


_SIGNS = ["==", "!=", "<", "<=", ">", ">="]
_HUGE: Tree = {"op": "const_number", "value": 1e308}
_INFINITY: Tree = {"op": "mul", "a": _HUGE, "b": _HUGE}
_NAN: Tree = {"op": "sub", "a": _INFINITY, "b": _INFINITY}


def make_predicate(world: World, rng: random.Random, depth: int) -> Tree:
    """A predicate of at most `depth` levels, expressions included."""
    if depth > 0 and rng.random() < 0.5:
        op = rng.choice(["and", "or", "not"])
        if op == "not":
            return {"op": op, "x": make_predicate(world, rng, depth - 1)}
        return {"op": op, "a": make_predicate(world, rng, depth - 1), "b": make_predicate(world, rng, depth - 1)}
    return rng.choices(list(_TESTS), weights=list(_TESTS.values()))[0](world, rng, min(depth, 3))


def _fine_comparison(world: World, rng: random.Random, depth: int) -> Tree:
    """Compares what differs, if at all, in kind or in the last bit."""
    left, right = _fine_side(world, rng, 2), _fine_side(world, rng, 1)
    return {"op": "cmp", "cmp": rng.choice(_SIGNS), "a": left, "b": right}


def _fine_side(world: World, rng: random.Random, depth: int) -> Tree:
    chance = rng.random()
    if depth == 0 or chance < 0.5:
        exact = [_param(number) for number in world.exact_params[:2]]
        key = _key(world.exact_key)
        return rng.choice([key, key, *exact, _large_const(rng), _large_const(rng)])
    if chance < 0.85:
        keys = [3001, *world.float_keys[-1:], *world.other_keys[:2]]
        often_null = [{"op": "const_null"}, *map(_key, keys), *map(_param, world.readable_params[-2:])]
        sides = [_fine_side(world, rng, depth - 1), rng.choice(often_null)]
        rng.shuffle(sides)
        return {"op": "coalesce", "a": sides[0], "b": sides[1]}
    if chance < 0.9:
        return {"op": "add", "a": _fine_side(world, rng, depth - 1), "b": {"op": "const_number", "value": rng.randint(-1, 1)}}
    return rng.choice([_INFINITY, _NAN, {"op": "neg", "x": _fine_side(world, rng, depth - 1)}])


def _large_const(rng: random.Random) -> Tree:
    number = rng.choice(words.LARGE_IDS)
    return {"op": "const_number", "value": float(number) if rng.random() < 0.4 else number}


def _comparison(world: World, rng: random.Random, depth: int) -> Tree:
    sign = rng.choice(_SIGNS)
    left = make_expression(world, rng, depth if rng.random() < 0.5 else 0)
    right = make_expression(world, rng, depth if rng.random() < 0.3 else 0)
    if rng.random() < 0.15:
        right = {"op": "const_null"}
        left = left if rng.random() < 0.5 else _any_reference(world, rng)
    if rng.random() < 0.3:
        left, right = right, left
    return {"op": "cmp", "cmp": sign, "a": left, "b": right}


def _any_reference(world: World, rng: random.Random) -> Tree:
    if rng.random() < 0.7:
        return _key(rng.choice(world.sort_keys))
    return _param(rng.choice(world.readable_params)) if world.readable_params else {"op": "const_null"}


def _in_numbers(world: World, rng: random.Random, depth: int) -> Tree:
    chance = rng.random()
    left = _key(world.exact_key) if chance < 0.4 else _fine_side(world, rng, 2) if chance < 0.7 else make_expression(world, rng, depth)
    length = rng.choice([1, 2, 4, 9, 40])
    return {"op": "in", "lhs": left, "list": [words.number(rng) for _ in range(length)]}


def _in_strings(world: World, rng: random.Random, depth: int) -> Tree:
    elements = [_some_text(world, rng) for _ in range(rng.choice([1, 2, 5, 20]))]
    return {"op": "in", "lhs": _key(_string_key(world, rng)), "list": elements}


def _related_texts(world: World, rng: random.Random, depth: int) -> Tree:
    op = rng.choice(["cmp_text", "cmp_text", "cmp_text", "starts_with", "ends_with", "contains"])
    sides = {"op": op, "a": _text_source(world, rng), "b": _text_source(world, rng)}
    return sides | ({"cmp": rng.choice(_SIGNS)} if op == "cmp_text" else {})


def _text_source(world: World, rng: random.Random) -> Tree:
    chance = rng.random()
    if chance < 0.3:
        return {"kind": "literal", "value": _some_text(world, rng)}
    if chance < 0.5 and world.pattern_params:
        return {"kind": "param", "param_id": rng.choice(world.pattern_params)}
    return {"kind": "key", "key_id": _string_key(world, rng)}


def _null_test(world: World, rng: random.Random, depth: int) -> Tree:
    tested = _any_reference(world, rng) if rng.random() < 0.6 else make_expression(world, rng, depth)
    return {"op": rng.choice(["is_null", "not_null"]), "x": tested}


def _regex(world: World, rng: random.Random, depth: int) -> Tree:
    flags = rng.choice(["", "i"])
    source: Tree = {"kind": "literal", "value": words.pattern(rng)}
    if rng.random() < 0.2 and world.pattern_params:
        source = {"kind": "param", "param_id": rng.choice(world.pattern_params)}
    return {"op": "regex", "key_id": _string_key(world, rng), "pattern": source, "flags": flags}


def _some_text(world: World, rng: random.Random) -> str:
    """What strings of rows are compared with: often an id, where these are strings."""
    return rng.choice(words.TEXT_IDS) if world.text_ids and rng.random() < 0.5 else words.string(rng)


def _string_key(world: World, rng: random.Random) -> int:
    if world.text_ids and rng.random() < 0.5:
        return 1
    return 3001 if rng.random() < 0.9 else rng.choice(world.string_keys)


def _const_bool(world: World, rng: random.Random, depth: int) -> Tree:
    return {"op": "const_bool", "value": rng.random() < 0.5}


# What a predicate tests in the end, and how often.
_TESTS: dict[Callable[[World, random.Random, int], Tree], float] = {
    _comparison: 8,
    _fine_comparison: 8,
    _in_numbers: 4,
    _in_strings: 4,
    _related_texts: 12,
    _null_test: 4,
    _regex: 6,
    _const_bool: 1,
}


@dataclass
class _Draft:
    """A plan that grows node by node."""

    world: World
    rng: random.Random
    max_rows: int
    # How probable it is that a sleep fails, or that a vm does not care for null.
    carelessness: float
    nodes: list[Node] = field(default_factory=list)
    # Per node a bound of its rows, and the keys that it may have.
    bounds: dict[str, int] = field(default_factory=dict)
    keys: dict[str, set[int]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    expressions: dict[str, Tree] = field(default_factory=dict)
    # Of these the ones that give numbers.
    numbers: dict[str, Tree] = field(default_factory=dict)
    predicates: dict[str, Tree] = field(default_factory=dict)

    def add(self, op: str, inputs: list[str], bound: int, **params: Any) -> None:
        name = f"{op.split('::')[1]}_{len(self.nodes)}"
        if self.rng.random() < 0.1:
            params["trace"] = self.rng.choice([None, "", "é\n", name])
        node = {"node_id": name, "op": op, "inputs": inputs, "params": params}
        self.nodes.append(node)
        self.bounds[name] = bound
        self.keys[name] = self._keys_of(node)
        self.used.update(edges_into(node))

    def _keys_of(self, node: Node) -> set[int]:
        if node["op"] in ("core::viewer", "core::follow", "core::recommendation"):
            return {1, 3001}
        params = node["params"]
        if node["op"] in ("core::media", "test::fixed_source", "core::list", "core::set", "core::sorted_set", "core::nearest"):
            return {1} | ({params["out_key"]} if params.get("out_key") else set())
        if node["op"] == "core::candidates":
            return {1}.union(params.get("keys") or [])
        if node["op"] in ("core::fetch_features", "core::hash"):
            return self.keys[node["inputs"][0]].union(params["keys"])
        if node["op"] in ("core::extract_features", "core::call_models"):
            return self.keys[node["inputs"][0]].union(params["out_keys"])
        if node["op"] == "core::join":
            return self.keys[node["inputs"][0]].union(params.get("map") or params.get("select") or [])
        written = {params["out_key"]} if params.get("out_key") else set()
        return written.union(*(self.keys[source] for source in edges_into(node)))

    def some_node(self) -> str:
        """A node to build on: mostly one that nothing reads yet."""
        names = list(self.bounds)
        unread = [name for name in names if name not in self.used]
        return self.rng.choice(unread if unread and self.rng.random() < 0.7 else names)


def make_plan(world: World, seed: int, name: str) -> tuple[dict[str, Any], int]:
    """A valid plan of 1 to 30 nodes, and a bound of the rows in all of them."""
    rng = random.Random(f"plan {seed}")
    max_rows = MANY_ROWS if rng.random() < 0.03 else MOST_ROWS
    draft = _Draft(world, rng, max_rows, 0.4 if rng.random() < 0.15 else 0.02)
    target = rng.choice([1, 2, 3, 5, 8, 8, 12, 12, 20, 30])
    _add_source(draft)
    while len(draft.nodes) < target:
        rng.choices(list(_GROWTH), weights=list(_GROWTH.values()))[0](draft)
    if world.text_ids and rng.random() < 0.5:
        _add_page(draft, sizes=(1, 2, 3))
    return _finished(draft, name), sum(draft.bounds.values())


def _finished(draft: _Draft, name: str) -> dict[str, Any]:
    rng, names = draft.rng, list(draft.bounds)
    falls = rng.random() < (0.8 if draft.carelessness > 0.1 else 0.15)
    kinds = tuple(each for each in KINDS if each != "source" or not draft.world.text_ids)
    more = add_fallbacks(draft.nodes, draft.keys, rng, kinds) if falls else []
    # What nothing reads must be an output; others may be.
    outputs = [name for name in names if name not in draft.used or rng.random() < 0.05]
    rng.shuffle(outputs)
    draft.nodes += more
    if rng.random() < 0.5:
        rng.shuffle(draft.nodes)
    plan: dict[str, Any] = {"schema_version": 1, "plan_name": name, "nodes": draft.nodes, "outputs": outputs}
    if draft.expressions:
        plan["expr_table"] = draft.expressions
    if draft.predicates:
        plan["pred_table"] = draft.predicates
    required = _required(draft)
    if rng.random() < 0.2:
        required |= add_limits(draft.nodes, rng)
    if rng.random() < 0.2:
        required |= add_caches(draft.nodes, rng)
    if required:
        plan["capabilities_required"] = sorted(required)
    return plan


def _needs_vectors(node: Node) -> bool:
    return node["op"] == "core::nearest" or node["params"].get("strategy") == "mmr"


def _required(draft: _Draft) -> set[str]:
    trees = [*draft.expressions.values(), *draft.predicates.values()]
    out = {arithmetic.CAPABILITY} if any(_has_op(tree, arithmetic.OPS) for tree in trees) else set()
    if any(_has_op(tree, PRODUCTS) for tree in trees) or any(map(_needs_vectors, draft.nodes)):
        out.add(VECTORS)
    if any(_has_op(tree, FORMULA_OPS) for tree in trees):
        out.add(FORMULAS)
    if any(bindings_of(node) for node in draft.nodes):
        out.add(BOUND_PARAMS)
    if any(node["op"] == "core::choose" for node in draft.nodes) or any(map(_tests_string_of_param, trees)):
        out.add(BRANCH)
    if any("fallback" in node for node in draft.nodes):
        out.add(FALLBACK)
    return out


def _tests_string_of_param(tree: Tree) -> bool:
    """Whether a tree compares the string of a param."""
    if tree.get("op") == "in" and tree["lhs"]["op"] == "param_ref" and isinstance((tree["list"] or [0])[0], str):
        return True
    return any(map(_tests_string_of_param, [part for part in tree.values() if isinstance(part, dict)]))


def _has_op(tree: Tree, ops: list[str]) -> bool:
    """Whether a tree has one of some ops."""
    parts = [part for part in tree.values() if isinstance(part, dict)]
    return tree.get("op") in ops or any(_has_op(part, ops) for part in parts)


def _add_source(draft: _Draft) -> None:
    if draft.rng.random() < (0.4 if draft.world.text_ids else 0.7):
        draft.add("core::viewer", [], 1, endpoint=draft.rng.choice(draft.world.endpoints))
        return
    if draft.rng.random() < 0.4:
        _add_candidates(draft)
        return
    if draft.world.text_ids:
        _add_named_of(draft, None)
        return
    many = draft.max_rows == MANY_ROWS
    counts = [4_096, 9_999, 20_000] if many else [0, 1, 2, 7, 12, 63, 64, 65, 129, 300]
    count = draft.rng.choice(counts)
    if count == 1 and draft.rng.random() < 0.5:
        draft.add("test::fixed_source", [], 1)
    else:
        # A row_count of 0 is not specified.
        draft.add("test::fixed_source", [], max(count, 1), row_count=max(count, 1))


def _add_candidates(draft: _Draft) -> None:
    keys = draft.rng.sample(draft.world.fetched_keys, draft.rng.randint(0, min(4, len(draft.world.fetched_keys))))
    more = {"keys": keys} if keys else draft.rng.choice([{}, {"keys": None}, {"keys": []}])
    draft.add("core::candidates", [], MOST_CANDIDATES, **more)


def _bound(draft: _Draft, value: Any, kind: str, least: Any, most: Any) -> tuple[Any, Any]:
    """The value of an option, or now and then what binds it to a param; and the greatest value that it may have."""
    rng = draft.rng
    rows = [
        row for row in draft.world.params
        if row["type"] == kind and is_readable(row) and row.get("default") is not None and least <= row["default"] <= most
    ]
    if not rows or rng.random() > 0.25:
        return value, value
    row = rng.choice(rows)
    ends = {"min": rng.choice([least, least, row["default"]]), "max": rng.choice([most, most, row["default"]])}
    return {"param_id": row["param_id"]} | ends, ends["max"]


def _add_choose(draft: _Draft) -> None:
    """One of some nodes, by conditions that have no rows."""
    rng = draft.rng
    inputs = [draft.some_node() for _ in range(rng.choice([2, 2, 3, 4]))]
    names: list[str] = []
    for _ in inputs[1:]:
        name = f"c_{len(draft.predicates)}"
        draft.predicates[name] = make_condition(draft.world, rng, rng.choice([0, 0, 1, 2]))
        names.append(name)
    draft.add("core::choose", inputs, max(draft.bounds[name] for name in inputs), pred_ids=names)


def make_condition(world: World, rng: random.Random, depth: int) -> Tree:
    """A predicate of params alone."""
    if depth > 0:
        op = rng.choice(["and", "or", "not"])
        if op == "not":
            return {"op": op, "x": make_condition(world, rng, depth - 1)}
        return {"op": op, "a": make_condition(world, rng, depth - 1), "b": make_condition(world, rng, depth - 1)}
    if not world.readable_params:
        return _const_bool(world, rng, 0)
    row = rng.choice([row for row in world.params if row["param_id"] in world.readable_params])
    value = _param(row["param_id"])
    if rng.random() < 0.1:
        return {"op": rng.choice(["is_null", "not_null"]), "x": value}
    known = [value_of_type(rng, row["type"]), row.get("default")]
    texts = [text for text in known if isinstance(text, str)]
    if row["type"] == "string":
        return {"op": "in", "lhs": value, "list": texts}
    numbers = [int(number) if isinstance(number, bool) else number for number in known if number is not None]
    if rng.random() < 0.2:
        return {"op": "in", "lhs": value, "list": numbers}
    other = {"op": "const_number", "value": rng.choice(numbers)}
    return {"op": "cmp", "cmp": rng.choice(_SIGNS), "a": value, "b": other}


def _add_list(draft: _Draft) -> None:
    if draft.world.text_ids:
        # Lists of numbers cannot be read; what stands in for them is read by names.
        return draft.rng.choice([_add_named, _add_named, _add_hash, _add_members, _add_strings])(draft)
    source = draft.some_node()
    fanout, most = _bound(draft, draft.rng.choice([1, 2, 3, 5, 10, 100, 10_000]), "int", 1, 10_000)
    bound = draft.bounds[source] * min(most, LONGEST_LIST)
    if bound <= draft.max_rows:
        op = draft.rng.choice(["core::follow", "core::recommendation", "core::media"])
        draft.add(op, [source], bound, endpoint=draft.rng.choice(draft.world.endpoints), fanout=fanout)


def _add_vm(draft: _Draft) -> None:
    rng, source = draft.rng, draft.some_node()
    key = rng.choice(draft.world.out_keys)
    tree = make_expression(draft.world, rng, rng.choice([0, 1, 1, 2, 3, 4, 8 if draft.max_rows == MOST_ROWS else 4]))
    if key not in draft.world.nullable_out_keys and rng.random() > draft.carelessness:
        tree = {"op": "coalesce", "a": tree, "b": _const(rng)}
    if draft.world.written_ints and rng.random() < 0.2:
        key = rng.choice(draft.world.written_ints)
        nullable = next(row["nullable"] for row in draft.world.keys if row["key_id"] == key)
        tree = _whole(draft.world, rng, 2)
        if not nullable and rng.random() > draft.carelessness:
            tree = {"op": "coalesce", "a": tree, "b": {"op": "const_number", "value": rng.choice(words.IDS)}}
        name = f"i_{len(draft.expressions)}"
        draft.expressions[name] = tree
    elif draft.world.written_strings and rng.random() < 0.2:
        key = rng.choice(draft.world.written_strings)
        nullable = next(row["nullable"] for row in draft.world.keys if row["key_id"] == key)
        tree = make_text(draft.world, rng, rng.randint(0, 3))
        if not nullable and rng.random() > draft.carelessness:
            tree = {"op": "coalesce", "a": tree, "b": {"op": "const_text", "value": words.string(rng)}}
        name = f"s_{len(draft.expressions)}"
        draft.expressions[name] = tree
    else:
        name = _named(rng, draft.numbers, "e", tree)
        draft.expressions[name] = draft.numbers[name]
    draft.add("core::vm", [source], draft.bounds[source], out_key=key, expr_id=name)


def _add_flag(draft: _Draft) -> None:
    rng, source = draft.rng, draft.some_node()
    if not draft.world.truth_keys:
        return
    name = _named(rng, draft.predicates, "p", make_predicate(draft.world, rng, rng.choice([0, 1, 2])))
    draft.add("core::flag", [source], draft.bounds[source], out_key=rng.choice(draft.world.truth_keys), pred_id=name)


def _add_filter(draft: _Draft) -> None:
    rng, source = draft.rng, draft.some_node()
    tree = make_predicate(draft.world, rng, rng.choice([0, 0, 0, 1, 1, 2, 3, 5, 8 if draft.max_rows == MOST_ROWS else 3]))
    if rng.random() < 0.4:
        # Keeps most rows, so that something is left to look at.
        most: Tree = {"op": "cmp", "cmp": "!=", "a": _key(1), "b": _const(rng)}
        if draft.world.text_ids:
            some = {"kind": "literal", "value": rng.choice(words.TEXT_IDS)}
            most = {"op": "cmp_text", "cmp": "!=", "a": {"kind": "key", "key_id": 1}, "b": some}
        tree = {"op": "or", "a": tree, "b": most}
    name = _named(rng, draft.predicates, "p", tree)
    draft.add("core::filter", [source], draft.bounds[source], pred_id=name)


def _named(rng: random.Random, table: dict[str, Tree], prefix: str, tree: Tree) -> str:
    """The name of `tree`, newly in `table`, or now and then of one that is there already."""
    if table and rng.random() < 0.1:
        return rng.choice(list(table))
    name = f"{prefix}_{len(table)}"
    table[name] = tree
    return name


def _add_concat(draft: _Draft) -> None:
    left, right = draft.some_node(), draft.some_node()
    bound = draft.bounds[left] + draft.bounds[right]
    more = draft.rng.choice([{}, {}, {"out_key": None, "sources": None}])
    keys = draft.world.written_like(3001)
    if keys and draft.rng.random() < 0.4:
        more = {"out_key": draft.rng.choice(keys), "sources": draft.rng.sample(words.STRINGS[:6], 2)}
    if bound <= draft.max_rows:
        draft.add("core::concat", [left], bound, rhs=right, **more)


def _add_dedupe(draft: _Draft) -> None:
    source = draft.some_node()
    draft.add("core::dedupe", [source], draft.bounds[source], **_by(draft, source), **_strategy(draft, source))


def _by(draft: _Draft, source: str) -> dict[str, Any]:
    """What rows are compared by: mostly a key that they have."""
    rng = draft.rng
    present = sorted(draft.keys[source].intersection(draft.world.sort_keys))
    return rng.choice([{}, {"by": None}, {"by": 1}, {"by": rng.choice(present)}, {"by": rng.choice(present)},
                       {"by": rng.choice(draft.world.sort_keys)}])


def _strategy(draft: _Draft, source: str) -> dict[str, Any]:
    rng = draft.rng
    present = sorted(draft.keys[source].intersection(draft.world.number_keys))
    score = rng.choice(present if present and rng.random() < 0.8 else draft.world.number_keys)
    highest = {"strategy": "max_by", "score_key": score}
    return rng.choice([{}, {"strategy": None}, {"strategy": "first"}, {"strategy": "last"}, highest, highest])


def _add_diversify(draft: _Draft) -> None:
    rng, source = draft.rng, draft.some_node()
    overflow = rng.choice([{}, {"overflow": None}, {"overflow": "later"}, {"overflow": "drop"}, {"overflow": "drop"}])
    if draft.bounds[source] > MOST_ROWS:
        return  # the interpreter looks at every row for each position
    vectors = sorted(draft.keys[source].intersection(draft.world.vector_keys))
    if vectors and rng.random() < 0.7:
        return _add_unlike(draft, source, rng.choice(vectors))
    if rng.random() < 0.6:
        present = sorted(draft.keys[source].intersection(draft.world.sort_keys))
        at_most = rng.choice([1, 1, 2, 3, 10_000_000])
        window = rng.choice([{}, {"window": None}, *[{"window": at_most + more} for more in (1, 2, 5)]])
        if at_most == 10_000_000:
            window = {}
        more = {"strategy": "window", "by": rng.choice(present), "at_most": at_most} | window
    else:
        listed = sorted(draft.keys[source].intersection([*draft.world.int_keys, *draft.world.string_keys]))
        key = rng.choice(listed) if rng.random() < 0.9 else rng.choice(draft.world.string_keys)
        numbers = rng.choice([words.IDS, [1, 2, 3, 5, 8]])
        choices: list[Any] = _texts_of(draft.world, key) if key in draft.world.string_keys else numbers
        more = {"strategy": "quota", "by": key, "values": rng.sample(choices, rng.randint(1, 3))}
        more |= {"every_nth": rng.choice([1, 2, 3, 7])} | rng.choice([{}, {"first": None}, {"first": 1}, {"first": 4}])
    draft.add("core::diversify", [source], draft.bounds[source], **more, **overflow)


def _add_fetched_unlike(draft: _Draft) -> None:
    """Rows seldom have a vector of their own accord, so one is fetched."""
    rng, source = draft.rng, draft.some_node()
    keys = _free(draft, source, [key for key in draft.world.fetched_keys if key in draft.world.vector_keys])
    if not keys or draft.bounds[source] > MOST_ROWS:
        return
    by = rng.choice([{}, {"by": None}, {"by": 1}])
    _add_fetched(draft, source, keys[:1], **(_by_number(draft, source) if draft.world.text_ids else by))
    _add_unlike(draft, draft.nodes[-1]["node_id"], keys[0])


def _by_number(draft: _Draft, source: str) -> dict[str, int]:
    """What features are fetched by where ids are strings."""
    present = sorted(draft.keys[source].intersection(draft.world.int_keys))
    return {"by": draft.rng.choice(present or draft.world.int_keys)}


def _add_unlike(draft: _Draft, source: str, vectors: int) -> None:
    """The interpreter compares each row with each that was chosen, each time."""
    rng, most = draft.rng, min(draft.bounds[source], 30)
    relevance = rng.choice(sorted(draft.keys[source].intersection(draft.world.number_keys)) or draft.world.number_keys)
    weight = rng.choice([0, 0.25, 0.5, 0.7, 1, rng.random()])
    count = rng.choice([1, 2, 5, most])
    more = {"strategy": "mmr", "relevance": relevance, "similarity": vectors, "lambda": weight, "count": count}
    draft.add("core::diversify", [source], count, **more)


def _add_nearest(draft: _Draft) -> None:
    """Of rows that have a vector of the same length as those of the file."""
    rng, file = draft.rng, draft.world.vectors
    if file is None:
        return
    fits = [key for key, size in draft.world.vector_keys.items() if size == file.dimensions]
    sources = [name for name, keys in draft.keys.items() if keys.intersection(fits)]
    if not sources:
        return
    source = rng.choice(sources)
    query = rng.choice(sorted(draft.keys[source].intersection(fits)))
    sources = [name for name, keys in draft.keys.items() if query in keys]
    count = rng.choice([1, 2, 5, 20])
    if draft.bounds[source] * count > draft.max_rows:
        return
    out = {"out_key": rng.choice(draft.world.out_keys)} if draft.world.out_keys and rng.random() < 0.7 else {}
    for name, chance in (("only", 0.3), ("except", 0.3), ("changes", 0.3)):
        if rng.random() < chance:
            out[name] = rng.choice([None, rng.choice(sources) if name == "changes" else draft.some_node()])
    changed = draft.bounds[out["changes"]] if out.get("changes") else 0
    bound = draft.bounds[source] * min(count, len(file.rows) + changed)
    draft.add("core::nearest", [source], bound, endpoint=file.endpoint, query=query, count=count, **out)


def _add_fusion(draft: _Draft) -> None:
    """Ranks of lists that a column of a few values tells apart, such as that of a concat."""
    rng, source = draft.rng, draft.some_node()
    have = draft.keys[source].intersection(draft.world.sort_keys)
    key = rng.choice(sorted(have.intersection(draft.world.string_keys) or have))
    k = rng.choice([{}, {"k": None}, {"k": 0}, {"k": 60}, {"k": 0.5}])
    out_key = rng.choice(draft.world.out_keys)
    draft.add("core::rank_fusion", [source], draft.bounds[source], by=key, out_key=out_key, **k)


def _add_aggregate(draft: _Draft) -> None:
    rng, source = draft.rng, draft.some_node()
    of = rng.choice(["count", "sum", "mean", "min", "max"])
    have = draft.keys[source]
    per = rng.choice(sorted(have.intersection(draft.world.sort_keys)))
    more = rng.choice([{}, {"per": None}, {"per": per}, {"per": per}, {"per": rng.choice(draft.world.sort_keys)}])
    key = rng.choice(sorted(have.intersection(draft.world.number_keys)) or draft.world.number_keys)
    if of != "count":
        more = more | {"key": key}
    is_null = of != "count" and key != 1 and rng.random() > draft.carelessness
    out = draft.world.nullable_out_keys if is_null else draft.world.out_keys
    if out:
        draft.add("core::aggregate", [source], draft.bounds[source], of=of, out_key=rng.choice(out), **more)


def _add_sample(draft: _Draft) -> None:
    source = draft.some_node()
    count = draft.rng.choice([1, 2, 5, 10, 64, 10_000_000])
    seed = draft.rng.choice(["a", "%", _template(draft, source, "seed")])
    draft.add("core::sample", [source], min(count, draft.bounds[source]), count=count, seed=seed)


def _add_jitter(draft: _Draft) -> None:
    rng, source = draft.rng, draft.some_node()
    key = rng.choice(sorted(draft.keys[source].intersection(draft.world.number_keys)) or draft.world.number_keys)
    out = draft.world.nullable_out_keys if key != 1 and rng.random() > draft.carelessness else draft.world.out_keys
    seed = rng.choice(["a", "%", _template(draft, source, "seed")])
    if out:
        amount = rng.choice([0, 0.1, 3, 1e9])
        draft.add("core::jitter", [source], draft.bounds[source], key=key, amount=amount, seed=seed, out_key=rng.choice(out))


def _add_join(draft: _Draft) -> None:
    """A join whose right side has each value once, mostly because a dedupe stands before it."""
    rng, left, right = draft.rng, draft.some_node(), draft.some_node()
    by = _by(draft, left)
    if rng.random() > draft.carelessness:
        draft.add("core::dedupe", [right], draft.bounds[right], **by, **_strategy(draft, right))
        right = draft.nodes[-1]["node_id"]
    how = rng.choice(["inner", "left", "left", "semi", "anti", "broadcast"])
    more: dict[str, Any] = {}
    if how == "broadcast":
        by = rng.choice([{}, {"by": None}])
        if rng.random() > draft.carelessness:
            draft.add("core::take", [right], 1, count=1)
            right = draft.nodes[-1]["node_id"]
    if how in ("inner", "left", "broadcast"):
        more = _joined_columns(draft, left, right)
    if how in ("left", "broadcast"):
        more |= rng.choice([{}, {"on_missing": None}, {"on_missing": "null"}, {"on_missing": "default"}])
        if rng.random() < draft.carelessness:
            more["on_missing"] = "error"
        strict = {row["key_id"] for row in draft.world.keys if not row["nullable"]}
        if more.get("on_missing") in (None, "null") and strict & set(more.get("map") or more["select"]):
            more["on_missing"] = "default"
    draft.add("core::join", [left], draft.bounds[left], rhs=right, how=how, **by, **more)


def _joined_columns(draft: _Draft, left: str, right: str) -> dict[str, Any]:
    """Columns that the left side has not, under their own keys or under others."""
    rng, world, have = draft.rng, draft.world, draft.keys[left]
    wanted = [key for key in world.sort_keys if key in draft.keys[right] or rng.random() < 0.2]
    rng.shuffle(wanted)
    if rng.random() < 0.5:
        free = [key for key in wanted if key not in have]
        return {"select": free[: rng.randint(0, 3)]} | rng.choice([{}, {"map": None}])
    select: list[int] = []
    target: list[int] = []
    for key in wanted[: rng.randint(0, 4)]:
        free = [other for other in world.written_like(key) if other not in have and other not in target]
        if free:
            select.append(key)
            target.append(rng.choice(free))
    return {"select": select, "map": target}


def _free(draft: _Draft, source: str, keys: list[int]) -> list[int]:
    """Those of some keys that the rows of a node have not, in any order."""
    free = [key for key in keys if key not in draft.keys[source]]
    draft.rng.shuffle(free)
    return free


def _add_fetch(draft: _Draft) -> None:
    """Features of the rows, and now and then of what the first ones name."""
    rng, source, ints = draft.rng, draft.some_node(), draft.world.int_keys
    keys = _free(draft, source, draft.world.fetched_keys)
    names = [key for key in keys if key in ints]
    if names and rng.random() < 0.5:
        by = rng.choice([{}, {"by": None}, {"by": 1}])
        _add_fetched(draft, source, names[:1], **(_by_number(draft, source) if draft.world.text_ids else by))
        source = draft.nodes[-1]["node_id"]
        keys = _free(draft, source, draft.world.fetched_keys)
    others = sorted(draft.keys[source].intersection(ints) - {1})
    by = rng.choice([{}, {"by": None}, {"by": 1}, {"by": rng.choice(ints)}])
    if others and rng.random() < 0.7:
        by = {"by": rng.choice(others)}
    elif draft.world.text_ids:
        by = _by_number(draft, source)
    if keys:
        _add_fetched(draft, source, keys[: rng.choice([1, 1, 2, 3, 6])], **by)


def _add_fetched(draft: _Draft, source: str, keys: list[int], **by: int | None) -> None:
    rng = draft.rng
    hashes = [{}, {"hash": None}, {"hash": "features"}, {"hash": "user"}]
    more = rng.choice(hashes) if rng.random() < 0.95 else {"hash": "nothing"}
    endpoint = rng.choice(draft.world.endpoints)
    draft.add("core::fetch_features", [source], draft.bounds[source], endpoint=endpoint, keys=keys, **more, **by)


def _template(draft: _Draft, source: str | None, prefix: str) -> str:
    """A key with one hole, now and then two, for what the rows have; without rows for a param, or with none."""
    rng, world = draft.rng, draft.world
    types = ("int", "string", "bool")
    params = [f"{{P.{row['name']}}}" for row in world.params if row["type"] in types and is_readable(row)]
    have = draft.keys[source] if source is not None else set()
    columns = [f"{{{row['name']}}}" for row in world.keys if row["key_id"] in have & set(world.named_keys)]
    if not columns or rng.random() < 0.15:
        columns = [*params, "7", "US", "%20"]
    first = rng.choice(columns)
    if rng.random() < 0.05:
        return rng.choice([f"{prefix}:{first}/{rng.choice(columns)}", f"{{{{{first}}}}}", first])
    return f"{prefix}:{first}"


def _add_named(draft: _Draft) -> None:
    _add_named_of(draft, draft.some_node() if draft.rng.random() < 0.8 else None)


def _add_named_of(draft: _Draft, source: str | None) -> None:
    """Ids under keys of all kinds, for rows or once."""
    rng, world = draft.rng, draft.world
    count, most = _bound(draft, rng.choice([1, 2, 3, 5, 100, 10_000_000]), "int", 1, 10_000_000)
    bound = (1 if source is None else draft.bounds[source]) * min(most, LONGEST_LIST)
    op, prefix = rng.choice([("core::list", "shelf"), ("core::set", "bought"), ("core::sorted_set", "near")])
    if bound > draft.max_rows:
        return
    more: dict[str, Any] = {}
    if op != "core::set":
        more = rng.choice([{}, {"offset": None}, {"offset": 1}, {"offset": _bound(draft, 5, "int", 0, 2_000_000_000)[0]}])
    if op == "core::sorted_set":
        ends = _ascending(rng, 2)
        more = more | rng.choice([{}, {"order": None}, {"order": "asc"}, {"order": "desc"}, {"order": "desc"}])
        more = more | rng.choice([{}, {}, {"min": ends[0]}, {"max": ends[-1]}, {"min": ends[0], "max": ends[-1]}])
        more = more | rng.choice([{}, {"out_key": None}, *[{"out_key": key} for key in world.out_keys]])
    inputs = [] if source is None else [source]
    key = _template(draft, source, prefix)
    draft.add(op, inputs, bound, endpoint=rng.choice(world.endpoints), key=key, count=count, **more)


def _add_hash(draft: _Draft) -> None:
    rng, source = draft.rng, draft.some_node()
    keys = _free(draft, source, draft.world.fetched_keys)[: rng.choice([1, 2, 3, 6])]
    if not keys:
        return
    names = [row["name"] for number in keys for row in draft.world.keys if row["key_id"] == number]
    names[0] = rng.choice([names[0], "odd-name", "nothing"])
    fields = rng.choice([{}, {"fields": None}, {"fields": names}])
    key, endpoint = _template(draft, source, "item"), rng.choice(draft.world.endpoints)
    draft.add("core::hash", [source], draft.bounds[source], endpoint=endpoint, key=key, keys=keys, **fields)


def _add_strings(draft: _Draft) -> None:
    rng, source, keys = draft.rng, draft.some_node(), draft.world.fetched_keys
    if keys:
        key, endpoint = _template(draft, source, "price"), rng.choice(draft.world.endpoints)
        draft.add("core::strings", [source], draft.bounds[source], endpoint=endpoint, key=key, out_key=rng.choice(keys))


def _add_members(draft: _Draft) -> None:
    rng, source, world = draft.rng, draft.some_node(), draft.world
    is_sorted = rng.random() < 0.5
    out = [*world.truth_keys, *(world.out_keys if is_sorted else [])]
    if not out:
        return
    member = rng.choice([{}, {"member": None}, {"member": 1}, {"member": rng.choice([*world.int_keys, *world.string_keys])}])
    of: dict[str, Any] = {"of": "sorted_set"} if is_sorted else rng.choice([{}, {"of": None}, {"of": "set"}])
    draft.add(
        "core::members_of", [source], draft.bounds[source], endpoint=rng.choice(world.endpoints),
        key=_template(draft, source, "near" if is_sorted else "bought"), out_key=rng.choice(out), **of, **member,
    )


def _add_extract(draft: _Draft) -> None:
    transform = draft.rng.choice(["bucket", "clip", "is_null", "log1p", "one_hot"])
    source = draft.some_node()
    if transform == "one_hot":
        _add_one_hot(draft, source)
    elif transform == "log1p" and draft.rng.random() > draft.carelessness:
        # What lies above the bound has a logarithm.
        clipped = _add_made(draft, source, "clip", min=draft.rng.choice([0, -0.5, 3]))
        readable = [key for key in clipped if key in draft.world.number_keys]
        if readable:
            _add_made(draft, draft.nodes[-1]["node_id"], "log1p", wanted=readable)
    else:
        extents = _extents(draft.rng, transform)
        if transform == "clip" and set(extents) == {"min"}:
            extents = {"min": _bound(draft, extents["min"], "float", -1e300, 1e300)[0]}
        _add_made(draft, source, transform, **extents)


def _extents(rng: random.Random, transform: str) -> dict[str, Any]:
    if transform == "bucket":
        return {"boundaries": _ascending(rng, rng.choice([1, 2, 3, 8, 20]))}
    if transform != "clip":
        return {}
    ends = _ascending(rng, 2)
    both = {"min": ends[0], "max": ends[-1]}
    return rng.choice([both, both, {"min": ends[0]}, {"max": ends[0]}, {"min": None, "max": ends[0]}])


def _ascending(rng: random.Random, most: int) -> list[int | float]:
    """At least one number, near each other or not; an integer that no double equals is none of them."""
    near = [lambda: rng.uniform(-10, 10), lambda: rng.randint(-3, 15)]
    makers: list[Callable[[], int | float]] = near if rng.random() < 0.6 else [lambda: words.number(rng)]
    numbers = [rng.choice(makers)() for _ in range(most)]
    distinct = {float(each): each if float(each) == each else float(each) for each in numbers}
    return [distinct[each] for each in sorted(distinct)]


def _add_made(
    draft: _Draft, source: str, transform: str, wanted: list[int] | None = None, **params: Any
) -> list[int]:
    """A feature for each of some keys; the keys of the features, none where there was no room for any."""
    rng, world = draft.rng, draft.world
    known = world.sort_keys if transform == "is_null" else world.number_keys
    present = sorted(draft.keys[source].intersection(known))
    some = present or known
    keys = wanted or rng.sample(*rng.choice([(known, 1), (some, 1), (some, min(2, len(some)))]))
    never_null = transform == "is_null" or keys == [1] or rng.random() < draft.carelessness
    free = _free(draft, source, world.out_keys if never_null else world.nullable_out_keys)
    pairs = list(zip(keys, free))
    if pairs:
        made, made_of = [to for _, to in pairs], [key for key, _ in pairs]
        bound = draft.bounds[source]
        draft.add(
            "core::extract_features", [source], bound, transform=transform, keys=made_of, out_keys=made, **params
        )
    return [to for _, to in pairs]


def _add_one_hot(draft: _Draft, source: str) -> None:
    rng, world = draft.rng, draft.world
    known = [*world.number_keys, *world.string_keys]
    present = sorted(draft.keys[source].intersection(known))
    key = rng.choice(present if rng.random() < 0.8 else known)
    numbers = rng.choice([words.IDS, words.SMALL_IDS, words.LARGE_IDS])
    choices: list[Any] = _texts_of(world, key) if key in world.string_keys else numbers
    out_keys = _free(draft, source, world.out_keys)[: rng.randint(1, 3)]
    if out_keys:
        values = rng.sample(choices, len(out_keys))
        draft.add(
            "core::extract_features", [source], draft.bounds[source],
            transform="one_hot", keys=[key], out_keys=out_keys, values=values,
        )


def _texts_of(world: World, key: int) -> list[str]:
    """Values that a key of strings may have."""
    return words.TEXT_IDS if key == 1 else words.STRINGS


def _add_models(draft: _Draft) -> None:
    rng, source = draft.rng, draft.some_node()
    is_sure = rng.random() < 0.5
    names = list(words.SURE_MODELS) if is_sure else [*words.SURE_MODELS, *words.UNSURE_MODELS]
    rng.shuffle(names)
    may_be_null = not is_sure and rng.random() > draft.carelessness
    free = _free(draft, source, draft.world.nullable_out_keys if may_be_null else draft.world.out_keys)
    pairs = list(zip(names, free))[: rng.randint(1, 2)]
    if pairs:
        models, out_keys = [name for name, _ in pairs], [key for _, key in pairs]
        draft.add("core::call_models", [source], draft.bounds[source], models=models, out_keys=out_keys)


def _add_sort(draft: _Draft) -> None:
    source, rng = draft.some_node(), draft.rng
    present = sorted(draft.keys[source].intersection(draft.world.sort_keys))
    key = rng.choice(present if rng.random() < 0.8 else draft.world.sort_keys)
    order = rng.choice([{}, {"order": "asc"}, {"order": "desc"}, {"order": "desc"}])
    draft.add("core::sort", [source], draft.bounds[source], by=key, **order)


def _add_take(draft: _Draft) -> None:
    source = draft.some_node()
    count, most = _bound(draft, draft.rng.choice([1, 2, 5, 10, 64, 1000, 2**31, 2**63 - 1]), "int", 1, 2**63 - 1)
    draft.add("core::take", [source], min(most, draft.bounds[source]), count=count)


def _add_at_least(draft: _Draft) -> None:
    source = draft.some_node()
    count, _ = _bound(draft, draft.rng.choice([1, 1, 2, 5]), "int", 1, 2**63 - 1)
    draft.add("core::at_least", [source], draft.bounds[source], count=count)


def _add_page(draft: _Draft, sizes: tuple[int, ...] = (1, 2, 5, 64, 10_000)) -> None:
    if any(node["op"] == "core::paginate" for node in draft.nodes):
        return
    source = draft.some_node()
    size, most = _bound(draft, draft.rng.choice(sizes), "int", 1, 10_000)
    draft.add("core::paginate", [source], min(most, draft.bounds[source]), size=size)


def _add_sleep(draft: _Draft) -> None:
    source, rng = draft.some_node(), draft.rng
    fails = rng.choice([{}, {"fail_after_sleep": False}])
    if rng.random() < draft.carelessness:
        fails = {"fail_after_sleep": True}
    draft.add("test::sleep", [source], draft.bounds[source], duration_ms=rng.randint(0, 2), **fails)


def _add_busy(draft: _Draft) -> None:
    source = draft.some_node()
    draft.add("test::busy_cpu", [source], draft.bounds[source], busy_wait_ms=draft.rng.randint(0, 1))


_GROWTH: dict[Callable[[_Draft], None], float] = {
    _add_source: 1,
    _add_list: 5,
    _add_vm: 5,
    _add_filter: 5,
    _add_flag: 1,
    _add_concat: 3,
    _add_choose: 2,
    _add_dedupe: 2,
    _add_diversify: 2,
    _add_fetched_unlike: 1,
    _add_fusion: 1,
    _add_aggregate: 2,
    _add_sample: 1,
    _add_jitter: 2,
    _add_join: 3,
    _add_fetch: 3,
    _add_named: 5,
    _add_nearest: 4,
    _add_hash: 2,
    _add_strings: 2,
    _add_members: 2,
    _add_extract: 4,
    _add_models: 2,
    _add_sort: 3,
    _add_take: 2,
    _add_at_least: 0.5,
    _add_page: 0.5,
    _add_sleep: 0.7,
    _add_busy: 0.3,
}


def _always_needed(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes that run for every request, and perhaps others: not what only a choice may take."""
    by_id = {node["node_id"]: node for node in plan["nodes"]}
    needed: dict[str, dict[str, Any]] = {}
    open_ids = list(plan["outputs"])
    while open_ids:
        node = by_id[open_ids.pop()]
        if node["node_id"] in needed:
            continue
        needed[node["node_id"]] = node
        other = substitute(node)
        open_ids += [] if other is None else [other]
        if node["op"] != "core::choose":
            open_ids += edges_into(node)
    return list(needed.values())


def make_request(world: World, seed: str, plan: dict[str, Any]) -> dict[str, Any]:
    """A request; one in thirty has a fault."""
    rng = random.Random(f"request {seed}")
    plan_name = plan["plan_name"]
    others = words.TEXT_IDS if world.text_ids else [number for number in words.IDS if number > 0]
    user = rng.choice(world.popular_ids if rng.random() < 0.5 else others)
    request: dict[str, Any] = {"user_id": str(user) if rng.random() < 0.3 else user}
    if rng.random() < 0.3 and all(node["op"] != "core::viewer" for node in _always_needed(plan)):
        del request["user_id"]
    sources = [node for node in plan["nodes"] if node["op"] == "core::candidates"]
    if sources:
        request["candidates"] = _candidates(world, rng, sources)
    context = _context(world, rng)
    if context or rng.random() < 0.05:
        request["context"] = context
    overrides = {name: value for name, value in _overrides(world, rng).items() if name not in context}
    _keep_within(world, rng, plan, overrides)
    if overrides or rng.random() < 0.1:
        request["param_overrides"] = overrides
    if rng.random() < 0.3:
        shown = [row["name"] for row in world.keys if is_readable(row)]
        request["output_keys"] = rng.sample(shown, rng.randint(0, len(shown)))
    if rng.random() < 0.3:
        request["request_id"] = words.string(rng)
    if rng.random() < 0.3:
        request["plan"] = plan_name
    if rng.random() < 0.7:
        request["explain"] = rng.random() < 0.9
    if rng.random() < 0.1:
        request["deadline_ms"] = 600_000
    if rng.random() < 1 / 30:
        own = _TEXT_USER_FAULTS if world.text_ids else _USER_FAULTS
        request |= rng.choice([*own, *_FAULTS, *_faults_of(world)])
    return request


def _candidates(world: World, rng: random.Random, sources: list[Node]) -> list[dict[str, Any]] | dict[str, Any]:
    """Rows or columns with what the sources take; ids may occur twice."""
    taken = {number for node in sources for number in node["params"].get("keys") or []}
    keys = [row for row in world.keys if row["key_id"] in taken]
    rng.shuffle(keys)
    count = rng.choice([0, 1, 2, 5, 20, MOST_CANDIDATES])
    ids = [str(number) if rng.random() < 0.2 else number for number in rng.choices(world.ids, k=count)]
    columns = {row["name"]: [_candidate_value(row, rng) for _ in ids] for row in keys}
    if rng.random() < 0.5:
        return {"id": ids} | columns
    rows: list[dict[str, Any]] = []
    for at, number in enumerate(ids):
        fields = {name: values[at] for name, values in columns.items()}
        # A field that is null may be left out.
        rows.append({"id": number} | {name: value for name, value in fields.items() if value is not None or rng.random() < 0.5})
    return rows


def _candidate_value(row: dict[str, Any], rng: random.Random) -> Any:
    if row["nullable"] and rng.random() < 0.2:
        return None
    if row["type"] == "vector":
        return vector_of(rng, row["dimensions"])
    return value_of_type(rng, row["type"])


def _context(world: World, rng: random.Random) -> dict[str, Any]:
    """Nearly always what plans may demand."""
    rows = [row for row in world.params if row.get("source") == "context" and row.get("status") != "blocked"]
    return {row["name"]: _override(row, rng) for row in rows if rng.random() < (0.97 if row.get("required") else 0.5)}


def _overrides(world: World, rng: random.Random) -> dict[str, Any]:
    """Texts most of the time: without one, a pattern that a plan takes from a param is null, and its node fails."""
    out: dict[str, Any] = {}
    for row in world.params:
        often = 0.8 if row["type"] == "string" else 0.4
        if is_writable(row) and rng.random() < often:
            out[row["name"]] = _override(row, rng)
    return out


def _keep_within(world: World, rng: random.Random, plan: dict[str, Any], overrides: dict[str, Any]) -> None:
    """Most values of params that give options are such that the options take them."""
    names = {row["param_id"]: row["name"] for row in world.params}
    for binding in [each for node in plan["nodes"] for each in bindings_of(node)]:
        name, least, most = names[binding["param_id"]], binding["min"], binding["max"]
        if name in overrides and rng.random() < 0.95:
            is_whole = isinstance(least, int) and isinstance(most, int)
            overrides[name] = rng.randint(least, min(most, least + 10)) if is_whole else rng.uniform(-5, 5)


def _override(row: dict[str, Any], rng: random.Random) -> Any:
    chance = rng.random()
    if row["nullable"] and chance < (0.03 if row["type"] == "string" else 0.15):
        return None
    if row["type"] == "string" and chance > 0.97:
        return rng.choice(words.BAD_PATTERNS)
    return value_of_type(rng, row["type"])


def _faults_of(world: World) -> list[dict[str, Any]]:
    """What this world refuses, one thing each."""
    out: list[dict[str, Any]] = []
    wrong = {"int": 1.5, "float": "1", "bool": 1, "string": 1}
    for row in world.params:
        good = {"int": 1, "float": 1.0, "bool": True, "string": "a"}[row["type"]]
        is_context = row.get("source") == "context"
        out.append({"context": {row["name"]: wrong[row["type"]] if is_context else good}})
        if is_context and not row["nullable"]:
            out.append({"context": {row["name"]: None}})
        if not is_writable(row):
            out.append({"param_overrides": {row["name"]: good}})
            continue
        out.append({"param_overrides": {row["name"]: wrong[row["type"]]}})
        if not row["nullable"]:
            out.append({"param_overrides": {row["name"]: None}})
    hidden = [row["name"] for row in world.keys if not is_readable(row)]
    return out + [{"output_keys": ["country", name]} for name in hidden]


_USER_FAULTS: list[dict[str, Any]] = [
    {"user_id": 0},
    {"user_id": -1},
    {"user_id": 2**63},
    {"user_id": "x"},
    {"user_id": ""},
    {"user_id": 1.5},
    {"user_id": None},
]

_TEXT_USER_FAULTS: list[dict[str, Any]] = [
    *({"user_id": name} for name in words.TEXT_JUNK), {"user_id": 7}, {"user_id": 1.5}, {"user_id": None}, {"user_id": []},
]

_FAULTS: list[dict[str, Any]] = [
    {"unknown": 1},
    {"plan": "another_plan"},
    {"request_id": 7},
    {"output_keys": ["country", "no_such_key"]},
    {"output_keys": ["country", "country"]},
    {"param_overrides": {"no_such_param": 1}},
    {"context": {"no_such_param": 1}},
]
