# tests/tools/test_fuzz.py: what tools/fuzz reads from libFuzzer's log, and which inputs it keeps.
import contextlib
import io
import unittest
from pathlib import Path

from tree import load

LOG = """#2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 30Mb
#4096\tpulse  cov: 120 ft: 300 corp: 17/2Kb lim: 4096 exec/s: 2048 rss: 60Mb
"""


class Fuzz(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fuzz = load("fuzz")

    def test_the_last_state_and_the_count_are_told(self):
        done = self.fuzz.summary("plan", LOG + "stat::number_of_executed_units: 5000\n", 2.0, 0)
        self.assertEqual(done, "plan: 5000 executions in 2 s (2500/s), 120 edges, 300 features, 17 inputs; nothing found")

    def test_a_run_that_died_says_so(self):
        self.assertIn("plan: 4096 executions", self.fuzz.summary("plan", LOG, 2.0, 77))
        self.assertIn("ended with 77", self.fuzz.summary("plan", LOG, 2.0, 77))
        self.assertIn("no coverage", self.fuzz.summary("plan", "", 0.0, 1))

    def test_a_bounded_number_of_inputs_is_kept_of_all_sizes(self):
        files = [Path(f"{i:05}") for i in range(1000)]
        kept = self.fuzz.spread(files)
        self.assertEqual(len(set(kept)), self.fuzz.MOST_FILES)
        self.assertEqual(kept[0], files[0])
        self.assertGreater(kept[-1], files[990])

    def test_every_target_has_a_corpus(self):
        for name in self.fuzz.targets():
            self.assertTrue(1 <= len(list((self.fuzz.CORPUS / name).iterdir())) <= self.fuzz.MOST_FILES, name)

    def test_a_run_without_end_is_refused(self):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as refused:
            self.fuzz.read_arguments(["all"])
        self.assertEqual(refused.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
