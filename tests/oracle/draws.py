"""Hashes that draws and buckets share."""

from __future__ import annotations

_WORD = 2**64 - 1


def _mixed(word: int) -> int:
    """The finalizer of SplitMix64."""
    word = (word + 0x9E3779B97F4A7C15) & _WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)


def hashed(text: str) -> int:
    """FNV-1a of the bytes."""
    out = 0xCBF29CE484222325
    for byte in text.encode("utf-8"):
        out = ((out ^ byte) * 0x100000001B3) & _WORD
    return out


def drawn(seed: str, name: int | str) -> int:
    """What a row is drawn by, and what gives its bucket: FNV-1a of the seed, mixed with the id, or that of a text."""
    number = hashed(name) if isinstance(name, str) else name & _WORD
    return _mixed(hashed(seed) ^ _mixed(number))
