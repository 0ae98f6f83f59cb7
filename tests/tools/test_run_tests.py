# tests/tools/test_run_tests.py: which failed tests tools/run_tests reruns, and when it reports that too many are unstable.
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from tree import TOOLS

PASSES = "true"
FAILS = "false"
# Fails until it ran COUNT times. Each run adds a line with the seed that it was given.
FAILS_FIRST = 'echo "seed is ${BRAID_SEED:-none}" >>@runs@; [ $(wc -l <@runs@) -gt COUNT ] || ' \
              '{ echo "seed 41 (BRAID_SEED repeats it)"; echo "ERROR: no"; echo "seed 42 (BRAID_SEED repeats it)"; exit 1; }'
ONCE, TWICE, THREE_TIMES = (FAILS_FIRST.replace("COUNT", str(count)) for count in (1, 2, 3))
THREADS = "test;threads"


class RunTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def project(self, tests):
        """Makes a build folder in which each test, given by its script and its labels, fails anew."""
        lines = []
        for name, (script, labels) in tests.items():
            self.runs_file(name).unlink(missing_ok=True)
            lines.append(f"add_test({name} /bin/sh -c [==[{script.replace('@runs@', str(self.runs_file(name)))}]==])\n"
                         f"set_tests_properties({name} PROPERTIES LABELS \"{labels}\")\n")
        (self.root / "CTestTestfile.cmake").write_text("".join(lines), encoding="utf-8")

    def runs_file(self, name):
        return self.root / f"runs-{name}"

    def runs(self, name):
        return self.runs_file(name).read_text(encoding="utf-8").splitlines()

    def unstable(self):
        file = self.root / "logs/unstable"
        return [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []

    def run_tool(self, *arguments):
        environment = {**os.environ, "BRAID_LOGS": str(self.root / "logs")}
        environment.pop("BRAID_SEED", None)
        done = subprocess.run([TOOLS / "run_tests", *arguments], env=environment, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def run_project(self, tests, configuration="a", *options):
        self.project(tests)
        return self.run_tool(configuration, str(self.root), *options)

    def test_a_run_without_failures_has_no_unstable_test(self):
        status, printed = self.run_project({"x": (PASSES, THREADS)})
        self.assertEqual(status, 0, printed)
        self.assertNotIn("unstable", printed)
        status, printed = self.run_tool("--report")
        self.assertEqual((status, printed), (0, "no test was unstable\n"))

    def test_a_test_that_passes_on_a_rerun_is_unstable_and_the_run_succeeds(self):
        status, printed = self.run_project({"x": (ONCE, THREADS), "y": (TWICE, THREADS), "z": (PASSES, THREADS)})
        self.assertEqual(status, 0, printed)
        self.assertIn("== unstable\n   configuration  test  passed on  failed output\n", printed)
        self.assertEqual([row[:3] for row in self.unstable()], [["a", "x", "rerun 1"], ["a", "y", "rerun 2"]])
        self.assertIn("ERROR: no", Path(self.unstable()[0][3]).read_text(encoding="utf-8"))

    def test_a_rerun_has_the_seed_of_the_failure(self):
        self.run_project({"x": (ONCE, THREADS)})
        self.assertEqual(self.runs("x"), ["seed is none", "seed is 41"])  # 42 is the seed of a later case

    def test_a_test_is_rerun_twice_at_most(self):
        status, printed = self.run_project({"x": (THREE_TIMES, THREADS), "y": (ONCE, THREADS)})
        self.assertEqual(status, 8, printed)
        self.assertEqual(len(self.runs("x")), 3)
        self.assertIn("failed: x\n", printed)
        self.assertEqual([row[1] for row in self.unstable()], ["y"])

    def test_a_test_without_threads_is_not_rerun(self):
        status, printed = self.run_project({"x": (ONCE, "test")})
        self.assertEqual(status, 8, printed)
        self.assertEqual(len(self.runs("x")), 1)
        self.assertIn("x: not rerun, because it has no threads", printed)

    def test_a_model_test_is_not_rerun(self):
        status, printed = self.run_project({"x": (ONCE, "model;threads")})
        self.assertEqual(status, 8, printed)
        self.assertEqual(len(self.runs("x")), 1)
        self.assertIn("x: not rerun, because it is a model test", printed)

    def test_a_test_whose_program_is_missing_fails_the_run(self):
        self.project({"x": (ONCE, THREADS)})
        with (self.root / "CTestTestfile.cmake").open("a", encoding="utf-8") as file:
            file.write("add_test(y /no/such/program)\n")
        status, printed = self.run_tool("a", str(self.root))
        self.assertEqual(status, 8, printed)
        self.assertIn("failed: y\n", printed)

    def test_a_rerun_that_skips_itself_has_not_passed(self):
        script = ONCE + "; exit 77"
        self.project({"x": (script, THREADS), "skipped": ("exit 77", THREADS)})
        with (self.root / "CTestTestfile.cmake").open("a", encoding="utf-8") as file:
            file.write("set_tests_properties(x skipped PROPERTIES SKIP_RETURN_CODE 77)\n")
        status, printed = self.run_tool("a", str(self.root))
        self.assertEqual(status, 8, printed)
        self.assertIn("failed: x\n", printed)

    def test_many_failures_are_not_rerun(self):
        status, printed = self.run_project({f"x{number}": (ONCE, THREADS) for number in range(11)})
        self.assertEqual(status, 8, printed)
        self.assertEqual(len(self.runs("x0")), 1)
        self.assertIn("more than 10, so none is rerun", printed)
        self.assertEqual(self.run_project({f"x{number}": (ONCE, THREADS) for number in range(10)})[0], 0)

    def test_options_choose_tests_and_no_test_is_a_failure(self):
        tests = {"x": (FAILS, THREADS), "y": (ONCE, "stress;threads;workers")}
        status, printed = self.run_project(tests, "a", "--label-regex", "^workers$")
        self.assertEqual(status, 0, printed)
        self.assertNotEqual(self.run_project(tests, "a", "--label-regex", "^fuzz$")[0], 0)

    def test_three_unstable_tests_are_accepted_and_four_are_not(self):
        self.run_project({name: (ONCE, THREADS) for name in ("x", "y", "z")})
        status, printed = self.run_tool("--report")
        self.assertEqual(status, 0, printed)
        self.assertIn("== unstable\n", printed)
        self.run_project({"w": (ONCE, THREADS)}, "b")
        status, printed = self.run_tool("--report")
        self.assertEqual(status, 1, printed)
        self.assertIn("4 tests are unstable; at most 3 may be", printed)

    def test_a_test_may_not_be_unstable_in_two_configurations(self):
        self.run_project({"x": (ONCE, THREADS)}, "one CPU")
        self.assertEqual(self.run_tool("--report")[0], 0)
        self.run_project({"x": (ONCE, THREADS)}, "one worker")
        status, printed = self.run_tool("--report")
        self.assertEqual(status, 1, printed)
        self.assertIn("x is unstable in 2 configurations: one CPU, one worker", printed)

    def test_help_is_printed(self):
        status, printed = self.run_tool("--help")
        self.assertEqual(status, 0)
        self.assertIn("tools/run_tests NAME FOLDER", printed)
        self.assertEqual(self.run_tool("a")[0], 2)


if __name__ == "__main__":
    unittest.main()
