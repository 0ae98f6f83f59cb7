# tests/package/fetch.py: a project that gets braid by FetchContent, from a clone of this repository at its last commit.
# The project is configured, and the lowest layer is compiled. Exit status 77: skipped, with the reason.
#
#   python3 tests/package/fetch.py COMPILER
import sys
import tempfile
from pathlib import Path

from checks import run

SOURCES = Path(__file__).resolve().parents[2]


def main(compiler):
    if not (SOURCES / ".git").exists():
        print("skipped: this folder is no repository")
        return 77
    commit = run("git", "-C", SOURCES, "rev-parse", "HEAD").strip()
    with tempfile.TemporaryDirectory() as folder:
        clone, build = Path(folder) / "clone", Path(folder) / "build"
        run("git", "clone", "--quiet", "--no-checkout", SOURCES, clone)
        run("cmake", "-G", "Ninja", "-S", SOURCES / "tests/package/fetch", "-B", build, f"-DCMAKE_CXX_COMPILER={compiler}",
            f"-DBRAID_REPOSITORY={clone}", f"-DBRAID_COMMIT={commit}", f"-DPROGRAM={SOURCES}/tests/install/program.cpp")
        if run("git", "-C", build / "_deps/braid-src", "rev-parse", "HEAD").strip() != commit:
            sys.exit("another commit was fetched than was asked for")
        rules = (build / "build.ninja").read_text(encoding="utf-8")
        if "\nbuild program: " not in rules or "\nbuild rankd: " in rules:
            sys.exit("the project has no program, or has programs of braid that it did not ask for")
        run("cmake", "--build", build, "--target", "braid_base", "-j2")
    print(f"FetchContent has fetched {commit[:12]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
