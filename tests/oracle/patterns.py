"""Regular expressions in the subset where Python's `re` and RE2 agree on whether there is a match."""

from __future__ import annotations

import re
from functools import lru_cache

# What Python accepts and RE2 refuses: look-around, conditionals, references to groups.
_REFUSED_BY_RE2 = re.compile(r"\(\?|\\[1-9]")


class BadPattern(Exception):
    """The pattern is none."""


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str, flags: str) -> re.Pattern[str]:
    """The compiled pattern. Raises BadPattern where RE2 would refuse it."""
    if _REFUSED_BY_RE2.search(pattern):
        raise BadPattern(pattern)
    try:
        # ASCII: the classes \d, \w, \s and the boundary \b of RE2 know nothing else.
        return re.compile(_end_of_text(pattern), re.ASCII | (re.IGNORECASE if flags == "i" else 0))
    except re.error as error:
        raise BadPattern(pattern) from error


def _end_of_text(pattern: str) -> str:
    """The pattern with `$` as `\\Z`: RE2's does not match before a newline that ends the text."""
    parts: list[str] = []
    in_class = False
    position = 0
    while position < len(pattern):
        char = pattern[position]
        width = 2 if char == "\\" else 1
        if char in "[]":
            in_class = char == "["
        parts.append(r"\Z" if char == "$" and not in_class else pattern[position : position + width])
        position += width
    return "".join(parts)
