"""tests/refused/check.py: the compiler refuses each function of the files beside this one, and says what to write.

    check.py COMPILER ARGUMENT…      which are those that compile a program of the library

Comments of a file say what is expected:

    // says: WORDS          an error has these words
    // clang says: WORDS    the same of clang alone: g++ 12 refuses it without a reason of ours, or does not see it
    // flags: FLAG…         further arguments for this file
    // compiler: clang      the file is for that one alone
    // errors: exactly      each error has words, so that what stands below compiles
    // lines: NUMBER        the compiler prints at most so many lines for an error
"""
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def split_errors(printed):
    """Returns the lines of each error, with the includes and instantiations that the compiler prints ahead of it."""
    errors, ahead = [[]], []
    for line in printed.splitlines():
        if "error:" in line:
            errors.append([*ahead, line])
            ahead = []
        elif ahead or re.match(r"In file included from |.*: In .*:$", line):
            ahead.append(line)
        else:
            errors[-1].append(line)
    errors[-1] += ahead
    return errors[1:]


def check(source, compiler, arguments):
    """Returns what is wrong, or nothing."""
    text = source.read_text()
    is_clang = "clang" in Path(compiler).name
    if re.search(r"^// compiler: clang$", text, re.MULTILINE) and not is_clang:
        return None
    flags = [flag for line in re.findall(r"^// flags: (.*)$", text, re.MULTILINE) for flag in line.split()]
    wanted = re.findall(rf"// {'(?:clang )?' if is_clang else ''}says: (.*)\n", text)
    all_errors = ["-ferror-limit=0"] if is_clang else []
    done = subprocess.run([compiler, *arguments, *flags, *all_errors, "-fsyntax-only", str(source)],
                          capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    if not wanted or not errors or wanted[0] not in errors[0]:
        return "the first error is another one:\n" + done.stderr
    left = list(errors)  # templates come later than what stands before them
    missing = []
    for words in wanted:
        said = next((line for line in left if words in line), None)
        missing.append(words) if said is None else left.remove(said)
    if missing:
        return f"no error says {missing}:\n" + "\n".join(errors)
    limit = re.search(r"^// lines: (\d+)$", text, re.MULTILINE)
    if limit and (long := [error for error in split_errors(done.stderr) if len(error) > int(limit[1])]):
        return f"errors of more than {limit[1]} lines:\n" + "\n".join(line for error in long for line in error)
    if left and re.search(r"^// errors: exactly$", text, re.MULTILINE):
        return "errors that nothing announces:\n" + "\n".join(left)
    return None


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


def main():
    sources = sorted(FOLDER.glob("*.cpp"))
    failures = [(source.name, found) for source in sources if (found := check(source, sys.argv[1], sys.argv[2:]))]
    if failures or not sources:
        sys.exit("\n".join(f"{name}: {found}" for name, found in failures) or "no file to compile")
    check_message_of_gxx12(sys.argv[1], [each for each in sys.argv[2:] if each != "-DBRAID_QUIET_GXX12"])


if __name__ == "__main__":
    main()
