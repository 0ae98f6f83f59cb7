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


if __name__ == "__main__":
    main()
