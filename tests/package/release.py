# tests/package/release.py: makes a release of the sources of the last commit twice, in a clone, and compares the bytes. The
# archive must have the files of the commit and configure, and the checksums must be right. Exit status 77 means skipped.
#
#   python3 tests/package/release.py
import sys
import tarfile
import tempfile
from pathlib import Path

from checks import must, run

SOURCES = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCES / "tools"))
from packagelib import version  # noqa: E402


def check(scratch):
    clone, out = scratch / "clone", scratch / "dist"
    run("git", "clone", "--quiet", SOURCES, clone)
    run(clone / "tools/make_release", "--sources", "--twice", "--root", clone, "--out", out)
    name = f"braid-{version(clone)}"
    made = sorted(file.name for file in out.iterdir())
    must(made == ["SHA256SUMS", f"{name}-two-files.tar.gz", f"{name}.spdx.json", f"{name}.tar.gz"], f"the release has the files {made}")
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=out)
    with tarfile.open(out / f"{name}.tar.gz") as archive:
        archived = {member.name.removeprefix(f"{name}/") for member in archive if not member.isdir()}
    run("tar", "-C", scratch, "-xf", out / f"{name}.tar.gz")
    committed = set(filter(None, run("git", "-C", clone, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")))
    must(archived == committed, f"only the archive or the commit has {sorted(archived ^ committed)}")
    run("cmake", "-G", "Ninja", "-S", scratch / name, "-B", scratch / "build", "-DCMAKE_CXX_COMPILER=clang++-19",
        "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF")
    print(f"{name}.tar.gz has {len(archived)} files")


def main():
    if not (SOURCES / ".git").exists():
        print("skipped: this folder is not a clone, so there is no commit to release")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        check(Path(scratch))
    return 0


if __name__ == "__main__":
    sys.exit(main())
