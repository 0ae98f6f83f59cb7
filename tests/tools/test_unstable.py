# tests/tools/test_unstable.py: how tools/unstable loads a test, counts its failures, and ends its processes.
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from tree import TOOLS


class Unstable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.fake("chrt", f'[ "$1 $2" = "--idle 0" ] && echo $3 >>{self.root}/idle; shift 2; exec "$@"')

    def fake(self, program, script):
        """Puts a program before that of the system, for instance because real idle runs need a machine with idle time."""
        (self.root / program).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (self.root / program).chmod(0o755)

    def project(self, scripts, properties=""):
        lines = [f"add_test({name} /bin/sh -c [==[{script}]==])\n" for name, script in scripts.items()]
        if properties:
            lines.append(f"set_tests_properties({' '.join(scripts)} PROPERTIES {properties})\n")
        (self.root / "CTestTestfile.cmake").write_text("".join(lines), encoding="utf-8")

    def start(self, *arguments):
        environment = {**os.environ, "BRAID_LOGS": str(self.root / "logs"), "PATH": f"{self.root}:{os.environ['PATH']}"}
        return subprocess.Popen([TOOLS / "unstable", *arguments, "--build", self.root], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def output_of(self, child):
        try:
            return child.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            child.kill()
            raise

    def run_tool(self, *arguments):
        with self.start(*arguments) as child:
            printed = self.output_of(child)
        return child.returncode, printed

    def counts(self, printed):
        """Returns the runs and the failures of each kind of load."""
        return [(int(runs), int(failed)) for runs, failed in re.findall(r"^   \S.*?  +(\d+)  +(\d+)(?:  .*)?$", printed, re.M)]

    def ends(self):
        """Returns whether all processes of the run that wrote its number to the file `group` end soon."""
        group = (self.root / "group").read_text(encoding="utf-8").strip()
        living = ["pgrep", "--pgroup", group, "--runstates", "R,S,D"]
        for _ in range(500):
            if subprocess.run(living, capture_output=True, check=False).returncode:
                return True
            time.sleep(0.01)
        return False

    def test_a_test_that_passes_is_run_with_each_kind_of_load(self):
        self.project({"x": f"echo $(nproc) >>{self.root}/cpus"})
        status, printed = self.run_tool("x", "--runs", "9")
        self.assertEqual(status, 0, printed)
        self.assertEqual(self.counts(printed), [(3, 0), (3, 0), (3, 0)])
        self.assertIn("x: failed 0 of 9 runs", printed)
        self.assertGreaterEqual((self.root / "cpus").read_text(encoding="utf-8").splitlines().count("1"), 3)
        idle = (self.root / "idle").read_text(encoding="utf-8").splitlines()
        self.assertEqual(idle, ["true"] + 3 * ["/bin/sh"])  # the first run asks whether it is permitted

    def test_runs_have_the_lowest_priority_if_the_idle_class_is_refused(self):
        self.project({"x": "true"})
        self.fake("chrt", "exit 1")
        self.fake("nice", f'echo "$1 $2" >>{self.root}/priorities; shift 2; exec "$@"')
        status, printed = self.run_tool("x", "--runs", "6")
        self.assertEqual(status, 0, printed)
        self.assertEqual((self.root / "priorities").read_text(encoding="utf-8").splitlines(), ["-n 19", "-n 19"])

    def test_failures_are_counted_by_load_and_the_first_output_is_kept(self):
        self.project({"x": 'echo "seed 5 (BRAID_SEED repeats it)"; echo ERROR: why; [ $(nproc) != 1 ]'})
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two CPUs")
        status, printed = self.run_tool("x", "--runs", "6", "--jobs", "2")
        self.assertEqual(status, 1, printed)
        self.assertEqual(self.counts(printed), [(2, 0), (2, 2), (2, 0)])
        self.assertIn("BRAID_SEED=5", printed)
        self.assertIn("status 1 (2)", printed)
        log = (self.root / "logs/unstable.d/load-x.log").read_text(encoding="utf-8")
        self.assertIn("x, load: one CPU, status 1", log)
        self.assertIn("ERROR: why", log)

    def test_a_run_over_its_time_limit_is_ended_and_failed(self):
        self.project({"x": f"echo $$ >{self.root}/group; sleep 100; true"}, "TIMEOUT 1")
        began = time.monotonic()
        status, printed = self.run_tool("x", "--runs", "1")
        self.assertEqual(status, 1, printed)
        self.assertLess(time.monotonic() - began, 30)
        self.assertIn("not done after 1 s", (self.root / "logs/unstable.d/load-x.log").read_text(encoding="utf-8"))
        self.assertTrue(self.ends())

    def test_an_interrupt_ends_all_processes(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.project({"x": f"echo $$ >{self.root}/group; sleep 100; true"})
            (self.root / "group").unlink(missing_ok=True)
            with self.start("x", "--jobs", "1") as child:
                while not (self.root / "group").exists() and child.poll() is None:
                    time.sleep(0.01)
                busy = subprocess.run(["pgrep", "--parent", str(child.pid)], capture_output=True, text=True,
                                      check=False).stdout
                child.send_signal(number)
                self.output_of(child)
            self.assertEqual(child.returncode, 130)
            self.assertGreater(len(busy.split()), len(os.sched_getaffinity(0)))
            self.assertFalse([pid for pid in busy.split() if Path("/proc", pid).exists()])
            self.assertTrue(self.ends())

    def test_properties_of_the_test_are_respected(self):
        self.project({"x": '[ "$KIND" = odd ] || exit 1; exit 77'}, "SKIP_RETURN_CODE 77 ENVIRONMENT KIND=odd")
        self.assertEqual(self.run_tool("x", "--runs", "3")[0], 0)
        self.project({"x": "exit 1"}, "WILL_FAIL ON")
        self.assertEqual(self.run_tool("x", "--runs", "3")[0], 0)
        self.project({"x": "echo well done; exit 1"}, 'PASS_REGULAR_EXPRESSION "well d.ne"')
        self.assertEqual(self.run_tool("x", "--runs", "3")[0], 0)

    def test_a_name_is_exact_or_a_regular_expression(self):
        self.project({"io/x": "true", "io/x.poll": "true", "net/x": "true"})
        self.assertEqual(re.findall(r"^== (\S+): \d", self.run_tool("io/x", "--runs", "1")[1], re.M), ["io/x"])
        self.assertEqual(re.findall(r"^== (\S+): \d", self.run_tool("^io/", "--runs", "1")[1], re.M), ["io/x", "io/x.poll"])
        status, printed = self.run_tool("tls")
        self.assertEqual(status, 1)
        self.assertIn("no test is named `tls` or matches it", printed)
        self.assertIn("nor a regular expression", self.run_tool("(")[1])
        self.assertIn("must be at least 1, got 0", self.run_tool("io/x", "--runs", "0")[1])

    def test_a_program_that_is_not_built_is_named(self):
        (self.root / "CTestTestfile.cmake").write_text("add_test(x /no/such/program)\n", encoding="utf-8")
        self.assertIn("the program of x is not built", self.run_tool("x")[1])


if __name__ == "__main__":
    unittest.main()
