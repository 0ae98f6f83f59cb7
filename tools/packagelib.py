# tools/packagelib.py: what the tools that make packages, images and releases share: the version and the time of a tree, and
# the form of a bill of materials (SPDX 2.3).
import re
import subprocess
import time
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


def has_git(root):
    """Whether the tree is a clone; an unpacked archive is none."""
    return (Path(root) / ".git").exists()


def commit_time(root):
    """The time of the last commit, in seconds since 1970: the same tree gives the same packages. An unpacked archive has it
    as the time of its files."""
    if not has_git(root):
        return int((Path(root) / "CMakeLists.txt").stat().st_mtime)
    shown = subprocess.run(["git", "-C", str(root), "log", "-1", "--format=%ct"], capture_output=True, text=True, check=True)
    return int(shown.stdout)


def spdx_package(name, number, **more):
    """An entry of a bill of materials, with nothing said of licences."""
    entry = {"SPDXID": f"SPDXRef-{name.replace('+', '-')}", "name": name, "downloadLocation": "NOASSERTION",
             "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
             "copyrightText": "NOASSERTION"}
    if number:
        entry["versionInfo"] = number
    return entry | more


def spdx_document(name, digest, created, tool, packages, relations):
    """A bill of materials; `digest` is of what it describes, `relations` are of (one, kind, other)."""
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)), "creators": [f"Tool: {tool}"]},
        "packages": packages,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                          for one, kind, other in relations],
    }
