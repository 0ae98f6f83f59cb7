"""Registries that a seed makes, and what plans and requests may use of them."""

from __future__ import annotations

import json
import random
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from . import vocabulary as words
from .arithmetic import CAPABILITY
from .caches import CACHE
from .branches import BOUND_PARAMS, BRANCH
from .fallbacks import FALLBACK
from .expressions import FORMULAS
from .limits import HEDGE, RETRIES, TIMEOUTS
from .vectors import VECTORS, VectorFile, as_float32

Row = dict[str, Any]

CAPABILITIES = [CAPABILITY, BOUND_PARAMS, FALLBACK, BRANCH, FORMULAS, TIMEOUTS, RETRIES, VECTORS, CACHE, HEDGE]

REGISTRY = Path(__file__).resolve().parents[2] / "registry"
ID, COUNTRY, COUNT = 1, 3001, 4002
TYPES = ["int", "float", "string", "bool"]


@dataclass(frozen=True)
class World:
    """What is declared, and the text of the files that declare it; the lists say what plans may do with it."""

    keys: list[Row]
    params: list[Row]
    endpoints: list[str]
    files: dict[str, str]
    vectors: VectorFile | None = None
    # Whether ids are strings.
    text_ids: bool = False

    @cached_property
    def ids(self) -> list[Any]:
        return words.TEXT_IDS if self.text_ids else words.IDS

    @cached_property
    def popular_ids(self) -> list[Any]:
        return words.POPULAR_TEXT_IDS if self.text_ids else words.POPULAR_IDS

    @cached_property
    def exact_key(self) -> int:
        """A key of exact numbers that many rows have: the id, or what stands for it where that is a string."""
        return COUNT if self.text_ids else ID

    @cached_property
    def float_keys(self) -> list[int]:
        return self._keys("float")

    @cached_property
    def string_keys(self) -> list[int]:
        return self._keys("string")

    @cached_property
    def other_keys(self) -> list[int]:
        return [number for number in self._keys("int", "bool", "vector") if number != ID]

    @cached_property
    def sort_keys(self) -> list[int]:
        return self._keys(*TYPES)  # vectors have no order

    @cached_property
    def vector_keys(self) -> dict[int, int]:
        """Those that plans may read, each with its dimensions."""
        return {row["key_id"]: row["dimensions"] for row in self.keys if row["type"] == "vector" and is_readable(row)}

    @cached_property
    def number_keys(self) -> list[int]:
        return self._keys("int", "float")

    @cached_property
    def int_keys(self) -> list[int]:
        return self._keys("int")

    @cached_property
    def truth_keys(self) -> list[int]:
        """The bools that plans may write."""
        return [row["key_id"] for row in self.keys if row["type"] == "bool" and is_writable(row)]

    @cached_property
    def named_keys(self) -> list[int]:
        """The keys whose values may stand in keys of a store."""
        return self._keys("int", "string", "bool")

    @cached_property
    def model_keys(self) -> list[str]:
        """The names of the keys that models may read."""
        wanted = self._keys("int", "float", "bool")
        return [row["name"] for row in self.keys if row["key_id"] in wanted]

    @cached_property
    def fetched_keys(self) -> list[int]:
        """The keys that plans may write and that have a spelling."""
        return [row["key_id"] for row in self.keys if row["type"] in [*TYPES, "vector"] and is_writable(row)]

    def written_like(self, number: int) -> list[int]:
        """The keys that plans may write and whose type is that of a key."""
        kind = next(row["type"] for row in self.keys if row["key_id"] == number)
        return [row["key_id"] for row in self.keys if row["type"] == kind and is_writable(row)]

    @cached_property
    def written_ints(self) -> list[int]:
        return [row["key_id"] for row in self.keys if row["type"] == "int" and is_writable(row)]

    @cached_property
    def written_strings(self) -> list[int]:
        return [row["key_id"] for row in self.keys if row["type"] == "string" and is_writable(row)]

    @cached_property
    def out_keys(self) -> list[int]:
        return [row["key_id"] for row in self._written()]

    @cached_property
    def nullable_out_keys(self) -> list[int]:
        return [row["key_id"] for row in self._written() if row["nullable"]]

    @cached_property
    def readable_params(self) -> list[int]:
        return self._params(*TYPES)

    @cached_property
    def pattern_params(self) -> list[int]:
        return self._params("string")

    @cached_property
    def exact_params(self) -> list[int]:
        return self._params("int")

    def _keys(self, *types: str) -> list[int]:
        return [row["key_id"] for row in self.keys if row["type"] in types and is_readable(row)]

    def _params(self, *types: str) -> list[int]:
        return [row["param_id"] for row in self.params if row["type"] in types and is_readable(row)]

    def _written(self) -> list[Row]:
        return [row for row in self.keys if row["type"] == "float" and is_writable(row)]


def is_readable(row: Row) -> bool:
    """Whether plans may read a key or param, and requests show a key."""
    return row.get("status") != "blocked" and row.get("allow_read", True)


def is_writable(row: Row) -> bool:
    """Whether plans may write a key, and requests override a param."""
    return row.get("status") != "blocked" and row.get("allow_write", row.get("source") != "context")


def make_world(seed: int) -> World:
    """Now and then the registry of the repository with some more rows, otherwise one that the seed makes; of two in eight
    the ids are strings."""
    if seed % 4 == 0:
        return _known_world()
    return _random_world(random.Random(f"world {seed}"), text_ids=seed % 8 in (1, 6))


def _known_world() -> World:
    names = ["keys.toml", "params.toml", "capabilities.toml", "endpoints.dev.toml"]
    files = {name: (REGISTRY / name).read_text(encoding="utf-8") for name in names}
    files["keys.toml"] += words.EXTRA_KEYS
    files["params.toml"] += words.EXTRA_PARAMS
    keys, params = tomllib.loads(files["keys.toml"])["key"], tomllib.loads(files["params.toml"])["param"]
    vectors = _vector_file(random.Random("vectors"), "ep_9000", keys)
    files["endpoints.dev.toml"] = _with_vectors(files["endpoints.dev.toml"], vectors)
    return World(keys, params, ["ep_0001"], files, vectors)


def _random_world(rng: random.Random, text_ids: bool) -> World:
    keys = [
        {"key_id": ID, "name": "id", "type": "string" if text_ids else "int", "nullable": False, "allow_write": False},
        {"key_id": COUNTRY, "name": "country", "type": "string", "nullable": True},
        {"key_id": 2001, "name": "score", "type": "float", "nullable": rng.random() < 0.5, "default": 0.5},
        {"key_id": 2002, "name": "hidden", "type": "float", "nullable": True, "allow_read": rng.random() < 0.5},
    ]
    numbers = rng.sample([2, 7, 1001, 1002, 3002, 4001, 9001, 2**31, 2**32 - 1, *range(100, 120)], rng.randint(3, 12))
    keys += [_random_row(rng, "key_id", number, [*TYPES, "float", "float", "vector"]) for number in numbers]
    if text_ids:
        keys.append({"key_id": COUNT, "name": "count", "type": "int", "nullable": rng.random() < 0.5, "default": 7})
    numbers = rng.sample([1, 2, 3, 77, 2**32 - 1, 2**31 + 1, *range(200, 210)], rng.randint(2, 9))
    params = [_random_row(rng, "param_id", number, TYPES) | _random_source(rng) for number in numbers]
    for row in params:
        _complete(row, rng)
    rng.shuffle(keys)
    endpoints = rng.sample(range(1, 9999), 4)
    vectors = _vector_file(rng, f"ep_{endpoints[3]:04}", keys)
    files = {
        "keys.toml": _toml("key", keys),
        "params.toml": _toml("param", params),
        "capabilities.toml": _toml("capability", [{"id": each, "name": each.split(".")[3]} for each in CAPABILITIES]),
        "endpoints.dev.toml": _with_vectors(_toml("endpoint", _random_endpoints(rng, endpoints)), vectors),
    }
    return World(keys, params, [f"ep_{number:04}" for number in endpoints[:2]], files, vectors, text_ids)


def _random_row(rng: random.Random, id_field: str, number: int, types: list[str]) -> Row:
    row: Row = {id_field: number, "name": f"{id_field[0]}_{number}", "type": rng.choice(types)}
    row["nullable"] = row["type"] == "vector" or rng.random() < 0.6
    if row["type"] == "vector":
        row["dimensions"] = rng.choice([1, 3, 8])
    elif rng.random() < 0.5 or (id_field == "key_id" and not row["nullable"]):
        row["default"] = value_of_type(rng, row["type"])
    chance = rng.random()
    if chance < 0.25:
        row["status"] = "blocked" if chance < 0.1 else "deprecated"
    for right, how_often in (("allow_read", 0.12), ("allow_write", 0.15)):
        if rng.random() < how_often:
            row[right] = False
    if rng.random() < 0.3:
        row["doc"] = words.string(rng)
    return row


def _random_source(rng: random.Random) -> Row:
    return rng.choice([{}, {}, {"source": "override"}, {"source": "context"}, {"source": "context", "required": True}])


def _complete(row: Row, rng: random.Random) -> None:
    """Leaves a param of the context one source of its value at least, and one that is required no default."""
    if row.get("required"):
        row.pop("default", None)
    elif row.get("source") == "context" and not row["nullable"] and "default" not in row:
        row["default"] = value_of_type(rng, row["type"])
    if row.get("source") == "context" and rng.random() < 0.3:
        row["allow_write"] = True


def value_of_type(rng: random.Random, kind: str) -> Any:
    """A value that a key or param of this type may have; a text is a pattern."""
    match kind:
        case "int":
            return rng.choice(words.IDS)
        case "bool":
            return rng.random() < 0.5
        case "string":
            return words.pattern(rng)
    # Whether a float takes integers that are not exact as doubles is not specified.
    number = words.number(rng)
    return number if abs(number) < 2**53 else float(number)


def vector_of(rng: random.Random, dimensions: int) -> list[float]:
    """Few directions, so that some vectors are alike, and some are zero or large."""
    chance = rng.random()
    if chance < 0.3:
        return [float(rng.choice([0, 0, 1, -1])) for _ in range(dimensions)]
    scale = 1e19 if chance > 0.97 else 1.0
    return [rng.uniform(-1, 1) * scale for _ in range(dimensions)]


def _vector_file(rng: random.Random, endpoint: str, keys: list[Row]) -> VectorFile:
    """Vectors as one of the keys has them."""
    sizes = [row["dimensions"] for row in keys if row["type"] == "vector" and is_readable(row)]
    size = rng.choice(sizes or [2])
    text_ids = any(row["key_id"] == ID and row["type"] == "string" for row in keys)
    known: list[Any] = [*words.TEXT_IDS, *map(str, range(1000, 1100))] if text_ids else [*words.IDS, *range(1000, 1100)]
    ids = rng.sample(known, rng.randint(1, 60))
    rows = tuple((number, tuple(map(as_float32, vector_of(rng, size)))) for number in sorted(set(ids)))
    lists = rng.choice([0, 0, 1, 3, 17])
    return VectorFile(endpoint, size, rng.choice(["dot", "cosine", "l2"]), rows, min(lists, len(rows)))


def _with_vectors(endpoints: str, file: VectorFile) -> str:
    policy = "" if file.metric == "dot" else f'policy = {{ metric = "{file.metric}" }}\n'
    return (
        f'{endpoints}\n[[endpoint]]\nendpoint_id = "{file.endpoint}"\nname = "some_vectors"\nkind = "vectors"\n'
        f'resolver = {{ type = "file", path = "items.rvec" }}\n{policy}'
    )


def _random_endpoints(rng: random.Random, numbers: list[int]) -> list[Row]:
    """Two stores, and one that is none."""
    rows: list[Row] = []
    for number in numbers[:2]:
        row: Row = {"endpoint_id": f"ep_{number:04}", "name": f"e_{number}", "kind": rng.choice(["redis", "embedded"])}
        rows.append(row | {"resolver": {"type": "embedded", "path": f"store_{number}"}})
    web: Row = {"endpoint_id": f"ep_{numbers[2]:04}", "name": "web", "kind": "http"}
    return [*rows, web | {"resolver": {"type": "static", "host": "127.0.0.1", "port": 1}}]


def _toml(table: str, rows: list[Row]) -> str:
    lines: list[str] = []
    for row in rows:
        lines += [f"[[{table}]]", *(f"{name} = {_spelled(value)}" for name, value in row.items()), ""]
    return "\n".join(lines)


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_spelled(field)}" for name, field in value.items()) + " }"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value) if isinstance(value, bool) else repr(value)
