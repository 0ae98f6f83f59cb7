# tests/tools/test_check_tidy.py: which files tools/check_tidy chooses, how it parses them, and what it reports.
import json
import os
import shutil
import subprocess
import unittest
from unittest import mock

from tree import TOOLS, ToolCase

RULES = {".clang-tidy": "Checks: '-*,modernize-use-nullptr'\nWarningsAsErrors: '*'\n"}
GOOD = "int one() { return 1; }\n"
BAD = "\n\ninline int* none() { return 0; }\n"
DAY_S = 24 * 60 * 60


class TidyCase(ToolCase):
    """A repository with compile commands, and an empty cache."""
    tool = "check_tidy"

    def setUp(self):
        super().setUp()
        self.git("init", "-q")
        environment = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.root / "build/cache")})
        environment.start()
        self.addCleanup(environment.stop)

    def git(self, *words, date=None):
        dates = {"GIT_AUTHOR_DATE": f"@{date} +0000", "GIT_COMMITTER_DATE": f"@{date} +0000"} if date else {}
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=self.root, check=True,
                       capture_output=True, env={**os.environ, **dates})

    def commit(self, files, date):
        self.write({".gitignore": "/build/\n", **files})
        self.git("add", ".")
        self.git("commit", "-q", "-m", "change", date=date)

    def repository(self):
        return self.module.Repository(self.root)

    def compile_commands(self, *sources):
        entries = [{"directory": str(self.root), "file": str(self.root / source),
                    "command": f"clang++ -std=c++23 -I{self.root}/include -o x.o -c {self.root / source}"}
                   for source in sources]
        self.write({"build/one/compile_commands.json": json.dumps(entries)})

    def check(self, *arguments):
        return self.run_tool("--build", str(self.root / "build/one"), *arguments)


class Choice(TidyCase):
    def touched(self, since=None):
        return self.module.touched_files(self.repository(), since)

    def test_the_files_of_the_last_day_of_commits_are_touched(self):
        self.commit({"src/old.cpp": GOOD}, date=1_000_000_000)
        self.commit({"src/new.cpp": GOOD}, date=1_000_000_000 + 2 * DAY_S)
        self.commit({"rankd/newer.hpp": GOOD}, date=1_000_000_000 + 3 * DAY_S - 60)
        self.assertEqual(self.touched(), ["rankd/newer.hpp", "src/new.cpp"])

    def test_files_that_differ_from_the_last_commit_are_touched_also_new_ones(self):
        self.commit({"src/same.cpp": GOOD, "src/edited.cpp": GOOD}, date=1_000_000_000)
        self.commit({"docs/page.md": "text\n"}, date=1_000_000_000 + 2 * DAY_S)
        self.write({"src/edited.cpp": GOOD + BAD, "include/braid/a.hpp": GOOD})
        self.assertEqual(self.touched(), ["src/edited.cpp", "include/braid/a.hpp"])

    def test_only_what_differs_from_a_named_commit_is_touched(self):
        self.commit({"src/a.cpp": GOOD}, date=1_000_000_000)
        self.commit({"src/b.cpp": GOOD}, date=1_000_000_001)
        self.assertEqual(self.touched("HEAD"), [])
        self.assertEqual(self.touched("HEAD~1"), ["src/b.cpp"])

    def test_files_of_other_folders_or_systems_or_that_are_gone_are_not_touched(self):
        self.commit({**RULES, "src/gone.cpp": GOOD, "bench/a.cpp": GOOD, "tools/a": GOOD, "dsl/a.cpp": GOOD,
                     "src/platform/windows/a.cpp": GOOD, "src/platform/darwin/a.hpp": GOOD}, date=1_000_000_000)
        (self.root / "src/gone.cpp").unlink()
        self.assertEqual(self.touched(), [])
        self.assertEqual(self.check()[0], 0)

    def test_headers_that_a_source_includes_first_need_no_source_of_their_own(self):
        self.write({"include/braid/a.hpp": "", "include/braid/b.hpp": "", "rankd/c.hpp": "",
                    "src/a.cpp": "#include <braid/a.hpp>\n#include <braid/b.hpp>\n", "rankd/c.cpp": '#include "c.hpp"\n'})
        files = self.repository().cpp_files()
        self.assertEqual(self.module.Includes(self.repository()).main_files(files),
                         ["rankd/c.cpp", "src/a.cpp", "include/braid/b.hpp"])

    def test_what_a_file_includes_is_found_through_headers(self):
        self.write({"include/braid/a.hpp": "#include <vector>\n#include <braid/b.hpp>\n", "include/braid/b.hpp": "",
                    "rankd/c.cpp": '#include "d.hpp"\n', "rankd/d.hpp": "#include <braid/a.hpp>\n"})
        self.assertEqual(self.module.Includes(self.repository()).closure("rankd/c.cpp"),
                         ["include/braid/a.hpp", "include/braid/b.hpp", "rankd/c.cpp", "rankd/d.hpp"])


class CompileCommands(TidyCase):
    def test_options_of_precompiled_headers_are_removed(self):
        words = ("clang++ -Xclang -fno-pch-timestamp -Winvalid-pch -Xclang -include-pch -Xclang /b/cmake_pch.hxx.pch -Xclang"
                 " -include -Xclang /b/cmake_pch.hxx -DA -include /b/cmake_pch.hxx -include own.hpp -o a.o -c a.cpp").split()
        self.assertEqual(self.module.without_pch(words),
                         ["clang++", "-Xclang", "-fno-pch-timestamp", "-DA", "-include", "own.hpp", "a.cpp"])

    def test_a_header_is_parsed_with_the_options_of_the_nearest_source(self):
        self.write({"build/one/compile_commands.json": json.dumps(
            [{"directory": "/", "file": str(self.root / path), "command": f"clang++ -D{name} -c {self.root / path}"}
             for path, name in (("rankd/op/a.cpp", "OP"), ("src/io/a.cpp", "IO"), ("src/net/a.cpp", "NET"))])})
        commands = self.module.Commands(self.root, self.root / "build/one")
        for header, name in (("include/braid/net/b.hpp", "NET"), ("include/braid/io/detail/b.hpp", "IO"),
                             ("rankd/op/b.hpp", "OP")):
            self.assertEqual(commands.command(header, "b.cpp")["arguments"], ["clang++", f"-D{name}", "b.cpp"])


@unittest.skipUnless(shutil.which("clang-tidy-22") or shutil.which("clang-tidy-19"), "clang-tidy is not installed")
class CheckTidy(TidyCase):
    def test_a_finding_in_a_touched_source_is_reported(self):
        self.commit({**RULES, "src/a.cpp": BAD, "src/b.cpp": GOOD}, date=1_000_000_000)
        self.compile_commands("src/a.cpp", "src/b.cpp")
        status, printed = self.check()
        self.assertEqual(status, 1)
        self.assertIn("src/a.cpp:3: use nullptr [modernize-use-nullptr]\n", printed)
        self.assertIn("check_tidy: 2 files, 1 diagnostic\n", printed)

    def test_a_finding_in_a_touched_header_is_reported_once_and_one_in_another_header_is_not(self):
        self.commit({**RULES, "src/old.hpp": "#pragma once" + BAD}, date=1_000_000_000)
        self.commit({"src/new.hpp": '#pragma once\n#include "old.hpp"' + BAD.replace("none", "new_none"),
                     "src/a.cpp": '#include "new.hpp"\n', "src/b.cpp": '#include "old.hpp"\n#include "new.hpp"\n'},
                    date=1_000_000_000 + 2 * DAY_S)
        self.compile_commands("src/a.cpp", "src/b.cpp")
        status, printed = self.check()
        self.assertEqual((status, printed.count("use nullptr")), (1, 1), printed)
        self.assertIn("src/new.hpp:4: ", printed)

    def test_a_header_must_name_what_it_needs(self):
        self.commit({**RULES, "src/a.cpp": GOOD, "src/b.hpp": "#pragma once\ninline std::size_t b() { return 1; }\n"},
                    date=1_000_000_000)
        self.compile_commands("src/a.cpp")
        status, printed = self.check()
        self.assertEqual(status, 1)
        self.assertIn("src/b.hpp:2: use of undeclared identifier 'std' [clang-diagnostic-error]", printed)

    def test_files_with_many_changed_lines_are_checked_first_and_the_output_says_so(self):
        self.commit({**RULES, "src/a.cpp": GOOD, "src/b.cpp": BAD, "src/c.cpp": GOOD}, date=1_000_000_000)
        self.compile_commands("src/a.cpp", "src/b.cpp", "src/c.cpp")
        status, printed = self.check("--max-files", "1")
        self.assertEqual(status, 1)
        self.assertIn("checked 1 of 3 touched files, those with the most changed lines", printed)
        self.assertIn("src/b.cpp:3: ", printed)

    def test_named_files_and_all_files_are_checked_without_a_limit(self):
        self.commit({**RULES, "src/a.cpp": GOOD, "src/b.cpp": GOOD, "bench/c.cpp": GOOD}, date=1_000_000_000)
        self.compile_commands("src/a.cpp", "src/b.cpp", "bench/c.cpp")
        self.assertEqual(self.check("--all", "--max-files", "1"), (0, "check_tidy: 2 files, 0 diagnostics\n"))
        self.assertEqual(self.check(str(self.root / "bench/c.cpp")), (0, "check_tidy: 1 file, 0 diagnostics\n"))
        self.assertEqual(self.check("src/missing.cpp")[0], 1)

    def test_the_rules_are_those_of_the_nearest_folder(self):
        self.commit({**RULES, "tests/.clang-tidy": "Checks: '-*,readability-function-size'\n", "src/a.cpp": BAD,
                     "tests/b.cpp": BAD}, date=1_000_000_000)
        self.compile_commands("src/a.cpp", "tests/b.cpp")
        status, printed = self.check()
        self.assertEqual((status, printed.count("use nullptr")), (1, 1), printed)
        self.assertIn("src/a.cpp:3: ", printed)

    def test_long_and_deeply_nested_functions_are_reported_by_the_rules_of_this_repository(self):
        rules = (TOOLS.parent / ".clang-tidy").read_text(encoding="utf-8")
        heads = ("if (a > 1)", "for (; a > 2;)", "while (a > 3)", "if (a > 4)")

        def function(name, lines, blocks):
            body = " {\n".join(("", *heads[:blocks])) + " {\n" + "a -= 1;\n" * lines + "}\n" * blocks
            return f"int {name}(int a) {{\n{body[3:]}return a;\n}}\n"

        self.commit({".clang-tidy": rules, "src/a.cpp": function("fits", 55, 3) + function("is_long", 80, 1)
                     + function("is_deep", 1, 4)}, date=1_000_000_000)
        self.compile_commands("src/a.cpp")
        printed = self.check()[1]
        sized = [line for line in printed.splitlines() if "readability-function-size" in line]
        self.assertEqual(["is_long" in sized[0], "is_deep" in sized[1], len(sized)], [True, True, 2], printed)

    def test_a_clean_file_is_parsed_again_after_a_change_of_what_it_depends_on(self):
        self.commit({**RULES, "src/a.hpp": "#pragma once\n", "src/a.cpp": '#include "a.hpp"\n' + GOOD}, date=1_000_000_000)
        self.compile_commands("src/a.cpp")
        skipped = "skipped 1 translation unit, found clean before and unchanged since"
        self.assertNotIn(skipped, self.check()[1])
        self.assertIn(skipped, self.check()[1])
        self.write({"src/a.hpp": "#pragma once" + BAD})
        status, printed = self.check()
        self.assertEqual(status, 1)
        self.assertNotIn(skipped, printed)
        self.assertEqual(self.check()[0], 1)  # only clean files are remembered


class WithoutTidy(TidyCase):
    def test_a_missing_tool_is_an_error_that_says_what_to_install(self):
        with mock.patch.dict(os.environ, {"PATH": str(self.root)}):
            self.assertEqual(self.run_tool(), (1, "check_tidy: neither clang-tidy-22 nor clang-tidy-19 is installed: "
                                                  "apt-get install clang-tidy-19\n"))


if __name__ == "__main__":
    unittest.main()
