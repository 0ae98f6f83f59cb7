# tools/sitelib/site.py: the pages of the site in memory, what leads where, and the frame around each page.
from __future__ import annotations

import html
import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path

from checklib import CPP_HEADERS, Diagnostic, Repository
from sitelib import order
from sitelib.names import Entry, Names, Target, header_page

ASSETS = Path(__file__).resolve().parent / "assets"
TEXT_SUFFIXES = {".hpp": "cpp", ".cpp": "cpp", ".h": "cpp", ".py": "python", ".toml": "toml", ".json": "json", ".sh": "bash",
                 ".cmake": "cmake", ".ts": "ts", ".js": "js", ".rs": "rust", ".go": "go", ".zig": "zig", ".txt": "", ".cfg": "ini",
                 ".tsv": "", ".service": "ini", ".yml": "yaml", ".csv": "", ".jsonl": "json", "": ""}
IMAGES = {".svg", ".png", ".jpg", ".jpeg", ".gif"}
MAX_SOURCE = 300_000  # bytes of a file that is shown as a page
TOP_LINKS = (("Guide", "index.html"), ("Reference", "api/index.html"), ("What may block?", "api/labels.html"),
             ("Examples", "examples/index.html"))


@dataclass
class Heading:
    level: int
    anchor: str
    title: str


@dataclass
class Page:
    path: str  # of the page in the site
    title: str
    section: str
    source: str = ""  # the file in the repository that it is made of
    body: str = ""
    toc: list[Heading] = field(default_factory=list)
    listed: bool = True  # in the navigation


def slug(title: str, taken: set[str]) -> str:
    """The anchor of a heading, as GitHub makes them."""
    base = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
    name, number = base, 0
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return name


def page_of_markdown(path: str) -> str:
    return "index.html" if path == "README.md" else path.removesuffix(".md") + ".html"


def entry_link(page: Page, entry: Entry) -> str:
    """A link from a page to the reference of a name."""
    return f'<a href="{html.escape(entry.target.seen_from(page.path))}"><code>{html.escape(entry.name)}</code></a>'


class Site:
    """Everything that is written. Pages that others lead to are noted in `wanted` and made until none is left."""

    def __init__(self, repository: Repository, names: Names):
        self.repository, self.names = repository, names
        self.pages: dict[str, Page] = {}
        self.copies: dict[str, str] = {}  # path in the site -> file of the repository
        self.wanted: list[str] = []  # files of the repository that need a page
        self.made: set[str] = set()
        self.origins: dict[tuple[str, str], tuple[str, int]] = {}  # page and href -> file and line that wrote the link
        self.diagnostics: list[Diagnostic] = []
        self.headers = {entry.header for entry in names.entries}
        self.framed: dict[str, str] = {}

    def add(self, page: Page) -> Page:
        self.pages[page.path] = page
        return page

    def report(self, path: str, line: int, sentence: str) -> None:
        self.diagnostics.append(Diagnostic(path, line, sentence))

    def link(self, page: str, target: Target, source: str, line: int) -> str:
        """The href of a link, noted with the place that it comes from."""
        href = target.seen_from(page)
        self.origins.setdefault((page, href), (source, line))
        return href

    def want(self, path: str) -> None:
        if path not in self.made:
            self.made.add(path)
            self.wanted.append(path)

    def file_target(self, path: str, anchor: str = "") -> Target | None:
        """The page of a file or folder of the repository; None where it has none and gets none."""
        path = path.rstrip("/")
        if path in ("examples", *order.FOLDERS):
            return Target(f"{path}/index.html")
        if path not in self.repository:
            return None
        suffix = posixpath.splitext(path)[1]
        if suffix == ".md":
            self.want(path)
            return Target(page_of_markdown(path), anchor)
        if path.startswith("examples/") and suffix == ".cpp":
            return Target(path.removesuffix(".cpp") + ".html", anchor)
        if path.endswith(CPP_HEADERS) and not anchor and path.removeprefix("include/") in self.headers:
            return Target(header_page(path.removeprefix("include/")))
        if suffix in IMAGES:
            self.copies[path] = path
            return Target(path)
        if suffix in TEXT_SUFFIXES and (self.repository.root / path).stat().st_size <= MAX_SOURCE:
            return self.source_target(path, anchor)
        return None

    def source_target(self, path: str, anchor: str = "") -> Target:
        self.want(path)
        return Target(f"source/{path}.html", anchor)

    def frame(self, page: Page) -> str:
        """The whole text of a page; kept, so that all pages must be there before."""
        if page.path not in self.framed:
            self.framed[page.path] = Frame(self, page).text()
        return self.framed[page.path]

    def write(self, folder: Path, extra: dict[str, str]) -> int:
        """Writes all of it into an empty folder; gives the number of bytes."""
        size = 0
        contents = {path: self.frame(page).encode() for path, page in self.pages.items()}
        contents |= {path: text.encode() for path, text in extra.items()}
        contents |= {path: (self.repository.root / source).read_bytes() for path, source in self.copies.items()}
        contents |= {f"assets/{item.name}": item.read_bytes() for item in sorted(ASSETS.iterdir()) if item.is_file()}
        for path, data in contents.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
            size += len(data)
        return size


class Frame:
    """A page with its head, navigation and table of contents."""

    def __init__(self, site: Site, page: Page):
        self.site, self.page = site, page

    def to(self, path: str, anchor: str = "") -> str:
        return html.escape(Target(path, anchor).seen_from(self.page.path) or "#")

    def text(self) -> str:
        page = self.page
        name = page.title if page.title == "braid" else f"{page.title} · braid"
        root = posixpath.relpath(".", posixpath.dirname(page.path) or ".")
        tops = "".join(f'<a href="{self.to(path)}"{self._current(path == page.path)}>{html.escape(title)}</a>'
                       for title, path in TOP_LINKS if path in self.site.pages)
        return f"""<!doctype html>
<html lang="en" data-root="{root}/">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(name)}</title>
<link rel="stylesheet" href="{self.to('assets/style.css')}">
<script src="{self.to('assets/site.js')}"></script>
</head>
<body>
<a class="skip" href="#site-content">Skip to the text</a>
<header>
<button class="menu" type="button" aria-label="Pages" aria-expanded="false">☰</button>
<a class="brand" href="{self.to('index.html')}">braid</a>
<nav class="tops" aria-label="Parts of this site">{tops}</nav>
<div class="search">
<input type="search" id="site-search" placeholder="Search names and pages" aria-label="Search" autocomplete="off">
<div id="site-results" role="listbox" hidden></div></div>
<button class="theme" type="button" aria-label="Dark or light">◐</button>
</header>
<div class="columns">
<nav class="pages" aria-label="Pages">{self.navigation()}</nav>
<main id="site-content">
{page.body}{self.footer()}</main>
{self.contents()}</div>
</body>
</html>
"""

    @staticmethod
    def _current(is_here: bool) -> str:
        return ' aria-current="page"' if is_here else ""

    def navigation(self) -> str:
        own = [item for item in self.site.pages.values() if item.listed]
        if self.page.section.startswith("api"):
            return self._reference(own)
        if self.page.path.startswith("source/"):
            return ""  # many pages, from which readers go back
        sections: dict[str, list[Page]] = {}
        for item in own:
            if not item.section.startswith("api"):
                sections.setdefault(item.section, []).append(item)
        out = []
        for name, items in sections.items():
            inside = "".join(self._item(item) for item in items)
            is_open = " open" if name not in order.FOLDED or name == self.page.section else ""
            out.append(f"<details{is_open}><summary>{html.escape(name)}</summary><ul>{inside}</ul></details>\n")
        return "".join(out)

    def _item(self, item: Page) -> str:
        return (f'<li><a href="{self.to(item.path)}"{self._current(item is self.page)}>{html.escape(item.title)}</a></li>')

    def _reference(self, own: list[Page]) -> str:
        """The overview, and the headers by part; of other parts than the page's the name alone."""
        out = ["<ul>", *(self._item(item) for item in own if item.section == "api"), "</ul>\n"]
        parts: dict[str, list[Page]] = {}
        for item in own:
            if item.section.startswith("api/"):
                parts.setdefault(item.section, []).append(item)
        for part, items in parts.items():
            name = part.removeprefix("api/")
            if part == self.page.section:
                inside = "".join(self._item(item) for item in items)
                out.append(f"<details open><summary>{name}</summary><ul>{inside}</ul></details>\n")
            else:
                out.append(f'<p class="part"><a href="{self.to("api/index.html", "part-" + name)}">{name}</a></p>\n')
        return "".join(out)

    def contents(self) -> str:
        shown = [item for item in self.page.toc if item.level in (2, 3)]
        if len(shown) < 2:
            return ""
        rows = "".join(f'<li class="l{item.level}"><a href="#{html.escape(item.anchor)}">{html.escape(item.title)}</a></li>'
                       for item in shown)
        return f'<nav class="toc" aria-label="On this page"><p>On this page</p><ul>{rows}</ul></nav>\n'

    def footer(self) -> str:
        source = self.page.source
        made = f"Made from <code>{html.escape(source)}</code>." if source else "Made by <code>./dev site</code>."
        return f"<footer><p>{made}</p></footer>\n"
