# tests/tools/test_dev.py: what ./dev does without a network, and what it says of skipped tests.
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from tree import TOOLS

FUNCTION = r'''
say() { echo "== $*"; }
eval "$(sed -n '/^install_python()/,/^}/p' "$1")"
install_python "${@:2}"
'''


class Python(unittest.TestCase):
    def ask(self, timeout, *words):
        """What is said, and what was asked of pip: of a `timeout` that ends with that status. `words` are those of the function."""
        with tempfile.TemporaryDirectory() as folder:
            there = Path(folder)
            (there / "tests/package").mkdir(parents=True)
            (there / "tests/package/requirements.txt").write_text("# those\none==1.2\ntwo==3\n", encoding="utf-8")
            for name, text in (("python3", 'mkdir -p "$3"'),
                               ("timeout", f'echo "$*" >> asked; {timeout}')):
                (there / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
                (there / name).chmod(0o755)
            done = subprocess.run(["bash", "-c", FUNCTION, "bash", str(TOOLS.parent / "dev"), *words], cwd=folder, text=True,
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True,
                                  check=True)
            is_done = (there / (words[1] if words else "build/python") / ".installed").exists()
            return done.stdout, (there / "asked").read_text(encoding="utf-8").splitlines(), is_done

    def test_an_index_that_does_not_answer_is_asked_once_and_for_a_short_time(self):
        said, asked, is_done = self.ask("exit 124")
        self.assertIn("no index of Python packages answered", said)
        self.assertIn("PIP_INDEX_URL", said)
        self.assertEqual([each.split()[-1] for each in asked], ["one"])
        self.assertLessEqual(int(asked[0].split()[0]), 30)
        self.assertFalse(is_done)

    def test_packages_are_installed_from_one_that_answers(self):
        said, asked, is_done = self.ask("exit 0")
        self.assertEqual([" install " in each for each in asked], [False, True])
        self.assertTrue(is_done)
        said, _, is_done = self.ask('case "$*" in *" install "*) exit 1 ;; esac')
        self.assertIn("they could not be had", said)
        self.assertFalse(is_done)

    def test_another_list_has_a_folder_of_its_own_and_what_follows_without_it(self):
        words = ("tests/package/requirements.txt", "build/python/tests", "nothing is tested")
        said, _, is_done = self.ask("exit 0", *words)
        self.assertIn("in build/python/tests\n", said)
        self.assertTrue(is_done)
        said, _, is_done = self.ask("exit 124", *words)
        self.assertIn("answered, so nothing is tested: run this again", said)
        self.assertFalse(is_done)


LOG = """1/3 Testing: package/conan
1/3 Test: package/conan
Output:
----------------------------------------------------------
skipped: conan missing: ./dev test --label package installs it
<end of output>
----------------------------------------------------------
2/3 Testing: package/recipes
Output:
----------------------------------------------------------
the recipes are well formed
3/3 Testing: package/debian
Output:
----------------------------------------------------------
skipped: lintian is missing
4 packages were installed
"""


class Skipped(unittest.TestCase):
    def test_skipped_tests_and_parts_of_tests_are_named_with_their_reasons(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "Testing/Temporary/LastTest.log"
            log.parent.mkdir(parents=True)
            log.write_text(LOG, encoding="utf-8")
            script = f"folder={folder}\neval \"$(sed -n '/^say_skipped()/,/^}}/p' \"$1\")\"\nsay_skipped"
            done = subprocess.run(["bash", "-c", script, "bash", str(TOOLS.parent / "dev")], text=True, capture_output=True,
                                  check=True)
        self.assertEqual(done.stdout, "   package/conan skipped: conan missing: ./dev test --label package installs it\n"
                                      "   package/debian skipped: lintian is missing\n")


if __name__ == "__main__":
    unittest.main()
