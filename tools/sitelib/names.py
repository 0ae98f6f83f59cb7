# tools/sitelib/names.py: where names of the library, and files of the repository, have their pages.
from __future__ import annotations

import functools
import posixpath
import re
from typing import NamedTuple

from sitelib.api import Api, Declaration, is_special

CALL = re.compile(r"\((?:[^()]|\([^()]*\))*\)$")
ARGUMENTS = re.compile(r"<.*>$", re.DOTALL)


@functools.lru_cache(maxsize=65536)
def relative(path: str, folder: str) -> str:
    return posixpath.relpath("/" + path, "/" + folder)


class Target(NamedTuple):
    """A page of the site, by its path from the root, and an anchor on it."""
    page: str
    anchor: str = ""

    def seen_from(self, page: str) -> str:
        path = relative(self.page, posixpath.dirname(page)) if self.page != page else ""
        return path + (f"#{self.anchor}" if self.anchor else "")


def anchor_of(name: str) -> str:
    """`pool::try_post` is pool.try_post; marks of operators become numbers."""
    return re.sub(r"[^\w.]", lambda mark: f"-{ord(mark[0]):x}", name.replace("::", "."))


def header_page(header: str) -> str:
    return f"api/{header.removesuffix('.hpp')}.html"


class Entry:
    """A public name in one header: its declarations there, each with an anchor; so has each member."""

    def __init__(self, name: str, header: str, declarations: list[Declaration]):
        self.name, self.header, self.declarations = name, header, declarations
        self.kind = declarations[0].kind
        self.page = header_page(header)
        self.target = Target(self.page, anchor_of(name))
        self.examples: set[str] = set()  # sources of pages that use or mention the name
        self.guides: set[str] = set()

    @property
    def described(self) -> Declaration:
        """The declaration with the most to say: the first that has a sentence."""
        return next((item for item in self.declarations if item.doc), self.declarations[0])


class Names:
    """Resolves what stands in code and in `inline code`."""

    def __init__(self, api: Api):
        self.entries = [Entry(name, header, declarations) for (name, header), declarations in api.by_name.items()]
        self.entries.sort(key=lambda entry: (entry.name, entry.header))
        self.machinery = api.machinery
        self.by_name: dict[str, list[Entry]] = {}
        self.members: dict[str, Target] = {}
        for entry in self.entries:
            self.by_name.setdefault(entry.name, []).append(entry)
            for declaration in entry.declarations:
                self._add_members(entry, declaration.members)

    def _add_members(self, entry: Entry, members: list[Declaration]) -> None:
        for member in members:
            if is_special(member):  # is not shown
                continue
            self.members.setdefault(member.name, Target(entry.page, anchor_of(member.name)))
            self._add_members(entry, member.members)

    def entry(self, name: str) -> Entry | None:
        """The entry of a name; among several headers the one with the most declarations."""
        found = self.by_name.get(name.removeprefix("braid::"), [])
        return max(found, key=lambda entry: (len(entry.declarations), -len(entry.header)), default=None)

    def in_code(self, name: str, scope: str = "") -> Target | None:
        """A name as code spells it, from inside of `scope`: pool, braid::pool, pool::try_post, this_thread::name."""
        name = name.removeprefix("braid::")
        while True:
            full = f"{scope}::{name}" if scope else name
            if entry := self.entry(full):
                return entry.target
            if full in self.members:
                return self.members[full]
            owner, _, own = full.rpartition("::")
            if own == owner.rpartition("::")[2] and (entry := self.entry(owner)):  # a constructor that is not declared
                return entry.target
            if not scope:
                return None
            scope = scope.rpartition("::")[0]

    def in_prose(self, text: str, scope: str = "") -> Target | None:
        """What stands between backticks: also with arguments."""
        name = ARGUMENTS.sub("", CALL.sub("", text.strip()).strip())
        if not re.fullmatch(r"(?:~?\w+::)*~?\w+|operator.+", name):
            return None
        return self.in_code(name, scope)
