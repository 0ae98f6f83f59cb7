# tests/tools/test_bench_runs.py: how programs are run, what of their output is believed, and what the report says of it.
import contextlib
import io
import itertools
import json
import tempfile
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path
from types import SimpleNamespace

from tree import load

BENCH = load("bench")
from benchlib import plots, programs, report, results, runner, suite  # noqa: E402

LINE = {"subject": "s", "case": "c", "params": {"n": 1}, "contender": "braid", "kind": "ours", "version": "1", "compiler": "x",
        "round": 0, "items": 2, "wall_ns": 100, "cpu_ns": 100, "peak_kib": 1024, "extra": {}, "check": True}
CASE = suite.Case("s", "c", "a thing", ("s", "c"), [suite.Metric("", suite.WALL, "ns")], {"n": 1}, {}, {}, [],
                  [suite.Target({}, "", 10, None)], [suite.Known("elsewhere", 1, 80)], 20)


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, name, script):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return str(path)

    def run_point(self, *scripts, time_limit_s=10, rounds=1):
        everyone = [runner.Contender(f"who{number}", "ours", self.program(f"p{number}", script))
                    for number, script in enumerate(scripts)]
        runs = runner.Runner({("s", "c"): everyone}, time_limit_s)
        for number in range(rounds):
            runs.run_round(next(suite.points_of(CASE)), number)
        return runs

    @staticmethod
    def printing(**changes):
        return f"echo '{json.dumps(LINE | changes)}'\n"

    def test_a_sample_gets_its_round_and_its_parameters(self):
        runs = self.run_point(self.printing(round=5, params={}), rounds=2)
        self.assertEqual([(sample["round"], sample["params"]) for sample in runs.samples], [(0, {"n": 1}), (1, {"n": 1})])
        self.assertIn("others_cpu_ms", runs.samples[0]["extra"])
        self.assertFalse(runs.failures)

    def test_the_case_the_contender_and_the_parameters_are_handed_over(self):
        runs = self.run_point(f'echo "$@" > {self.folder}/said\n' + self.printing())
        self.assertFalse(runs.failures)
        self.assertEqual((self.folder / "said").read_text().split(),
                         "--case c --contender who0 --rounds-in-process 1 --n 1".split())

    def build_folder(self, name, wall_ns):
        """With a program of ours that takes so long for each of a batch of jobs."""
        (self.folder / name / "bin").mkdir(parents=True)
        line = LINE | {"subject": "jobs", "case": "basic", "items": 1, "wall_ns": wall_ns}
        self.program(f"{name}/bin/bench_jobs_braid", f"echo '{json.dumps(line)}'\n[ $1 = --list ] || echo {name} >> {self.folder}/order\n")
        return str(self.folder / name)

    def test_two_builds_run_by_turns_and_are_compared(self):
        folders = [self.build_folder("old", 100), self.build_folder("new", 200)]
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = BENCH.main(["pair", *folders, "jobs", "--case", "basic", "--rounds", "8", "--output", str(self.folder)])
        self.assertEqual(status, 1, said.getvalue())
        self.assertRegex(said.getvalue(), r"slower: [1-9]\d*\n  jobs/basic.* \| braid: 100 → 200 .*, 2.00 times")
        by_round = (self.folder / "order").read_text().split()
        points = len(by_round) // 16
        self.assertEqual(by_round, (["old", "new"] * points + ["new", "old"] * points) * 4)
        for side in ("old", "new"):
            self.assertEqual(len(results.read_samples(self.folder / side / "samples.jsonl")), 8 * points)

    def test_a_folder_without_programs_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "has no bin/bench_"):
            BENCH.main(["pair", str(self.folder), str(self.folder), "jobs"])

    def test_who_begins_changes_from_round_to_round(self):
        name = f"basename $0 >> {self.folder}/order\n"
        self.run_point(name + self.printing(), name + self.printing(), rounds=2)
        self.assertEqual((self.folder / "order").read_text().split(), ["p0", "p1", "p1", "p0"])

    def test_a_program_that_hangs_is_killed_with_all_that_it_started(self):
        begin = time.monotonic()
        runs = self.run_point("sleep 60 & sleep 60\n", time_limit_s=0.2)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn("killed after 0.2 s", runs.failures[0].why)

    def test_who_has_failed_is_not_asked_again(self):
        runs = self.run_point(f"echo x >> {self.folder}/asked; exit 3\n", rounds=3)
        self.assertEqual((self.folder / "asked").read_text().count("x"), 1)
        self.assertEqual(len(runs.failures), 1)

    def test_what_is_no_good_sample_is_a_failure(self):
        for script, why in (("", "printed no sample"), (self.printing(check=False), "a result was wrong"),
                            ("echo what\n", "no JSON"), (self.printing(wall_ns="fast"), "wall_ns"),
                            ("echo '{}'\n", "lacks subject"), ("echo 3\n", "no sample"),
                            (self.printing() + "echo broken >&2; exit 4\n", "ended with 4: broken")):
            runs = self.run_point(script)
            self.assertEqual(len(runs.failures), 1, script)
            self.assertIn(why, runs.failures[0].why)
            self.assertFalse(runs.samples)

    def test_a_list_says_who_solves_what(self):
        line = json.dumps({"subject": "s", "case": "c", "contender": "braid", "kind": "ours"})
        good, bad = self.program("good", f"echo '{line}'\n"), self.program("bad", "echo nothing\n")
        found, failures = runner.contenders_of([good, bad])
        self.assertEqual(found, {("s", "c"): [runner.Contender("braid", "ours", good)]})
        self.assertEqual([failure.contender for failure in failures], [bad])

    def test_a_missing_tool_is_named(self):
        with self.assertRaisesRegex(programs.Left, "no_such_tool is not there"):
            programs.tool("no_such_tool", "/nowhere/no_such_tool")
        builder = programs.Builder(self.folder)
        with self.assertRaisesRegex(programs.Left, "sh -c failed: error: what"):
            builder.run("sh", "-c", "echo first; echo error: what; echo last; exit 1")

    def test_no_further_round_begins_when_the_time_is_over(self):
        class Slow:
            rounds = []

            def run_round(self, _point, number):
                self.rounds.append(number)

        self.assertEqual(BENCH.measure(Slow(), [1, 2], 7, ends_at=time.monotonic() - 1), 1)
        self.assertEqual(Slow.rounds, [0, 0])


class Report(unittest.TestCase):
    RUN = {"machine": {"date": "today", "commit": "abc", "processor": "p", "processors": 2, "memory_mib": 1, "system": "s",
                       "virtual": True}, "is_quick": True, "rounds": 2, "rounds_wanted": 3, "minutes": 1, "subjects": ["s"],
           "others_share": 0.4, "host_share": 0.0, "left_out": {"Rust": "cargo is not there"},
           "failures": [{"row": "s/c/n:1", "contender": "slow", "why": "killed after 1 s"}]}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        samples = [LINE | {"round": number, "wall_ns": 100 + number} for number in range(2)]
        samples += [each | {"contender": "other", "kind": "rival", "wall_ns": 50} for each in samples]
        report.write(self.folder, self.RUN, samples, [CASE])
        self.text = (self.folder / "REPORT.md").read_text()

    def test_what_we_lose_comes_before_targets_and_rows(self):
        places = [self.text.index(head) for head in ("## What we lose", "## Targets", "## All rows", "## Left out and failed")]
        self.assertEqual(places, sorted(places))
        self.assertIn("| `s/c/n:1` | braid | 50.2 | other | 25 | ns | 2.01 |", self.text)

    def test_it_says_what_it_is_and_what_is_missing(self):
        for words in ("A quick run", "other processes took 40%", "cargo is not there", "killed after 1 s", "2 of 3", "**missed**",
                      "| elsewhere | 1 | 80 | 4.00 |"):
            self.assertIn(words, self.text)

    def test_the_samples_can_be_read_again(self):
        samples = results.read_samples(self.folder / "samples.jsonl")
        self.assertEqual(len(samples), 4)
        self.assertEqual(json.loads((self.folder / "run.json").read_text()), self.RUN)

    def test_plots_are_drawings_with_every_contender(self):
        plot = (self.folder / "s-c.svg").read_text()
        xml.etree.ElementTree.fromstring(plot)
        self.assertIn("prefers-color-scheme: dark", plot)
        for name in ("braid", "other"):
            self.assertIn(f">{name}<", plot)

    def test_lines_and_odd_values_are_drawn(self):
        for drawing in (plots.lines("t", "ns", "n", [("a & b", [(1, 2), (1000, 3)]), ("c", [(1, 0)])]), plots.lines("t", "ns", "n", []),
                        plots.bars("t", "ns", [("g", [("a", "ours", 0, 0, 0), ("b", "rival", 1e9, 1, 2e9)])])):
            xml.etree.ElementTree.fromstring(drawing)
            self.assertNotIn("nan", drawing)

    def test_the_axis_of_a_growing_case_is_the_first_parameter_of_those_that_vary_as_much(self):
        for names in itertools.permutations(("jobs", "repeats", "workers", "tasks", "depth")):
            sizes = [{name: 2 if name == "workers" else 10 ** step for name in names} for step in range(3)]
            rows = [SimpleNamespace(point=SimpleNamespace(params=params)) for params in sizes]
            first = next(name for name in names if name != "workers")
            self.assertEqual(report.growing(rows), first)

    def test_a_case_whose_parameters_have_two_values_or_words_has_no_axis(self):
        for values in ((1, 2), ("a", "b", "c")):
            rows = [SimpleNamespace(point=SimpleNamespace(params={"n": value})) for value in values]
            self.assertIsNone(report.growing(rows))

    def test_amounts_have_three_digits(self):
        self.assertEqual([plots.amount(value) for value in (0, 0.01234, 12.345, 1234.5, 12345, 2.5e6, 3e9)],
                         ["0", "0.0123", "12.3", "1234", "12.3k", "2.5M", "3G"])


if __name__ == "__main__":
    unittest.main()
