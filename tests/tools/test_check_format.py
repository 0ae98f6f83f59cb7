# tests/tools/test_check_format.py: every rule of tools/check_format, broken and kept.
import os
import shutil
import unittest
from unittest import mock

from tree import ToolCase

RULES = {".clang-format": "BasedOnStyle: Google\n"}
GOOD, BAD = "int x = 1;\n", "int a;\nint  x=1;\n"


@unittest.skipUnless(shutil.which("clang-format-19"), "clang-format-19 is not installed")
class CheckFormat(ToolCase):
    tool = "check_format"

    def test_a_formatted_tree_is_accepted(self):
        self.accepts({**RULES, **{f"src/{i}.cpp": GOOD for i in range(40)}, "bench/b.h": GOOD, "src/notes.txt": BAD})

    def test_each_file_is_complained_about_once(self):
        self.refuses({**RULES, "src/a.cpp": GOOD, "src/b.cpp": BAD, "tests/c.hpp": BAD + BAD},
                     "src/b.cpp:2: run tools/check_format --fix, or clang-format-19 -i src/b.cpp", "tests/c.hpp:2: not formatted")

    def test_the_rules_are_those_of_the_tree(self):
        self.refuses({**RULES, "src/a.cpp": "void f() {\n    g();\n    h();\n}\n"}, "src/a.cpp:1: not formatted")
        self.accepts({".clang-format": "BasedOnStyle: Google\nIndentWidth: 4\n"})

    def test_fix_formats(self):
        self.write({**RULES, "src/a.cpp": GOOD, "src/b.cpp": BAD})
        status, printed = self.run_tool("--fix")
        self.assertEqual(status, 0)
        self.assertIn("formatted 1 file: src/b.cpp", printed)
        self.assertEqual((self.root / "src/b.cpp").read_text(), "int a;\nint x = 1;\n")
        self.accepts({})

    def test_a_tree_without_rules_is_an_error(self):
        self.write({"src/a.cpp": GOOD})
        self.assertEqual(self.run_tool(),
                         (1, "check_format: .clang-format is missing, so there are no rules to check\n"))

    def test_broken_rules_are_an_error(self):
        self.write({".clang-format": "Nonsense: 1\n", "src/a.cpp": GOOD})
        status, printed = self.run_tool()
        self.assertEqual(status, 1)
        self.assertIn("clang-format-19 failed", printed)


class WithoutFormatter(ToolCase):
    tool = "check_format"

    def test_a_missing_formatter_says_what_to_install(self):
        self.write({**RULES, "src/a.cpp": GOOD})
        with mock.patch.dict(os.environ, {"PATH": str(self.root)}):
            status, printed = self.run_tool()
        self.assertEqual((status, printed),
                         (1, "check_format: clang-format-19 is missing: apt-get install clang-format-19\n"))


if __name__ == "__main__":
    unittest.main()
