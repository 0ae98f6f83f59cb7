"""Vectors: what they are made of, how near they are to each other, and files of them, as docs/vectors.md says."""

from __future__ import annotations

import itertools
import math
import struct
from dataclasses import dataclass
from typing import Any

VECTORS = "cap.rfc.0009.vectors.v1"
BLOCK = 16
_HEADER = 128
_ALIGN = 64
_MAX_FLOAT = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]

Vector = tuple[float, ...]


@dataclass(frozen=True)
class VectorFile:
    """An endpoint of kind vectors, and what its file holds. Lists change nothing where all of them are looked at."""

    endpoint: str
    dimensions: int
    metric: str
    rows: tuple[tuple[int | str, Vector], ...]
    lists: int = 0


def as_float32(number: float) -> float:
    """The float32 nearest to a number that is in its range."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


def as_vector(value: Any, dimensions: int) -> Vector | None:
    """A vector of so many numbers, or None where the value is none."""
    if not isinstance(value, (list, tuple)) or len(value) != dimensions:
        return None
    if any(isinstance(each, bool) or not isinstance(each, (int, float)) or abs(each) > _MAX_FLOAT for each in value):
        return None
    return tuple(as_float32(each) for each in value)


def vector_of_text(text: str, dimensions: int) -> Vector | None:
    """What the bytes of a text are as float32: a text of the right length is a vector like any other."""
    data = text.encode("utf-8")
    if len(data) != 4 * dimensions:
        return None
    numbers = struct.unpack(f"<{dimensions}f", data)
    return numbers if all(map(math.isfinite, numbers)) else None


def dot(a: Vector, b: Vector) -> float:
    total = 0.0
    for x, y in zip(a, b):
        total += x * y
    return total


def cosine(a: Vector, b: Vector) -> float:
    square_a, square_b = dot(a, a), dot(b, b)
    if square_a == 0 or square_b == 0:
        return 0.0
    return min(max(dot(a, b) / (math.sqrt(square_a) * math.sqrt(square_b)), -1.0), 1.0)


def squared_distance(a: Vector, b: Vector) -> float:
    total = 0.0
    for x, y in zip(a, b):
        total += (x - y) * (x - y)
    return total


PRODUCTS = {"dot": dot, "cosine": cosine}
_SCORES = PRODUCTS | {"l2": lambda a, b: -squared_distance(a, b)}


def nearest(
    metric: str, rows: list[tuple[int | str, Vector]], query: Vector, count: int
) -> list[tuple[float, int | str]]:
    """Scores and ids of the nearest, the nearest first; of equally near ones the lower id."""
    scored = [(_SCORES[metric](query, vector), number) for number, vector in rows]
    scored.sort(key=lambda each: (-each[0], each[1]))
    return scored[:count]


def unlike(rows: list[dict[int, Any]], params: dict[str, Any]) -> list[dict[int, Any]]:
    """Rows that are relevant and unlike those before them."""
    relevance, vectors, weight = params["relevance"], params["similarity"], float(params["lambda"])
    wanted = len(rows) if params.get("count") is None else min(params["count"], len(rows))
    left = [row for row in rows if row.get(relevance) is not None and math.isfinite(row[relevance])]
    last = [row for row in rows if row.get(relevance) is None or not math.isfinite(row[relevance])]
    chosen: list[dict[int, Any]] = []

    def value_of(row: dict[int, Any]) -> float:
        near = [cosine(row[vectors], each[vectors]) for each in chosen if _has_both(row, each, vectors)]
        return weight * float(row[relevance]) - (1 - weight) * max(near, default=0.0)

    while left and len(chosen) < wanted:
        best = max(range(len(left)), key=lambda at: (value_of(left[at]), -at))
        chosen.append(left.pop(best))
    return (chosen + last)[:wanted]


def _has_both(a: dict[int, Any], b: dict[int, Any], key: int) -> bool:
    return a.get(key) is not None and b.get(key) is not None


def file_bytes(file: VectorFile) -> bytes:
    """The file. Vectors go to the lists in turn, and the centre of each list is its first vector."""
    given = sorted(file.rows, key=lambda row: row[0].encode() if isinstance(row[0], str) else row[0])
    texts = [each.encode() for each, _ in given if isinstance(each, str)]
    rows = [(place, vector) for place, (_, vector) in enumerate(given)] if texts else given
    count = max(file.lists, 1)
    lists = [rows[at::count] for at in range(count)]
    table, slots = b"", []
    for each in lists:
        table += struct.pack("<QQ", len(slots), len(each))
        slots += each + [(0, (0.0,) * file.dimensions)] * (-len(each) % BLOCK)
    centres = [each[0][1] for each in lists] if file.lists else []
    centres += [(0.0,) * file.dimensions] * (-len(centres) % BLOCK)
    parts = [
        table,
        _blocks(centres),
        b"".join(struct.pack("<q", number) for number, _ in slots),
        b"".join(struct.pack("<d", dot(vector, vector)) for _, vector in slots),
        _blocks([vector for _, vector in slots]),
        b"".join(struct.pack("<Q", end) for end in itertools.accumulate(map(len, texts))) + b"".join(texts),
    ]
    *sums, sum_of_texts = [crc32c(part) for part in parts]
    version = 2 if texts else 1
    fields = (b"RANKDVEC", version, file.dimensions, len(rows), len(slots), file.lists, BLOCK, 0, *sums)
    head = struct.pack("<8sIIQQIIQ5I", *fields)
    rest = struct.pack("<IIQ", sum_of_texts, 0, len(parts[-1]))
    sealed = head + struct.pack("<I", crc32c((head + bytes(4) + rest).ljust(_HEADER, b"\0"))) + rest
    return sealed.ljust(_HEADER, b"\0") + b"".join(part + bytes(-len(part) % _ALIGN) for part in parts)


def _blocks(vectors: list[Vector]) -> bytes:
    """Of each block first the first number of all its vectors, then the second, and so on."""
    out = b""
    for first in range(0, len(vectors), BLOCK):
        for numbers in zip(*vectors[first : first + BLOCK]):
            out += struct.pack(f"<{BLOCK}f", *numbers)
    return out


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _crc_table()


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli)."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _CRC[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF
