"""tests/sim/test_traces.py: traces of simulated runs, which tests/trace/trace_check reads.

BRAID_SIM names the command, and BRAID_SIM_PROGRAMS the folder of the programs."""
import importlib.machinery
import importlib.util
import re
import subprocess
import unittest
from collections import defaultdict

from tests.sim import test_worlds as worlds
from tests.sim.test_worlds import CLIENT_AND_SERVER, event, machine


def load_tool():
    loader = importlib.machinery.SourceFileLoader("trace_check", "tests/trace/trace_check")
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("trace_check", loader))
    loader.exec_module(tool)
    return tool


TOOL = load_tool()


class Traces(worlds.World):
    def setUp(self):
        super().setUp()
        self.trace_file = self.file.parent / "run.pftrace"

    def read(self, errors):
        self.assertIn(f"braid-sim: the trace is in {self.trace_file}; open it at https://ui.perfetto.dev\n", errors)
        trace = TOOL.Trace(self.trace_file.read_bytes())
        summary = TOOL.Summary(trace)
        self.assertEqual((summary.slices, summary.extra_ends, trace.cut), (summary.closed, 0, False), summary.line())
        self.assertEqual(summary.slices, sum(kind == TOOL.BEGIN for _, _, kind, *_ in trace.events))
        return trace, summary

    def names_on(self, trace, track_name):
        return [name for _, track, kind, name, *_ in trace.events
                if trace.tracks.get(track) == track_name and kind in (TOOL.BEGIN, TOOL.INSTANT)]

    def check_one_thread_runs_at_a_time(self, trace):
        """Only one thread has the token: two slices `runs` do not overlap."""
        open_at, runs = {}, []
        for time, track, kind, name, *_ in trace.events:
            if kind == TOOL.BEGIN:
                open_at[track] = (time, name)
            elif kind == TOOL.END:
                begin, shown = open_at.pop(track)
                if shown == "runs":
                    runs.append((begin, time))
        runs.sort()
        self.assertGreater(len(runs), 5)
        for (_, end), (begin, _) in zip(runs, runs[1:]):
            self.assertLessEqual(end, begin)

    def test_a_world_has_a_process_for_each_machine_and_arrows_between_them(self):
        text = CLIENT_AND_SERVER + machine("client", "ask", "server", "5")
        text += event("1500ms", 'cut = ["client", "server"]') + event("3s", 'heal = ["client", "server"]')
        status, _, errors = self.simulate(text, "--trace", str(self.trace_file))
        self.assertEqual(status, 0, errors)
        trace, summary = self.read(errors)
        self.assertEqual({"server", "client", "world"} - set(trace.tracks.values()), set())
        self.check_one_thread_runs_at_a_time(trace)
        self.assertEqual(summary.names["sends data"], summary.names["receives data"])
        self.assertEqual(summary.names["receives acknowledged"], 1)
        self.assertEqual(summary.resolved, sum(len(ends) for *_, ends, _, _ in trace.events))
        self.assertGreaterEqual(summary.resolved, 13)
        self.assertEqual(self.names_on(trace, "cuts and faults")[:2], ["cut from client to server", "cut from server to client"])
        self.assertGreater(summary.names["waits: read"], 5)
        self.assertGreater(summary.names["waits: sleep"], 4)
        self.assertEqual(summary.names["ended with status 0"], 1)
        untraced = self.simulate(text)
        self.assertEqual(worlds.hash_in(untraced[2]), worlds.hash_in(errors))

    def test_crashes_and_starts_of_machines_are_marks(self):
        text = CLIENT_AND_SERVER + machine("client", "persist", "server", "20", more="must_end = true\n")
        text += event("1s", 'crash = "server"') + event("2s", 'restart = "server"')
        status, _, errors = self.simulate(text, "--trace", str(self.trace_file), "--resets", "1", "--fault-rate", "3")
        self.assertEqual(status, 0, errors)
        trace, summary = self.read(errors)
        self.check_one_thread_runs_at_a_time(trace)
        self.assertEqual([summary.names[name] for name in ("crash", "restart", "fault: resets")], [1, 1, 1])
        self.assertIn("thread 1, start 2", trace.tracks.values())

    def test_clocks_that_drift_do_not_move_the_threads(self):
        text = machine("slow", "clocks", "x", "50", more="clock_drift_ppm = -100000\n")
        status, _, errors = self.simulate(text, "--trace", str(self.trace_file))
        self.assertEqual(status, 0, errors)
        trace, _ = self.read(errors)
        ended = float(re.search(r"ended with status 0 at ([0-9.]+) s", errors)[1])
        last = max(time for time, *_ in trace.events) / 1e9
        self.assertAlmostEqual(last, ended, delta=0.001)

    def test_a_search_traces_the_failing_seed_with_the_fewest_faults(self):
        text = '[faults]\nkills = 3\nresets = 4\n' + CLIENT_AND_SERVER + machine("client", "ask", "server", "15")
        status, smallest, errors = self.simulate(text, "--trace", str(self.trace_file), "--fault-rate", "5", command="search",
                                                 duration="20s")
        self.assertEqual(status, 1, errors)
        trace, summary = self.read(errors)
        faults = sum(summary.names[name] for name in ("kill", "fault: resets"))
        self.assertEqual(faults, len(re.findall(r"^kill|--resets", smallest, re.M)), smallest)
        self.assertEqual(faults, 1)
        self.assertIn("ended with status 6", self.names_on(trace, "events and packets"))

    def test_a_program_has_the_names_of_its_threads(self):
        for command, seeds in (("run", ("--seed", "7")), ("search", ("--seeds", "1..100"))):
            done = subprocess.run([worlds.SIMULATOR, command, *seeds, "--trace", str(self.trace_file), "--",
                                   f"{worlds.PROGRAMS}/lost_wake_up"], capture_output=True, text=True, check=False)
            trace, summary = self.read(done.stderr)
            self.check_one_thread_runs_at_a_time(trace)
            self.assertIn("waiter", trace.tracks.values())
        self.assertEqual(summary.names["waits: condition wait"], 1)
        states = defaultdict(list)
        for _, track, kind, name, *_ in trace.events:
            states[trace.tracks[track]].append(name if kind == TOOL.BEGIN else "")
        self.assertEqual(states["waiter"][-2:], ["waits: condition wait", ""])  # the deadlock

    def test_a_trace_that_cannot_be_written_is_one_sentence(self):
        world = machine("a", "exit", "x", "0")
        for file, why in (("/nowhere/run.pftrace", "No such file or directory"), (self.file.parent, "Is a directory")):
            sentence = (f"braid-sim: --trace must name a file that can be written, got `{file}`: {why}; "
                        "the folder of the file must exist\n")
            for command in ("run", "search"):  # before anything runs
                status, _, errors = self.simulate(world, "--trace", str(file), command=command)
                self.assertEqual((status, errors), (2, sentence))
            done = subprocess.run([worlds.SIMULATOR, "run", "--trace", str(file), "--", f"{worlds.PROGRAMS}/ends"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", sentence))

    def test_a_search_that_finds_nothing_leaves_the_file_of_the_trace_as_it_is(self):
        for content in (None, "earlier"):
            if content:
                self.trace_file.write_text(content)
            status, _, errors = self.simulate(machine("a", "exit", "x", "0"), "--trace", str(self.trace_file), "--seeds", "1..2",
                                              command="search")
            self.assertEqual(status, 0, errors)
            self.assertEqual(self.trace_file.read_text() if self.trace_file.exists() else None, content)


if __name__ == "__main__":
    unittest.main()
