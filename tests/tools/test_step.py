# tests/tools/test_step.py: what tools/step says of builds and tests.
import io
import subprocess
import sys
import unittest
from pathlib import Path

from tree import TOOLS, load

step = load("step")


def seen(*lines):
    out = io.StringIO()
    progress = step.Progress("test x", out)
    for line in lines:
        progress.see(line + "\n")
    return progress, out


class Seen(unittest.TestCase):
    def test_a_build_is_counted(self):
        progress, _ = seen("[3/10] Building a.o", "[4/10] Linking b")
        self.assertEqual((progress.done, progress.total), (4, 10))

    def test_what_a_compiler_says_of_a_failure_is_kept(self):
        progress, _ = seen("[1/2] Building a.o", "FAILED: a.o", "a.cpp:1: error: no", "[2/2] Building b.o")
        self.assertEqual(progress.failures, ["FAILED: a.o\n", "a.cpp:1: error: no\n"])

    def test_a_test_that_passes_is_not_shown(self):
        progress, _ = seen("    Start 1: a/b", "1/2 Test #1: a/b ....   Passed    0.01 sec",
                           "2/2 Test #2: a/c ....***Failed    0.01 sec", "why it failed")
        self.assertEqual(progress.failures, ["2/2 Test #2: a/c ....***Failed    0.01 sec\n", "why it failed\n"])

    def test_the_last_line_counts_what_passed_failed_and_was_skipped(self):
        progress, out = seen("1/3 Test #1: a ....   Passed    0.01 sec", "2/3 Test #2: b ....***Failed    0.01 sec",
                             "3/3 Test #3: c ....***Skipped   0.00 sec", "66% tests passed, 1 tests failed out of 3")
        progress.end(8, Path("x.log"))
        self.assertIn("== test x: 2 passed, 1 failed, 1 skipped, in 0:00", out.getvalue())
        self.assertIn("all that it printed: x.log", out.getvalue())

    def test_a_build_that_is_done_says_so(self):
        progress, out = seen("[1/1] Building a.o")
        progress.end(0, Path("x.log"))
        self.assertEqual(out.getvalue(), "== test x: done in 0:00\n")


class Run(unittest.TestCase):
    def test_the_status_is_the_commands(self):
        done = subprocess.run([TOOLS / "step", "unit test of step", "--", sys.executable, "-c", "print('why'); exit(7)"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 7)
        self.assertIn("why", done.stdout)

    def test_a_command_that_is_not_there_is_named(self):
        done = subprocess.run([TOOLS / "step", "unit test of step", "--", "/no/such/program"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 127)
        self.assertIn("/no/such/program cannot be run", done.stdout)

    def test_without_a_command_the_usage_is_printed(self):
        self.assertEqual(subprocess.run([TOOLS / "step", "x"], capture_output=True, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main()
