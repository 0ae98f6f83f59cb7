"""tests/sim/test_programs.py: braid-sim with small programs that have a fault, or end badly, and its command line.

BRAID_SIM names the command, and BRAID_SIM_PROGRAMS the folder of the programs."""
import ctypes.util
import os
import re
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

SIMULATOR = os.environ.get("BRAID_SIM", "")
PROGRAMS = os.environ.get("BRAID_SIM_PROGRAMS", "")


def simulate(*words):
    """Runs braid-sim. Returns its exit status, stdout and stderr."""
    done = subprocess.run([SIMULATOR, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def program(name):
    return f"{PROGRAMS}/{name}"


def run(name, *words, options=("--twice",)):
    return simulate("run", *options, "--", program(name), *words)


def hash_in(text):
    return re.search(r"hash ([0-9a-f]{16})", text)[1]


def seconds_in(text):
    return float(re.search(r"([0-9.]+) s of virtual time", text)[1])


@unittest.skipUnless(SIMULATOR and PROGRAMS, "BRAID_SIM and BRAID_SIM_PROGRAMS name no programs")
class Programs(unittest.TestCase):
    def assert_found(self, name, *reports, seeds="1..200", more=()):
        """Checks that a search finds a failure, and that the command which it prints repeats it."""
        status, _, errors = simulate("search", "--seeds", seeds, *more, "--", program(name))
        self.assertEqual(status, 1, errors)
        for report in reports:
            self.assertRegex(errors, report)
        command = errors.strip().splitlines()[-1].split()
        self.assertEqual(command[:3], ["braid-sim", "run", "--seed"])
        again, _, repeated = simulate("run", "--twice", *command[2:])
        self.assertNotEqual(again, 0)
        self.assertEqual(hash_in(repeated), hash_in(errors))
        self.assertIn("the second run was the same", repeated)

    def test_a_deadlock_by_lock_order_is_found_and_explained(self):
        self.assert_found("lock_order", r"deadlock: every thread waits",
                          r"thread 2 waits for the mutex 0x[0-9a-f]+, which thread 3 holds",
                          r"thread 3 waits for the mutex 0x[0-9a-f]+, which thread 2 holds", r"transfer\(",
                          r"thread 1 waits for the end of thread 2", r"the last switches:\n +\d+ +[0-9.]+ s  thread")

    def test_a_lost_update_is_found(self):
        self.assert_found("lost_update", r"(?m)^balance 100$", r"status 1,")

    def test_a_lost_wake_up_is_found(self):
        self.assert_found("lost_wake_up", r'thread 2 "waiter" waits for the condition variable')

    def test_pct_finds_each_of_them(self):
        for name in ("lock_order", "lost_update", "lost_wake_up"):
            with self.subTest(name):
                self.assert_found(name, "braid-sim: seed", more=("--order", "pct", "--reach", "20"))

    def test_the_example_loses_money_unless_it_is_correct(self):
        self.assert_found("account", r"(?m)^balance: 100$")
        status, _, errors = simulate("search", "--seeds", "1..40", "--twice", "--", program("account"), "correct")
        self.assertEqual(status, 0, errors)
        self.assertIn("no failure in 40 seeds (1 to 40)", errors)

    def test_a_search_ends_at_the_greatest_seed(self):
        seeds = f"{2**64 - 2}..{2**64 - 1}"
        status, _, errors = simulate("search", "--seeds", seeds, "--", program("account"), "correct")
        self.assertEqual(status, 0, errors)
        self.assertIn("no failure in 2 seeds", errors)

    def test_the_lowest_failing_seed_is_reported_however_many_jobs_run(self):
        seeds = {re.search(r"seed (\d+) fails", simulate("search", "--jobs", jobs, "--", program("lost_update"))[2])[1]
                 for jobs in ("1", "3", "8")}
        self.assertEqual(len(seeds), 1)

    def test_ten_minutes_of_sleeps_take_no_time(self):
        status, output, errors = run("sleeping_tasks")
        self.assertEqual((status, output), (0, "240 jobs in 10 minutes\n"), errors)
        self.assertIn("the second run was the same", errors)
        self.assertGreater(seconds_in(errors), 600)
        self.assertLess(seconds_in(errors), 601)

    def test_each_call_behaves_as_it_does_outside(self):
        for seed in ("1", "2"):
            for order in ("uniform", "pct"):
                status, output, errors = run("calls", options=("--twice", "--seed", seed, "--order", order))
                self.assertEqual(status, 0, output + errors)
                self.assertIn("the second run was the same", errors)

    def test_entropy_depends_on_the_seed_alone(self):
        first, second, other = (run("calls", "entropy", options=("--seed", seed))[1] for seed in "112")
        self.assertRegex(first, r"^[0-9a-f]{32}\n$")
        self.assertEqual(first, second)
        self.assertNotEqual(first, other)

    def test_an_allocator_sees_the_simulated_machine_when_it_begins(self):
        for stacks in ("on", "off"):
            status, output, errors = run("begins", options=("--twice", "--cpus", "7", "--stacks", stacks))
            self.assertEqual((status, output), (0, "7 CPUs at 100000000 s\n"), errors)

    @unittest.skipUnless(ctypes.util.find_library("hwy"), "the library of Highway is not installed")
    def test_the_library_of_highway_does_not_measure_the_cycle_counter(self):
        status, output, errors = run("begins", "highway")
        self.assertEqual((status, output), (0, "0 reads\n"), errors)

    def test_the_order_depends_on_the_seed(self):
        hashes = {hash_in(run("calls", "conditions", options=("--seed", str(seed)))[2]) for seed in range(5)}
        self.assertEqual(len(hashes), 5)

    def test_the_hash_is_the_same_with_and_without_stacks(self):
        self.assertEqual(hash_in(run("calls", "conditions", options=("--stacks", "on"))[2]),
                         hash_in(run("calls", "conditions", options=("--stacks", "off"))[2]))


NETWORK_FAULTS = ("--splits", "100", "--resets", "5", "--delays", "10", "--refusals", "3", "--partitions", "2")


@unittest.skipUnless(SIMULATOR and PROGRAMS, "BRAID_SIM and BRAID_SIM_PROGRAMS name no programs")
class Network(unittest.TestCase):
    def test_sockets_behave_as_those_of_the_kernel(self):
        for name in ("sockets", "polls"):
            # The kernel passes the same checks.
            done = subprocess.run([program(name)], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            for seed, more in (("1", ()), ("2", ("--latency", "0")), ("3", ("--order", "pct")), ("4", ("--every", "16")),
                               ("5", ("--latency", "900..5000"))):
                with self.subTest((name, more)):
                    status, output, errors = run(name, options=("--twice", "--seed", seed, *more))
                    self.assertEqual((status, output), (0, ""), errors)
                    self.assertIn("the second run was the same", errors)

    def test_a_full_backlog_delays_connections(self):
        status, output, errors = run("sockets", "backlogs")
        self.assertEqual((status, output), (0, ""), errors)
        self.assertGreater(seconds_in(errors), 0.9)

    def test_names_come_from_the_command_line(self):
        status, output, errors = run("sockets", "named", options=("--twice", "--name", "far.example=10.0.0.5"))
        self.assertEqual((status, output), (0, ""), errors)
        self.assertGreater(seconds_in(errors), 100)  # a connection to another machine is given up
        self.assertIn("FAILED: a name of the table is found", run("sockets", "named")[1])

    def test_a_simulated_descriptor_is_not_passed(self):
        status, _, errors = run("sockets", "passed")
        self.assertEqual(status, 70)
        self.assertIn("the program called sendmsg with SCM_RIGHTS, which the simulator does not support", errors)

    def test_clients_and_servers_are_deterministic(self):
        for kind in ("http", "redis"):
            with self.subTest(kind):
                runs = [run("services", kind, options=("--twice", "--seed", seed)) for seed in "12"]
                for status, _, errors in runs:
                    self.assertEqual(status, 0, errors)
                    self.assertIn("the second run was the same", errors)
                self.assertNotEqual(hash_in(runs[0][2]), hash_in(runs[1][2]))
        self.assertIn("32 calls were answered", run("services", "http")[1])

    def test_no_fault_of_the_network_mixes_up_calls(self):
        for kind in ("http", "redis"):
            status, _, errors = simulate("search", "--seeds", "1..10", "--twice", *NETWORK_FAULTS, "--", program("services"), kind)
            self.assertEqual(status, 0, errors)

    def test_faults_stay_within_their_budgets(self):
        found = {}
        for seed in range(4):
            errors = run("services", "redis", options=("--seed", str(seed), "--fault-rate", "2", "--splits", "3", "--resets", "1"))[2]
            for count, kind in re.findall(r", (\d+) (splits|delays|resets|refusals|losses|partitions)", errors):
                found[kind] = max(found.get(kind, 0), int(count))
        self.assertEqual(found, {"splits": 3, "resets": 1})

    def test_planted_faults_are_found_and_repeated(self):
        # The programs know nothing of braid.
        for fault, more in (("lost_stop", ()), ("late_reply", ("--delays", "5")),
                            ("no_backoff", ("--refusals", "5", "--fault-rate", "3")),
                            ("after_deadline", ("--delays", "5")), ("outlived_scope", ()), ("counted_twice", ("--delays", "5"))):
            with self.subTest(fault):
                status, _, errors = simulate("search", "--seeds", "1..1000", *more, "--", program("faults"), fault)
                self.assertEqual(status, 1, errors)
                command = errors.strip().splitlines()[-1].split()
                again, _, repeated = simulate("run", "--twice", *command[2:])
                self.assertNotEqual(again, 0)
                self.assertEqual(hash_in(repeated), hash_in(errors))
                status, _, errors = simulate("search", "--seeds", "1..15", *more, "--", program("faults"), fault, "correct")
                self.assertEqual(status, 0, errors)


@unittest.skipUnless(SIMULATOR and PROGRAMS, "BRAID_SIM and BRAID_SIM_PROGRAMS name no programs")
class Ends(unittest.TestCase):
    def test_the_status_of_the_program_is_that_of_the_run(self):
        self.assertEqual(run("ends", "status")[0], 3)
        self.assertEqual(run("ends")[0], 0)

    def test_a_deadlock_ends_the_run_with_what_each_thread_waits_for(self):
        status, _, errors = run("ends", "deadlock")
        self.assertEqual(status, 70)
        self.assertRegex(errors, r"thread 2 waits for the mutex 0x[0-9a-f]+, which thread 1 holds")
        self.assertRegex(errors, r"#\d+ .*fail_to_lock|#\d+ main")

    def test_an_abort_and_an_uncaught_exception_show_their_stacks(self):
        for how, function in (("abort", "abort_in_a_thread"), ("throw", "std::terminate")):
            with self.subTest(how):
                status, _, errors = run("ends", how)
                self.assertEqual(status, 134, errors)
                self.assertIn("the program was ended by signal 6: Aborted", errors)
                self.assertIn(function, errors)

    def test_fork_is_refused_by_a_sentence(self):
        status, _, errors = run("ends", "fork")
        self.assertEqual(status, 70)
        self.assertIn("the program called fork, which the simulator does not support", errors)

    def test_a_sleep_counts_if_the_program_ends_right_after_it(self):
        for how, seconds in (("sleep", 5), ("sleep_beside", 7)):
            status, _, errors = run("ends", how)
            self.assertEqual((status, round(seconds_in(errors), 3)), (0, seconds), errors)

    def test_io_uring_does_not_exist(self):
        status, output, _ = run("ends", "io_uring")
        self.assertEqual((status, output), (0, "no io_uring\n"))

    def test_a_thread_that_spins_is_reported_with_its_stack(self):
        for how, function in (("spin", "spin_in_a_loop"), ("spin_at_once", "spin_at_once")):
            status, _, errors = run("ends", how, options=("--stuck-after", "1"))
            self.assertEqual(status, 70, errors)
            self.assertIn("a thread has run for too long without a call that the simulator intercepts", errors)
            self.assertIn("thread 2 runs", errors)
            self.assertIn(function, errors)

    def test_a_difference_of_two_runs_is_shown(self):
        # The program reads a random file of the system: of 20 seeds one at least differs.
        status, _, errors = simulate("search", "--twice", "--seeds", "1..20", "--", program("ends"), "differ")
        self.assertEqual(status, 1, errors)
        self.assertIn("two runs differ in the switches\nthe first difference is switch", errors)
        self.assertIn("second run: ", errors)
        self.assertRegex(errors, r"braid-sim run --seed \d+ --twice -- ")

    def test_sources_of_the_processor_depend_on_the_seed_alone(self):
        first, second, other = (run("ends", "processor", options=("--seed", seed))[1] for seed in "112")
        self.assertRegex(first, r"^1 \d+ \d+\n$")
        self.assertEqual(first, second)
        self.assertNotEqual(first, other)

    def test_a_run_may_have_a_limit_of_switches(self):
        status, _, errors = run("calls", "clocks", options=("--max-switches", "100"))
        self.assertEqual(status, 70)
        self.assertIn("the program still runs after the maximum number of switches (--max-switches)", errors)


@unittest.skipUnless(SIMULATOR and PROGRAMS, "BRAID_SIM and BRAID_SIM_PROGRAMS name no programs")
class CommandLine(unittest.TestCase):
    def assert_refused(self, sentence, *words):
        status, output, errors = simulate(*words)
        self.assertEqual((status, output), (2, ""), errors)
        self.assertIn(sentence, errors)
        self.assertEqual(errors.count("\n"), 1)

    def test_wrong_usage_is_one_sentence(self):
        ends = program("ends")
        for sentence, words in (
                ("a command is missing", ()),
                ("unknown command `walk`; expected `run` or `search`", ("walk",)),
                ("no program is named", ("run",)),
                ("no program is named", ("run", "--")),
                ("--seed must be an integer from 0 to 18446744073709551615, got `seven`", ("run", "--seed", "seven", "--", ends)),
                ("got `-1`", ("run", "--seed", "-1", "--", ends)),
                ("got `18446744073709551616`", ("run", "--seed", "18446744073709551616", "--", ends)),
                ("got `1e99`", ("run", "--seed", "1e99", "--", ends)),
                ("got `NaN`", ("run", "--stuck-after", "NaN", "--", ends)),
                ("--every must be an integer from 1 to 1000000, got ``", ("run", "--every", "", "--", ends)),
                ("--trace must be the name of a file, got ``", ("run", "--trace", "", "--", ends)),
                ("--seed needs a value: expected an integer from 0", ("run", "--seed", "--", ends)),
                ("unknown option `--sed`", ("run", "--sed", "1", "--", ends)),
                ("write `--` before the program", ("run", ends)),
                ("`search` needs --seeds A..B", ("search", "--seed", "1", "--", ends)),
                ("`run` needs --seed N", ("run", "--seeds", "1..2", "--", ends)),
                ("--seeds must be a range of integers such as 1..1000, got `9..1`", ("search", "--seeds", "9..1", "--", ends)),
                ("got `1..x`", ("search", "--seeds", "1..x", "--", ends)),
                ("--order must be `uniform` or `pct`, got `fifo`", ("run", "--order", "fifo", "--", ends)),
                ("--cpus must be an integer from 1 to 1024, got `0`", ("run", "--cpus", "0", "--", ends)),
                ("--jobs must be an integer from 1 to 1000, got `0`", ("search", "--jobs", "0", "--", ends)),
                ("--latency must be a range of microseconds up to 60000000, such as 10..200, got `9..1`",
                 ("run", "--latency", "9..1", "--", ends)),
                ("--splits must be an integer from 0 to 1000000, got `some`", ("run", "--splits", "some", "--", ends)),
                ("--fault-rate must be an integer from 1 to 1000000, got `0`", ("run", "--fault-rate", "0", "--", ends)),
                ("--calm-from must be an integer from 1 to 1000000, got `0`", ("run", "--calm-from", "0", "--", ends)),
                ("--name must be NAME=ADDRESS such as api.example=10.0.0.5, got `a=b`", ("run", "--name", "a=b", "--", ends)),
                ("--name must be NAME=ADDRESS such as api.example=10.0.0.5, got `ab`", ("run", "--name", "ab", "--", ends)),
                ("--stacks must be `on` or `off`, got `maybe`", ("run", "--stacks", "maybe", "--", ends)),
        ):
            with self.subTest(words):
                self.assert_refused(sentence, *words)

    def test_a_program_that_cannot_be_simulated_is_refused(self):
        self.assert_refused("the program `/nowhere/program` does not exist", "run", "--", "/nowhere/program")
        self.assert_refused("the program `no-such-program` is not in any folder of PATH", "run", "--",
                            "no-such-program")
        self.assert_refused(f"`{PROGRAMS}` is not an executable file", "run", "--", PROGRAMS)
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder, "script")
            script.write_text("#!/bin/sh\n")
            static = Path(folder, "static")
            static.write_bytes(without_loader(Path(program("ends")).read_bytes()))
            for file in (script, static):
                file.chmod(0o755)
            self.assert_refused("is not an ELF program; if it is a script, name its interpreter first", "run", "--", str(script))
            self.assert_refused("is linked statically", "run", "--", str(static))

    def test_help_and_version(self):
        for words in (("--help",), ("run", "--help"), ("search", "-h")):
            status, output, errors = simulate(*words)
            self.assertEqual((status, errors), (0, ""))
            self.assertTrue(output.startswith("usage: braid-sim run"))
            self.assertIn("braid-sim run --seed 7 -- ./my_test", output)
        self.assertRegex(simulate("--version")[1], r"^braid-sim \d+\.\d+\.\d+\n$")


def without_loader(image):
    """Returns an ELF file without the header that names its loader, as a statically linked one has none."""
    changed = bytearray(image)
    offset, size, count = struct.unpack_from("<Q", image, 32)[0], *struct.unpack_from("<HH", image, 54)
    for at in range(count):
        if struct.unpack_from("<I", image, offset + at * size)[0] == 3:
            struct.pack_into("<I", changed, offset + at * size, 0)
    return bytes(changed)


if __name__ == "__main__":
    unittest.main()
