# tests/package/two_files.py: the library as two files. Each example is compiled with them by one command in a folder
# without anything else, and must print what it prints with the library. Exit status 77 means skipped.
#
#   python3 tests/package/two_files.py [--all]     --all: by all compilers and with optimization
import re
import shutil
import sys
import tempfile
from pathlib import Path

from checks import must, run

SOURCES = Path(__file__).resolve().parents[2]
EXAMPLES = ("07_futures", "11_static_graph", "12_coroutines", "15_http_hello")
LIBCXX = ("-stdlib=libc++", "-fexperimental-library")
WITHOUT_TLS = """#include "braid.hpp"
#include <cstdio>
auto main() -> int {
  const auto made = braid::tls_context::client();
  std::puts(made ? "made" : made.error().message().c_str());
}
"""


def compilers(all_of_them):
    """(name, words) of the compilers that are here."""
    known = [("clang", ("clang++-19",))]
    if all_of_them:
        known += [("g++ 12", ("g++-12",)), ("libc++", ("clang++-19", *LIBCXX))]
    for name, words in known:
        if not shutil.which(words[0]) or (name == "libc++" and not Path("/usr/lib/llvm-19/include/c++/v1").exists()):
            print(f"left out: {name} is not installed")
        else:
            yield name, words


def check(name, compiler, options, folder):
    out = folder / f"build_{name.replace(' ', '_').replace('+', 'x')}"
    out.mkdir()
    for file in ("braid.hpp", "braid.cpp"):
        shutil.copy(folder / file, out)
    library = out / "braid.o"
    run(*compiler, "-std=c++23", "-pthread", *options, "-c", "braid.cpp", "-o", library, cwd=out)
    for example in EXAMPLES:
        text = (SOURCES / f"examples/{example}.cpp").read_text(encoding="utf-8")
        (out / "main.cpp").write_text(re.sub(r"<braid/[\w/]+\.hpp>", '"braid.hpp"', text), encoding="utf-8")
        run(*compiler, "-std=c++23", "-pthread", *options, "main.cpp", library, "-o", "main", cwd=out)
        printed = run(out / "main", cwd=out)
        must(printed == (SOURCES / f"examples/{example}.txt").read_text(encoding="utf-8"),
             f"{example}, compiled by {name}, printed\n{printed}")
    (out / "main.cpp").write_text(WITHOUT_TLS, encoding="utf-8")
    run(*compiler, "-std=c++23", "-pthread", *options, "main.cpp", library, "-o", "main", cwd=out)
    printed = run(out / "main", cwd=out)
    must("needed shared library" in printed, f"without TLS, a TLS context said: {printed}")
    print(f"{name}: {len(EXAMPLES)} examples")


def main():
    all_of_them = "--all" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run(SOURCES / "tools/amalgamate", "--out", folder)
        found = list(compilers(all_of_them))
        for name, words in found:
            check(name, words, ("-O2",) if all_of_them else ("-O0",), folder)
    if not found:
        print("skipped: there is no compiler")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
