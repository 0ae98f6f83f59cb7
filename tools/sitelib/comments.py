# tools/sitelib/comments.py: documentation comments as sentence, paragraphs and labels.
from __future__ import annotations

import re
from typing import NamedTuple

LABELS = ("Threads", "Blocks", "Errors", "Cost", "Lifetime", "Source", "Protocol")
LABEL = re.compile(rf"(?:^|(?<=[.;:!?)`] ))({'|'.join(LABELS)}):(?=\s|$)\s*", re.MULTILINE)
SLASHES = re.compile(r"^[ \t]*(?:///?<?|\*/|/\*\*?<?|\*) ?", re.MULTILINE)
SENTENCE = re.compile(r"(?s)(.+?(?<!e\.g)(?<!i\.e)[.?!])(?=\s+[A-Z`(]|\s*$)")


class Label(NamedTuple):
    name: str
    text: str


class Doc(NamedTuple):
    """What a comment says: paragraphs without labels, and the labels in order."""
    paragraphs: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.paragraphs or self.labels)

    @property
    def summary(self) -> str:
        """The first sentence; where labels are all there is, the first label."""
        if not self.paragraphs:
            return f"{self.labels[0].name}: {self.labels[0].text}" if self.labels else ""
        first = " ".join(self.paragraphs[0].split())
        found = SENTENCE.match(first)
        return found[1] if found else first

    def label(self, name: str) -> str:
        return " ".join(" ".join(label.text.split()) for label in self.labels if label.name == name)


def text_of(comment: str) -> str:
    """The text of a comment, without slashes and the space after them."""
    return "\n".join(SLASHES.sub("", line, count=1).rstrip() for line in comment.split("\n")).strip("\n")


def read(comment: str | None) -> Doc:
    """A `///` comment as written in the header."""
    paragraphs: list[str] = []
    labels: list[Label] = []
    for paragraph in re.split(r"\n[ \t]*\n", text_of(comment or "")):
        pieces = LABEL.split(paragraph)
        if pieces[0].strip():
            paragraphs.append(pieces[0].strip("\n").rstrip())
        labels += [Label(name, text.strip()) for name, text in zip(pieces[1::2], pieces[2::2])]
    return Doc(tuple(paragraphs), tuple(labels))
