# tests/trace/programs.py: programs with BRAID_TRACE in their environment, and what tests/trace/trace_check reads of their traces.
import collections
import importlib.machinery
import importlib.util
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PROGRAM = EXAMPLE = None
RANKD = os.environ.get("BRAID_TRACED_RANKD")
DOCTOR = os.environ["BRAID_DOCTOR"]


def load_tool():
    loader = importlib.machinery.SourceFileLoader("trace_check", str(REPOSITORY / "tests" / "trace" / "trace_check"))
    spec = importlib.util.spec_from_loader("trace_check", loader)
    tool = importlib.util.module_from_spec(spec)
    loader.exec_module(tool)
    return tool


TOOL = load_tool()


class Traced(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "t.pftrace"

    def run_program(self, *words, options="", program=None, file=None):
        """Runs it traced; what it has printed."""
        environment = dict(os.environ, BRAID_TRACE=f"{file or self.file}{options}")
        if "fork" in words:
            # In the child the thread sanitizer refuses threads, and that of leaks looks for those of the parent.
            for name, option in (("TSAN_OPTIONS", "die_after_fork=0"), ("ASAN_OPTIONS", "detect_leaks=0")):
                environment[name] = ":".join(filter(None, (os.environ.get(name), option)))
        return subprocess.run([program or PROGRAM, *words], env=environment, capture_output=True, text=True, timeout=100)

    def trace_of(self, *words, options="", program=None):
        ended = self.run_program(*words, options=options, program=program)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return TOOL.Trace(self.file.read_bytes())

    def whole(self, trace):
        """The summary of a trace in which every slice is closed and nothing is lost."""
        summary = TOOL.Summary(trace)
        self.assertEqual((summary.slices, summary.extra_ends, summary.lost), (summary.closed, 0, 0), summary.line())
        return summary

    def names_on(self, trace, track_name):
        """The names of what begins on the tracks of this name, in order."""
        tracks = {track for track, name in trace.tracks.items() if name == track_name}
        self.assertTrue(tracks, f"{track_name} is none of {sorted(trace.tracks.values())}")
        return [name for _, track, kind, name, *_ in trace.events if track in tracks and kind in (TOOL.BEGIN, TOOL.INSTANT)]

    def test_the_example_shows_its_spans_its_counter_and_its_tasks(self):
        trace = self.trace_of(program=EXAMPLE)
        summary = self.whole(trace)
        self.assertEqual(summary.names["square"], 20)
        self.assertEqual(summary.counters, 20)
        self.assertGreaterEqual(summary.resolved, 20)
        for sleeper in ("first sleeper (task 1)", "second sleeper (task 2)"):
            states = self.names_on(trace, sleeper)
            self.assertEqual(states[0], "running")
            self.assertEqual(states.count("sleep"), 3, states)
        self.assertIn("braid-loop", trace.tracks.values())

    def test_each_job_is_at_the_end_of_the_arrow_from_its_post(self):
        trace = self.trace_of("jobs")
        summary = self.whole(trace)
        self.assertEqual(summary.names["post"], 200)
        self.assertEqual(sum(count for name, count in summary.names.items() if "jobs()::" in name), 200, summary.names)
        ends = [end for *_, ends, _, _ in trace.events for end in ends]
        self.assertEqual(summary.resolved, len(ends))
        workers = [name for name in trace.tracks.values() if name.startswith("traced-")]
        self.assertTrue(workers, trace.tracks)

    def test_a_task_is_in_one_state_after_the_other(self):
        trace = self.trace_of("tasks")
        self.whole(trace)
        states = self.names_on(trace, "the named one (task 1)")
        self.assertEqual([each for each in states if each == "sleep"], ["sleep"] * 3)
        self.assertEqual(states[0], "running")
        at = collections.defaultdict(int)
        for _, track, kind, *_ in trace.events:
            if "(task" in trace.tracks.get(track, "") or trace.tracks.get(track, "").startswith("task "):
                at[track] += {TOOL.BEGIN: 1, TOOL.END: -1}[kind]
                self.assertIn(at[track], (0, 1))
        self.assertEqual(len(at), 3)

    def test_jobs_that_block_have_threads_with_names(self):
        trace = self.trace_of("blocking")
        self.whole(trace)
        self.assertEqual(sum("blocking()::" in name for *_, name, _, _, _, _ in trace.events), 3)

    def test_spans_nest_and_counters_go_below_zero(self):
        trace = self.trace_of("spans")
        summary = self.whole(trace)
        self.assertEqual([summary.names[name] for name in ("outer", "inner 0", "inner 1", "here")], [1, 5, 5, 10])
        self.assertEqual([value for _, _, kind, _, _, _, value, _ in trace.events if kind == TOOL.COUNTER], list(range(0, -10, -1)))

    def test_what_is_not_wanted_is_not_there(self):
        only = self.whole(self.trace_of("jobs", "tasks", "spans", options=",what=tasks"))
        self.assertEqual(only.names["post"], 0)
        self.assertEqual((only.names["tick"], only.names["wait"]), (0, 0))
        self.assertEqual((only.names["outer"], only.names["sleep"] > 4), (1, True))

    def test_a_child_of_a_fork_writes_nothing(self):
        summary = self.whole(self.trace_of("fork"))
        self.assertEqual(summary.names["around the fork"], 1)
        self.assertEqual(summary.names["of the child"], 0)
        self.assertEqual(summary.names["post"], 200)

    def test_threads_that_have_ended_are_there_and_their_rings_are_not(self):
        trace = self.trace_of("threads")
        self.assertEqual(self.whole(trace).names["of a thread"], 50)

    def test_what_a_ring_had_no_room_for_is_counted(self):
        trace = self.trace_of("flood", options=",mb=100")
        summary = TOOL.Summary(trace)
        self.assertEqual((summary.slices, summary.extra_ends), (summary.closed, 0))
        self.assertEqual(2 * summary.slices + summary.lost, 2 * 200_001)

    def test_a_file_that_is_full_closes_what_is_open_and_counts_the_rest(self):
        trace = self.trace_of("flood", options=",mb=1")
        summary = TOOL.Summary(trace)
        self.assertEqual((summary.slices, summary.extra_ends), (summary.closed, 0))
        self.assertEqual(2 * summary.slices + summary.lost, 2 * 200_001)
        self.assertLess(self.file.stat().st_size, 2 << 20)

    def recorded(self, *words, options, number=1):
        """What a flight recorder wrote, and what the program printed."""
        ended = self.run_program(*words, options=options)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertFalse(self.file.exists())
        self.assertEqual(list(self.file.parent.glob("*.part")), [])
        return TOOL.Trace(Path(f"{self.file}.{number}").read_bytes()), ended

    def test_a_flight_recorder_has_the_last_seconds_and_the_begin_of_what_was_under_way(self):
        trace, ended = self.recorded("remember", options=",last=300ms")
        self.assertIn("11\n", ended.stdout)
        self.assertRegex(ended.stderr, r"^braid: trace of the last 0.3 s in .*t\.pftrace\.1 \(\d+ records\): slow request\n$")
        self.assertFalse(Path(f"{self.file}.2").exists())
        names = self.whole(trace).names
        self.assertEqual((names["outer"], names["saved: slow request"]), (1, 1))
        self.assertGreaterEqual(names["recent"], 1)
        self.assertLess(names["old"], 2000)
        self.assertEqual(sum("jobs()::" in name for name in names), 0, names)
        self.assertEqual(self.names_on(trace, "the sleeper (task 1)")[0], "sleep")

    def test_a_signal_asks_for_a_file_of_all_that_is_kept(self):
        trace, ended = self.recorded("jobs", "spans", "signal", options=",last=60s,on=signal")
        self.assertIn("SIGUSR2", ended.stderr)
        names = self.whole(trace).names
        self.assertEqual((names["inner 1"], names["post"], names["saved: SIGUSR2"]), (5, 200, 1))

    def test_what_is_kept_is_bounded(self):
        trace, ended = self.recorded("bursts", "save", options=",last=60s,mb=1")
        summary = TOOL.Summary(trace)
        self.assertEqual((summary.slices, summary.extra_ends), (summary.closed, 0))
        self.assertLessEqual(summary.slices, (1 << 20) // 16 // 2 + 1)
        self.assertGreater(summary.slices, 10_000)
        self.assertEqual(summary.names["outer"], 1)

    def test_nothing_is_saved_where_nothing_is_kept(self):
        ended = self.run_program("save")
        self.assertEqual((ended.stdout, ended.stderr), ("0\ndone\n", ""))
        quiet = self.run_program("spans", options=",last=60s")
        self.assertEqual((quiet.stdout, quiet.stderr), ("done\n", ""))
        self.assertEqual(list(self.file.parent.glob("*.pftrace.*")), [])

    def test_a_program_reads_the_last_seconds_and_no_more(self):
        environment = dict(os.environ, BRAID_TRACE=f"{self.file},last=60s")
        ended = subprocess.run([PROGRAM, "jobs", "read_back"], env=environment, capture_output=True, timeout=100)
        self.assertEqual((ended.returncode, ended.stderr), (0, b""))
        trace = TOOL.Trace(ended.stdout)
        names = self.whole(trace).names
        self.assertEqual((names["outer"], names["old"], names["post"], names["saved: asked for"]), (1, 0, 0, 1))
        self.assertGreaterEqual(names["recent"], 1)
        self.assertEqual(list(self.file.parent.glob("*.pftrace.*")), [])
        self.assertEqual(self.run_program("read_back").stdout, "Operation not supported")

    def test_a_killed_program_leaves_what_was_written(self):
        environment = dict(os.environ, BRAID_TRACE=str(self.file))
        with subprocess.Popen([PROGRAM, "endless"], env=environment, stdout=subprocess.PIPE, text=True) as program:
            while self.file.stat().st_size < 10_000 if self.file.exists() else True:
                self.assertTrue(program.stdout.readline())
            program.kill()
        summary = TOOL.Summary(TOOL.Trace(self.file.read_bytes()))
        self.assertGreater(summary.names["post"], 50)

    def killed(self, *words):
        """The file of a program that dies, and what tracks it has there."""
        ended = self.run_program(*words, "die", options=",recover")
        self.assertEqual((ended.returncode, ended.stderr), (-signal.SIGKILL, ""))
        self.assertTrue(self.rings().exists())

    def killed_once_written(self, *parts):
        """The file of a program that is killed when that file has these bytes."""
        environment = dict(os.environ, BRAID_TRACE=f"{self.file},recover")
        with subprocess.Popen([PROGRAM, "until_input_ends"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            self.assertEqual(program.stdout.readline(), b"waits\n")
            while any(part not in self.file.read_bytes() for part in parts):
                self.assertIsNone(program.poll())
            program.kill()

    def rings(self):
        return Path(f"{self.file}.rings")

    def recover(self):
        return subprocess.run([DOCTOR, "trace", str(self.file), "--recover"], capture_output=True, text=True, timeout=100)

    def recovered_whole(self, *pauses):
        """How many records the rings of a program that died had; with those that it had written, none is missing."""
        self.killed("jobs", "spans", "threads", "activities", *pauses, "spans")
        ended = self.recover()
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        said = re.fullmatch(r".*t\.pftrace: (\d+) records of (\d+) threads? recovered, 0 lost\n", ended.stdout)
        self.assertTrue(said, ended.stdout)
        records, threads = map(int, said.groups())
        self.assertEqual(records == 0, threads == 0, ended.stdout)
        self.assertFalse(self.rings().exists())
        trace = TOOL.Trace(self.file.read_bytes())
        self.assertFalse(trace.cut)
        summary = self.whole(trace)
        names = summary.names
        self.assertEqual([names[name] for name in ("outer", "inner 0", "inner 1", "here")], [2, 10, 10, 20])
        self.assertEqual([names[name] for name in ("open at the end", "of a thread that dies", "the last one")], [1, 1, 1])
        self.assertEqual((names["of a thread"], names["post"] >= 200), (50, True))
        self.assertEqual(sum(count for name, count in names.items() if "jobs()::" in name), 200, names)
        self.assertEqual(summary.counters, 20)
        self.assertEqual(self.names_on(trace, "the errand"), ["running", "on its way", "back"])
        self.assertEqual(self.names_on(trace, "goes on"), ["running"])
        self.assertNotIn("unknown name", names)
        self.assertEqual(self.path_of("--request", "goes on")["goes on"][0][1:][0] != "", True)
        return records

    def test_nothing_is_lost_of_a_killed_program_whose_rings_lie_in_a_file(self):
        for pauses in ((), ("pause",)):  # without one, and as a rule with one, nothing and all has been written before the end
            # On a busy machine the writer may have written all before the program is dead: not each time.
            self.assertTrue(any(self.recovered_whole(*pauses) for _ in range(20)))
        again = self.recover()
        self.assertEqual(again.returncode, 1)
        self.assertIn("t.pftrace.rings cannot be read: No such file or directory", again.stderr)

    def test_what_is_open_ends_where_all_had_been_written(self):
        self.killed_once_written(b"parked", b"wait")
        self.assertEqual(self.recover().returncode, 0)
        summary = self.whole(TOOL.Trace(self.file.read_bytes()))
        self.assertEqual((summary.names["parked"] >= 1, self.rings().exists()), (True, False))

    def test_rings_lie_where_a_kernel_with_pages_of_64_kib_can_map_them(self):
        environment = dict(os.environ, BRAID_TRACE=f"{self.file},recover")
        with subprocess.Popen([PROGRAM, "until_input_ends"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            self.assertEqual(program.stdout.readline(), b"waits\n")
            mapped = Path(f"/proc/{program.pid}/maps").read_text(encoding="utf-8").splitlines()
            program.kill()
        begins = [int(line.split()[2], 16) for line in mapped if line.endswith(".rings")]
        self.assertGreater(len(begins), 2)  # the head, and rings of two threads at least
        self.assertEqual([begin % 0x10000 for begin in begins], [0] * len(begins))

    def test_a_program_that_ends_leaves_no_rings(self):
        self.whole(self.trace_of("jobs", "threads", options=",recover"))
        self.assertFalse(self.rings().exists())

    def test_rings_are_for_a_trace_that_is_a_file(self):
        ended = self.run_program("spans", options=",recover", file="/dev/null")
        self.assertEqual((ended.returncode, ended.stdout), (0, "done\n"))
        self.assertEqual(ended.stderr, "braid: BRAID_TRACE is ignored: recover needs a regular file, but /dev/null is not a regular file\n")

    def test_what_is_not_of_this_trace_is_not_added_to_it(self):
        self.killed("spans")
        self.trace_of("spans")  # another run, which leaves the file of the first one's rings
        whole = self.file.read_bytes()
        ended = self.recover()
        self.assertEqual((ended.returncode, self.file.read_bytes()), (1, whole))
        self.assertIn("does not belong to the process that has written", ended.stderr)
        self.killed_once_written(b"parked")  # a file that is empty is that of a program which was killed at its begin
        self.file.write_bytes(self.file.read_bytes()[:10])
        self.assertEqual(self.recover().returncode, 1)
        self.assertTrue(self.rings().exists())

    def test_rings_that_are_damaged_are_refused_or_make_a_trace(self):
        self.killed("spans", "jobs")
        rings, trace = self.rings().read_bytes(), self.file.read_bytes()
        heads = [at for at in range(0, len(rings), 8) if rings[at : at + 8] != bytes(8)]
        chance = random.Random(7)
        damaged = [b"", rings[:100], rings[: len(rings) // 2], rings[: len(rings) - 4096], b"braidrng" + bytes(len(rings) - 8)]
        for _ in range(12):
            bad = bytearray(rings)
            for at in chance.sample(heads, 20) + [chance.choice(heads[:40])]:
                bad[at : at + 8] = chance.choice((bytes(8), b"\xff" * 8, chance.randbytes(8), b"\x03" + bytes(7)))
            damaged.append(bytes(bad))
        damaged.append(rings[:48] + bytes(8) + b"\x03" + bytes(7) + rings[64:])  # a clock that stands at 0
        made = 0
        for bad in damaged:
            self.file.write_bytes(trace)
            self.rings().write_bytes(bad)
            ended = self.recover()
            self.assertIn(ended.returncode, (0, 1), ended.stderr)
            if ended.returncode == 1:
                self.assertEqual((self.file.read_bytes(), self.rings().read_bytes()), (trace, bad))
                continue
            made += 1
            self.assertFalse(TOOL.Trace(self.file.read_bytes()).cut)
        self.assertGreater(made, 0)

    def test_underscore_exit_leaves_what_was_written(self):
        trace = self.trace_of("_exit")
        self.assertEqual(self.whole(trace).names["inner 1"], 5)

    def test_one_sentence_says_what_is_wrong_and_the_program_goes_on(self):
        missing = self.file.parent / "no" / "t"
        for file, options, sentence in (
                (self.file, ",mb=x", "mb=x is not a number of megabytes from 1 to 1000000"),
                (self.file, ",what=all", "what=all is not one of jobs, tasks, io and nodes"),
                (self.file, ",last=1s,recover",
                 "recover cannot be combined with last=8s, which keeps the trace in memory"),
                (self.file, ",on=signal",
                 "on=signal needs a time such as last=8s; without it the whole trace is written continuously"),
                (missing, "", f"{missing} cannot be written: No such file or directory")):
            ended = self.run_program("spans", options=options, file=file)
            self.assertEqual((ended.returncode, ended.stdout), (0, "done\n"))
            self.assertEqual(ended.stderr, f"braid: BRAID_TRACE is ignored: {sentence}\n")
            self.assertFalse(file.exists())

    def test_a_file_that_another_process_writes_is_left_alone(self):
        environment = dict(os.environ, BRAID_TRACE=str(self.file))
        with subprocess.Popen([PROGRAM, "endless"], env=environment, stdout=subprocess.PIPE, text=True) as first:
            self.assertTrue(first.stdout.readline())
            second = self.run_program("spans")
            first.kill()
        self.assertEqual(second.returncode, 0)
        self.assertIn("is being written by another process", second.stderr)

    def test_an_empty_variable_is_none(self):
        environment = dict(os.environ, BRAID_TRACE="")
        ended = subprocess.run([PROGRAM, "spans"], env=environment, capture_output=True, text=True, timeout=100)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_an_activity_has_a_track_of_its_own_across_waits_and_threads(self):
        trace = self.trace_of("activities")
        self.whole(trace)
        self.assertEqual(self.names_on(trace, "the errand"), ["running", "on its way", "back"])
        self.assertEqual(self.names_on(trace, "handed over"), ["running"])
        self.assertNotIn("never shown", TOOL.Summary(trace).names)

    def test_top_shows_workers_loops_and_what_tasks_wait_for(self):
        environment = dict(os.environ, BRAID_TOP="1")
        environment.pop("BRAID_TRACE", None)
        with subprocess.Popen([PROGRAM, "until_input_ends"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as program:
            self.assertEqual(program.stdout.readline(), "waits\n")
            ended = subprocess.run([DOCTOR, "top", str(program.pid), "--once", "--interval", "10ms"], capture_output=True,
                                   text=True, timeout=100)
            program.communicate(timeout=100)
        self.assertEqual((ended.returncode, ended.stderr, program.returncode), (0, "", 0))
        self.assertRegex(ended.stdout, r"(?m)^worker     +busy +jobs/s ")
        self.assertRegex(ended.stdout, r"(?m)^watched-0 ")
        self.assertRegex(ended.stdout, r"(?m)^watched-loop .* 3 +\d+$")
        self.assertRegex(ended.stdout, r"(?m)^sleep +3$")
        gone = subprocess.run([DOCTOR, "top", str(program.pid), "--once"], capture_output=True, text=True, timeout=100)
        self.assertEqual(gone.returncode, 1)
        self.assertIn("does not answer: start it with BRAID_TOP=1", gone.stderr)

    def test_top_does_not_advise_a_variable_that_the_program_has(self):
        for variables, expected in [({"BRAID_TOP": "1"}, "runs with BRAID_TOP=1 but does not answer: it has not created a braid pool"),
                                    ({"BRAID_TOP": "10"}, "does not answer: start it with BRAID_TOP=1"),
                                    ({}, "does not answer: start it with BRAID_TOP=1")]:
            environment = {name: value for name, value in os.environ.items() if name != "BRAID_TOP"} | variables
            with subprocess.Popen(["cat"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
                other.stdin.write("begun\n")
                other.stdin.flush()
                self.assertEqual(other.stdout.readline(), "begun\n")  # so it has its own environment
                ended = subprocess.run([DOCTOR, "top", str(other.pid), "--once"], capture_output=True, text=True, timeout=100)
                other.communicate(timeout=100)
            self.assertEqual(ended.returncode, 1)
            self.assertIn(f"process {other.pid} {expected}", ended.stderr)

    def path_of(self, *words):
        """The lines that braid-doctor prints of the trace, by the first line of each request: (us, kind, rest), and the sums."""
        ended = subprocess.run([DOCTOR, "trace", str(self.file), *words], capture_output=True, text=True, timeout=100)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        found = {}
        for text in ended.stdout.split("\n\n"):
            name, total = re.fullmatch(r"(.*): ([0-9.]+) µs", text.splitlines()[0]).groups()
            *steps, sums = text.rstrip().splitlines()[1:]
            lines = [line.split(None, 2) for line in steps]
            ns = [int(line[0].replace(".", "")) for line in lines]
            parts = [int(part.replace(".", "")) for part in re.findall(r" ([0-9]+\.[0-9]+)", sums.partition(" =")[2])]
            for whole in (sum(ns), sum(parts), int(sums.split(" =")[0].replace(".", ""))):
                self.assertEqual(whole, int(total.replace(".", "")), text)
            found[name] = [(float(line[0]), *line[1:]) for line in lines]
        return found

    def test_a_critical_path_names_what_was_planted_and_adds_up(self):
        self.whole(self.trace_of("planted"))
        paths = self.path_of()

        def longest(name, kind):
            return max((step for step in paths["request " + name] if step[1] == kind), default=(0, kind, ""))

        spent, _, what = longest("slow_node", "cpu")
        self.assertTrue(spent >= 29_000 and what.endswith(" slow_node"), paths)
        spent, _, what = longest("convoy 4", "lock")
        self.assertTrue(spent >= 29_000 and "semaphore in with_lock(), had by with_lock()" in what, paths)
        spent, _, what = longest("stalled", "queued")
        self.assertTrue(spent >= 30_000 and what.endswith("behind stalls_the_loop"), paths)
        spent, _, what = longest("queued", "queued")
        self.assertTrue(spent >= 1_000 and what.endswith("behind in_front"), paths)

    def test_a_critical_path_goes_through_a_timeout_and_a_stop(self):
        self.whole(self.trace_of("planted"))
        paths = self.path_of()
        steps = {(kind, what.split(None, 1)[-1]): spent for spent, kind, what in paths["request timed_out"]}
        self.assertGreaterEqual(steps.get(("cpu", "before_the_wait"), 0), 1_000, paths)
        self.assertGreaterEqual(steps.get(("timer", "a timer that stopped sleep in long_nap()"), 0), 5_000, paths)
        self.assertGreaterEqual(steps.get(("timer", "a timer that stopped event in waits_for_nobody()"), 0), 10_000, paths)
        (step,) = [step for step in paths["request timed_out_on_a_pool"] if step[1] == "timer"]
        self.assertTrue(step[0] >= 10_000 and step[2].endswith("a timer"), paths)
        self.assertIn("before_the_stop", str(paths["request stopped"]))
        self.assertNotIn("unknown", str(paths["request timed_out_on_a_pool"]))
        self.assertNotIn("timer", str(paths["request stopped"]))

    def test_requests_of_a_server_are_activities_by_their_patterns(self):
        def requests(word):
            trace = self.trace_of(word)
            self.whole(trace)
            return trace, sorted(name for name in trace.tracks.values() if name.startswith("GET "))

        trace, names = requests("http")
        self.assertEqual(names, ["GET (no handler)", "GET /", "GET /items/{id}"])
        self.assertEqual(self.names_on(trace, "GET /items/{id}"), ["running"])
        paths = self.path_of()
        self.assertEqual(set(paths), set(names))
        spent, _, what = max(step for step in paths["GET /items/{id}"] if step[1] == "timer")
        self.assertTrue(spent >= 10_000 and "sleep in" in what, paths)
        self.assertEqual(requests("http_without_activities")[1], [])

    def test_tracks_of_the_slowest_become_tracks_of_the_trace(self):
        self.trace_of("planted")
        paths = self.path_of("--tracks")
        trace = TOOL.Trace(self.file.read_bytes())
        self.whole(trace)
        tracks = [name for name in trace.tracks.values() if name.startswith("slowest ")]
        self.assertEqual(tracks, [f"slowest {number}: {name}" for number, name in enumerate(paths, 1)])
        self.assertIn("queued: behind stalls_the_loop", TOOL.Summary(trace).names)
        self.assertEqual(self.path_of(), paths)
        again = subprocess.run([DOCTOR, "trace", str(self.file), "--tracks"], capture_output=True, text=True, timeout=100)
        self.assertEqual((again.returncode, again.stderr),
                         (1, f"braid-doctor: {self.file} already contains the tracks of --tracks\n"))

    def test_one_request_of_a_program_by_its_name(self):
        self.trace_of("planted", "spans")
        self.assertEqual(list(self.path_of("--request", "stalled")), ["request stalled"])
        (step,) = self.path_of("--request", "inner 1")["inner 1"]
        self.assertEqual(step[1], "cpu")
        none = subprocess.run([DOCTOR, "trace", str(self.file), "--request", "x"], capture_output=True, text=True, timeout=100)
        self.assertEqual((none.returncode, none.stderr), (1, f"braid-doctor: no request, activity, task or span in {self.file} is called x\n"))

    @unittest.skipUnless(RANKD, "this build has no rankd")
    def test_a_request_of_rankd_and_its_nodes(self):
        folder = Path(self.file.parent, "demo")

        def rankd(*words, cwd=folder, **more):
            subprocess.run([RANKD, *words], cwd=cwd, check=True, capture_output=True, text=True, timeout=100, **more)

        rankd("init", "demo", str(folder), cwd=self.file.parent)
        rankd("load")
        rankd("rank", "--plan", "home_feed", input='{"user_id": 7}', env=dict(os.environ, BRAID_TRACE=str(self.file)))
        trace = TOOL.Trace(self.file.read_bytes())
        summary = self.whole(trace)
        requests = [name for name in trace.tracks.values() if name.startswith("request ")]
        self.assertEqual(len(requests), 1, trace.tracks)
        engine_id = requests[0].removeprefix("request ").removesuffix(" of plan home_feed")
        self.assertTrue(engine_id.startswith("eng_"), requests)
        plan = json.loads((folder / "plans" / "home_feed.json").read_text())
        for node in (node["node_id"] for node in plan["nodes"]):
            shown = summary.names[node] + sum(name == f"{node} of {engine_id}" for name in trace.tracks.values())
            self.assertEqual(shown, 1, node)
        self.assertEqual(list(self.path_of("--request", engine_id)), requests)

    @unittest.skipUnless(RANKD, "this build has no rankd")
    def test_a_slow_request_of_rankd_leaves_a_trace_of_it(self):
        folder = Path(self.file.parent, "demo")
        subprocess.run([RANKD, "init", "empty", str(folder)], check=True, capture_output=True, timeout=100)
        plan = {"schema_version": 1, "plan_name": "slow", "outputs": ["z"], "nodes": [
            {"node_id": "s", "op": "test::fixed_source", "inputs": [], "params": {"row_count": 2}},
            {"node_id": "z", "op": "test::sleep", "inputs": ["s"], "params": {"duration_ms": 20}}]}
        (folder / "plans" / "slow.json").write_text(json.dumps(plan))
        environment = dict(os.environ, BRAID_TRACE=f"{self.file},last=60s")
        with subprocess.Popen([RANKD, "serve", "--listen", "127.0.0.1:0", "--trace-slow-ms", "10"], cwd=folder, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            address = re.search(r"(127.0.0.1:\d+)", server.stdout.readline())[1]
            request = urllib.request.Request(f"http://{address}/v1/rank", json.dumps({"user_id": 7, "plan": "slow"}).encode(),
                                             {"Content-Type": "application/json", "X-Request-Id": "the slow one",
                                              "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"})
            self.assertEqual(urllib.request.urlopen(request, timeout=100).status, 200)
            with urllib.request.urlopen(f"http://{address}/v1/trace?seconds=60", timeout=100) as asked:
                self.assertEqual(asked.headers["Content-Type"], "application/octet-stream")
                self.assertEqual(asked.headers["Content-Disposition"], 'attachment; filename="rankd.pftrace"')
                fetched = TOOL.Trace(asked.read())
            server.terminate()
            errors = server.communicate(timeout=100)[1]
        self.assertRegex(errors, r"braid: trace of the last 60 s in .*: request the slow one of plan slow took \d+ ms\n")
        trace = TOOL.Trace(Path(f"{self.file}.1").read_bytes())
        for each in (trace, fetched):
            self.whole(each)
            requests = [name for name in each.tracks.values() if name.startswith("request ")]
            self.assertEqual(len(requests), 1, each.tracks)
            self.assertEqual([name for name in each.tracks.values() if name.startswith(("POST ", "GET "))], [])
            self.assertTrue(requests[0].endswith(" of plan slow in trace 0af7651916cd43dd8448eb211c80319c"), requests)

    @unittest.skipUnless(shutil.which("protoc"), "protoc is missing")
    def test_protoc_reads_it_too(self):
        self.trace_of("jobs", "tasks", "spans")
        with self.file.open("rb") as file:
            decoded = subprocess.run(["protoc", "--decode_raw"], stdin=file, capture_output=True, text=True, timeout=100)
        self.assertEqual((decoded.returncode, decoded.stderr), (0, ""))
        self.assertIn("inner 1", decoded.stdout)

    def test_the_tool_tells_in_a_line_and_fails_where_a_slice_is_open(self):
        self.trace_of("spans")
        tool = str(REPOSITORY / "tests" / "trace" / "trace_check")
        told = subprocess.run([sys.executable, tool, str(self.file)], capture_output=True, text=True, timeout=100)
        self.assertEqual(told.stdout, "tracks 2, slices 11 closed 11, flows 0 resolved 0, counters 10, lost 0\n")
        self.assertEqual(told.returncode, 0)
        self.file.write_bytes(self.file.read_bytes()[:-12])  # without the end of the outer span
        cut = subprocess.run([sys.executable, tool, str(self.file)], capture_output=True, text=True, timeout=100)
        self.assertIn("slices 11 closed 10", cut.stdout)
        self.file.write_bytes(b"\x0a\x02no trace")
        self.assertEqual(subprocess.run([sys.executable, tool, str(self.file)], capture_output=True, timeout=100).returncode, 2)


if __name__ == "__main__":
    PROGRAM, EXAMPLE = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
