# tests/tools/test_bench_suite.py: what is read from subject.toml, and how it becomes points and ids.
import tempfile
import textwrap
import unittest
from pathlib import Path

from tree import TOOLS, load

load("bench")
from benchlib import suite  # noqa: E402  (tree.load has made it findable)

SUBJECT = """
what = "Trees."

[[case]]
name = "walk"
what = "a walk"
unit = "ns per node"
params = { depth = [3, 4], size = [{ a = 1, b = 2 }, { a = 3, b = 4 }] }
quick = { depth = 2 }
metrics = [{ name = "p50", of = "p50_us", unit = "us" }, { name = "", of = "wall" }]
target = [{ where = { depth = 3 }, at_most = 5 }]
"""


class Suite(unittest.TestCase):
    def read(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "trees" / "subject.toml"
        path.parent.mkdir()
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return suite.read_suite(Path(folder.name))

    def test_every_combination_of_parameters_is_a_point(self):
        ids = [point.id for point in suite.points_of(self.read(SUBJECT)[0])]
        self.assertEqual(ids, ["trees/walk/depth:3/a:1/b:2", "trees/walk/depth:3/a:3/b:4",
                               "trees/walk/depth:4/a:1/b:2", "trees/walk/depth:4/a:3/b:4"])

    def test_a_quick_run_replaces_what_it_names_and_nothing_else(self):
        ids = [point.id for point in suite.points_of(self.read(SUBJECT)[0], "quick")]
        self.assertEqual(ids, ["trees/walk/depth:2/a:1/b:2", "trees/walk/depth:2/a:3/b:4"])

    def test_a_row_is_a_figure_of_a_point(self):
        case = self.read(SUBJECT)[0]
        point = next(suite.points_of(case))
        self.assertEqual(suite.row_id(point, case.metrics[0]), "trees/walk/depth:3/a:1/b:2/p50")
        self.assertEqual(suite.row_id(point, case.metrics[1]), point.id)
        self.assertEqual([metric.unit for metric in case.metrics], ["us", "ns per node"])

    def test_figures_are_read_from_samples(self):
        p50, wall = self.read(SUBJECT)[0].metrics
        sample = {"items": 4, "wall_ns": 100, "extra": {"p50_us": 7}}
        self.assertEqual((p50.value(sample), wall.value(sample)), (7, 25))
        self.assertIsNone(p50.value({"items": 1, "wall_ns": 1, "extra": {}}))

    def test_a_target_is_for_the_points_that_it_names(self):
        case = self.read(SUBJECT)[0]
        met = [point.params["depth"] for point in suite.points_of(case) if case.targets[0].meets(point, case.metrics[0])]
        self.assertEqual(met, [3, 3])

    def test_what_nobody_knows_or_nobody_says_is_refused(self):
        for wrong in (SUBJECT.replace("unit =", "unitt ="), SUBJECT.replace("quick = { depth", "quick = { width"),
                      SUBJECT.replace("at_most = 5", "at_most = 5, factor_of_best = 1"),
                      SUBJECT.replace(", at_most = 5", "")):
            with self.assertRaises(suite.SuiteError):
                self.read(wrong)

    def test_the_suite_of_the_repository_can_be_read_and_runs_quickly_what_it_runs(self):
        cases = suite.read_suite(TOOLS.parent / "bench")
        subjects = {case.subject for case in cases}
        self.assertLessEqual({"limits", "fork_join", "enqueue", "continuations", "jobs", "pools", "threads", "latency", "growth"},
                             subjects)
        for case in cases:
            self.assertLessEqual(len(list(suite.points_of(case, "quick"))), len(list(suite.points_of(case))), case.name)
        ids = [point.id for case in cases for point in suite.points_of(case)]
        self.assertEqual(len(ids), len(set(ids)))

    def test_growth_goes_over_three_decades(self):
        for case in suite.read_suite(TOOLS.parent / "bench"):
            if case.subject == "growth":
                self.assertEqual(len(list(suite.points_of(case))), 4, case.name)


if __name__ == "__main__":
    unittest.main()
