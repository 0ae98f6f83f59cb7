# tests/tools/test_bench_statistics.py: ranks, their test, and whether a change from one run to another is told.
import random
import unittest

from tree import load

load("bench")
from benchlib import comparison, results, stats, suite  # noqa: E402

CASE = suite.Case("s", "c", "what", ("s", "c"), [suite.Metric("", suite.WALL, "ns")], {}, {}, {}, [], [], [], None)


def sample(contender, kind, number, wall_ns, params):
    return {"subject": "s", "case": "c", "params": params, "contender": contender, "kind": kind, "version": "1",
            "compiler": "x", "round": number, "items": 1, "wall_ns": wall_ns, "cpu_ns": wall_ns, "peak_kib": 1,
            "extra": {}, "check": True}


def measured(seed, slowdown=1.0, machine=1.0, rounds=7, points=8, noise=0.08):
    """Samples of a run: ours, and a rival. Both suffer from the machine, ours also from `slowdown`."""
    draws = random.Random(seed)
    all_ = []
    for size in range(1, points + 1):
        for number in range(rounds):
            for name, kind, factor in (("braid", "ours", slowdown), ("other", "rival", 1.0)):
                value = 1000 * size * factor * machine * (1 + draws.expovariate(1 / noise))
                all_.append(sample(name, kind, number, value, {"n": size}))
    return results.rows_of(all_, [CASE])


def verdicts(old, new):
    done = comparison.compare(old, new)
    return [change.verdict for change in done.changes]


class Ranks(unittest.TestCase):
    def test_equal_values_share_their_ranks(self):
        self.assertEqual(stats.ranks([30, 10, 20, 10]), [4, 1.5, 3, 1.5])

    def test_the_test_agrees_with_printed_tables(self):
        self.assertAlmostEqual(stats.rank_test([1, 2, 3], [4, 5, 6]), 2 / 20)
        self.assertAlmostEqual(stats.rank_test(list(range(7)), list(range(10, 17))), 2 / 3432)
        self.assertAlmostEqual(stats.rank_test([1, 4], [2, 3]), 1.0)

    def test_what_is_the_same_is_not_told_apart(self):
        self.assertEqual(stats.rank_test([5, 5, 5], [5, 5, 5]), 1.0)
        self.assertEqual(stats.rank_test([], [1]), 1.0)
        self.assertEqual(stats.rank_test([5.0] * 20, [5.0] * 20), 1.0)

    def test_many_values_are_judged_by_the_normal_distribution(self):
        left, right = list(range(0, 60, 2)), list(range(1, 61, 2))
        self.assertGreater(stats.rank_test(left, right), 0.8)
        self.assertLess(stats.rank_test(left, [value + 40 for value in right]), 1e-4)

    def test_many_rows_need_more_certainty(self):
        for wanted, got in zip([0.03, 0.04, 0.04, 0.5], stats.among_many([0.0075, 0.03, 0.02, 0.5])):
            self.assertAlmostEqual(wanted, got)
        self.assertEqual(stats.among_many([]), [])

    def test_spread_and_quantile(self):
        self.assertAlmostEqual(stats.spread([90, 100, 120]), 0.3)
        self.assertEqual(stats.quantile([4, 1, 3, 2], 0.5), 2)
        self.assertEqual(stats.quantile([4, 1, 3, 2], 1), 4)


class Comparison(unittest.TestCase):
    def test_a_second_run_of_the_same_is_not_slower(self):
        for seed in range(20):
            self.assertNotIn("slower", verdicts(measured(seed), measured(seed + 1000)), f"seed {seed}")

    def test_a_build_that_is_slower_is_told(self):
        self.assertEqual(verdicts(measured(1), measured(2, slowdown=1.5)), ["slower"] * 8)

    def test_a_build_that_is_faster_is_told(self):
        self.assertEqual(verdicts(measured(1, slowdown=1.5), measured(2)), ["faster"] * 8)

    def test_a_slower_machine_is_no_slower_build(self):
        self.assertEqual(verdicts(measured(1), measured(2, machine=1.4)), ["same"] * 8)

    def test_a_change_below_what_matters_is_no_change(self):
        self.assertEqual(verdicts(measured(1, noise=1e-4), measured(2, slowdown=1.02, noise=1e-4)), ["same"] * 8)

    def test_too_few_rounds_are_said(self):
        done = comparison.compare(measured(1, rounds=2), measured(2, rounds=2, slowdown=3))
        self.assertIn("too few rounds", comparison.text_of(done))
        self.assertNotIn("too few rounds", comparison.text_of(comparison.compare(measured(1), measured(2))))

    def test_one_slower_row_among_many_needs_more_rounds(self):
        done = comparison.compare(measured(1, points=180), measured(2, points=180))
        self.assertEqual(done.min_rows, 3)
        self.assertIn("fewer than 3 changed rows", comparison.text_of(done))
        self.assertEqual(comparison.compare(measured(1), measured(2)).min_rows, 1)

    def test_rows_of_one_file_only_are_counted(self):
        done = comparison.compare(measured(1, points=3), measured(1, points=2))
        self.assertEqual((len(done.changes), len(done.only_old), len(done.only_new)), (2, 2, 0))

    def test_the_text_names_what_changed(self):
        text = comparison.text_of(comparison.compare(measured(1), measured(2, slowdown=2)))
        self.assertIn("slower: 8", text)
        self.assertIn("s/c/n:3 | braid", text)


class Rows(unittest.TestCase):
    def test_a_round_counts_once_however_many_samples_it_has(self):
        samples = [sample("braid", "ours", number, wall, {}) for number, wall in ((0, 10), (0, 30), (0, 20), (1, 50))]
        column = results.rows_of(samples, [CASE])[0].columns["braid"]
        self.assertEqual(column.values, [20, 50])

    def test_losses_come_worst_first_and_references_do_not_count(self):
        samples = [sample(name, kind, 0, wall, {"n": n}) for n, name, kind, wall in (
            (1, "braid", "ours", 12), (1, "other", "rival", 10), (1, "loop", "reference", 1),
            (2, "braid", "ours", 40), (2, "other", "rival", 10),
            (3, "braid", "ours", 5), (3, "braid slow", "ours", 50), (3, "other", "rival", 10))]
        losses = results.losses_of(results.rows_of(samples, [CASE]))
        self.assertEqual([(loss.row.id, loss.ratio) for loss in losses], [("s/c/n:2", 4), ("s/c/n:1", 1.2)])

    def test_targets_are_judged_by_the_best_of_ours(self):
        case = CASE._replace(targets=[suite.Target({}, "", 20, None), suite.Target({}, "", None, 1.05)])
        samples = [sample("braid", "ours", 0, 30, {}), sample("braid b", "ours", 0, 15, {}), sample("other", "rival", 0, 14, {})]
        row = results.rows_of(samples, [case])[0]
        self.assertEqual([verdict.is_met for verdict in results.verdicts_of(row)], [True, False])


if __name__ == "__main__":
    unittest.main()
