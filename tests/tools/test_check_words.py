# tests/tools/test_check_words.py: every rule of tools/check_words, broken and kept.
import unittest
from pathlib import Path

from tree import ToolCase

GLOSSARY = "docs/glossary.md"
EXCEPTIONS = "tools/word_exceptions.txt"
HEADER = "include/braid/base/a.hpp"
PAGE = "docs/a.md"
TOP = """\
    # Glossary

    | term | meaning | nearest terms |
    |---|---|---|
    | engine | what pulls | motor |
    """
WENT = """\

    ## Words that went
    | refused | write | where |
    |---|---|---|
    | `horse`, `iron_horse` | `engine` | everywhere |
    | `cart` | `wagon` | src, rankd/*.hpp |
    | horse | engine | everywhere |
    | iron way | railway | docs |
    """


def page(text=""):
    import textwrap
    return textwrap.dedent(TOP) + textwrap.dedent(WENT) + text


class CheckWords(ToolCase):
    tool = "check_words"

    def tree(self, files):
        return {GLOSSARY: page(), **files}

    def takes(self, files):
        self.accepts(self.tree(files))

    def finds(self, files, *diagnostics):
        self.refuses(self.tree(files), *diagnostics)

    # words that went

    def test_a_word_in_code_form_is_a_part_of_an_identifier(self):
        for name in ("horse", "horse_", "my_horse", "horse_of", "HORSE", "myHorse", "Horse"):
            with self.subTest(name):
                self.finds({HEADER: f"int {name};\n"}, f"{HEADER}:1: `{name}`: the word `horse` went; write `engine`")
        self.takes({HEADER: "int horses; int unhorsed; int seahorse;\n"})

    def test_several_parts_are_refused_in_their_order(self):
        self.finds({HEADER: "int an_iron_horse_1;\n"}, f"{HEADER}:1: the word `iron_horse` went",
                   f"{HEADER}:1: the word `horse` went")
        self.takes({HEADER: "int iron; int iron_engine;\n"})

    def test_a_word_is_refused_where_the_glossary_says(self):
        self.finds({"src/a.cpp": "int cart;\n", "rankd/b.hpp": "int cart;\n", "include/c.hpp": "int cart;\n"},
                   "src/a.cpp:1: `cart`", "rankd/b.hpp:1: `cart`")

    def test_strings_and_includes_are_no_names(self):
        self.takes({HEADER: '#include <horse/horse.hpp>\nauto text = "horse"; auto raw = R"(horse)";\n'})

    def test_a_word_of_prose_is_refused_in_comments_and_pages(self):
        self.finds({HEADER: "int x;  // Horses pull.\n", PAGE: "A horse and `a code` span.\n"},
                   f'{HEADER}:1: "Horses" went; write engine', f'{PAGE}:1: "horse" went; write engine')
        self.finds({HEADER: "int x;\n", PAGE: "By iron way.\n"}, f'{PAGE}:1: "iron way" went; write railway')

    def test_code_in_a_comment_is_code(self):
        self.finds({HEADER: "// See `a_horse`.\n"}, f"{HEADER}:1: `a_horse`: the word `horse` went")

    def test_blocks_and_links_of_a_page_are_no_prose(self):
        self.takes({PAGE: "[a](horse.md) <!-- from: horse.cpp -->\n```text\nhorse\n```\n~~~\nwho\n~~~\n"})

    def test_what_follows_a_block_is_prose_again(self):
        self.finds({PAGE: "```text\nhorse\n```\nhorse\n"}, f'{PAGE}:4: "horse" went')

    def test_typescript_and_python_are_read(self):
        self.finds({"dsl/a.ts": 'const aHorse = "who"; /* one\n   horse */\n',
                    "tools/a.py": "horse = 'horse'  # a horse\n"},
                   "dsl/a.ts:1: `aHorse`", 'dsl/a.ts:2: "horse" went',
                   "tools/a.py:1: `horse`", 'tools/a.py:1: "horse" went')

    def test_a_docstring_is_prose(self):
        self.finds({"tools/a": '#!/usr/bin/env python3\n"""First.\n\nThe horse."""\n'}, 'tools/a:4: "horse" went')

    # pronouns of persons

    def test_who_is_refused_in_comments_and_pages(self):
        self.finds({HEADER: "int who;  // Whoever comes, and who leaves to whom.\n", PAGE: "The thread who waits.\n"},
                   f'{HEADER}:1: "Whoever": name the', f'{HEADER}:1: "who": name the', f'{HEADER}:1: "whom"',
                   f'{PAGE}:1: "who"')
        self.takes({HEADER: "// The thread whose job it is; the whole of it.\n", PAGE: "`who` says it.\n"})

    def test_so_many_of_a_rule_may_be_allowed(self):
        self.takes({PAGE: "The engineer who knows.\n", EXCEPTIONS: f"{PAGE} who 1 an engineer is a person\n"})
        self.finds({PAGE: "The engineer who knows,\nand who asks.\n"}, f"{PAGE}:1: who", f"{PAGE}:2: who")

    # names

    def test_maxima_and_minima_are_called_so(self):
        for name, better in (("most_rivets", "max"), ("at_longest_wait", "max"), ("least_size", "min")):
            with self.subTest(name):
                self.finds({HEADER: f"int {name};\n"}, f"{HEADER}:1: `{name}`: write `{better}_`")
        self.takes({HEADER: "int max_threads; int most; int almost_there; int at_most;\n"})

    def test_a_name_may_be_allowed_everywhere(self):
        self.takes({HEADER: "int least_loaded;\n", "src/a.cpp": "int least_loaded;\n",
                    EXCEPTIONS: "least_loaded name - the name in the field\n"})

    def test_a_word_may_be_allowed_in_one_file(self):
        self.finds({HEADER: "int horse;\n", "src/a.cpp": "int horse;\n",
                    EXCEPTIONS: f"{HEADER}:horse word - a real one\n"}, "src/a.cpp:1: `horse`")

    def test_an_exception_that_nothing_needs_is_told(self):
        self.finds({HEADER: "int x;\n", EXCEPTIONS: f"{HEADER}:horse word - a real one\n"},
                   f"{EXCEPTIONS}:1: no longer needs its exception")

    # pages

    def test_a_line_has_120_characters(self):
        self.takes({PAGE: "x" * 120 + "\n"})
        self.finds({PAGE: "x" * 121 + "\n"}, f"{PAGE}:1: the line has 121 characters; the limit is 120")

    def test_a_cell_has_150_characters(self):
        self.takes({PAGE: f"| {'x' * 150} | {'y' * 150} |\n|---|---|\n"})
        self.finds({PAGE: f"| a \\| {'x' * 150} |\n"}, f"{PAGE}:1: a cell has 155 characters; the limit is 150")

    def test_a_table_in_a_block_is_a_line(self):
        self.finds({PAGE: f"```text\n| {'x' * 120}\n```\n"}, f"{PAGE}:2: the line has 122 characters")

    # the glossary

    def test_a_term_has_one_meaning(self):
        self.refuses({GLOSSARY: page().replace("| engine |", "| motor, Engine | a | b |\n| engine |", 1)},
                     f"{GLOSSARY}:6: `engine` has a meaning already, in line 5")

    def test_a_term_is_no_word_that_went(self):
        self.refuses({GLOSSARY: page().replace("| engine |", "| horse |", 1)},
                     f'{GLOSSARY}:5: `horse` is a term and a word that went', f'{GLOSSARY}:5: "horse" went')

    def test_the_last_section_may_name_what_went(self):
        self.accepts({GLOSSARY: page()})
        self.refuses({GLOSSARY: page() + "| who | a name | everywhere |\n"}, f'{GLOSSARY}:14: "who"')

    def test_without_a_glossary_nothing_went(self):
        self.accepts({HEADER: "int horse;\n"})

    # the glossary of this repository

    def test_pronouns_of_persons_and_private_nouns_are_refused(self):
        page_of_terms = (Path(__file__).resolve().parents[2] / GLOSSARY).read_text(encoding="utf-8")
        for sentence, word in (("Requires that nobody waits.", "nobody"), ("Somebody else has it.", "Somebody"),
                               ("A last look before sleep.", "last look"), ("Closed for want of room.", "for want of"),
                               ("The owner is told.", "told"), ("The size at hand.", "at hand")):
            with self.subTest(sentence):
                self.finds({GLOSSARY: page_of_terms, HEADER: f"int x;  // {sentence}\n"},
                           f'{HEADER}:1: "{word}" went')
        self.takes({GLOSSARY: page_of_terms, HEADER: "int x;  // No task waits; a poll, a lookup, the future settles.\n"})

    # the summary

    def test_a_summary_counts_by_folder_and_rule(self):
        self.write(self.tree({HEADER: "int horse;  // who\n", "src/task/a.cpp": "int most_rivets;\n"}))
        status, printed = self.run_tool("--summary")
        self.assertEqual(status, 1)
        rows = {line.split()[0]: line.split()[1:] for line in printed.splitlines()}
        self.assertEqual(rows["folder"], ["word", "who", "name", "wide", "term"])
        self.assertEqual(rows["include/braid/base"], ["1", "1", "0", "0", "0"])
        self.assertEqual(rows["src/task"], ["0", "0", "1", "0", "0"])
        self.assertEqual(rows["all"], ["1", "1", "1", "0", "0"])
        self.assertNotIn(f"{HEADER}:1:", printed)


if __name__ == "__main__":
    unittest.main()
