# tests/tools/test_check_words.py: every rule of tools/check_words, broken and kept.
import unittest

from tree import ToolCase

GLOSSARY = "docs/glossary.md"
HEADER = "include/braid/base/a.hpp"
PAGE = "docs/a.md"
TERMS = "# Glossary\n\n| term | meaning | nearest terms |\n|---|---|---|\n| engine, drive | what pulls | motor |\n"


class CheckWords(ToolCase):
    tool = "check_words"

    # slips

    def test_no_small_word_stands_twice_in_a_row(self):
        self.accepts({HEADER: "int the; the the x;  // what is is fast\n", PAGE: "That that, `the the`, of-of.\n"})
        self.refuses({HEADER: "int x;  // of the the pool\n", PAGE: "Wait for for it.\n"},
                     f"{HEADER}:1: twice: `the the`", f"{PAGE}:1: twice: `for for`")

    def test_a_word_is_found_again_on_the_next_line(self):
        self.refuses({HEADER: "// a job of the\n// the pool\nint x;\n", PAGE: "> by\n> by hand\n"},
                     f"{HEADER}:2: `the the`", f"{PAGE}:2: `by by`")
        self.accepts_instead({HEADER: "int x;  // of the\n\n// the pool\n"})

    def test_blocks_and_links_of_a_page_are_no_prose(self):
        self.accepts({PAGE: "[a](the the.md) <!-- the the -->\n```text\nthe the\n```\n~~~\nthe the\n~~~\n"})
        self.refuses({PAGE: "```text\nthe the\n```\nthe the\n"}, f"{PAGE}:4: `the the`")

    # names

    def test_maxima_and_minima_are_called_so(self):
        for name, better in (("most_rivets", "max"), ("at_longest_wait", "max"), ("least_size", "min")):
            with self.subTest(name):
                self.refuses({HEADER: f"int {name};\n"}, f"{HEADER}:1: `{name}`: write `{better}_`")
        self.accepts({HEADER: 'int max_threads; int most; int almost_there; int at_most; auto x = "most_x";\n'})

    def test_the_scheduler_of_that_name_keeps_it(self):
        self.accepts({HEADER: "int least_loaded; int least_loaded_system; int at_least_op;\n"})

    # pages

    def test_a_line_has_120_characters(self):
        self.accepts({PAGE: "x" * 120 + "\n"})
        self.refuses({PAGE: "x" * 121 + "\n"}, f"{PAGE}:1: the line has 121 characters; the limit is 120")

    def test_a_cell_has_150_characters(self):
        self.accepts({PAGE: f"| {'x' * 150} | {'y' * 150} |\n|---|---|\n"})
        self.refuses({PAGE: f"| a \\| {'x' * 150} |\n"}, f"{PAGE}:1: a cell has 155 characters; the limit is 150")

    def test_outputs_of_programs_are_as_wide_as_they_are(self):
        self.accepts({PAGE: f"```text\n| {'x' * 160}\n```\n"})

    # the glossary

    def test_a_term_has_one_meaning(self):
        self.accepts({GLOSSARY: TERMS})
        self.refuses({GLOSSARY: TERMS + "| motor, Engine | a | b |\n"},
                     f"{GLOSSARY}:6: `engine` has a meaning already, in line 5")

    def test_a_row_has_three_cells(self):
        self.refuses({GLOSSARY: TERMS + "| wheel | turns |\n"}, f"{GLOSSARY}:6: a row has three cells")


if __name__ == "__main__":
    unittest.main()
