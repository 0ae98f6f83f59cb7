# tools/sitelib/api.py: the public declarations of the library, as libclang reads them, with signatures as written.
#
# libclang is the front end that compiles braid, so concepts, constraints and deduced types need no parser of our own. It
# returns the kind, the place and the comment of each declaration; the signature is the text of the header at that place.
# tools/check_api and tools/site both read headers with it.
from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from checklib import CppText, Diagnostic
from sitelib import comments
from sitelib.debian import SiteError, module

LIST = "docs/api.txt"
INCLUDE = "include"
UNIT = "site_headers.cpp"
FLAGS = ("-std=c++23", "-xc++", "-Wno-everything")
EXPORT = re.compile(r"\bBRAID_API\b[ \t]*")
DEFINE = r"^[ \t]*#[ \t]*define[ \t]+{name}\b(\([^)]*\))?"
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
MACRO = re.compile(r"[ \t]*#[ \t]*(define|undef)[ \t]+(\w+)")
CLASSES = {"CLASS_DECL", "STRUCT_DECL", "UNION_DECL", "CLASS_TEMPLATE"}
SPECIALISATION = "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION"
FUNCTIONS = {"FUNCTION_DECL", "FUNCTION_TEMPLATE", "CXX_METHOD", "CONSTRUCTOR", "DESTRUCTOR", "CONVERSION_FUNCTION"}
ALIASES = {"TYPE_ALIAS_DECL", "TYPE_ALIAS_TEMPLATE_DECL", "TYPEDEF_DECL"}
KINDS = ({kind: "class" for kind in CLASSES} | {kind: "function" for kind in FUNCTIONS}
         | {kind: "alias" for kind in ALIASES}
         | {"ENUM_DECL": "enum", "CONCEPT_DECL": "concept", "VAR_DECL": "constant", "FIELD_DECL": "field",
            "ENUM_CONSTANT_DECL": "enumerator",
            "UNEXPOSED_DECL": "constant"})  # a variable template; guides are left out by their name
SPECIAL = re.compile(r"\((?P<copy>const )?(?P<type>\w+)(?:<[^()]*>)?(?P<move>&)?&(?: \w+)?\)")
MAX_VALUE = 160  # characters of a constant that are shown with it


class Listed(NamedTuple):
    """A line of docs/api.txt."""
    name: str
    kind: str
    header: str
    line: int


class Declaration:
    """One declaration: a name of the list, or a member of one."""

    def __init__(self, name: str, kind: str, path: str, line: int, signature: str, comment: str | None):
        self.name, self.kind = name, kind  # the name has its scopes, without braid::
        self.path, self.line = path, line
        self.signature = signature
        self.doc = comments.read(comment)
        self.access = "public"
        self.is_friend = False
        self.members: list[Declaration] = []

    @property
    def own_name(self) -> str:
        return self.name.rsplit("::", 1)[-1]

    @property
    def header(self) -> str:
        return self.path.removeprefix(INCLUDE + "/")


def listed_names(text: str) -> list[Listed]:
    """The lines of docs/api.txt."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.rsplit(None, 2)
        if len(words) == 3 and not line.startswith("#"):
            found.append(Listed(*words, number))
    return found


def defined_macros(cpp: CppText) -> dict[str, int]:
    """Returns the macros that a header leaves defined, each with its line."""
    left: dict[str, int] = {}
    for match in DIRECTIVE.finditer(cpp.code):
        macro = MACRO.match(match.group())
        if macro and macro[1] == "define":
            left.setdefault(macro[2], cpp.line_of(match.start()))
        elif macro:
            left.pop(macro[2], None)
    return left


def is_named_scope(cursor) -> bool:
    return cursor.kind.name == "NAMESPACE" and cursor.spelling not in ("", "detail")


class Text:
    """A header in bytes, as libclang counts them."""

    def __init__(self, path: Path):
        self.bytes = path.read_bytes()
        self.cpp = CppText(self.bytes.decode("utf-8"))
        # Blank comments and literals may be shorter in bytes; so the mask is made of bytes, one each.
        self.code = CppText(self.bytes.decode("latin-1")).code

    @property
    def lines(self) -> list[str]:
        return self.cpp.text.split("\n")


class Extractor:
    """Walks a translation unit and keeps what is declared in the headers of the library."""

    def __init__(self, root: Path, headers: list[str]):
        self.root, self.headers = root, headers
        self.texts: dict[str, Text] = {}
        self.found: dict[str, Declaration] = {}  # by libclang's unified symbol name
        self.rank: dict[str, tuple] = {}
        self.specialised: dict[str, Declaration] = {}  # by name: the first partial specialisation
        self.machinery: dict[str, tuple[str, int]] = {}  # detail::name -> where it is declared, to be read there

    def run(self) -> list[Declaration]:
        cindex = module("clang.cindex")
        unit = "".join(f"#include <{header}>\n" for header in self.headers)
        options = cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
        try:
            parsed = cindex.Index.create().parse(UNIT, args=[*FLAGS, f"-I{self.root / INCLUDE}"],
                                                 unsaved_files=[(UNIT, unit)], options=options)
        except cindex.LibclangError as error:
            raise SiteError(f"libclang cannot be loaded ({str(error).partition('.')[0]}): apt-get install "
                            "python3-clang-22, or python3-clang-19 if clang-22 is not available") from error
        except cindex.TranslationUnitLoadError as error:
            raise SiteError(f"libclang cannot read the headers: {error}") from error
        errors = [item for item in parsed.diagnostics if item.severity >= cindex.Diagnostic.Error]
        if errors:
            raise SiteError("the headers do not compile: " + "; ".join(
                f"{item.location.file}:{item.location.line}: {item.spelling}" for item in errors[:3]))
        self.walk(parsed.cursor, "")
        for symbol, item in self.found.items():  # a template that is only declared, such as of a signature
            if item.kind == "class" and not self.rank[symbol][0] and item.name in self.specialised:
                self.found[symbol] = self.specialised[item.name]
        return sorted(self.found.values(), key=lambda item: (item.path, item.line))

    def path_of(self, cursor) -> str | None:
        file = cursor.location.file
        prefix = f"{self.root}/"
        return file.name.removeprefix(prefix) if file and file.name.startswith(prefix + INCLUDE + "/") else None

    def walk(self, cursor, scope: str) -> None:
        for child in cursor.get_children():
            path = self.path_of(child)
            if path is None:
                continue
            if child.kind.name == "NAMESPACE":
                if is_named_scope(child) and (scope or child.spelling == "braid"):
                    self.walk(child, self.inner(scope, child.spelling))
                elif scope == "::" and child.spelling == "detail":
                    self.note_machinery(child)
            elif scope and child.kind.name in KINDS and self.is_own(child):
                self.keep(child, path, scope)
            elif scope and child.kind.name == SPECIALISATION and child.is_definition():
                name = scope[2:] + child.spelling
                self.specialised.setdefault(name, self.declaration(child, path, scope[2:]))

    def note_machinery(self, namespace) -> None:
        for child in namespace.get_children():
            path = self.path_of(child)
            if path and child.kind.name in KINDS and (child.is_definition() or child.kind.name not in CLASSES):
                self.machinery.setdefault(f"detail::{child.spelling}", (path, child.location.line))

    @staticmethod
    def inner(scope: str, name: str) -> str:
        return scope + name + "::" if scope else ("::" if name == "braid" else "")

    @staticmethod
    def is_own(cursor) -> bool:
        """Neither a member that is defined outside of its class, nor a specialisation."""
        if cursor.semantic_parent.kind.name != "NAMESPACE" or not cursor.spelling or "<" in cursor.spelling:
            return False
        return not is_specialisation(cursor)

    def keep(self, cursor, path: str, scope: str) -> None:
        symbol = cursor.get_usr()
        # A definition wins over a declaration, then a header that the list names, then what has a comment of its own.
        is_class = cursor.kind.name in CLASSES
        rank = (is_class and cursor.is_definition(), path.removeprefix(INCLUDE + "/") in self.headers,
                bool(cursor.raw_comment) and not is_class)
        if symbol in self.rank and self.rank[symbol] >= rank:
            return
        self.rank[symbol] = rank
        self.found[symbol] = self.declaration(cursor, path, scope[2:])

    def text(self, path: str) -> Text:
        if path not in self.texts:
            self.texts[path] = Text(self.root / path)
        return self.texts[path]

    def declaration(self, cursor, path: str, scope: str) -> Declaration:
        kind = "class" if cursor.kind.name == SPECIALISATION else KINDS[cursor.kind.name]
        name = re.sub(r"<.*", "", cursor.spelling) if is_constructor(cursor) else cursor.spelling
        comment = cursor.raw_comment
        if not comment and kind in ("field", "enumerator"):
            comment = self.trailing(path, cursor)
        elif not comment:
            comment = comment_above_condition(self.text(path).lines, cursor.extent.start.line)
        made = Declaration(scope + name, kind, path, cursor.location.line, self.signature(cursor, path, kind), comment)
        if kind == "class":
            made.members = list(self.members(cursor, path, f"{made.name}::"))
        elif kind == "enum":
            made.members = [self.declaration(child, path, f"{made.name}::") for child in cursor.get_children()
                            if child.kind.name == "ENUM_CONSTANT_DECL"]
        return made

    def trailing(self, path: str, cursor) -> str | None:
        """A plain comment that ends the line of a field or enumerator."""
        return self.text(path).cpp.comments.get(cursor.extent.end.line)

    def members(self, cursor, path: str, scope: str):
        for child in cursor.get_children():
            if child.kind.name == "CXX_BASE_SPECIFIER" and (base := self.mixin(child)):
                yield from self.members(base, self.path_of(base), scope)
            access = child.access_specifier.name.lower()
            friend = None
            if child.kind.name == "FRIEND_DECL":
                friend = next((inner for inner in child.get_children() if inner.kind.name in FUNCTIONS), None)
                if friend is None or not friend.raw_comment and not child.raw_comment:
                    continue
                access = "public"
            elif child.kind.name not in KINDS or access not in ("public", "protected") or not child.spelling:
                continue
            if is_specialisation(child):
                continue
            if child.kind.name == "DESTRUCTOR" and not child.raw_comment:
                continue
            made = self.declaration(friend or child, path, scope)
            made.access, made.is_friend = access, friend is not None
            yield made

    def mixin(self, specifier):
        """The definition of a public base in namespace detail: what users see of it is a part of the class itself."""
        if specifier.access_specifier.name != "PUBLIC":
            return None
        kinds = ("TEMPLATE_REF", "TYPE_REF")
        named = [child.referenced for child in specifier.get_children() if child.kind.name in kinds]
        base = named[0].get_definition() if named and named[0] else None
        inside = base is not None and base.semantic_parent.spelling == "detail" and self.path_of(base)
        return base if inside and base.kind.name in CLASSES else None

    def signature(self, cursor, path: str, kind: str) -> str:
        text = self.text(path)
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        if kind == "function":
            end = self.end_of_function(text, cursor, end)
        elif kind in ("class", "enum"):
            end = self.first_of(text, cursor.location.offset, end, "{;")
        elif kind == "constant" and end - start > MAX_VALUE:
            end = self.first_of(text, cursor.location.offset, end, "={")
        return tidy(text, start, end)

    @staticmethod
    def first_of(text: Text, at: int, end: int, marks: str) -> int:
        return min((found for mark in marks if (found := text.code.find(mark, at, end)) >= 0), default=end)

    def end_of_function(self, text: Text, cursor, end: int) -> int:
        """Where the body begins, or the list of initialisers."""
        for child in cursor.get_children():
            # That of a defaulted function, where it was made, lies at its last letter.
            if child.kind.name == "COMPOUND_STMT" and text.code[child.extent.start.offset] == "{":
                end = min(end, child.extent.start.offset)
        if not is_constructor(cursor):
            return end
        at = after_parameters(text.code, cursor.location.offset, end)
        colon = re.compile(r"(?<!:):(?!:)").search(text.code, at, end)
        return colon.start() if colon else end


def is_specialisation(cursor) -> bool:
    """A class with arguments in its name."""
    return cursor.kind.name in CLASSES - {"CLASS_TEMPLATE"} and "<" in cursor.displayname


def is_constructor(cursor) -> bool:
    """Also where it is a template."""
    if cursor.kind.name == "FUNCTION_TEMPLATE":
        parent = cursor.semantic_parent
        return parent.kind.name in CLASSES and re.sub(r"<.*", "", cursor.spelling) == parent.spelling
    return cursor.kind.name == "CONSTRUCTOR"


def after_parameters(code: str, at: int, end: int) -> int:
    """The place after the parentheses that open first."""
    level = 0
    for place in range(at, end):
        level += {"(": 1, ")": -1}.get(code[place], 0)
        if level == 0 and code[place] == ")":
            return place + 1
    return end


def tidy(text: Text, start: int, end: int) -> str:
    """The text of a declaration without comments, exports and the indentation of its place."""
    column = start - (text.code.rfind("\n", 0, start) + 1)
    lines = []
    for line in split_kept(text, start, end):
        indented = len(line) - len(line.lstrip())
        lines.append(line[min(column, indented):] if lines else line)
    joined = EXPORT.sub("", "\n".join(line.rstrip() for line in lines if line.strip()))
    return joined.strip().removesuffix(";").rstrip()


def split_kept(text: Text, start: int, end: int):
    """The lines of a range, without `//` comments: where the mask is blank and the text has slashes."""
    at = start
    for line in text.bytes[start:end].split(b"\n"):
        masked = text.code[at : at + len(line)]
        slashes = line.find(b"//")
        while slashes >= 0 and masked[slashes : slashes + 2].strip():
            slashes = line.find(b"//", slashes + 1)
        yield (line if slashes < 0 else line[:slashes]).decode("utf-8")
        at += len(line) + 1


def comment_above(lines: list[str], line: int) -> str:
    """The comment above a line, or above the directives that stand between."""
    at = line - 2
    while at >= 0 and lines[at].startswith("#"):
        at -= 1
    begin = at
    while begin >= 0 and lines[begin].startswith("///"):
        begin -= 1
    return "\n".join(lines[begin + 1 : at + 1])


def comment_above_condition(lines: list[str], line: int) -> str:
    """The comment above an #if that the line is the first in, or the first after its #else.

    libclang gives it to no declaration."""
    at = line - 2
    if at < 0 or not lines[at].startswith(("#if", "#el")):
        return ""
    while at > 0 and not lines[at].startswith("#if"):
        at -= 1
    return comment_above(lines, at + 1)


def macro(root: Path, listed: Listed) -> Declaration | None:
    """A macro of the list; also one that this compiler does not define."""
    path = f"{INCLUDE}/{listed.header}"
    text = (root / path).read_text(encoding="utf-8")
    found = re.search(DEFINE.format(name=re.escape(listed.name)), text, re.MULTILINE)
    if not found:
        return None
    line = text.count("\n", 0, found.start()) + 1
    comment = comment_above(text.split("\n"), line)
    return Declaration(listed.name, "macro", path, line, listed.name + (found[1] or ""), comment)


def is_special(member: Declaration) -> bool:
    """A copy or move, by constructor or assignment, of which a comment says nothing more."""
    return not member.doc and special_kind(member) != ""


def special_kind(member: Declaration) -> str:
    own = member.name.split("::")[-2] if "::" in member.name else ""
    found = SPECIAL.search(member.signature)
    if not own or not found or found["type"] != own or member.own_name not in (own, "operator="):
        return ""
    return "copy" if found["copy"] else "move" if found["move"] else ""  # a plain reference is neither


class Api:
    """Every public name with its declarations."""

    def __init__(self, root: Path, text: str):
        self.listed = listed_names(text)
        if not self.listed:
            raise SiteError(f"{LIST} lists no names: run tools/check_api --fix")
        headers = sorted({item.header for item in self.listed})
        missing = [header for header in headers if not (root / INCLUDE / header).is_file()]
        if missing:
            raise SiteError(f"{LIST} names {missing[0]}, which does not exist: run tools/check_api --fix")
        extractor = Extractor(root, headers)
        declared = extractor.run()
        self.machinery = extractor.machinery
        declared += [made for item in self.listed if item.kind == "macro" and (made := macro(root, item))]
        wanted = {(item.name, item.header) for item in self.listed}
        self.declarations = [item for item in declared if (item.name, item.header) in wanted]
        names = {item.name.rpartition("::")[2] for item in self.listed}
        for item in self.declarations:  # a friend that is declared outside as well stands there
            item.members = [member for member in item.members if not (member.is_friend and member.own_name in names)]
        self.by_name: dict[tuple[str, str], list[Declaration]] = {}
        for item in self.declarations:
            self.by_name.setdefault((item.name, item.header), []).append(item)

    def diagnostics(self) -> list[Diagnostic]:
        """Names of the list that no header declares, and names that no comment describes."""
        found = []
        for item in self.listed:
            declarations = self.by_name.get((item.name, item.header), [])
            if not declarations:
                found.append(Diagnostic(LIST, item.line, f"libclang finds no {item.kind} {item.name} in {item.header}"))
            elif not any(declared.doc for declared in declarations):
                first = declarations[0]
                found.append(Diagnostic(first.path, first.line, f"no comment describes the {item.kind} {item.name}"))
        return found
