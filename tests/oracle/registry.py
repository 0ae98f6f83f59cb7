"""Reads the keys and params of a registry folder."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Key:
    """A column."""

    number: int
    name: str
    type: str
    nullable: bool
    readable: bool = True
    blocked: bool = False
    default: Any = None
    dimensions: int = 0


@dataclass(frozen=True)
class Param:
    """A value that a request gives or may override."""

    number: int
    name: str
    type: str
    nullable: bool
    default: Any
    writable: bool = True
    blocked: bool = False
    in_context: bool = False
    required: bool = False


@dataclass(frozen=True)
class Registry:
    """Keys and params by their numbers."""

    keys: dict[int, Key]
    params: dict[int, Param]

    @property
    def has_text_ids(self) -> bool:
        return 1 in self.keys and self.keys[1].type == "string"

    def key_named(self, name: str) -> Key | None:
        return next((key for key in self.keys.values() if key.name == name), None)

    def param_named(self, name: str) -> Param | None:
        return next((param for param in self.params.values() if param.name == name), None)


def load_registry(folder: Path) -> Registry:
    """The registry in `folder`."""
    keys = tomllib.loads((folder / "keys.toml").read_text(encoding="utf-8")).get("key", [])
    params = tomllib.loads((folder / "params.toml").read_text(encoding="utf-8")).get("param", [])
    return Registry(
        keys={row["key_id"]: _key(row) for row in keys},
        params={row["param_id"]: _param(row) for row in params},
    )


def _key(row: dict[str, Any]) -> Key:
    default = row.get("default")
    if row["type"] == "float" and default is not None:
        default = float(default)
    return Key(
        number=row["key_id"],
        name=row["name"],
        type=row["type"],
        nullable=row["nullable"],
        readable=row.get("allow_read", True),
        blocked=row.get("status") == "blocked",
        default=default,
        dimensions=row.get("dimensions", 0),
    )


def _param(row: dict[str, Any]) -> Param:
    default = row.get("default")
    if row["type"] == "float" and default is not None:
        default = float(default)
    return Param(
        number=row["param_id"],
        name=row["name"],
        type=row["type"],
        nullable=row["nullable"],
        default=default,
        writable=row.get("allow_write", row.get("source") != "context"),
        blocked=row.get("status") == "blocked",
        in_context=row.get("source") == "context",
        required=row.get("required", False),
    )
