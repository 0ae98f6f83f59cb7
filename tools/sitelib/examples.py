# tools/sitelib/examples.py: a page for each example with its output, and pages for files that others lead to.
from __future__ import annotations

import html
import posixpath
import re

from sitelib import code, guide, order
from sitelib.names import Target
from sitelib.site import TEXT_SUFFIXES, Heading, Page, Site, entry_link

SECTION = "Examples"
REGION = re.compile(r"^[ \t]*// \[/?[\w.-]+\][ \t]*\n", re.MULTILINE)


def is_example(path: str) -> bool:
    return path.startswith("examples/") and path.endswith(".cpp")


def introduction(text: str) -> str:
    """What the first comment says, after the path."""
    lines = []
    for line in text.split("\n"):
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").strip())
    return re.sub(r"^\S+:\s*", "", " ".join(lines))


def title_of(path: str) -> str:
    name = path.removeprefix("examples/").removesuffix(".cpp")
    return name.replace("_", " ")


def add_pages(site: Site) -> int:
    """The examples and their list."""
    paths = [path for path in site.repository.files if is_example(path)]
    if not paths:
        return 0
    index = site.add(Page("examples/index.html", "All examples", SECTION))
    rows = []
    for path in paths:
        page, said = add_page(site, path)
        href = Target(page.path).seen_from(index.path)
        rows.append(f'<tr><td><a href="{html.escape(href)}">{html.escape(page.title)}</a></td><td>{html.escape(said)}</td></tr>\n')
    index.body = ("<h1>Examples</h1>\n<p>Each is a program of the test suite; its output is compared.</p>\n"
                  f'<div class="table"><table><tbody>\n{"".join(rows)}</tbody></table></div>\n')
    return len(paths)


def add_page(site: Site, path: str) -> tuple[Page, str]:
    page = site.add(Page(path.removesuffix(".cpp") + ".html", title_of(path), SECTION, path))
    text = site.repository.text(path)
    said = introduction(text)
    linker = code.Linker(site.names, page.path)
    body = [f"<h1>{html.escape(page.title)}</h1>\n<p>{html.escape(said[:1].upper() + said[1:])}</p>\n",
            code.block(REGION.sub("", text).rstrip("\n"), "cpp", linker)]
    output = path.removesuffix(".cpp") + ".txt"
    if output in site.repository:
        page.toc.append(Heading(2, "output", "Output"))
        body.append('<h2 id="output">Output</h2>\n' + code.block(site.repository.text(output).rstrip("\n"), "text"))
    entries = sorted((entry for name in linker.seen if (entry := site.names.entry(name))), key=lambda entry: entry.name)
    for entry in entries:
        for same in site.names.by_name[entry.name]:
            same.examples.add(path)
    if entries:
        links = ", ".join(entry_link(page, entry) for entry in entries)
        page.toc.append(Heading(2, "names", "Names in it"))
        body.append(f'<h2 id="names">Names in it</h2>\n<p>{links}</p>\n')
    page.body = "".join(body)
    return page, said


def add_wanted(site: Site) -> int:
    """Pages for files that others lead to, and for those that these lead to."""
    made = 0
    while site.wanted:
        path = site.wanted.pop()
        made += 1
        if path.endswith(".md"):
            site.add(guide.Markdown(site, path).render()).listed = False
        else:
            add_source(site, path)
    return made


def add_source(site: Site, path: str) -> None:
    page = Page(f"source/{path}.html", posixpath.basename(path), order.LINKED_ONLY, path, listed=False)
    language = TEXT_SUFFIXES[posixpath.splitext(path)[1]]
    linker = code.Linker(site.names, page.path) if language == "cpp" else None
    header = path.removeprefix("include/")
    above = ""
    if header in site.headers:
        target = site.file_target(path)
        above = f'<p><a href="{html.escape(target.seen_from(page.path))}">Reference of this header</a></p>\n'
    text = code.numbered(site.repository.text(path), language, linker)
    page.body = f"<h1><code>{html.escape(path)}</code></h1>\n{above}{text}"
    site.add(page)
