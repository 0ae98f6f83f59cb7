# tools/sitelib/code.py: code as HTML, with colours by pygments and links from public names to their reference.
from __future__ import annotations

import functools
import html
import re
from typing import Callable

from sitelib.debian import module
from sitelib.names import Names, Target

LANGUAGES = {"cpp": "cpp", "c++": "cpp", "hpp": "cpp", "sh": "bash", "bash": "bash", "json": "json", "toml": "toml",
             "cmake": "cmake", "ts": "typescript", "typescript": "typescript", "js": "javascript", "py": "python",
             "python": "python", "rs": "rust", "rust": "rust", "go": "go", "ini": "ini", "yaml": "yaml", "html": "html",
             "zig": "zig", "c": "c", "http": "http"}
# How pygments' kinds of tokens are named in style.css; the first that contains a token names it.
CLASSES = (("Comment.Preproc", "cp"), ("Comment.PreprocFile", "s"), ("Comment", "c"), ("Keyword.Type", "kt"), ("Keyword", "k"),
           ("Literal.String", "s"), ("Literal.Number", "m"), ("Name.Function", "nf"), ("Name.Class", "nc"),
           ("Name.Tag", "k"), ("Name.Attribute", "nf"), ("Operator.Word", "k"))


@functools.cache
def lexer_of(language: str):
    name = LANGUAGES.get(language.lower())
    return module("pygments.lexers").get_lexer_by_name(name, stripnl=False, ensurenl=False) if name else None


@functools.cache
def class_of(kind) -> str:
    named = str(kind).removeprefix("Token.") + "."
    return next((short for long, short in CLASSES if named.startswith(long + ".")), "")


def span(text: str, name: str, href: str = "") -> str:
    """One token; a class does not reach over the end of a line, so that lines can be cut."""
    pieces = []
    for piece in text.split("\n"):
        shown = html.escape(piece, quote=False)
        if piece and href:
            shown = f'<a href="{html.escape(href)}">{shown}</a>'
        elif piece and name:
            shown = f'<span class="{name}">{shown}</span>'
        pieces.append(shown)
    return "\n".join(pieces)


class Linker:
    """Decides which names in C++ lead to the reference, and notes which were seen."""

    def __init__(self, names: Names, page: str, everywhere: bool = False, own: str = "", scope: str = "",
                 source: Callable[[str, str], Target] | None = None):
        self.names, self.page = names, page
        self.everywhere = everywhere  # also names without braid:: or an underscore: for signatures
        self.own, self.scope = own, scope
        self.source = source  # gives the place of what is no public name, such as detail::machinery
        self.seen: set[str] = set()

    def target(self, word: str, before: list[str]) -> Target | None:
        """`before`: the tokens in front, without spaces, the nearest last."""
        last = before[-1] if before else ""
        if word == self.own or last in (".", "->", "~"):
            return None
        chain = word
        at = len(before)
        while at >= 2 and before[at - 1] == "::" and re.fullmatch(r"\w+", before[at - 2]):
            chain = f"{before[at - 2]}::{chain}"
            at -= 2
        if self.source and (place := self.names.machinery.get(chain)):
            return self.source(place[0], f"L{place[1]}")
        qualified = chain.startswith("braid::")
        if not qualified and "::" in chain and not self.names.in_code(chain, self.scope):
            return None
        if not (qualified or "::" in chain or self.everywhere or "_" in word):
            return None
        target = self.names.in_code(chain, self.scope)
        if target is not None and (entry := self.names.entry(chain)) is not None:
            self.seen.add(entry.name)
        return target


def highlight(text: str, language: str, linker: Linker | None = None) -> str:
    """The inside of a <pre>, line by line as in `text`."""
    lexer = lexer_of(language)
    if lexer is None:
        return html.escape(text, quote=False)
    out: list[str] = []
    before: list[str] = []
    is_apart = False  # whether a space stands in front of the token
    is_cpp = LANGUAGES[language.lower()] == "cpp"
    for kind, value in lexer.get_tokens(text):
        href = ""
        named = str(kind)
        if is_cpp and linker and named.startswith(("Token.Name", "Token.Keyword.Type", "Token.Keyword")):
            if re.fullmatch(r"[A-Za-z_]\w*", value) and (target := linker.target(value, before)):
                href = target.seen_from(linker.page)
        out.append(span(value, class_of(kind), href))
        if is_cpp and value.strip() and not named.startswith("Token.Comment"):
            before += joined(before, value.strip(), is_apart)
            del before[:-12]
        is_apart = not value.strip()
    return "".join(out)


def joined(before: list[str], value: str, is_apart: bool) -> list[str]:
    """pygments gives `::` and `->` as two tokens each. An arrow with a space in front has a type behind it."""
    if before and not is_apart and (before[-1].strip(), value) in ((":", ":"), ("-", ">")):
        return [before.pop() + value]
    return [" -" if value == "-" and is_apart else value]


def block(text: str, language: str, linker: Linker | None = None, caption: str = "") -> str:
    label = f' data-language="{html.escape(language)}"' if language else ""
    return (f'<figure class="code"{label}>{caption}<pre tabindex="0"><code>{highlight(text, language, linker)}</code></pre>'
            "</figure>\n")


def numbered(text: str, language: str, linker: Linker | None = None) -> str:
    """A whole file, with an anchor for each line: L1, L2, …"""
    lines = highlight(text.rstrip("\n"), language, linker).split("\n")
    rows = "".join(f'<span id="L{number}">{line}\n</span>' for number, line in enumerate(lines, 1))
    return f'<figure class="code source"><pre tabindex="0"><code>{rows}</code></pre></figure>\n'
