# tools/sitelib/search.py: the index that assets/site.js searches: names with their labels, and sections of the guide.
from __future__ import annotations

import html.parser
import json

from sitelib import reference
from sitelib.api import is_special
from sitelib.comments import LABELS
from sitelib.names import Target, anchor_of
from sitelib.site import Page, Site

MAX_TEXT = 1500  # characters of a section that can be found
HEADINGS = {"h1", "h2", "h3", "h4"}
INDEX = "assets/search-index.js"


class Sections(html.parser.HTMLParser):
    """The text of a page by headings: anchor, title, text."""

    def __init__(self, body: str):
        super().__init__()
        self.found: list[list[str]] = [["", "", ""]]
        self.in_heading = self.in_mark = False
        self.feed(body)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in HEADINGS:
            self.found.append([values.get("id") or "", "", ""])
            self.in_heading = True
        elif tag == "a" and values.get("class") == "anchor":
            self.in_mark = True

    def handle_endtag(self, tag):
        if tag in HEADINGS:
            self.in_heading = False
        elif tag == "a":
            self.in_mark = False

    def handle_data(self, data):
        if not self.in_mark:
            self.found[-1][1 if self.in_heading else 2] += data


def entries_of_page(page: Page):
    """The sections of a page of the guide."""
    for anchor, title, text in Sections(page.body).found:
        title, text = " ".join(title.split()), " ".join(text.split())[:MAX_TEXT]
        if title or text:
            shown = title if title == page.title or not title else f"{page.title}: {title}"
            yield [shown or page.title, page.section, page.path + (f"#{anchor}" if anchor else ""), text, ""]


def entries_of_names(site: Site):
    """Public names and their members: title, kind, page, sentence, labels."""
    for entry in site.names.entries:
        shown = set()
        for item in reference.walk(entry.declarations):
            is_own = item in entry.declarations
            if item.kind == "enumerator" and not item.doc:
                continue
            if is_own and item is not entry.described:
                continue  # overloads of a name are one entry, with the labels of all
            if item.name in shown or is_special(item):
                continue
            shown.add(item.name)
            target = entry.target if is_own else Target(entry.page, anchor_of(item.name))
            said = entry.declarations if is_own else [item]
            labels = " ".join(f"{label.lower()}: {text}" for label in LABELS
                              if (text := " ".join(filter(None, (reference.label_text(one, label) for one in said)))))
            yield [item.name, f"{item.kind} {entry.header}", target.seen_from(""), item.doc.summary, labels]


def index(site: Site) -> str:
    """The text of the index file. A script, because pages that are files may not fetch others."""
    entries = list(entries_of_names(site))
    labels = site.pages["api/labels.html"]
    entries += [[question.title, "question", f"{labels.path}#{question.anchor}", question.words, ""]
                for question in reference.QUESTIONS if f'id="{question.anchor}"' in labels.body]
    for page in site.pages.values():
        if page.listed and not page.section.startswith("api"):
            entries += entries_of_page(page)
    return "window.braidIndex = " + json.dumps(entries, ensure_ascii=False, separators=(",", ":")) + ";\n"
