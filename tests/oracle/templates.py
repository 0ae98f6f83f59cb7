"""Keys of a store as text with holes, and what a store has under such keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .store import Store

LONGEST_KEY = 511
_PIECES = re.compile(r"(\{\{|\}\}|\{[^{}]*\})")
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")

# The value of a column, or of a param after "P.", by its name.
Lookup = Callable[[str], Any]
# The id that a text spells, or None.
ReadId = Callable[[str], Any]


def key_of(template: str, value_of: Lookup) -> str | None:
    """The key that a template has for some values, or None where one is null or no store could have the key."""
    key = ""
    for piece in _PIECES.split(template):
        if piece in ("{{", "}}"):
            key += piece[0]
        elif piece.startswith("{"):
            value = value_of(piece[1:-1])
            if value is None:
                return None
            key += spelled(value)
        else:
            key += piece
    return key if 1 <= len(key.encode("utf-8")) <= LONGEST_KEY else None


def holes_of(template: str) -> list[str]:
    """The names in the holes of a template."""
    pieces = _PIECES.split(template)
    return [piece[1:-1] for piece in pieces if piece.startswith("{") and piece != "{{"]


def spelled(value: Any) -> str:
    """A value as it stands in a key."""
    if isinstance(value, bool):
        return "true" if value else "false"
    data = str(value).encode("utf-8")
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in data)


def listed(store: Store, key: str, params: dict[str, Any], id_of: ReadId) -> tuple[list[tuple[Any, float]], int]:
    """The ids of a list with a score of 0 each, and how many elements are none."""
    first = params.get("offset") or 0
    return _ids([(text, 0.0) for text in store.lists.get(key, [])[first : first + params["count"]]], id_of)


def members(store: Store, key: str, params: dict[str, Any], id_of: ReadId) -> tuple[list[tuple[Any, float]], int]:
    """The smallest ids of a set; texts by their bytes."""
    found, malformed = _ids([(text, 0.0) for text in store.sets.get(key, set())], id_of)
    found.sort(key=lambda pair: pair[0].encode("utf-8") if isinstance(pair[0], str) else pair[0])
    return found[: params["count"]], malformed


def ranked(store: Store, key: str, params: dict[str, Any], id_of: ReadId) -> tuple[list[tuple[Any, float]], int]:
    """The ids of a sorted set with their scores."""
    low, high = params.get("min"), params.get("max")
    pairs = sorted(store.sorted_sets.get(key, {}).items(), key=lambda pair: (pair[1], pair[0].encode("utf-8")))
    pairs = [pair for pair in pairs if (low is None or pair[1] >= low) and (high is None or pair[1] <= high)]
    if params.get("order") == "desc":
        pairs.reverse()
    first = params.get("offset") or 0
    return _ids(pairs[first : first + params["count"]], id_of)


def _ids(pairs: list[tuple[str, float]], id_of: ReadId) -> tuple[list[tuple[Any, float]], int]:
    found = [(name, score) for text, score in pairs if (name := id_of(text)) is not None]
    return found, len(pairs) - len(found)
