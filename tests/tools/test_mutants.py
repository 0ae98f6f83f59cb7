# tests/tools/test_mutants.py: what tools/mutants plants, builds, runs, puts on record, and refuses; and its own table.
import json
import os
from pathlib import Path
from unittest import mock

from tree import TOOLS, ToolCase

TABLE = """
[[mutant]]
name = "sum.is_a_difference"
file = "src/sum.cpp"
text = "$1 + $2"
replacement = "$1 - $2"
tests = ["base/zero_test", "base/sum_test: adds*"]

[[mutant]]
name = "sum.is_said_loudly"
file = "src/sum.cpp"
text = "echo"
replacement = "echo  "
tests = ["base/sum_test"]

[[mutant]]
name = "one.is_two"
file = "include/one.hpp"
text = "one=1"
replacement = "one=2"
tests = ["base/sum_model"]
with = ["src/sum.cpp"]

[[mutant]]
name = "sum.is_the_same"
file = "src/sum.cpp"
text = "sum()"
replacement = "sum ()"
tests = []
equivalent = "a space"
"""

# A "compiler" of shell scripts, which looks for `include` along -I, and a "linker" where the first definition wins.
COMPILER = """#!/usr/bin/env python3
import sys
from pathlib import Path
words = sys.argv[1:]
folders = [words[i + 1] for i, word in enumerate(words) if word == "-I"]
text = []
for line in Path(words[words.index("-c") + 1]).read_text().splitlines():
    if line.startswith("include "):
        line = next(p for f in folders if (p := Path(f, line.split()[1])).exists()).read_text()
    if "syntax error" in line:
        sys.exit("it does not compile")
    text.append(line)
Path(words[words.index("-o") + 1]).write_text("\\n".join(text) + "\\n")
"""
LINKER = """#!/usr/bin/env python3
import os, sys
from pathlib import Path
*parts, flag, out = sys.argv[1:]
assert flag == "-o"
Path(out).write_text("#!/bin/sh\\n" + "".join(Path(part).read_text() for part in reversed(parts)))
os.chmod(out, 0o755)
"""
NINJA = """#!/bin/sh
for last; do :; done
case "$*" in
  *commands*) echo ": && {bin}/link tests/x.dir/$(basename $last).cpp.o lib.a -o $last && :" ;;
esac
"""
ZERO = '[ "$(sum 0 0)" = 0 ] || exit 1\n'
SUM = 'if [ "$(sum 2 1)" != 3 ]; then echo "TEST CASE:  adds $1"; exit 1; fi\n'
MODEL = 'include one.hpp\nif [ "$(sum 2 $one)" != 3 ]; then echo "TEST CASE:  one is one"; exit 1; fi\n'


class Mutants(ToolCase):
    tool = "mutants"

    def build(self, table=TABLE, **files):
        root, bin_folder = self.root.resolve(), f"{self.root.resolve()}/bin"
        sources = {"src/sum.cpp": "include one.hpp\nsum() { echo $(($1 + $2)); }\n", "include/one.hpp": "one=1\n",
                   "tests/base/zero_test.cpp": ZERO, "tests/base/sum_test.cpp": SUM, "tests/base/sum_model.cpp": MODEL,
                   **files}
        self.write({"tests/mutants.toml": table, **sources,
                    **{f"bin/{name}": text.replace("{bin}", bin_folder)
                       for name, text in (("cc", COMPILER), ("link", LINKER), ("ninja", NINJA))}})
        for program in self.root.glob("bin/*"):
            program.chmod(0o755)
        for name in ("mutants", "mutants_model"):
            self.build_folder(root, root / "build" / name, sources)
        patch = mock.patch.dict(os.environ, {"PATH": f"{bin_folder}:{os.environ['PATH']}"})
        patch.start()
        self.addCleanup(patch.stop)

    def build_folder(self, root, folder, sources):
        units, tests = [], []
        for path in sources:
            if not path.endswith(".cpp"):
                continue
            stem = Path(path).stem
            output = f"tests/x.dir/{stem}.cpp.o" if path.startswith("tests") else "lib.a"
            command = f"{root}/bin/cc -I {root}/include -o {output} -c {root}/{path}"
            units.append({"file": f"{root}/{path}", "command": command})
            (folder / "tests/x.dir").mkdir(parents=True, exist_ok=True)
            if path.startswith("tests"):
                program = folder / path.removesuffix(".cpp")
                tests.append(f'add_test([=[base/{stem}]=] "{program}")\n')
        self.write({f"{folder}/build.ninja": "", f"{folder}/compile_commands.json": json.dumps(units),
                    f"{folder}/tests/CTestTestfile.cmake": "".join(tests)})
        for unit in units:  # what ninja would build
            self.assertEqual(os.system(f"cd {folder} && {unit['command']}"), 0)
        for program in [line.split('"')[1] for line in tests]:
            Path(program).parent.mkdir(parents=True, exist_ok=True)
            stem = Path(program).name
            self.assertEqual(os.system(f"cd {folder} && {root}/bin/link tests/x.dir/{stem}.cpp.o lib.a -o {program}"), 0)

    def test_a_mutant_is_killed_by_the_test_that_fails_with_it(self):
        self.build()
        status, printed = self.run_tool("sum.is_a_difference")
        self.assertEqual(status, 0, printed)
        self.assertIn("sum.is_a_difference: killed by base/sum_test (adds -tc=adds*)", printed)
        self.assertIn("1 of 1 killed", printed)
        self.assertIn("$1 + $2", Path(self.root, "src/sum.cpp").read_text())  # nothing was changed in place

    def test_a_mutant_that_no_test_sees_survives(self):
        self.build()
        status, printed = self.run_tool("sum.is_said_loudly")
        self.assertEqual(status, 1)
        self.assertIn("sum.is_said_loudly: SURVIVED", printed)
        self.assertIn("passed: base/sum_test", printed)
        self.assertIn("0 of 1 killed; survived: sum.is_said_loudly", printed)

    def test_a_header_is_compiled_with_its_tests_and_with_the_sources_that_are_named(self):
        self.build()
        status, printed = self.run_tool("one.*")
        self.assertEqual(status, 0, printed)
        self.assertIn("one.is_two: killed by base/sum_model (one is one)", printed)

    def test_what_is_on_record_is_not_planted_again_until_something_changes(self):
        self.build()
        self.assertIn("1 of 1", self.run_tool("one.is_two")[1])
        self.assertIn("0 of 0", self.run_tool("one.is_two")[1])
        self.assertIn("1 of 1", self.run_tool("one.is_two", "--again")[1])
        self.write({"tests/base/sum_model.cpp": MODEL + "\n"})
        self.assertIn("1 of 1", self.run_tool("one.is_two")[1])

    def test_all_tests_are_asked_where_survivors_are_wanted(self):
        self.build()
        printed = self.run_tool("sum.is_a_difference", "--survivors")[1]
        self.assertIn("passed: base/zero_test", printed)

    def test_equivalent_mutants_are_not_planted(self):
        self.build()
        self.assertIn("0 of 0", self.run_tool("sum.is_the_same")[1])

    def test_a_test_that_fails_without_a_mutant_is_no_test(self):
        self.build(**{"tests/base/sum_test.cpp": "exit 3\n"})
        status, printed = self.run_tool("sum.is_said_loudly")
        self.assertEqual(status, 1)
        self.assertIn("base/sum_test fails without a mutant", printed)

    def test_a_mutant_that_does_not_compile_is_told(self):
        self.build(table=TABLE.replace("$1 - $2", "syntax error"))
        status, printed = self.run_tool("sum.is_a_difference")
        self.assertEqual(status, 1)
        self.assertIn("sum.is_a_difference does not compile", printed)

    def test_a_test_that_hangs_kills(self):
        self.build(table=TABLE.replace("$1 - $2", "$(sleep 20; echo 1)"))
        with mock.patch.object(self.module, "TEST_SECONDS", 0.3):
            printed = self.run_tool("sum.is_a_difference")[1]
        self.assertIn("killed by base/zero_test (not done after 0.3 s)", printed)

    def test_a_table_that_does_not_fit_the_sources_is_refused(self):
        self.build(table=TABLE.replace("$1 + $2", "$1 * $2").replace("sum_model", "no_model"))
        status, printed = self.run_tool("--check")
        self.assertEqual(status, 1)
        self.assertIn("sum.is_a_difference: its text stands 0 times in src/sum.cpp", printed)
        self.assertIn("one.is_two: there is no tests/base/no_model.cpp", printed)
        self.assertIn("2 diagnostics", printed)
        self.assertEqual(self.run_tool("sum.*")[0], 1)

    def test_a_wrong_table_is_refused_with_the_field(self):
        for wrong, words in ((TABLE.replace('tests = ["base/sum_model"]', "tests = 3"), "`tests` must be there, as list"),
                             (TABLE.replace('with = ["src/sum.cpp"]', "with = 1"), "`with` must be list"),
                             (TABLE + "why = 1\n", "unknown field `why`"),
                             (TABLE.replace('equivalent = "a space"', ""), "names no test"),
                             (TABLE + TABLE, "two mutants are called")):
            self.write({"tests/mutants.toml": wrong})
            status, printed = self.run_tool("--list")
            self.assertEqual(status, 1)
            self.assertIn(words, printed)

    def test_names_that_are_not_there_are_refused(self):
        self.build()
        self.assertIn("no mutant is called 'summ*'", self.run_tool("summ*")[1])

    def test_the_table_of_this_repository_fits_its_sources(self):
        mutants = self.module.read_table(TOOLS.parent / "tests/mutants.toml")
        found = [sentence for mutant in mutants for sentence in self.module.diagnostics_about(mutant, TOOLS.parent)]
        self.assertEqual(found, [])
