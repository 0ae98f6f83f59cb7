# tools/sitelib/reference.py: the reference: a page for each public header, the list of all names, answers by label.
from __future__ import annotations

import html
import re
from typing import Iterator, NamedTuple

from sitelib import code
from sitelib.api import INCLUDE, Api, Declaration, is_special, special_kind
from sitelib.examples import introduction, title_of
from sitelib.names import Entry, Names, Target, anchor_of, header_page
from sitelib.site import Heading, Page, Site, entry_link

KINDS = ("class", "enum", "concept", "alias", "function", "constant", "macro")
PLURALS = {"class": "Classes", "enum": "Enums", "concept": "Concepts", "alias": "Aliases", "function": "Functions",
           "constant": "Constants", "macro": "Macros"}
ROWS = {"field", "enumerator"}  # kinds that are shown as rows of a table
NAMED = re.compile(r"`([^`]+)`|(?<![\w/.:])((?:\w+::)+\w+|(?:docs|examples|include)/[\w/.-]+\.\w+)(?![\w(])")
BLOCKS = re.compile(r"(?:^|(?<=[.;:)`] ))Blocks (?!of\b)[^.]*")  # not: blocks of memory
BASES = re.compile(r"public ([\w:]+)")
NEVER = re.compile(r"(?:never|no\b|does not)", re.IGNORECASE)
ANY = re.compile(r"any\b|.*\bany thread", re.IGNORECASE | re.DOTALL)


class Question(NamedTuple):
    """What a reader asks of all names at once, and the label that answers."""
    anchor: str
    title: str
    label: str
    wanted: re.Pattern | None = None
    refused: re.Pattern | None = None
    words: str = ""  # by which a search finds it as well

    def is_answered_by(self, text: str) -> bool:
        if not text or self.wanted and not self.wanted.match(text):
            return False
        return not (self.refused and self.refused.match(text))


QUESTIONS = (
    Question("may-block", "What may block?", "Blocks", refused=NEVER, words="blocking calls that wait"),
    Question("never-blocks", "What promises not to block?", "Blocks", wanted=NEVER, words="nonblocking"),
    Question("any-thread", "What may any thread call?", "Threads", wanted=ANY, words="callable from any thread, thread-safe"),
    Question("some-threads", "What is bound to some threads?", "Threads", refused=ANY),
    Question("errors", "What fails, and how?", "Errors", words="errors, exceptions, throws"),
    Question("cost", "What does it cost?", "Cost", words="allocations, memory, locks"),
    Question("lifetime", "What must outlive what?", "Lifetime"),
    Question("sources", "Where does it come from?", "Source"),
    Question("protocols", "Where is its protocol described?", "Protocol"),
)


def label_text(declaration: Declaration, label: str) -> str:
    """What a declaration says under a label; that it blocks is also said by a sentence."""
    said = declaration.doc.label(label)
    if not said and label == "Blocks":
        found = BLOCKS.search(" ".join(" ".join(declaration.doc.paragraphs).split()))
        return found[0] + "." if found else ""
    return said


def walk(declarations: list[Declaration]) -> Iterator[Declaration]:
    for item in declarations:
        yield item
        yield from walk(item.members)


class Prose:
    """Comments as HTML. They are plain text with `names`, lists and indented lines."""

    def __init__(self, site: Site, page: str):
        self.site, self.page = site, page

    def inline(self, text: str, scope: str, source: tuple[str, int]) -> str:
        out, end = [], 0
        for match in NAMED.finditer(text):
            out.append(html.escape(text[end : match.start()], quote=False))
            out.append(self._named(match, scope, source))
            end = match.end()
        return "".join(out) + html.escape(text[end:], quote=False)

    def _named(self, match: re.Match, scope: str, source: tuple[str, int]) -> str:
        name = match[1] or match[2]
        shown = f"<code>{html.escape(name, quote=False)}</code>"
        target = self.site.file_target(name) if "/" in name else self.site.names.in_prose(name, scope)
        if target is None:
            return shown if match[1] else html.escape(name, quote=False)
        href = self.site.link(self.page, target, *source)
        return f'<a href="{html.escape(href or "#")}">{shown}</a>'

    def paragraph(self, text: str, scope: str, source: tuple[str, int]) -> str:
        """Lines that are indented stay as they are; those that begin with a dash are a list."""
        groups: list[tuple[str, list[str]]] = []
        for line in text.split("\n"):
            kind = "li" if line.startswith("- ") else "pre" if line.startswith("  ") else "p"
            if kind == "pre" and groups and groups[-1][0] == "li":
                groups[-1][1].append(line.strip())
            elif kind == "li" or not groups or groups[-1][0] != kind:
                groups.append((kind, [line.removeprefix("- ")]))
            else:
                groups[-1][1].append(line)
        out = []
        for kind, lines in groups:
            if kind == "pre":
                out.append(f"<pre>{html.escape(chr(10).join(lines), quote=False)}</pre>\n")
            else:
                tag = "p" if kind == "p" else 'p class="item"'
                out.append(f"<{tag}>{self.inline(chr(10).join(lines), scope, source)}</p>\n")
        return "".join(out)


class HeaderPage:
    """The reference of one header."""

    def __init__(self, site: Site, header: str, entries: list[Entry]):
        self.site, self.header = site, header
        self.entries = sorted(entries, key=lambda entry: entry.declarations[0].line)
        self.path = f"{INCLUDE}/{header}"
        part = part_of(header)
        self.page = Page(header_page(header), short_title(header), f"api/{part}", self.path)
        self.prose = Prose(site, self.page.path)
        self.taken: dict[str, int] = {}

    def make(self) -> Page:
        said = introduction(self.site.repository.text(self.path))
        source = self._source_link(1, "source")
        out = [f"<h1><code>{html.escape(self.header)}</code></h1>\n",
               f"<p>{self.prose.inline(said[:1].upper() + said[1:], '', (self.path, 1))}</p>\n",
               f'<p class="include"><code>#include &lt;{html.escape(self.header)}&gt;</code> {source}</p>\n']
        out += [self._entry(entry) for entry in self.entries]
        self.page.body = "".join(out)
        return self.page

    def _anchor(self, name: str) -> str:
        base = anchor_of(name)
        self.taken[base] = self.taken.get(base, 0) + 1
        return base if self.taken[base] == 1 else f"{base}-{self.taken[base]}"

    def _source_link(self, line: int, text: str, path: str = "") -> str:
        target = self.site.source_target(path or self.path, f"L{line}")
        return f'<a class="line" href="{html.escape(target.seen_from(self.page.path))}">{text}</a>'

    def _entry(self, entry: Entry) -> str:
        anchor = self._anchor(entry.name)
        self.page.toc.append(Heading(2, anchor, entry.name))
        out = [f'<section class="entry">\n<h2 id="{html.escape(anchor)}"><code>{html.escape(entry.name)}</code>'
               f' <span class="kind">{entry.kind}</span></h2>\n']
        out += [self._group(group, heading=False) for group in groups_of(entry.declarations)]
        out += [self._members(item) for item in entry.declarations]
        out.append(self._elsewhere(entry))
        return "".join(out) + "</section>\n"

    def _group(self, group: list[Declaration], heading: bool) -> str:
        """Declarations that share a comment."""
        first = group[0]
        scope = first.name if first.kind in ("class", "enum") else first.name.rpartition("::")[0]
        parts = []
        for item in group:
            linker = code.Linker(self.site.names, self.page.path, everywhere=True, own=item.own_name,
                                 scope=item.name.rpartition("::")[0], source=self.site.source_target)
            anchor = f' id="{html.escape(self._anchor(item.name))}"' if heading else ""
            shown = code.highlight(item.signature, "cpp", linker)
            line = self._source_link(item.line, f"line {item.line}", item.path)
            parts.append(f'<div class="signature"{anchor}><pre><code>{shown}</code></pre>{line}</div>\n')
        return "".join(parts) + self._doc(first, scope)

    def _doc(self, item: Declaration, scope: str) -> str:
        source = (item.path, item.line)
        if not item.doc and (base := self._overridden(item)):
            link = self._link(self.site.names.members[base], f"<code>{html.escape(base)}</code>")
            return f'<div class="doc"><p>As {link}.</p></div>\n'
        out = [self.prose.paragraph(text, scope, source) for text in item.doc.paragraphs]
        if item.doc.labels:
            rows = "".join(f"<div class=\"{label.name.lower()}\"><dt>{label.name}</dt>"
                           f"<dd>{self.prose.inline(label.text, scope, source)}</dd></div>\n" for label in item.doc.labels)
            out.append(f'<dl class="labels">\n{rows}</dl>\n')
        return f'<div class="doc">\n{"".join(out)}</div>\n' if out else ""

    def _overridden(self, member: Declaration) -> str:
        """The member of a public base that a member without a comment overrides."""
        owner = self.site.names.entry(member.name.rpartition("::")[0])
        if owner is None or not re.search(r"\boverride\b", member.signature):
            return ""
        bases = BASES.findall(owner.described.signature.partition(" : ")[2])
        found = (f"{base}::{member.own_name}" for base in bases)
        return next((name for name in found if name in self.site.names.members), "")

    def _members(self, owner: Declaration) -> str:
        members = [member for member in owner.members if not is_special(member)]
        said = how_moved(owner)
        out = [f'<p class="moved">{said}</p>\n'] if said else []
        for access, title in (("public", ""), ("protected", "For derived classes")):
            chosen = [member for member in members if member.access == access]
            if not chosen:
                continue
            out.append(f"<h3>{title}</h3>\n" if title else "")
            out.append(self._rows([member for member in chosen if member.kind in ROWS]))
            for group in groups_of([member for member in chosen if member.kind not in ROWS]):
                self._note(group[0])
                out.append(f'<div class="member">\n{self._group(group, heading=True)}')
                out += [*map(self._members, group), "</div>\n"]
        return "".join(out)

    def _note(self, member: Declaration) -> None:
        anchor, name = anchor_of(member.name), member.own_name
        if not self.page.toc or self.page.toc[-1].title != name:
            self.page.toc.append(Heading(3, anchor, name))

    def _rows(self, members: list[Declaration]) -> str:
        """Fields and enumerators."""
        if not members:
            return ""
        rows = []
        for member in members:
            linker = code.Linker(self.site.names, self.page.path, everywhere=True, own=member.own_name,
                                 scope=member.name.rpartition("::")[0])
            scope = member.name.rpartition("::")[0]
            text = " ".join([*member.doc.paragraphs, *(f"{label.name}: {label.text}" for label in member.doc.labels)])
            rows.append(f'<tr id="{html.escape(self._anchor(member.name))}">'
                        f'<td><code>{code.highlight(member.signature, "cpp", linker)}</code></td>'
                        f"<td>{self.prose.inline(text, scope, (member.path, member.line))}</td></tr>\n")
        return f'<div class="table"><table class="rows"><tbody>\n{"".join(rows)}</tbody></table></div>\n'

    def _elsewhere(self, entry: Entry) -> str:
        """Other headers with the name, and pages that use it."""
        out = []
        others = [other for other in self.site.names.by_name[entry.name] if other is not entry]
        links = [self._link(other.target, f"<code>{html.escape(other.header)}</code>") for other in others]
        out += [f"<p>Also in {', '.join(links)}.</p>\n"] if links else []
        guides = [(self.site.pages[site_path].title, Target(site_path)) for path in sorted(entry.guides)
                  if (site_path := self._page_of(path)) in self.site.pages]
        examples = [(title_of(path), Target(path.removesuffix(".cpp") + ".html")) for path in sorted(entry.examples)]
        for what, pages in (("In the guide", guides), ("Examples", examples)):
            if pages:
                links = [self._link(target, html.escape(title)) for title, target in pages]
                out.append(f"<p>{what}: {', '.join(links)}.</p>\n")
        return f'<div class="elsewhere">\n{"".join(out)}</div>\n' if out else ""

    @staticmethod
    def _page_of(path: str) -> str:
        return "index.html" if path == "README.md" else path.removesuffix(".md") + ".html"

    def _link(self, target: Target, shown: str) -> str:
        return f'<a href="{html.escape(target.seen_from(self.page.path))}">{shown}</a>'


def how_moved(owner: Declaration) -> str:
    """What the copies and moves say together that a class declares."""
    special = {kind: member for member in owner.members if (kind := special_kind(member))}
    deleted = {kind for kind, member in special.items() if member.signature.endswith("= delete")}
    if not special or owner.kind != "class":
        return ""
    if "move" in special and "move" not in deleted:
        return "Can be moved and copied." if "copy" in special and "copy" not in deleted else "Can be moved, and not copied."
    return "Can be neither copied nor moved." if deleted else ""


def groups_of(declarations: list[Declaration]) -> list[list[Declaration]]:
    """Overloads that follow one with a comment, and have none themselves, share it."""
    groups: list[list[Declaration]] = []
    for item in declarations:
        if groups and not item.doc and groups[-1][0].name == item.name and not item.members:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def part_of(header: str) -> str:
    """The layer of a header."""
    pieces = header.split("/")
    return pieces[1] if len(pieces) > 2 else "braid"


def short_title(header: str) -> str:
    pieces = header.split("/")
    return "/".join(pieces[2:]) if len(pieces) > 2 else pieces[-1]


def add_pages(site: Site, api: Api, order_of_parts: list[str]) -> int:
    """All of the reference. `order_of_parts`: layers, lowest first."""
    headers: dict[str, list[Entry]] = {}
    for entry in site.names.entries:
        headers.setdefault(entry.header, []).append(entry)
    ranks = {part: at for at, part in enumerate(order_of_parts)}
    ordered = sorted(headers, key=lambda header: (ranks.get(part_of(header), len(ranks)), part_of(header), header))
    overview = site.add(Page("api/index.html", "By part", "api"))
    names = site.add(Page("api/names.html", "All names", "api"))
    labels = site.add(Page("api/labels.html", "By label: what may block?", "api"))
    for header in ordered:
        site.add(HeaderPage(site, header, headers[header]).make())
    make_overview(site, overview, ordered, headers)
    make_names(site, names)
    make_labels(site, labels)
    return len(ordered)


def make_overview(site: Site, page: Page, ordered: list[str], headers: dict[str, list[Entry]]) -> None:
    """Each part with its headers, their sentences and their names."""
    prose = Prose(site, page.path)
    out = ["<h1>Reference</h1>\n<p>Every public name, by the part that it belongs to. "
           '<a href="labels.html">By label</a>: what may block, what any thread may call, what fails and how. '
           '<a href="names.html">All names</a> by alphabet.</p>\n']
    part = None
    for header in ordered:
        if part_of(header) != part:
            out.append("</tbody></table></div>\n" if part is not None else "")
            part = part_of(header)
            page.toc.append(Heading(2, f"part-{part}", part))
            out.append(f'<h2 id="part-{part}">{html.escape(part)}</h2>\n<div class="table"><table class="headers"><tbody>\n')
        said = introduction(site.repository.text(f"{INCLUDE}/{header}"))
        said = said[:1].upper() + said[1:]
        links = ", ".join(entry_link(page, entry) for entry in headers[header])
        href = html.escape(Target(header_page(header)).seen_from(page.path))
        out.append(f'<tr><td><a href="{href}">{html.escape(short_title(header))}</a></td>'
                   f"<td>{prose.inline(said, '', (f'{INCLUDE}/{header}', 1))}<br>{links}</td></tr>\n")
    page.body = "".join(out) + "</tbody></table></div>\n"


def make_names(site: Site, page: Page) -> None:
    prose = Prose(site, page.path)
    out = [f"<h1>All names</h1>\n<p>{len(site.names.by_name)} public names, by kind.</p>\n"]
    for kind in KINDS:
        entries = [entry for entry in site.names.entries if entry.kind == kind]
        if not entries:
            continue
        page.toc.append(Heading(2, kind, PLURALS[kind]))
        rows = "".join(
            f"<tr><td>{entry_link(page, entry)}</td><td>"
            f"{prose.inline(entry.described.doc.summary, entry.name, (entry.described.path, entry.described.line))}</td></tr>\n"
            for entry in entries)
        out.append(f'<h2 id="{kind}">{PLURALS[kind]}</h2>\n<div class="table"><table><tbody>\n{rows}</tbody></table></div>\n')
    page.body = "".join(out)


def make_labels(site: Site, page: Page) -> None:
    """For each question the names that answer it."""
    prose = Prose(site, page.path)
    out = ["<h1>What may block? What may any thread call?</h1>\n"
           "<p>Comments of public names have labels: what stands in a class holds for all its members. "
           "A member without a label of its own is not listed again.</p>\n"
           '<p><input type="search" id="filter" placeholder="Names or words in these tables" aria-label="Filter"></p>\n']
    for question in QUESTIONS:
        rows = list(answers(site.names, question))
        if not rows:
            continue
        page.toc.append(Heading(2, question.anchor, question.title))
        shown = "".join(
            f'<tr><td><a href="{html.escape(target.seen_from(page.path))}"><code>{html.escape(item.name)}</code></a></td>'
            f"<td>{prose.inline(text, item.name, (item.path, item.line))}</td></tr>\n" for item, target, text in rows)
        out.append(f'<h2 id="{question.anchor}">{html.escape(question.title)}</h2>\n<p><code>{question.label}:</code> of '
                   f'{len(rows)} names</p>\n<div class="table"><table class="filtered"><tbody>\n{shown}</tbody></table></div>\n')
    page.body = "".join(out)


def answers(names: Names, question: Question) -> Iterator[tuple[Declaration, Target, str]]:
    """The declarations whose label answers, with their anchors."""
    for entry in names.entries:
        for item in walk(entry.declarations):
            text = label_text(item, question.label)
            if question.is_answered_by(text):
                target = entry.target if item in entry.declarations else Target(entry.page, anchor_of(item.name))
                yield item, target, text
