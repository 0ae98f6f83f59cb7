# tests/tools/test_constants.py: docs/design/constants.md has the constants of tuning of the library, with today's values.
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/design/constants.md"
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| `((?:src|include)/[^`]+)` \| ([^|]+) \|$", re.MULTILINE)
KINDS = ("measured", "bound", "size", "not measured")
CONSTANT = re.compile(r"\bconstexpr\s+([\w:]+(?: char)?)\s+(\w+)\s*=\s*([^;]+);")
TIME = re.compile(r"\d(?:ns|us|ms|s)$|std::chrono::\w+\(\d+\)$")
# Words in the names of numbers that tune something.
TUNES = re.compile(r"looks|polls|pause|yields|helps|backoff|worth_|grain|consecutive|succession|at_once|spares|per_slice"
                   r"|ahead|between|per_iteration|quantum|patience|chunks|usual|first_(?:forks|room|of_row)|fair|_kept$|few$")
# Times and numbers with such names that tune nothing.
OTHERS = {
    ("chaos.cpp", "max_length"): "the longest time that can be represented",
    ("trace.cpp", "min_span"): "the smallest value of an option",
}


def spaces_out(text):
    return re.sub(r"\s+", " ", text).strip()


def rows():
    return [(name, spaces_out(value), path, reason)
            for name, value, path, reason in ROW.findall((ROOT / PAGE).read_text(encoding="utf-8"))]


def constants(path):
    """The constants of a file, each with its type and value."""
    return [(kind, name, spaces_out(value)) for kind, name, value in CONSTANT.findall(path.read_text(encoding="utf-8"))]


def sources():
    return sorted(path for top in ("include", "src") for path in (ROOT / top).rglob("*.?pp"))


class Constants(unittest.TestCase):
    def test_each_row_has_the_value_of_its_file(self):
        for name, value, path, _ in rows():
            with self.subTest(f"{path}: {name}"):
                self.assertIn((name, value), [item[1:] for item in constants(ROOT / path)])

    def test_each_row_says_what_its_value_rests_on(self):
        self.assertGreater(len(rows()), 100)
        for name, _, path, reason in rows():
            with self.subTest(f"{path}: {name}"):
                self.assertTrue(reason.startswith(KINDS), reason)

    def test_no_constant_of_tuning_is_missing(self):
        listed = {(path, name, value) for name, value, path, _ in rows()}
        for path in sources():
            for kind, name, value in constants(path):
                is_number = re.match(r"[\d']+(?:U|$)|std::size_t\{", value) and value not in ("0", "1")
                if not (TIME.search(value) or is_number and TUNES.search(name)) or (path.name, name) in OTHERS:
                    continue
                with self.subTest(f"{path.name}: {name}"):
                    self.assertIn((path.relative_to(ROOT).as_posix(), name, value), listed,
                                  f"add a row to {PAGE}, or a reason to OTHERS in this file")

    def test_the_exceptions_exist(self):
        found = {(path.name, name) for path in sources() for _, name, _ in constants(path)}
        self.assertLessEqual(set(OTHERS), found)


if __name__ == "__main__":
    unittest.main()
