# tools/sitelib/links.py: proves that all pages are well formed and that each link leads to a page and an anchor.
from __future__ import annotations

import html
import html.parser
import posixpath
import re
import urllib.parse

from checklib import Diagnostic
from sitelib.site import Site

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
EXTERNAL = re.compile(r"(?:[a-zA-Z][\w+.-]*:|//)")
NETWORK = {"script", "link", "img", "iframe", "source"}  # what a browser loads by itself


class Scanned:
    """The same of a page of source text, of which there are many with many tags, and all of them made by `numbered`."""

    def __init__(self, text: str):
        self.ids = set(re.findall(r' id="([^"]+)"', text))
        self.links = [(html.unescape(href), 1) for href in sorted(set(re.findall(r' href="([^"]+)"', text)))]
        self.faults: list[tuple[int, str]] = []


class Parsed(html.parser.HTMLParser):
    """Anchors and links of a page, and what is wrong with its tags."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, int]] = []
        self.faults: list[tuple[int, str]] = []
        self.open: list[tuple[str, int]] = []
        self.feed(text)
        self.close()
        self.faults += [(line, f"<{tag}> is not closed") for tag, line in self.open]

    def handle_starttag(self, tag, attrs):
        line = self.getpos()[0]
        values = dict(attrs)
        if (name := values.get("id")) is not None:
            if name in self.ids:
                self.faults.append((line, f"two elements have the id {name}"))
            self.ids.add(name)
        for attribute in ("href", "src"):
            if (href := values.get(attribute)) is not None:
                self.links.append((href, line))
                if tag in NETWORK and EXTERNAL.match(href):
                    self.faults.append((line, f"<{tag}> loads {href} from the network"))
        if tag not in VOID:
            self.open.append((tag, line))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open[-1][0] != tag:
            self.faults.append((self.getpos()[0], f"</{tag}> closes nothing"))
            while any(name == tag for name, _ in self.open) and self.open.pop()[0] != tag:
                pass
        else:
            self.open.pop()


def check(site: Site, others: set[str]) -> list[Diagnostic]:
    """`others`: files of the site that are no pages. A diagnostic names the file that the link was written in."""
    parsed: dict[str, Parsed | Scanned] = {}
    for path, page in site.pages.items():
        parsed[path] = (Scanned if path.startswith("source/") else Parsed)(site.frame(page))
    found = []
    for path, page in parsed.items():
        source = site.pages[path].source or f"site/{path}"
        found += [Diagnostic(source, line, f"{sentence} ({path})") for line, sentence in page.faults]
        for href, line in page.links:
            if fault := fault_of(path, href, parsed, others):
                place = site.origins.get((path, href), (source, line))
                found.append(Diagnostic(*place, fault))
    return found


def fault_of(path: str, href: str, parsed: dict[str, Parsed], others: set[str]) -> str:
    """What is wrong with a link from the page `path`; empty where it leads somewhere."""
    if EXTERNAL.match(href):
        return ""
    target, _, anchor = href.partition("#")
    page = posixpath.normpath(posixpath.join(posixpath.dirname(path), urllib.parse.unquote(target))) if target else path
    if page not in parsed:
        return "" if page in others else f"the link {href} leads to no page"
    anchor = urllib.parse.unquote(anchor)
    return "" if not anchor or anchor in parsed[page].ids else f"the link {href} leads to no anchor of {page}"


def check_names(site: Site, index: str, listed: list) -> list[Diagnostic]:
    """Each name of the list has a page with its anchor, and can be found."""
    found = []
    anchors = {path: set(re.findall(r' id="([^"]+)"', page.body)) for path, page in site.pages.items()}
    for item in listed:
        entry = next((entry for entry in site.names.by_name.get(item.name, []) if entry.header == item.header), None)
        if entry is None:
            continue  # reported: no header declares it
        if entry.target.anchor not in anchors.get(entry.page, set()):
            found.append(Diagnostic("docs/api.txt", item.line, f"{item.name} has no page"))
        elif f'"{entry.page}#{entry.target.anchor}"' not in index:
            found.append(Diagnostic("docs/api.txt", item.line, f"{item.name} is not in the search index"))
    return found
