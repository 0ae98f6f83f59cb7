# tests/package/module.py: installs a build, and compiles examples with `import braid;` in the place of their includes.
# The programs must print what stands in the .txt beside the example. Exit status 77: skipped, with the reason.
#
#   python3 tests/package/module.py BUILD COMPILER [--times]
#
# --times prints the CPU seconds of each file, by headers and by import.
import argparse
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import run

SOURCES = Path(__file__).resolve().parents[2]
EXAMPLES = ("00_hello", "02_scope", "07_futures", "09_parallel", "12_coroutines", "15_http_hello")
# What the headers of braid bring along and a module does not: names of the standard that these examples use.
STANDARD = "#include <chrono>\n#include <coroutine>\n#include <tuple>\n"
INCLUDES = re.compile(r"^#include <braid/.*\n", re.MULTILINE)


def importing(text):
    """The program with `import braid;` after its last include: headers first, because of llvm#61465."""
    text = INCLUDES.sub("", text)
    end = text.rindex("\n", 0, text.index("\n", text.rindex("#include <")) + 1) + 1
    return text[:end] + STANDARD + "\nimport braid;\n" + text[end:]


def seconds(*command):
    """CPU time of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def print_times(compiler, installed, programs, scratch):
    for level in ("-O0", "-O3"):
        flags = ("-std=c++23", "-pthread", level, f"-I{installed}/include")
        module = scratch / f"braid{level}.pcm"
        made = seconds(compiler, *flags, "--precompile", SOURCES / "modules/braid.cppm", "-o", module)
        print(f"{level}: the module {made:.1f} s, {module.stat().st_size / 1e6:.0f} MB")
        for name in EXAMPLES:
            header = seconds(compiler, *flags, "-c", SOURCES / f"examples/{name}.cpp", "-o", scratch / "header.o")
            module_use = seconds(compiler, *flags, f"-fmodule-file=braid={module}", "-c", programs / f"{name}.cpp",
                                 "-o", scratch / "import.o")
            print(f"{name}: headers {header:.2f} s, import {module_use:.2f} s, {header / module_use:.1f} times")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("compiler")
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        installed, programs = scratch / "installed", scratch / "programs"
        run("cmake", "--install", options.build, "--prefix", installed, "--component", "library")
        programs.mkdir()
        for name in EXAMPLES:
            text = (SOURCES / f"examples/{name}.cpp").read_text(encoding="utf-8")
            (programs / f"{name}.cpp").write_text(importing(text), encoding="utf-8")
        shutil.copy(SOURCES / "tests/package/module/hello.cpp", programs)
        configure = subprocess.run(
            ["cmake", "-G", "Ninja", "-S", SOURCES / "tests/package/module", "-B", scratch / "build", "-DCMAKE_BUILD_TYPE=Debug",
             f"-DPROGRAMS={programs}", f"-DCMAKE_PREFIX_PATH={installed}", f"-DCMAKE_CXX_COMPILER={options.compiler}"],
            text=True, capture_output=True, check=False)
        if "needs clang 19" in configure.stderr:
            print("skipped: " + " ".join(re.search(r"`import braid;`.*?instead\.", configure.stderr, re.DOTALL)[0].split()))
            return 77
        if configure.returncode:
            sys.exit(configure.stdout + configure.stderr)
        run("cmake", "--build", scratch / "build", "-j2")
        for name in EXAMPLES:
            printed = run(scratch / "build" / name)
            expected = (SOURCES / f"examples/{name}.txt").read_text(encoding="utf-8")
            if printed != expected:
                sys.exit(f"{name} printed\n{printed}\nwhere examples/{name}.txt says\n{expected}")
        if run(scratch / "build/hello") != "42\n":
            sys.exit("tests/package/module/hello.cpp does not print 42")
        print(f"{len(EXAMPLES)} examples import braid")
        if options.times:
            print_times(options.compiler, installed, programs, scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
