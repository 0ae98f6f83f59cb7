# tests/tools/test_bench_deadlines.py: what bench/bench_deadlines asks for, and what it makes of the times.
import argparse
import unittest

from tree import TOOLS, load


class DeadlineFigures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool = load("bench_deadlines", TOOLS.parent / "bench")

    def test_a_quantile_is_a_time_that_was_measured(self):
        times = [float(number) for number in range(1, 101)]
        self.assertEqual(self.tool.quantile(times, 0.5), 50)
        self.assertEqual(self.tool.quantile(times, 0.99), 99)
        self.assertEqual(self.tool.quantile([7.0], 0.99), 7)

    def test_one_run_beyond_what_is_wanted_is_a_miss(self):
        good = self.tool.results([50.1, 59.9, 60.0], 60.0)
        self.assertEqual((good["median"], good["worst"], good["beyond"]), (59.9, 60.0, 0))
        self.assertIn("wanted 60: reached, 0 beyond", self.tool.line(good))
        bad = self.tool.results([50.1, 60.1], 60.0)
        self.assertIn("worst 60.10 of 2; wanted 60: MISSED, 1 beyond", self.tool.line(bad))
        self.assertNotIn("wanted", self.tool.line(self.tool.results([1.0], None)))

    def test_both_plans_would_compute_far_beyond_their_answers(self):
        kinds = self.tool.kinds(50, 3000)
        self.assertEqual(kinds["deadline"]["fields"], {"deadline_ms": 50})
        self.assertEqual(kinds["failure"]["outputs"], ["failing", "busy"])
        for name in ("deadline", "failure"):
            self.assertIn({"busy_wait_ms": 3000}, [node["params"] for node in kinds[name]["nodes"]])

    def test_the_table_says_how_busy_the_machine_was(self):
        found = {name: self.tool.results([1.0], None) for name in ("deadline", "failure", "small")}
        found.update(wrong=0, others_share=0.25, host_share=0.0)
        rows = dict(self.tool.table(found, argparse.Namespace(deadline_ms=50, busy_ms=3000)))
        self.assertEqual(rows["others' share of the processors"], "25.0%, and the host's 0.0%")
        self.assertIn("a deadline of 50 ms over 3 s of computing", rows)


if __name__ == "__main__":
    unittest.main()
