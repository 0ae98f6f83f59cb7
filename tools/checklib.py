# tools/checklib.py: what the proofs of style share: files of the repository, C++ without comments, reports.
import argparse
import bisect
import functools
import os
import posixpath
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

CPP_HEADERS = (".hpp", ".h", ".hh", ".ipp", ".inl")
CPP_SOURCES = (".cpp", ".cc", ".cxx", ".cppm")
CPP_SUFFIXES = CPP_HEADERS + CPP_SOURCES

_WALK_SKIPS = {"build", "__pycache__", "node_modules"}

# A number is matched only so that its digit separators do not open a character literal.
_LEXEMES = re.compile(
    r"""(?P<line>//(?:\\\n|[^\n])*)
      | (?P<block>/\*.*?(?:\*/|\Z))
      | (?P<raw>(?<!\w)(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\(.*?\)(?P=delimiter)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<number>(?<!\w)[0-9](?:[\w.]|'(?=\w))*)
      | (?P<character>'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b", re.MULTILINE)
_INCLUDED = re.compile(r"\s*([<\"])([^>\"\n]+)[>\"]")
_NOT_NEWLINE = re.compile(r"[^\n]")


class Diagnostic(NamedTuple):
    path: str
    line: int
    sentence: str


class Include(NamedTuple):
    line: int
    quoted: bool
    spelled: str


class CppText:
    """One C++ file: `code` has the length and lines of `text`, with comments and the insides of literals blank."""

    def __init__(self, text):
        self.text = text
        self.comments = {}  # line -> the comment text on that line
        self._starts = [0] + [match.end() for match in re.finditer(r"\n", text)]
        pieces, end = [], 0
        for match in _LEXEMES.finditer(text):
            if match.lastgroup == "number":
                continue
            pieces.append(text[end : match.start()])
            pieces.append(self._masked(match))
            end = match.end()
        pieces.append(text[end:])
        self.code = "".join(pieces)

    def _masked(self, match):
        found = match.group()
        blank = _NOT_NEWLINE.sub(" ", found) if "\n" in found else " " * len(found)
        if match.group("line") is None and match.group("block") is None:
            return found[-1] + blank[1:-1] + found[-1]
        first = self.line_of(match.start())
        for offset, part in enumerate(found.split("\n")):
            self.comments[first + offset] = self.comments.get(first + offset, "") + part
        return blank

    def line_of(self, offset):
        """The number of the line, from 1, on which the character at `offset` stands."""
        return bisect.bisect_right(self._starts, offset)

    @functools.cached_property
    def code_lines(self):
        return self.code.split("\n")

    def includes(self):
        """Every #include directive that is not in a comment."""
        for match in _INCLUDE.finditer(self.code):
            target = _INCLUDED.match(self.text, match.end())
            if target:
                yield Include(self.line_of(match.start()), target[1] == '"', target[2].strip())


class Repository:
    """The files of a source tree that git knows or would offer to add; outside git, all but build products."""

    def __init__(self, root):
        self.root = Path(root).resolve()
        self.files = sorted(self._listed())
        self._known = set(self.files)
        self._texts, self._cpp = {}, {}

    def _listed(self):
        if (self.root / ".git").exists() and shutil.which("git"):
            listing = subprocess.run(
                ["git", "-C", str(self.root), "ls-files", "-co", "--exclude-standard", "-z"],
                capture_output=True, check=False)
            if listing.returncode == 0:
                names = set(listing.stdout.decode("utf-8", "surrogateescape").split("\0"))
                return [name for name in names if (self.root / name).is_file()]
        return list(self._walked())

    def _walked(self):
        for folder, below, names in os.walk(self.root):
            below[:] = [name for name in below if name not in _WALK_SKIPS and not name.startswith(".")]
            for name in names:
                yield (Path(folder) / name).relative_to(self.root).as_posix()

    def __contains__(self, path):
        return path in self._known

    @functools.cached_property
    def folders(self):
        """Every folder that holds a file, directly or further down."""
        found = set()
        for path in self.files:
            parent = posixpath.dirname(path)
            while parent and parent not in found:
                found.add(parent)
                parent = posixpath.dirname(parent)
        return found

    def cpp_files(self, *folders):
        """The C++ files below the given top folders; all of them when none is given."""
        return [path for path in self.files
                if path.endswith(CPP_SUFFIXES) and (not folders or path.split("/", 1)[0] in folders)]

    def text(self, path):
        if path not in self._texts:
            self._texts[path] = (self.root / path).read_text(encoding="utf-8", errors="replace")
        return self._texts[path]

    def cpp(self, path):
        if path not in self._cpp:
            self._cpp[path] = CppText(self.text(path))
        return self._cpp[path]


class Outcome(NamedTuple):
    """What a check looked at and what it found; `remarks` are printed before the last line."""
    files: int
    diagnostics: list
    remarks: tuple = ()


def run(tool, description, check, argv, fix=None, add_options=None):
    """Runs `check(repository, options)` as a command: 0 without diagnostics, 1 with diagnostics, 2 for wrong usage.

    `fix`: help of an option --fix; `add_options`: adds the tool's own options to the parser."""
    parser = argparse.ArgumentParser(prog=tool, description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", metavar="DIR", default=Path(__file__).resolve().parent.parent,
                        help="the tree to look at; by default the repository that holds this script")
    if fix:
        parser.add_argument("--fix", action="store_true", help=fix)
    if add_options:
        add_options(parser)
    options = parser.parse_args(argv)
    if not Path(options.root).is_dir():
        parser.error(f"--root: {options.root} is no folder")

    outcome = check(Repository(options.root), options)
    for item in sorted(set(outcome.diagnostics)):
        print(f"{item.path}:{item.line}: {item.sentence}")
    for remark in outcome.remarks:
        print(f"{tool}: {remark}")
    count = len(set(outcome.diagnostics))
    print(f"{tool}: {counted(outcome.files, 'file')}, {counted(count, 'diagnostic')}")
    return 1 if count else 0


def counted(number, noun):
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
