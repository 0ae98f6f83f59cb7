# tests/texts/all_texts.py: every help text, error and log event of the programs, side by side in one file, and their form.
import re
import subprocess
import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SOURCES = {
    "rankd": ("rankd", ("*.cpp", "*.hpp")),
    "dslc": ("dsl/packages", ("*.ts",)),
    "braid-doctor": ("doctor", ("*.cpp",)),
    "error categories": ("src", ("*error.cpp",)),
}
RANKD, DOCTOR, OUTPUT = "", "", REPOSITORY / "build" / "texts.txt"

LEXEME = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|R"\((?P<raw>.*?)\)"|"(?P<text>(?:\\.|[^"\\\n])*)"|"""
                    r"""`(?P<template>(?:\\.|[^`\\])*)`|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
HOLE = re.compile(r"\$\{[^{}]*\}")
CODE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
EVENT = re.compile(r'\bnote\(\s*(?:[\w:]+|[^",]*\?[^",]*),\s*(?:[^"(){};]*\?\s*)?"([a-z_]+)"(?:\s*:\s*"([a-z_]+)")?')
PERSONS = re.compile(r"\b(?:who|whoever|whom|somebody|nobody|anybody|everybody)\b", re.IGNORECASE)
PLACEHOLDER = "…"
NOT_A_SENTENCE = re.compile(r"[{}<>=]|\\n|::|^\s|^[A-Z][\w-]+$|^[A-Z]{2,} ")  # parts of documents, and of code


def statements(source):
    """The literals of each statement: (line, [text, …]); what is computed between two halves of a text is a `…`."""
    found, end, parts = [], 0, []
    for match in LEXEME.finditer(source):
        if match["comment"] is not None:
            continue
        between = re.sub(r"//[^\n]*", "", source[end : match.start()])
        end = match.end()
        text = next((match[kind] for kind in ("raw", "text", "template") if match[kind] is not None), None)
        if text is None:
            continue
        if match["template"] is not None:
            text = HOLE.sub(PLACEHOLDER, text).replace("\\`", "`")
        if parts and re.search(r"[;{}]", between):
            found.append(parts)
            parts = []
        if parts and not between.strip():
            parts[-1] = (parts[-1][0], parts[-1][1] + text)
        elif parts and "+" in between and not re.search(r"[,?:]", between):
            parts[-1] = (parts[-1][0], parts[-1][1] + PLACEHOLDER + text)
        else:
            parts.append((source.count("\n", 0, match.start()) + 1, text))
    return [*found, parts]


def is_sentence(text):
    return len(re.findall(r"[A-Za-z]{2,}", text)) >= 3 and not NOT_A_SENTENCE.search(text)


def texts_of(source):
    """Each sentence of a source with the code before it: (line, code, sentence)."""
    for parts in statements(source):
        code = ""
        for line, text in parts:
            if CODE.fullmatch(text):
                code = text
            elif is_sentence(text):
                yield line, code, text


def events_of(source):
    return [name for match in EVENT.finditer(source) for name in match.groups() if name]


def sources_of(program):
    folder, patterns = SOURCES[program]
    for pattern in patterns:
        for path in sorted((REPOSITORY / folder).rglob(pattern)):
            if "node_modules" not in path.parts and "dist" not in path.parts:
                yield path.relative_to(REPOSITORY), path.read_text(encoding="utf-8")


def help_of(*command):
    ended = subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, f"{command} --help ends with {ended.returncode}: {ended.stderr}"
    return ended.stdout


def commands_of(text):
    """The names below `Subcommands:` of a help text."""
    listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^  (\S+)", listed[1], re.MULTILINE) if listed else []


def all_help(program, *commands):
    """The help of a program and of each of its commands, by the words that ask for it."""
    text = help_of(program, *commands)
    yield " ".join((Path(program).name, *commands)), text
    for name in commands_of(text):
        yield from all_help(program, *commands, name)


def without_description(text):
    """Options and commands that a help text of rankd names and does not describe."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if re.match(r"  \S", line) and not re.match(r"  \S.*\S {2,}\S|.{29} \S", line):
            following = lines[at + 1] if at + 1 < len(lines) else ""
            if not re.match(r" {20,}\S", following):
                yield line.strip()


class Texts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.help = dict([*all_help(RANKD), *all_help(DOCTOR)])
        cls.texts = [(program, path, *row) for program in SOURCES for path, source in sources_of(program)
                     for row in texts_of(source)]
        cls.events = sorted({name for _, source in sources_of("rankd") for name in events_of(source)})
        with open(OUTPUT, "w", encoding="utf-8") as out:
            for words, text in cls.help.items():
                out.write(f"===== {words} --help\n{text}\n")
            out.write("===== errors and other sentences: code, sentence, place\n")
            for program, path, line, code, text in sorted(cls.texts, key=lambda row: (row[0], row[3], row[4])):
                out.write(f"{program:16} {code:24} {text}    [{path}:{line}]\n")
            out.write("===== log events\n" + "\n".join(cls.events) + "\n")

    def test_every_command_and_option_is_described(self):
        self.assertGreater(len(self.help), 14)
        for words, text in self.help.items():
            self.assertEqual(list(without_description(text)), [], words)

    def test_help_is_as_wide_as_a_terminal_allows(self):
        for words, text in self.help.items():
            for line in text.split("\n"):
                self.assertLessEqual(len(line), 150, f"{words}: {line}")

    def test_the_collection_is_not_empty(self):
        for program, least in (("rankd", 400), ("dslc", 120), ("braid-doctor", 3), ("error categories", 60)):
            self.assertGreater(sum(row[0] == program for row in self.texts), least, program)
        self.assertIn("plans_loaded", self.events)

    def test_texts_name_things_and_no_persons(self):
        for _, path, line, _, text in self.texts:
            self.assertIsNone(PERSONS.search(text), f"{path}:{line}: {text}")
        for words, text in self.help.items():
            self.assertIsNone(PERSONS.search(text), words)

    def test_diagnostics_begin_small_and_end_without_a_full_stop(self):
        for _, path, line, code, text in self.texts:
            if code and not code.startswith("rankd_") and not code.startswith("process_"):
                self.assertFalse(text.endswith(".") and not text.endswith("…"), f"{path}:{line}: {text}")


class Collecting(unittest.TestCase):
    def test_a_code_belongs_to_the_sentence_after_it(self):
        rows = list(texts_of('f("no_such_key", "no key is called " + name + " in this file");'))
        self.assertEqual(rows, [(1, "no_such_key", "no key is called … in this file")])

    def test_literals_of_another_statement_are_another_text(self):
        self.assertEqual([row[2] for row in texts_of('a("one two three");\nb("four five six");')],
                         ["one two three", "four five six"])

    def test_an_option_without_a_description_is_found(self):
        self.assertEqual(list(without_description("Options:\n  --a   What it does\n  --b\n")), ["--b"])
        self.assertEqual(list(without_description("Options:\n  --b INT:1 to 3\n" + " " * 30 + "What it does\n")), [])

    def test_events_are_found_in_both_branches(self):
        self.assertEqual(events_of('log.note(log_level::info, fast ? "stopping_at_once" : "stopping");'),
                         ["stopping_at_once", "stopping"])


if __name__ == "__main__":
    RANKD, DOCTOR, OUTPUT = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    unittest.main(argv=sys.argv[:1])
