# tools/sitelib/guide.py: Markdown pages as HTML, with links between pages, to files and to the reference.
from __future__ import annotations

import html
import posixpath
import re
import urllib.parse

from sitelib import code, order
from sitelib.debian import module
from sitelib.names import Target
from sitelib.site import Heading, Page, Site, page_of_markdown, slug

MARKER = re.compile(r"<!--\s*(from|output):\s*([^\s#]+)(?:#\S+)?\s*-->\s*$")
COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
EXTERNAL = re.compile(r"[a-zA-Z][\w+.-]*:")
PATH = re.compile(r"(?:\./)?([\w.-]+(?:/[\w.-]+)+/?|[\w-]+\.md)$")
EXAMPLE = re.compile(r"(?:\./)?examples/[\w/.-]+\.(?:cpp|txt)$")


def parse(text: str) -> tuple:
    """The parser of a page, and its tokens."""
    parser = module("markdown_it").MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return parser, parser.parse(text)


def heading_title(inline) -> str:
    return "".join(child.content for child in inline.children if child.type in ("text", "code_inline"))


def anchors_of(text: str) -> set[str]:
    """The anchors of the headings of a page."""
    tokens, taken = parse(text)[1], set()
    for opening, inline in zip(tokens, tokens[1:]):
        if opening.type == "heading_open":
            slug(heading_title(inline), taken)
    return taken


class Markdown:
    """Turns one file into a page."""

    def __init__(self, site: Site, path: str):
        self.site, self.path = site, path
        section = order.section_of(path)
        self.page = Page(page_of_markdown(path), posixpath.basename(path), section, path)
        self.links_names = section not in order.WITHOUT_LINKS
        self.taken: set[str] = set()
        self.seen: set[str] = set()  # public names that the page mentions

    def render(self) -> Page:
        parser, tokens = parse(self.site.repository.text(self.path))
        caption, line = "", 1
        for at, token in enumerate(tokens):
            line = token.map[0] + 1 if token.map else line
            if token.type == "heading_open":
                self._heading(token, tokens[at + 1])
            elif token.type == "inline":
                self._inline(token, line)
            elif token.type in ("fence", "code_block"):
                self._block(token, caption)
            elif token.type == "table_open":
                token.type, token.content = "html_block", '<div class="table"><table>\n'
            elif token.type == "table_close":
                token.type, token.content = "html_block", "</table></div>\n"
            elif token.type == "html_block":
                caption = self._caption(token, line)
                continue
            caption = ""
        self.page.body = parser.renderer.render(tokens, parser.options, {})
        return self.page

    def _heading(self, opening, inline) -> None:
        title = heading_title(inline)
        level = int(opening.tag[1])
        anchor = slug(title, self.taken)
        opening.attrSet("id", anchor)
        self.page.toc.append(Heading(level, anchor, title))
        if level == 1 and len(self.page.toc) == 1:
            self.page.title = title
        else:
            mark = type(inline)("html_inline", "", 0)
            mark.content = f' <a class="anchor" href="#{html.escape(anchor)}" aria-label="Link to this section">#</a>'
            inline.children.append(mark)

    def _inline(self, token, line: int) -> None:
        inside = 0
        for child in token.children or []:
            if child.type in ("softbreak", "hardbreak"):
                line += 1
            elif child.type == "link_open":
                inside += 1
                child.attrSet("href", self._href(str(child.attrGet("href")), line))
            elif child.type == "link_close":
                inside -= 1
            elif child.type == "image":
                child.attrSet("src", self._href(str(child.attrGet("src")), line))
            elif child.type == "code_inline":
                content = f"<code>{html.escape(child.content, quote=False)}</code>"
                target = None if inside else self._of_code(child.content, line)
                if target is not None:
                    href = self.site.link(self.page.path, target, self.path, line)
                    content = f'<a href="{html.escape(href)}">{content}</a>'
                child.type, child.content = "html_inline", content
            elif child.type == "html_inline":
                child.content = COMMENT.sub("", child.content)

    def _href(self, target: str, line: int) -> str:
        if target.startswith("#"):
            self.site.origins.setdefault((self.page.path, target), (self.path, line))
            return target
        if EXTERNAL.match(target):
            return target
        path, _, anchor = urllib.parse.unquote(target).partition("#")
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(self.path), path))
        found = self.site.file_target(wanted, anchor)
        if found is None:
            self.site.report(self.path, line, f"the link to {target} leads to no page and no file that can be shown")
            return "#"
        return self.site.link(self.page.path, found, self.path, line)

    def _of_code(self, text: str, line: int) -> Target | None:
        """Where `inline code` leads: a file or a public name."""
        if path := PATH.match(text):
            for folder in ("", "include", posixpath.dirname(self.path)):
                wanted = posixpath.normpath(posixpath.join(folder, path[1]))
                if wanted != self.path and (found := self.site.file_target(wanted)):
                    return found
            if EXAMPLE.match(text):
                self.site.report(self.path, line, f"the example {text} does not exist")
            return None
        found = self.site.names.in_prose(text) if self.links_names else None
        if found is not None and (entry := self.site.names.entry(re.sub(r"[(<].*", "", text))):
            self.seen.add(entry.name)
        return found

    def _block(self, token, caption: str) -> None:
        language = token.info.split()[0] if token.info.strip() else ""
        linker = code.Linker(self.site.names, self.page.path)
        token.type, token.content = "html_block", code.block(token.content.rstrip("\n"), language, linker, caption)
        self.seen |= linker.seen

    def _caption(self, token, line: int) -> str:
        """Comments vanish; one that says where the next block comes from becomes a line above it."""
        marker = MARKER.search(token.content.strip())
        token.content = COMMENT.sub("", token.content)
        if marker and marker[1] == "output":
            return "<figcaption>it prints</figcaption>"
        target = self.site.file_target(marker[2]) if marker else None
        if target is None:
            return ""
        href = self.site.link(self.page.path, target, self.path, line)
        return f'<figcaption><a href="{html.escape(href)}">{html.escape(marker[2])}</a></figcaption>'


def note(site: Site, markdown: Markdown) -> None:
    """Lets the reference of each name that a page mentions lead back to it."""
    for name in markdown.seen:
        for entry in site.names.by_name.get(name, []):
            entry.guides.add(markdown.path)


def add_pages(site: Site) -> int:
    """The pages of the guide in their order, and indexes of their folders."""
    paths = order.pages_of(site.repository.files)
    for path in paths:
        site.made.add(path)
    for path in paths:
        markdown = Markdown(site, path)
        site.add(markdown.render())
        note(site, markdown)
    for folder, section in order.FOLDERS.items():
        if any(path.startswith(folder + "/") for path in paths):
            add_index(site, folder, section)
    return len(paths)


def add_index(site: Site, folder: str, section: str) -> None:
    """A page that lists the pages of a folder."""
    page = Page(f"{folder}/index.html", section, section, listed=False)
    rows = "".join(
        f'<li><a href="{Target(item.path).seen_from(page.path)}">{html.escape(item.title)}</a></li>\n'
        for item in site.pages.values() if item.section == section and item.source)
    page.body = f"<h1>{html.escape(section)}</h1>\n<ul>\n{rows}</ul>\n"
    site.add(page)
