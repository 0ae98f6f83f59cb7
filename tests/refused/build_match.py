"""tests/refused/build_match.py: a program that was compiled unlike the library does not link, and others do.

    build_match.py LIBRARY COMPILER ARGUMENT…      the library, and what compiles a program for it
"""
import subprocess
import sys
import tempfile
from pathlib import Path

ANY_PROGRAM = "#include <braid/base/config.hpp>\nint main() {}\n"
PROGRAM = """#include <braid/task.hpp>
int main() {
  braid::pool workers({.workers = 1});
  return braid::spawn(workers, [] { return 7; }).get() == 7 ? 0 : 1;
}
"""
REFUSED = {
    "-D_GLIBCXX_DEBUG": "library_is_built_with_GLIBCXX_DEBUG",
    "-fsanitize=address": "library_is_built_with_address_sanitizer",
    "-fsanitize=thread": "library_is_built_with_thread_sanitizer",
}
ACCEPTED = (["-O0", "-g", "-D_GLIBCXX_ASSERTIONS"], ["-O2", "-DNDEBUG", "-fsanitize=undefined"])


def main():
    library, compiler, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "program.cpp"), Path(folder, "program")

        def build(text, flags):
            source.write_text(text)
            return subprocess.run([compiler, *arguments, *flags, str(source), library, "-pthread", "-o", str(program),
                                   f"-Wl,-rpath,{Path(library).parent}"], capture_output=True, text=True, check=False)

        for flag, name in REFUSED.items():
            built = build(ANY_PROGRAM, [flag])
            if built.returncode == 0 or f"undefined reference to `braid::detail::{name}'" not in built.stderr:
                sys.exit(f"{flag}: the linker does not name {name}:\n{built.stderr}")
        for flags in ACCEPTED:
            built = build(PROGRAM, flags)
            if built.returncode != 0:
                sys.exit(f"{flags}: {built.stderr}")
            if subprocess.run([program], check=False).returncode != 0:
                sys.exit(f"{flags}: the program fails")


if __name__ == "__main__":
    main()
