"""tests/sim/test_worlds.py: worlds of several machines, from files and from C++.

BRAID_SIM names the command, and BRAID_SIM_PROGRAMS the folder of the programs."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SIMULATOR = os.environ.get("BRAID_SIM", "")
PROGRAMS = os.environ.get("BRAID_SIM_PROGRAMS", "")


def machine(name, *words, more=""):
    program = ", ".join(f'"{word}"' for word in (f"{PROGRAMS}/machines", *words))
    return f"[machines.{name}]\nprogram = [{program}]\n{more}"


def event(at, what):
    return f'[[events]]\nat = "{at}"\n{what}\n'


CLIENT_AND_SERVER = machine("server", "serve")


def hash_in(text):
    return re.search(r"hash ([0-9a-f]{16})", text)[1]


@unittest.skipUnless(SIMULATOR and PROGRAMS, "BRAID_SIM and BRAID_SIM_PROGRAMS name no programs")
class World(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "world.toml")

    def simulate(self, text, *options, command="run", duration="1h", variables=None):
        """Runs a world. Returns the exit status, stdout and stderr."""
        self.file.write_text(f'duration = "{duration}"\n{text}' if duration else text)
        done = subprocess.run([SIMULATOR, command, *options, str(self.file)], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(variables or {})})
        return done.returncode, done.stdout, done.stderr


class Machines(World):
    def test_a_client_talks_to_a_server_by_its_name(self):
        status, output, errors = self.simulate(CLIENT_AND_SERVER + machine("client", "ask", "server", "5"), "--twice")
        self.assertEqual(status, 0, errors)
        self.assertRegex(output, r"^client \| \d+ ms: all bytes were answered\n$")
        self.assertIn("braid-sim: server: ran until the end\nbraid-sim: client: ended with status 0 at 5.", errors)
        self.assertIn("the second run was the same", errors)

    def test_the_hash_depends_on_the_seed_alone(self):
        world = CLIENT_AND_SERVER + "".join(machine(f"client{at}", "ask", "server", "3") for at in range(3))
        first, again, other = (hash_in(self.simulate(world, "--seed", seed)[2]) for seed in "112")
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_two_runs_differ_if_only_an_output_differs(self):
        # The file has another text each time it is read.
        world = '[machines.a]\nprogram = ["cat", "/proc/sys/kernel/random/uuid"]\n'
        for command in ("run", "search"):
            status, _, errors = self.simulate(world, "--twice", command=command)
            self.assertEqual(status, 1, errors)
            self.assertIn("braid-sim: seed 1: two runs differ\nthe outputs of a differ\n", errors)

    def test_a_stream_arrives_whole_whatever_is_split_delayed_and_cut(self):
        world = machine("reader", "swallow") + machine("writer", "stream", "reader", more="must_end = true\n")
        world += event("20ms", 'cut = ["writer", "reader"]') + event("2s", 'heal = ["writer", "reader"]')
        for seed in "12":
            status, output, errors = self.simulate(world, "--twice", "--seed", seed, "--splits", "50", "--delays", "5",
                                                   "--partitions", "2", "--every", "16")
            self.assertEqual(status, 0, errors)
            self.assertEqual(len(set(re.findall(r"sum ([0-9a-f]+)", output))), 1, output)
            self.assertEqual(output.count("sum"), 2)

    def test_clocks_of_machines_differ(self):
        status, output, errors = self.simulate(
            machine("even", "clocks", "x", "100") +
            machine("odd", "clocks", "x", "100", more='clock_offset = "-5s"\nclock_drift_ppm = 100000\n'), "--twice")
        self.assertEqual(status, 0, errors)
        self.assertRegex(output, r"even \| even: real time 0 ms, slept 100000 ms\n")
        self.assertRegex(output, r"odd \| odd: real time -(4999|5000) ms, slept 10000[01] ms\n")
        self.assertRegex(errors, r"odd: ended with status 0 at 90\.90")

    def test_a_machine_may_start_later(self):
        status, output, errors = self.simulate(machine("late", "exit", "x", "0", more='starts_at = "20s"\n') +
                                               machine("never", "exit", "x", "3", more='starts_at = "5h"\n'))
        self.assertEqual((status, output), (0, ""), errors)
        self.assertRegex(errors, r"late: ended with status 0 at 21\.")
        self.assertIn("never: was not started\n", errors)

    def test_a_world_ends_at_its_duration(self):
        status, _, errors = self.simulate(machine("one", "wait"), duration="10min")
        self.assertEqual(status, 0, errors)
        self.assertIn("one: ran until the end", errors)
        self.assertIn(", 600.000000 s of virtual time", errors)


class Handshakes(World):
    """A connection exists after three packets: a request, its answer and an acknowledgement."""

    def accepted(self, output):
        return [float(each) for each in re.findall(r"accepted after ([0-9.]+) s", output)]

    def greet(self, events, *options, duration="5min"):
        return self.simulate(machine("server", "greet") + machine("client", "hear", "server") + events, "--twice",
                             "--latency", "1000..1000", *options, duration=duration)

    def test_accept_returns_after_three_packets(self):
        status, output, errors = self.greet("")
        self.assertEqual(status, 0, errors)
        self.assertEqual(self.accepted(output), [0.003], output)
        self.assertIn("connected after 0.002 s", output)
        done = subprocess.run([SIMULATOR, "run", "--latency", "1000..1000", "--max-switches", "200", "--",
                               f"{PROGRAMS}/machines", "greet_within"], capture_output=True, text=True, check=False)
        self.assertEqual(self.accepted(done.stdout), [0.003], done.stdout + done.stderr)

    def test_a_listener_does_not_hand_out_a_connection_whose_answer_is_lost(self):
        events = event("0s", 'cut = ["server", "client"]\none_way = true')
        status, output, errors = self.greet(events)
        self.assertEqual((status, self.accepted(output)), (1, []), errors)
        self.assertIn("connect: Connection timed out", output)
        status, output, errors = self.greet(events + event("20s", 'heal = ["server", "client"]'))
        self.assertEqual(status, 0, errors)
        (at,) = self.accepted(output)
        self.assertTrue(20 < at < 32, output)

    def test_an_acknowledgement_that_is_lost_is_sent_again(self):
        events = event("1500us", 'cut = ["client", "server"]\none_way = true')
        status, output, errors = self.greet(events + event("20s", 'heal = ["server", "client"]'))
        self.assertEqual(status, 0, errors)
        self.assertIn("connected after 0.002 s", output)
        (at,) = self.accepted(output)
        self.assertTrue(20 < at < 32, output)
        # After 63 s the listener has forgotten the connection, which the client still has.
        status, output, errors = self.greet(events + event("100s", 'heal = ["server", "client"]'))
        self.assertEqual((status, self.accepted(output)), (0, []), errors)

    def test_a_client_that_ends_before_its_acknowledgement_arrives(self):
        events = event("1500us", 'cut = ["client", "server"]\none_way = true') + event("10s", 'kill = "client"')
        status, output, errors = self.greet(events + event("20s", 'heal = ["server", "client"]'))
        self.assertEqual((status, self.accepted(output)), (0, []), errors)


class Events(World):
    def ask(self, events, *options, count=60, seed="1", more=""):
        return self.simulate(CLIENT_AND_SERVER + machine("client", "ask", "server", str(count), more=more) + events, "--twice",
                             "--seed", seed, *options)

    def test_a_crash_leaves_the_connection_half_open(self):
        # Nobody answers, so that only the client's own timeout of 30 s ends the wait.
        status, output, errors = self.ask(event("5500ms", 'crash = "server"'))
        self.assertEqual(status, 1, errors)
        self.assertIn("Resource temporarily unavailable", output)
        self.assertRegex(errors, r"server: was stopped at 5\.5\d+ s\n")
        self.assertRegex(errors, r"client: ended with status 6 at 3[56]\.")
        self.assertIn("the second run was the same", errors)

    def test_after_a_restart_the_old_connection_is_reset(self):
        status, output, errors = self.ask(event("5500ms", 'crash = "server"') + event("10s", 'restart = "server"'))
        self.assertEqual(status, 1, errors)
        self.assertIn("Connection reset by peer", output)
        self.assertRegex(errors, r"server: ran until the end, started 2 times|server: was stopped")
        self.assertRegex(errors, r"client: ended with status 6 at 1[0-3]\.")

    def test_a_killed_process_resets_its_connections_at_once(self):
        status, output, errors = self.ask(event("5500ms", 'kill = "server"'))
        self.assertEqual(status, 1, errors)
        self.assertRegex(output, "Connection reset by peer|Broken pipe")
        self.assertRegex(errors, r"client: ended with status 6 at [56]\.")

    def test_a_cut_holds_up_a_connection_until_it_is_healed(self):
        for direction in ("", "one_way = true\n"):
            for pair in ('["client", "server"]', '["server", "client"]'):
                status, output, errors = self.ask(event("3s", f"cut = {pair}\n{direction}") + event("20s", f"heal = {pair}"),
                                                  count=10)
                self.assertEqual(status, 0, errors)
                self.assertIn("all bytes were answered", output)
                self.assertRegex(errors, r"client: ended with status 0 at 2[67]\.")

    def test_a_client_that_connects_again_survives_crashes(self):
        events = "".join(event(f"{at}s", f'{what} = "server"') for at, what in
                         ((1, "crash"), (3, "restart"), (4, "kill"), (6, "restart"), (7, "crash"), (150, "restart")))
        status, output, errors = self.simulate(
            CLIENT_AND_SERVER + machine("client", "persist", "server", "60", more="must_end = true\n") + events, "--twice")
        self.assertEqual(status, 0, errors)
        self.assertIn("all bytes were answered", output)
        self.assertIn("connect: Connection refused", output)  # the process was killed, and the machine answers
        self.assertIn("connect: Connection timed out", output)  # the machine has no power
        self.assertIn("started 4 times", errors)

    def test_datagrams_are_lost_in_a_cut_and_refused_without_a_process(self):
        events = (event("3500ms", 'cut = ["client", "server"]\none_way = true') + event("5500ms", 'heal = ["client", "server"]') +
                  event("8500ms", 'kill = "server"') + event("10500ms", 'restart = "server"') + event("12500ms", 'crash = "server"'))
        status, output, errors = self.simulate(machine("server", "echo") + machine("client", "ping", "server", "20") + events,
                                               "--twice")
        self.assertEqual(status, 0, errors)
        answered, refused = map(int, re.search(r"(\d+) answered, (\d+) refused", output).groups())
        self.assertGreater(answered, 5)
        self.assertLess(answered, 14)
        self.assertGreater(refused, 1)

    def test_a_cut_in_one_direction_lets_the_other_pass(self):
        for pair, arrived in (('["server", "client"]', 5), ('["client", "server"]', 0)):
            status, output, errors = self.simulate(machine("server", "echo") + machine("client", "ping", "server", "5") +
                                                   event("0s", f"cut = {pair}\none_way = true"))
            self.assertEqual(status, 0, errors)
            self.assertIn("client | 0 answered, 0 refused\n", output)
            self.assertEqual(output.count("server | "), arrived, output)

    def test_an_address_without_a_machine_does_not_answer(self):
        status, output, errors = self.simulate(machine("client", "ask", "10.9.9.9", "1"))
        self.assertEqual(status, 1)
        self.assertIn("connect: Connection timed out", output)
        self.assertRegex(errors, r"client: ended with status 5 at 127\.")

    def test_faults_of_the_network_stay_within_their_budgets(self):
        status, _, errors = self.simulate(
            CLIENT_AND_SERVER + machine("client", "persist", "server", "60"), "--resets", "2", "--refusals", "1",
            "--fault-rate", "1")
        self.assertEqual(status, 0, errors)
        self.assertIn(", 2 resets, 1 refusals, ", errors)


class Redis(World):
    @unittest.skipUnless(shutil.which("redis-server"), "redis-server is missing")
    def test_no_fault_mixes_up_replies_of_three_redis_servers(self):
        world = 'options = ["--every", "8"]\n'
        server = '"redis-server", "--save", "", "--bind", "0.0.0.0", "--protected-mode", "no", "--jemalloc-bg-thread", "no"'
        for name in ("redis1", "redis2", "redis3"):
            world += f'[machines.{name}]\nprogram = [{server}]\nfolder = "{self.file.parent}"\n'
        client = ", ".join(f'"{word}"' for word in (f"{PROGRAMS}/services", "shards", "10.0.0.1", "10.0.0.2", "10.0.0.3"))
        world += f"[machines.client]\nprogram = [{client}]\nmust_end = true\n"
        for at, what in ((5, 'crash = "redis1"'), (8, 'restart = "redis1"'), (10, 'cut = ["client", "redis2"]'),
                         (13, 'heal = ["client", "redis2"]'), (15, 'kill = "redis3"'), (16, 'restart = "redis3"')):
            world += event(f"{at}s", what)
        faults = ("--splits", "50", "--resets", "5", "--delays", "20", "--partitions", "3")
        status, _, errors = self.simulate(world, "--seeds", "1..2", "--twice", *faults, command="search", duration="60s")
        self.assertEqual(status, 0, errors)


class Failures(World):
    def test_a_failure_of_a_machine_ends_the_world(self):
        status, output, errors = self.simulate(machine("good", "wait") + machine("bad", "exit", "x", "3"))
        self.assertEqual((status, output), (1, ""), errors)
        self.assertRegex(errors, r"bad: ended with status 3 at 1\.\d+ s")

    def test_an_abort_is_reported_with_its_stack(self):
        status, _, errors = self.simulate(machine("bad", "abort"))
        self.assertEqual(status, 1, errors)
        self.assertIn("machine bad: the program was ended by signal 6: Aborted", errors)
        self.assertIn("bad: ended by a signal: Aborted", errors)

    def test_a_spin_is_reported_with_its_stack(self):
        status, _, errors = self.simulate(machine("bad", "spin"), "--stuck-after", "1")
        self.assertEqual(status, 70, errors)
        self.assertIn("machine bad: a thread has run for too long without a call that the simulator intercepts", errors)
        self.assertIn("spin_without_a_call", errors)

    def test_fork_is_refused_by_a_sentence(self):
        status, _, errors = self.simulate(machine("bad", "fork"))
        self.assertEqual(status, 70, errors)
        self.assertIn("machine bad: the program called fork, which", errors)

    def test_a_machine_that_must_end_is_reported_if_it_does_not(self):
        status, _, errors = self.simulate(machine("bad", "wait", more="must_end = true\n"), duration="5s")
        self.assertEqual(status, 1, errors)
        self.assertIn("machine bad: the world has ended, but this program still runs; its `must_end` requires it to end earlier\n", errors)
        self.assertIn("thread 1 waits: signal wait", errors)
        self.assertIn("bad: was still running when the world ended, but `must_end` requires it to end earlier", errors)

    def test_a_search_prints_the_failing_seed_and_repeats_it(self):
        world = CLIENT_AND_SERVER + machine("client", "ask", "server", "5")
        status, _, errors = self.simulate(world, "--seeds", "1..50", "--resets", "1", command="search")
        self.assertEqual(status, 1, errors)
        self.assertIn("--- client ---\n", errors)
        words = errors.strip().splitlines()[-1].split()
        self.assertEqual(words[:2], ["braid-sim", "run"])
        done = subprocess.run([SIMULATOR, *words[1:]], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(hash_in(done.stderr), hash_in(errors))

    def test_a_search_without_a_failure_counts_its_seeds(self):
        status, _, errors = self.simulate(CLIENT_AND_SERVER + machine("client", "ask", "server", "2"), "--seeds", "1..5",
                                          "--twice", command="search")
        self.assertEqual(status, 0, errors)
        self.assertIn("no failure in 5 seeds (1 to 5)", errors)


class WrongFiles(World):
    def test_each_problem_has_its_line(self):
        good = machine("server", "serve")  # lines 2 and 3 after the duration
        for line, sentence, text in (
                (4, "unknown key `machines.server.adress`; did you mean `address`?", good + 'adress = "10.0.0.1"\n'),
                (4, "unknown key `machines.server.color`; expected one of `program`, `address`", good + 'color = "red"\n'),
                (4, "the address of the machine `server` must be an IP address such as 10.0.0.5, got `far`", good + 'address = "far"\n'),
                (4, "`address` must be a string that is not empty", good + "address = 5\n"),
                (4, "`clock_offset` must be a duration such as \"250ms\" or \"10min\", got \"5 days\"", good + 'clock_offset = "5 days"\n'),
                (4, "`starts_at` is after the end of the world, so a program that must end would not start",
                 good + 'starts_at = "5h"\nmust_end = true\n'),
                (4, "`starts_at` is after the end of the world, so a program that must end would not start",
                 good + 'starts_at = "1h"\nmust_end = true\n'),
                (4, "the folder `/nowhere` of the machine `server` does not exist; create it, or name another folder",
                 good + 'folder = "/nowhere"\n'),
                (4, "`clock_drift_ppm` must be an integer from -100000 to 100000\n", good + 'clock_drift_ppm = "fast"\n'),
                (4, "`clock_drift_ppm` must be an integer from -100000 to 100000, got -5000000", good + "clock_drift_ppm = -5000000\n"),
                (4, "`clock_offset` must not be below -277777h, got \"-277778h\"", good + 'clock_offset = "-277778h"\n'),
                (4, "`starts_at` must not be above 277777h, got \"99999999999999999999s\"", good + 'starts_at = "99999999999999999999s"\n'),
                (4, "the address of the machine `server` must be an IP address such as 10.0.0.5, got `::ffff:127.0.0.1`",
                 good + 'address = "::ffff:127.0.0.1"\n'),
                (4, "the address of the machine `server` must be an IP address such as 10.0.0.5, got `224.0.0.1`", good + 'address = "224.0.0.1"\n'),
                (2, "the name of a machine must not be `localhost`, which each machine uses for itself", machine("localhost", "serve")),
                (2, "the name of a machine must not be an address, got `10.0.0.2`", machine('"10.0.0.2"', "serve")),
                (2, "the name of a machine must not be an address, got `127.1`", machine('"127.1"', "serve")),
                (2, "the name of a machine must have 1 to 63 letters, digits, `-`, `.` and `_`, got `a=b`", machine('"a=b"', "serve")),
                (2, "the name of a machine must have 1 to 63 letters, digits, `-`, `.` and `_`, got `::1`", machine('"::1"', "serve")),
                (4, "the name of a machine must be unique, got `Server`, but another machine or --name is called `server`", good + machine("Server", "serve")),
                (4, "`must_end` must be true or false", good + 'must_end = "yes"\n'),
                (3, "the program `/nowhere/program` does not exist", '[machines.a]\nprogram = ["/nowhere/program"]\n'),
                (3, "the program `no-such-program` is not in any folder of PATH", '[machines.a]\nprogram = ["no-such-program"]\n'),
                (3, "`program` must be an array of strings", '[machines.a]\nprogram = "./a"\n'),
                (3, "the machine `a` has no program", '[machines.a]\nprogram = []\n'),
                (2, "the machine `a` has no program", "[machines.a]\n"),
                (1, "a world needs at least one machine, such as [machines.server]", ""),
                (7, "the machines `a` and `b` have the same address 10.0.0.1",
                 machine("a", "serve", more='address = "10.0.0.1"\n') + machine("b", "serve", more='address = "10.0.0.1"\n')),
                (6, "the machine `client` does not exist; the world has `server`", good + event("2s", 'crash = "client"')),
                (6, "`cut` must name two machines, such as [\"client\", \"server\"]", good + event("2s", 'cut = ["server"]')),
                (6, "`crash` must be the name of a machine", good + event("2s", "crash = true")),
                (4, "an event needs one of `cut`, `heal`, `crash`, `kill`, `restart`, `fill_disk`, `fail_disk`, `slow_disk`, `heal_disk`", good + event("2s", "")),
                (7, "an event must have exactly one action, but this event has `kill` as well; write a second [[events]]",
                 good + event("2s", 'crash = "server"\nkill = "server"')),
                (7, "`one_way` belongs to `cut`, not to `crash`", good + event("2s", 'crash = "server"\none_way = true')),
                (5, "`at` must be a duration such as \"250ms\" or \"10min\", got \"soon\"", good + event("soon", 'kill = "server"')),
                (5, "`at` must not be below 0s, got \"-2s\"", good + event("-2s", 'kill = "server"')),
                (5, "`at` must not be later than `duration`, at which the world ends, got \"3601s\"", good + event("3601s", 'kill = "server"')),
                (6, "`restart` would do nothing, because the machine `server` runs then; write a `crash` or `kill` before it",
                 good + event("0s", 'restart = "server"')),
                (9, "`restart` would do nothing", good + event("2s", 'crash = "server"') + event("4s", 'restart = "server"') +
                 event("3s", 'restart = "server"')),
                (9, "`restart` would do nothing", good + 'starts_at = "1s"\n' + machine("other", "wait") +
                 event("2s", 'restart = "server"')),
                (4, "`at` is missing; write a duration such as \"10min\"", good + '[[events]]\nkill = "server"\n'),
                (2, "`options` must be an array of strings", "options = 5\n" + good),
                (2, "`options`: unknown option `--sed`; see braid-sim --help", 'options = ["--sed", "1"]\n' + good),
                (4, "`options`: --latency must be a range of microseconds up to 60000000, such as 10..200, got `soon`",
                 'options = [\n"--cpus", "2",\n"--latency", "soon",\n"--splits", "1"]\n' + good),
                (3, "`options`: --every needs a value: expected an integer from 1 to 1000000", 'options = [\n"--every"]\n' + good),
                (2, "`options`: `--help` belongs to the command line, not to a world", 'options = ["--help"]\n' + good),
                (2, "`options`: `--jobs` belongs to the command line, not to a world", 'options = ["--jobs", "2"]\n' + good),
                (3, "`options`: unknown option `world`; write `--` before the program; see braid-sim --help", 'options = [\n"world"]\n' + good),
                (2, "`events` must be an array of tables: write [[events]]", "events = 5\n" + good),
        ):
            with self.subTest(sentence):
                status, output, errors = self.simulate(text)
                self.assertEqual((status, output), (2, ""), errors)
                self.assertTrue(errors.startswith(f"{self.file}:{line}: {sentence}"), errors)
                self.assertEqual(errors.count("\n"), 1, errors)

    def test_events_that_do_something_are_accepted(self):
        good = machine("one", "exit", "x", "0", more="must_end = true\n") + machine("late", "wait", more='starts_at = "5s"\n')
        status, _, errors = self.simulate(
            good + event("3s", 'restart = "one"') + event("5s", 'restart = "late"') + event("7s", 'kill = "late"') +
            event("6s", 'crash = "late"') + event("8s", 'restart = "late"') + event("10s", 'crash = "late"'), duration="10s")
        self.assertEqual(status, 0, errors)
        self.assertIn("one: ended with status 0 at 4.", errors)
        self.assertIn("late: ran until the end, started 2 times", errors)

    def test_all_problems_are_reported_at_once(self):
        text = 'durations = "1s"\n[machines.a]\nprogram = ["/nowhere/program"]\n[[events]]\nat = "1"\ncrash = "b"\n'
        status, _, errors = self.simulate(text, duration="")
        self.assertEqual(status, 2)
        lines = [int(line.split(":")[1]) for line in errors.splitlines()]
        self.assertEqual(lines, [1, 1, 3, 5, 6], errors)

    def test_wrong_toml_and_a_missing_file_are_one_sentence(self):
        status, _, errors = self.simulate("[machines", duration="")
        self.assertEqual((status, errors.count("\n")), (2, 1), errors)
        done = subprocess.run([SIMULATOR, "run", "/nowhere/world.toml"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (2, "/nowhere/world.toml: the file cannot be read: No such file or directory\n"))

    def test_wrong_usage_is_one_sentence(self):
        world = machine("server", "serve")
        for sentence, options, command in (
                ("--seed must be an integer from 0 to 18446744073709551615, got `seven`", ("--seed", "seven"), "run"),
                ("--jobs cannot be used with a world, because `search` runs the seeds of a world one after another", ("--jobs", "2"), "search"),
        ):
            status, _, errors = self.simulate(world, *options, command=command)
            self.assertEqual((status, errors.count("\n")), (2, 1), errors)
            self.assertIn(sentence, errors)
        status, _, errors = self.simulate(world, "--name", "SERVER=10.0.0.9")
        self.assertEqual((status, errors), (2, "braid-sim: the name of a machine must be unique, got `server`, but another machine or --name is called `SERVER`\n"))
        status, _, errors = self.simulate(world, "--name", "localhost=10.0.0.9")
        self.assertIn("--name must not set `localhost`", errors)

    def test_a_world_has_as_many_machines_as_their_names_fit(self):
        many = "".join(machine(f"a-machine-with-a-long-name-{at}", "wait") for at in range(120))
        status, _, errors = self.simulate(many)
        self.assertEqual(status, 2)
        self.assertIn("is one machine too many: names and addresses must have less than 4096 bytes, and ", errors)
        self.assertRegex(errors.splitlines()[0], r"world\.toml:\d+: the machine `")

    def test_options_of_the_file_come_before_those_of_the_command(self):
        world = 'options = ["--seed", "5"]\n' + machine("bad", "exit", "x", "0")
        self.assertIn("seed 5: ", self.simulate(world)[2])
        self.assertIn("seed 6: ", self.simulate(world, "--seed", "6")[2])


@unittest.skipUnless(SIMULATOR and PROGRAMS, "BRAID_SIM and BRAID_SIM_PROGRAMS name no programs")
class FromCpp(unittest.TestCase):
    def run_program(self, name, *words):
        done = subprocess.run([f"{PROGRAMS}/{name}", *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_the_example_answers_a_request_twice_unless_it_is_correct(self):
        status, output, errors = self.run_program("partition")
        self.assertEqual(status, 1, output + errors)
        self.assertIn(" was answered twice\n", output)
        status, output, errors = self.run_program("partition", "correct")
        self.assertEqual(status, 0, output + errors)
        self.assertIn("client: ended with status 0", output)

    def test_the_interface(self):
        status, output, errors = self.run_program("worlds", f"{PROGRAMS}/machines", f"{PROGRAMS}/disks")
        self.assertEqual((status, output), (0, ""), errors)


if __name__ == "__main__":
    unittest.main()
