# tests/tools/test_rename.py: each kind of row changes what it says and nothing else.
import subprocess
import unittest

from tree import ToolCase

CODE = '''#include <braid/task/detail/crew.hpp>
// The crew of a pool: `crew` has a seat_count. // edge crew.done: publish
auto crew = "crew seat_count";  // lane
enum class lane { normal };
'''


class Rename(ToolCase):
    tool = "rename"

    def setUp(self):
        super().setUp()
        self.write({
            "include/braid/task/detail/crew.hpp": CODE,
            "src/task/crew.cpp": CODE,
            "src/CMakeLists.txt": "braid_layer(task SOURCES crew.cpp screw.cpp)\n",
            "docs/page.md": "A crew is `crew`; see include/braid/task/detail/crew.hpp.\n",
        })
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        subprocess.run(["git", "add", "-A"], cwd=self.root, check=True)

    def read(self, path):
        return (self.root / path).read_text()

    def apply(self, *rows, options=()):
        table = self.root / "table.tsv"
        table.write_text("# family\told\n" + "".join(row.replace(" | ", "\t") + "\n" for row in rows))
        return self.run_tool(str(table), *options)

    def test_an_identifier_in_code_and_in_spans_only(self):
        self.apply("f | crew | scheduler | @all | ident")
        self.assertEqual(
            self.read("src/task/crew.cpp"),
            CODE.replace("auto crew", "auto scheduler").replace("`crew`", "`scheduler`"),
        )
        self.assertEqual(
            self.read("docs/page.md"), "A crew is `scheduler`; see include/braid/task/detail/crew.hpp.\n"
        )

    def test_an_identifier_with_an_underscore_in_all_text(self):
        self.apply("f | seat_count | context_count | src/** | ident")
        self.assertEqual(self.read("src/task/crew.cpp"), CODE.replace("seat_count", "context_count"))
        self.assertEqual(self.read("include/braid/task/detail/crew.hpp"), CODE)

    def test_a_pattern_of_code(self):
        self.apply("f | \\blane\\b | priority | @cpp | code-regex")
        self.assertEqual(self.read("src/task/crew.cpp"), CODE.replace("class lane", "class priority"))

    def test_an_edge(self):
        self.apply("f | crew.done | scheduler.done | @all | edge")
        self.assertEqual(self.read("src/task/crew.cpp"), CODE.replace("crew.done", "scheduler.done"))

    def test_a_file_and_what_mentions_it(self):
        self.apply(
            "f | include/braid/task/detail/crew.hpp | include/braid/task/detail/base.hpp | @all | file",
            "f | src/task/crew.cpp | src/task/base.cpp | @all | file",
        )
        self.assertEqual(self.read("src/task/base.cpp"), CODE.replace("detail/crew.hpp", "detail/base.hpp"))
        self.assertEqual(self.read("src/CMakeLists.txt"), "braid_layer(task SOURCES base.cpp screw.cpp)\n")
        self.assertIn("include/braid/task/detail/base.hpp", self.read("docs/page.md"))
        self.assertFalse((self.root / "src/task/crew.cpp").exists())

    def test_a_dry_run_changes_nothing_and_says_what_is_not_there(self):
        status, printed = self.apply("f | crew | base | @all | ident", "f | away | absent | @all | ident", options=("--dry-run",))
        self.assertEqual(self.read("src/task/crew.cpp"), CODE)
        self.assertEqual(status, 0)
        self.assertIn("nothing to rename: f: away", printed)

    def test_a_row_without_five_fields_is_named(self):
        status, printed = self.apply("f | crew | base")
        self.assertEqual(status, 1)
        self.assertIn("table.tsv:2: a row has five fields", printed)


if __name__ == "__main__":
    unittest.main()
