# tests/tools/test_checklib.py: what the proofs of style share: files, the scanner of C++, exceptions, the command line.
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tree import TOOLS, load

load("check_tests")  # puts tools/ on the path
import checklib  # noqa: E402


class Scanner(unittest.TestCase):
    def code(self, text):
        code = checklib.CppText(text).code
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.count("\n"), text.count("\n"))
        return " ".join(code.split())

    def test_comments_are_blank_and_kept_by_line(self):
        text = checklib.CppText("a; // one\n/* two\n   three */ b;")
        self.assertEqual(text.code.split(), ["a;", "b;"])
        self.assertEqual(text.comments, {1: "// one", 2: "/* two", 3: "   three */"})

    def test_a_line_comment_goes_on_after_a_backslash(self):
        self.assertEqual(self.code("a; // one \\\n still {\nb;"), "a; b;")

    def test_literals_lose_their_insides(self):
        self.assertEqual(self.code(r'f("a{\"//", u8"x");'), 'f(" ", u8" ");')
        self.assertEqual(self.code("c = '{'; d = '\\''; e = L'\"';"), "c = ' '; d = ' '; e = L' ';")

    def test_raw_strings_end_at_their_own_delimiter(self):
        self.assertEqual(self.code('a = R"x(}" )" \n)x"; b'), 'a = " "; b')

    def test_digit_separators_open_no_literal(self):
        self.assertEqual(self.code("a = 1'000'000; b = '{';"), "a = 1'000'000; b = ' ';")
        self.assertEqual(self.code("return'{';"), "return' ';")

    def test_includes_are_found_outside_comments(self):
        text = checklib.CppText('#include <a/b.hpp>\n// #include <c.hpp>\n#include MACRO\n  #  include "d.hpp"\n')
        self.assertEqual(list(text.includes()), [(1, False, "a/b.hpp"), (4, True, "d.hpp")])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path in ("src/a.cpp", "build/b.cpp", ".cache/c.cpp", "src/generated/d.hpp", "e.txt",
                     "node_modules/f.cpp", "tools/__pycache__/g.pyc"):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text("")
        (self.root / ".gitignore").write_text("/src/generated/\n/build/\n/node_modules/\n__pycache__/\n")

    def test_outside_git_everything_but_products_is_found(self):
        files = checklib.Repository(self.root).files
        self.assertEqual(files, [".gitignore", "e.txt", "src/a.cpp", "src/generated/d.hpp"])

    def test_a_broken_git_folder_is_like_none(self):
        (self.root / ".git").mkdir()
        self.assertIn("src/generated/d.hpp", checklib.Repository(self.root).files)

    def test_inside_git_ignored_and_deleted_files_are_left_out(self):
        git = ["git", "-C", str(self.root)]
        subprocess.run([*git, "init", "-q"], check=True)
        (self.root / "src/gone.cpp").write_text("")
        subprocess.run([*git, "add", "src/gone.cpp"], check=True)
        (self.root / "src/gone.cpp").unlink()
        files = checklib.Repository(self.root).files
        self.assertEqual(files, [".cache/c.cpp", ".gitignore", "e.txt", "src/a.cpp"])

    def test_cpp_files_are_chosen_by_top_folder(self):
        tree = checklib.Repository(self.root)
        self.assertEqual(tree.cpp_files("src"), ["src/a.cpp", "src/generated/d.hpp"])
        self.assertEqual(tree.cpp_files("include"), [])


class CommandLine(unittest.TestCase):
    """Every tool as a user starts it."""

    def start(self, tool, *arguments):
        return subprocess.run([sys.executable, "-B", str(TOOLS / tool), *arguments],
                              capture_output=True, text=True, check=False)

    def test_help_tells_what_is_proved(self):
        for tool in ("check_layers", "check_edges", "check_words", "check_size", "check_tests", "check_api", "check_docs"):
            with self.subTest(tool):
                done = self.start(tool, "--help")
                self.assertEqual(done.returncode, 0)
                self.assertIn(f"tools/{tool}: proves", done.stdout)
                self.assertTrue((TOOLS / tool).stat().st_mode & 0o100)

    def test_wrong_usage_is_status_2(self):
        self.assertEqual(self.start("check_layers", "--nonsense").returncode, 2)
        self.assertEqual(self.start("check_layers", "--fix").returncode, 2)
        done = self.start("check_layers", "--root", "/nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nowhere is no folder", done.stderr)

    def test_the_default_tree_is_the_one_that_holds_the_script(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "tools").mkdir()
            for name in ("check_layers", "checklib.py"):
                (Path(folder) / "tools" / name).write_bytes((TOOLS / name).read_bytes())
            (Path(folder) / "src").mkdir()
            (Path(folder) / "src/a.cpp").write_text("")
            done = subprocess.run([sys.executable, "-B", f"{folder}/tools/check_layers"], cwd="/",
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("src/a.cpp:1: lies in no layer", done.stdout)
            self.assertIn("check_layers: 1 file, 1 diagnostic\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
