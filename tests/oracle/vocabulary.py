"""What generated plans, data and requests are made of: ids, numbers, strings, patterns, added keys and params."""

from __future__ import annotations

import random
from collections.abc import Callable

# Appended to the repository's registry: types and defaults that its base set lacks.
EXTRA_KEYS = """
[[key]]
key_id = 9001
name = "maybe_score"
type = "float"
nullable = true
doc = "A float that may be null."

[[key]]
key_id = 9002
name = "some_int"
type = "int"
nullable = true
doc = "An int that no operator writes."

[[key]]
key_id = 9003
name = "some_bool"
type = "bool"
nullable = true
doc = "A bool that no operator writes."

[[key]]
key_id = 9004
name = "other_score"
type = "float"
nullable = true
doc = "Another float that may be null."
"""

EXTRA_PARAMS = """
[[param]]
param_id = 101
name = "p_int"
type = "int"
nullable = true
default = 9007199254740993
doc = "An int beyond the exact doubles."

[[param]]
param_id = 102
name = "p_bool"
type = "bool"
nullable = true
default = true
doc = "A bool."

[[param]]
param_id = 103
name = "p_float"
type = "float"
nullable = true
default = 0.5
doc = "A float that may be null."

[[param]]
param_id = 104
name = "p_pattern"
type = "string"
nullable = true
default = "^[A-M]"
doc = "A pattern with a default."

[[param]]
param_id = 105
name = "p_required"
type = "int"
nullable = false
doc = "An int without default that must not be null."

[[param]]
param_id = 106
name = "p_fixed"
type = "float"
nullable = true
default = 2.5
doc = "A float that requests must not override."
allow_write = false

[[param]]
param_id = 107
name = "c_hour"
type = "int"
nullable = false
default = 9
doc = "An int of the context with a default."
source = "context"

[[param]]
param_id = 108
name = "c_device"
type = "string"
nullable = true
doc = "A text of the context that plans cannot do without."
source = "context"
required = true
allow_write = true

[[param]]
param_id = 109
name = "p_size"
type = "int"
nullable = true
default = 3
doc = "An int that sizes of lists may have."
"""

_P53 = 2**53
SMALL_IDS = list(range(1, 13))
LARGE_IDS = [_P53 + offset for offset in range(-3, 5)]
ODD_IDS = [0, -1, -7, -_P53 - 1, -_P53, 2**62 + 1, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1]
IDS = SMALL_IDS + LARGE_IDS + ODD_IDS
# Whose lists hold every id.
POPULAR_IDS = [1, 12, _P53 + 1]
# Ids where they are strings: such as look like numbers, as keys escape, as differ in a byte, and the longest.
TEXT_IDS = ["1", "2", "12", "7", "007", "-0", "a", "ab", "b", "Z", "z", "US", "us", "null", "a b", "a:b", "a/b", "a%b", "%20"]
TEXT_IDS += ["{id}", "é", "É", "日本", "😀", "\uffff", "\U00010000", "\n", "x\u0001y", "\u2028", "ö" * 64]
POPULAR_TEXT_IDS = ["a", "é", "7"]
TEXT_JUNK = ["", "ö" * 65, "nul\0", "\0"]
JUNK = ["", "x17", "+6", " 7", "7 ", "8.0", "1e3", "--1", "-", "é", "0x1f"]
JUNK += ["9223372036854775808", "-9223372036854775809"]
ODDLY_WRITTEN = ["007", "-0", "00", "-0009"]

DOUBLES = [0.0, -0.0, 0.1, 0.2, 0.5, 1.0, 1.5, -2.5, 3.0, 5.0, 1 / 3, 1e-300, 5e-324, 1e16, 1e154, 1e308, -1e308]
DOUBLES += [float(_P53), float(_P53) + 2, float(2**63), -float(2**63), 1e19]

STRINGS = ["US", "CA", "DE", "us", "Us", "", " "]
STRINGS += ["a", "ab", "abc", "aab", "z", "Z", "zz", "0", "42", "a.b", "A-B_c", "null"]
STRINGS += ["b\n", "a\nb", "\n", "US\n", "a\n", "\t", '"', "\\", "\\n", "/", "{}", "\u0001", "\u007f", "\u2028"]
STRINGS += ["é", "É", "日本", "日", "😀", "a😀b", "\uffff", "\ue000", "\U00010000"]

# Features that the store has, and what spells none.
FLOATS = ["0", "-0", "0.1", ".5", "5.", "-2.5", "1e3", "1E-3", "-1e-300", "3", "0.30000000000000004", "9007199254740993"]
NO_FLOATS = ["", "+1", " 1", "1e400", "nan", "inf", "-inf", "0x10", "1e", "1,5", "."]
BOOLS = ["true", "false", "1", "0"]
NO_BOOLS = ["", "True", "yes", "01", "-1"]

# The models of a project: every score of the first ones is a number, those of the others may be null.
SURE_MODELS = ["sure_line", "forest", "small_forest"]
UNSURE_MODELS = ["line"]

# Where engines for patterns like to differ: ends of texts and lines, case, the empty match.
TELLING_PATTERNS = ["a$", "S$", "b$", "^us$", "^$", "$", "\\n$", "\n$", "😀$", "^.$", "^日.$", "^a", "a.b"]
TELLING_PATTERNS += ["u", "A", "z{2}", "^[A-Z]+$", "^[^a-c]+$"]
BAD_PATTERNS = ["(", "a)", "[a", "*a", "a**", "(?=a)", "(a)\\1", "[z-a]", "a{2,1}", "\\"]


def number(rng: random.Random) -> int | float:
    """A literal: exact or double, small, odd or near 2^53."""
    match rng.randrange(8):
        case 0 | 1:
            return rng.randint(-3, 15)
        case 2:
            return rng.choice(LARGE_IDS)
        case 3:
            return rng.choice(IDS)
        case 4:
            return float(rng.choice(IDS))
        case 5:
            return rng.choice(DOUBLES)
        case 6:
            return rng.uniform(-10, 10)
        case _:
            return float(rng.randint(-3, 15))


def string(rng: random.Random) -> str:
    """A text; mostly one of a few, so that values meet."""
    if rng.random() < 0.8:
        return rng.choice(STRINGS)
    return "".join(rng.choice(STRINGS) for _ in range(rng.randint(2, 4)))


def feature(rng: random.Random, kind: str) -> str:
    """The text of a feature; one in twenty spells none, unless any text does."""
    is_good = rng.random() > 0.05
    match kind:
        case "int":
            return str(rng.choice(IDS)) if is_good else rng.choice(JUNK)
        case "bool":
            return rng.choice(BOOLS if is_good else NO_BOOLS)
        case "float":
            if is_good and rng.random() < 0.5:
                return repr(rng.uniform(-10, 10) if rng.random() < 0.98 else rng.choice(DOUBLES))
            return rng.choice(FLOATS if is_good else NO_FLOATS)
    return string(rng)


def pattern(rng: random.Random, depth: int = 3) -> str:
    """A pattern on which Python and RE2 agree, with or without the flag `i`."""
    if depth == 3 and rng.random() < 0.4:
        return rng.choice(TELLING_PATTERNS)
    if depth == 0 or rng.random() < 0.3:
        return _atom(rng)
    shapes: list[Callable[[], str]] = [
        lambda: pattern(rng, depth - 1) + pattern(rng, depth - 1),
        lambda: f"({pattern(rng, depth - 1)}|{pattern(rng, depth - 1)})",
        lambda: f"({pattern(rng, depth - 1)}){rng.choice(['*', '+', '?', '{1,2}', '{2}', '*?', '+?'])}",
        lambda: "^" + pattern(rng, depth - 1),
        lambda: pattern(rng, depth - 1) + "$",
        lambda: rng.choice(["", "^$", "^", "$", r"\bab", r"b\b"]),
    ]
    return rng.choice(shapes)()


def _atom(rng: random.Random) -> str:
    plain = ["a", "b", "c", "U", "S", "u", "z", "日", "😀", "0", " "]
    special = [".", "[a-c]", "[^a-c]", "[A-Z]", "[日😀]", "\n", r"\n", r"\.", r"\\"]
    special += [r"\d", r"\w", r"\s", r"\D", r"\W", r"\S"]
    return rng.choice(plain if rng.random() < 0.6 else special)
