# tools/packagelib.py: what the tools that make packages and releases share: the version and the time of a tree.
import re
import subprocess
from pathlib import Path

VERSION = re.compile(r"^project\(braid VERSION (\d+\.\d+\.\d+) ", re.MULTILINE)


def version(root):
    """The version of the tree, from the one place that has it: CMakeLists.txt."""
    found = VERSION.search((Path(root) / "CMakeLists.txt").read_text(encoding="utf-8"))
    if not found:
        raise ValueError("CMakeLists.txt names no version: project(braid VERSION 1.2.3 …)")
    return found[1]


def minor_version(root):
    """The part of the version that has a binary interface of its own until 1.0."""
    return version(root).rpartition(".")[0]


def commit_time(root):
    """The time of the last commit, in seconds since 1970: the same tree gives the same packages."""
    shown = subprocess.run(["git", "-C", str(root), "log", "-1", "--format=%ct"], capture_output=True, text=True, check=True)
    return int(shown.stdout)
