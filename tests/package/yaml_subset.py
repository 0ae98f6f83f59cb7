# tests/package/yaml_subset.py: a strict reader of the YAML that packaging/ is written in: mappings and lists by indentation,
# flow lists of scalars, quoted and plain scalars, `{}`, literal blocks, and lines of comment. All else is an error.
import json
import re

KEY = re.compile(r"([A-Za-z_][\w./-]*):(?: (.*))?$")
PLAIN = re.compile(r"[A-Za-z0-9/.-][\w ./+-]*$")
NUMBER = re.compile(r"-?\d+$")
# What some readers take for other than the text that it is.
AMBIGUOUS = {"yes", "no", "on", "off", "null", "true", "false", "y", "n"}


class Lines:
    """The lines of a file without comments; an error names the line."""

    def __init__(self, text):
        self.rows = text.split("\n")
        self.at = 0
        self.skip()

    def skip(self):
        while self.at < len(self.rows) and re.match(r"\s*(#.*)?$", self.rows[self.at]):
            self.at += 1

    def fail(self, sentence):
        raise ValueError(f"line {self.at + 1}: {sentence}: {self.rows[self.at]}")

    def indent(self):
        """Of the line that is next; -1 after the last one."""
        return len(self.rows[self.at]) - len(self.rows[self.at].lstrip(" ")) if self.at < len(self.rows) else -1

    def text(self):
        return self.rows[self.at].strip(" ")

    def advance(self):
        self.at += 1
        self.skip()


def scalar(word, lines):
    if word == "{}":
        return {}
    if word.startswith('"'):
        try:
            return json.loads(word)
        except ValueError:
            lines.fail("no string in quotes")
    if word.startswith("["):
        if not word.endswith("]"):
            lines.fail("a list in brackets ends on its line")
        words = re.findall(r'\s*("(?:\\.|[^"\\])*"|[^",\[\]]+?)\s*(?:,|$)', word[1:-1])
        return [scalar(one, lines) for one in words]
    if NUMBER.match(word):
        return int(word)
    if word in ("true", "false"):
        return word == "true"
    if word.lower() in AMBIGUOUS or not (PLAIN.match(word) or re.match(r"--[\w-]+$", word)):
        lines.fail("this needs quotes")
    return word


def literal(lines, outer):
    """The text below `key: |`, which is deeper than `outer`."""
    taken, depth = [], None
    while lines.at < len(lines.rows):
        row = lines.rows[lines.at]
        here = len(row) - len(row.lstrip(" "))
        if row.strip() and here <= outer:
            break
        depth = here if depth is None else depth
        taken.append(row[depth:])
        lines.at += 1
    lines.skip()
    return "\n".join(taken).rstrip("\n") + "\n"


def value(rest, lines, outer):
    """What comes after a key: on its line, or deeper below."""
    if rest == "|":
        lines.at += 1
        return literal(lines, outer)
    if rest:
        made = scalar(rest, lines)
        lines.advance()
        return made
    lines.advance()
    if lines.indent() <= outer:
        raise ValueError(f"line {lines.at}: a key has no value")
    return block(lines)


def mapping(lines, depth):
    made = {}
    while lines.indent() == depth and not lines.text().startswith("- "):
        found = KEY.match(lines.text())
        if not found:
            lines.fail("no `key: value`")
        if found[1] in made:
            lines.fail("the key is there twice")
        made[found[1]] = value(found[2], lines, depth)
    return made


def sequence(lines, depth):
    made = []
    while lines.indent() == depth and lines.text().startswith("- "):
        word = lines.text()[2:]
        if KEY.match(word):
            # A mapping as an item: its first key comes after the dash.
            lines.rows[lines.at] = " " * (depth + 2) + word
            made.append(mapping(lines, depth + 2))
        else:
            made.append(scalar(word, lines))
            lines.advance()
    return made


def block(lines):
    depth = lines.indent()
    made = sequence(lines, depth) if lines.text().startswith("- ") else mapping(lines, depth)
    if lines.indent() > depth:
        lines.fail("deeper than what it belongs to")
    return made


def parse(text):
    """The value of a file; ValueError where it is not of this form."""
    if "\t" in text:
        raise ValueError("a tab")
    lines = Lines(text)
    made = block(lines)
    if lines.at < len(lines.rows):
        lines.fail("not at the depth of the others")
    return made
