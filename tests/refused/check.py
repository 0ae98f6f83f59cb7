"""tests/refused/check.py: the compiler refuses each function of spellings.cpp, and its first error says what to write.

    check.py COMPILER ARGUMENT…      which are those that compile a program of the library

`clang says` is for what g++ 12 refuses without a reason of ours, or does not see.
"""
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("spellings.cpp")


def main():
    kinds = "(?:clang )?" if "clang" in Path(sys.argv[1]).name else ""
    wanted = re.findall(rf"// {kinds}says: (.*)\n", SOURCE.read_text())
    done = subprocess.run([*sys.argv[1:], "-fsyntax-only", str(SOURCE)], capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    if not wanted or not errors or wanted[0] not in errors[0]:
        sys.exit("the first error is another one:\n" + done.stderr)
    left = list(errors)  # templates come later than what stands before them
    missing = []
    for text in wanted:
        said = next((line for line in left if text in line), None)
        missing.append(text) if said is None else left.remove(said)
    if missing:
        sys.exit(f"no error says {missing}:\n" + "\n".join(errors))
    check_message_of_gxx12(sys.argv[1], [each for each in sys.argv[2:] if each != "-DBRAID_QUIET_GXX12"])


def check_message_of_gxx12(compiler, arguments):
    """g++ 12 prints a message about its fault, unless the program turns it off; other compilers print nothing."""
    program = "#include <braid/coro.hpp>\n"
    version = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True).stdout
    has_fault = "g++" in compiler and "clang" not in compiler and int(version.split(".")[0]) < 13
    for extra, is_expected in [([], has_fault), (["-DBRAID_QUIET_GXX12"], False)]:
        command = [compiler, *arguments, *extra, "-fsyntax-only", "-x", "c++", "-"]
        done = subprocess.run(command, input=program, capture_output=True, text=True, check=False)
        if done.returncode != 0 or ("BRAID_QUIET_GXX12" in done.stderr) != is_expected:
            sys.exit(f"expected {'a' if is_expected else 'no'} message about g++ 12:\n" + done.stderr)


if __name__ == "__main__":
    main()
