"""A store as a dictionary, and what counts as an id in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ID_MIN = -(2**63)
ID_MAX = 2**63 - 1
LONGEST_ID = 128
_DIGITS = re.compile(r"-?[0-9]+")


@dataclass
class Store:
    """Hashes, lists, sets and strings by key; elements and members are texts, fields texts or vectors."""

    hashes: dict[str, dict[str, Any]] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    sets: dict[str, set[str]] = field(default_factory=dict)
    sorted_sets: dict[str, dict[str, float]] = field(default_factory=dict)
    strings: dict[str, str] = field(default_factory=dict)

    def country(self, user: str) -> str | None:
        return self.hashes.get(f"user:{user}", {}).get("country")

    def ids(self, kind: str, owner: int, limit: int) -> tuple[list[int], int]:
        """The ids among the first `limit` elements of a list, and how many of those elements are none."""
        elements = self.lists.get(f"{kind}:{owner}", [])[:limit]
        ids = [number for number in map(parse_element, elements) if number is not None]
        return ids, len(elements) - len(ids)


def parse_id(text: str) -> int | None:
    """A signed 64-bit number in decimal, or None."""
    if _DIGITS.fullmatch(text) is None:
        return None
    number = int(text)
    return number if ID_MIN <= number <= ID_MAX else None


def parse_element(text: str) -> int | None:
    """The number that an element or a member is, or None: it has one spelling, without zeros in front."""
    number = parse_id(text)
    return number if number is not None and str(number) == text else None


def parse_text_id(text: str) -> str | None:
    """An id of a project whose ids are strings, or None."""
    return text if 1 <= len(text.encode("utf-8")) <= LONGEST_ID and "\0" not in text else None


def load_store(files: Iterable[Path]) -> Store:
    """The store that NDJSON files fill."""
    store = Store()
    for file in files:
        # Not splitlines(): it would cut at U+2028 too.
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line.strip():
                _add(store, json.loads(line))
    return store


def _add(store: Store, row: dict) -> None:
    if "hash" in row:
        store.hashes[row["hash"]] = dict(row["fields"])
    elif "string" in row:
        store.strings[row["string"]] = row["value"]
    elif "set" in row:
        store.sets[row["set"]] = {str(member) for member in row["members"]}
    elif "sorted_set" in row:
        # -0 is 0, as in Redis.
        store.sorted_sets[row["sorted_set"]] = {name: float(score) + 0.0 for name, score in row["scores"].items()}
    else:
        store.lists[row["list"]] = [str(value) for value in row["values"]]
