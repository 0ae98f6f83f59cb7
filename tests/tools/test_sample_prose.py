# tests/tools/test_sample_prose.py: what tools/sample_prose draws and counts.
import unittest

from tree import ToolCase

FILES = {
    "include/a.hpp": """\
        // Of a pool
        // that waits where it is.
        int size_of(int x);  // As many as fit.
        auto text = "a message for a person";
        """,
    "rankd/b.cpp": "// Returns the size.\nint x;\n",
    "tests/c.cpp": "// where\n",
    "docs/d.md": "# Title\n\nOne paragraph\nof two lines.\n\n```sh\nls\n```\n| a | b |\n",
}


class SampleProse(ToolCase):
    tool = "sample_prose"

    def test_the_same_seed_draws_the_same(self):
        self.write(FILES)
        first, second = self.run_tool("7"), self.run_tool("7")
        self.assertEqual(first, second)
        self.assertEqual(first[0], 0)
        self.assertIn("## 2 of 2 comments\ninclude/a.hpp:1: Of a pool that waits where it is.\nrankd/b.cpp:1: Returns the size.",
                      first[1])
        self.assertIn("## 1 of 1 messages\ninclude/a.hpp:4: a message for a person\n", first[1])
        self.assertIn("## 1 of 1 paragraphs\ndocs/d.md:3: One paragraph of two lines.\n", first[1])

    def test_lines_are_counted(self):
        self.write(FILES)
        self.assertEqual(self.run_tool("--count"), (0, (
            "4 lines of comments, 25.0 % with `where`, 50.0 % that begin with Of, That of, Those, What, By which, "
            "With which or As; 1 functions x_of\n")))

    def test_a_seed_or_a_count_is_needed(self):
        self.assertEqual(self.run_tool()[0], 2)
        self.assertEqual(self.run_tool("1", "--count")[0], 2)
        self.assertEqual(self.run_tool("one")[0], 2)


if __name__ == "__main__":
    unittest.main()
