# tests/package/conan_recipe.py: `conan create` builds the recipe and runs its test package, without a network: a profile says
# that Debian's packages provide what the recipe requires. Exit status 77: skipped, with the reason.
#
#   python3 tests/package/conan_recipe.py [--static]
import os
import re
import shutil
import subprocess
import sys

import python_tools
from checks import must
from python_tools import SOURCES

# Without optimization and debug information, because this tests the recipe, and not the compiler.
PROFILE = """[settings]
os=Linux
arch=x86_64
compiler=clang
compiler.version=19
compiler.libcxx=libstdc++11
compiler.cppstd=23
build_type=Debug
[platform_requires]
openssl/{openssl}
liburing/{uring}
[conf]
tools.build:compiler_executables={{"c": "clang-19", "cpp": "clang++-19"}}
tools.build:cxxflags=["-g0"]
tools.cmake.cmaketoolchain:generator=Ninja
"""


def installed(module):
    shown = subprocess.run(["pkg-config", "--modversion", module], capture_output=True, text=True, check=False)
    if shown.returncode:
        print(f"skipped: pkg-config knows no {module}")
        sys.exit(77)
    return shown.stdout.strip()


def main(*words):
    conan = python_tools.find("conan")["conan"]
    home = SOURCES / "build/conan"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    profile = home / "debian"
    profile.write_text(PROFILE.format(openssl=installed("openssl"), uring=installed("liburing")), encoding="utf-8")
    # The name of the build folder in conan's cache is different each time, and so ccache must ignore it.
    environment = os.environ | {"CONAN_HOME": str(home), "CCACHE_BASEDIR": str(home), "CCACHE_NOHASHDIR": "1"}
    linkage = ["--options", "braid/*:shared=False"] if words == ("--static",) else []
    status, printed = python_tools.run(conan, "create", SOURCES / "packaging/conan", "--no-remote", "--profile:all", profile,
                                       "--build", "braid/*", *linkage, env=environment, cwd=home)
    must(status == 0, f"conan create ended with {status}:\n{printed[-8000:]}")
    must("\n42\nTLS\n" in printed, f"the program of the test package printed something else:\n{printed[-2000:]}")
    made = re.search(r"^(braid/\d+\.\d+\.\d+)", printed, re.MULTILINE)
    shutil.rmtree(home)
    print(f"conan made {made[1]}, and a program was built with it")


if __name__ == "__main__":
    main(*sys.argv[1:])
