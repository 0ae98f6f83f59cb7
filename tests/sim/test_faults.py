"""tests/sim/test_faults.py: faults that a seed chooses within budgets, and the smallest list of them that still fails.

BRAID_SIM names the command, and BRAID_SIM_PROGRAMS the folder of the programs."""
import re
import subprocess
import unittest
from pathlib import Path

from tests.sim import test_worlds as worlds
from tests.sim.test_worlds import event, machine


def store(*words):
    program = ", ".join(f'"{word}"' for word in (f"{worlds.PROGRAMS}/disks", *words))
    return f"[machines.store]\nprogram = [{program}]\ndisk = true\n"


class Faults(worlds.World):
    def search(self, text, *options):
        """Searches for a failing seed. Returns the world that it prints, and the errors."""
        status, output, errors = self.simulate(text, *options, command="search", duration="20s")
        self.assertEqual(status, 1, errors)
        return output, errors

    def run_again(self, text):
        self.file.write_text(text)
        return subprocess.run([worlds.SIMULATOR, "run", str(self.file)], capture_output=True, text=True, check=False)

    def test_planted_faults_are_found_and_shrunk_to_one_crash(self):
        budgets = '[faults]\ncrashes = 3\nkills = 2\ncuts = 1\nslow_disks = 1\ncalm_from = "10s"\n'
        for program in (("append", "none"), ("append", "no_folder_sync"), ("replace", "no_file_sync"),
                        ("replace", "no_folder_sync")):
            with self.subTest(program):
                smallest, errors = self.search(budgets + store(*program, "checked") + machine("other", "wait"), "--every", "4",
                                               "--splits", "5")
                self.assertIn("the smallest world that still fails is on the standard output\n", errors)
                self.assertEqual(re.findall(r'^(\w+) = "store"', smallest, re.M), ["crash", "restart"], smallest)
                self.assertNotIn("--splits", smallest)
                done = self.run_again(smallest)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(worlds.hash_in(done.stderr), worlds.hash_in(self.run_again(smallest).stderr))

    def test_correct_programs_survive_all_faults_of_disks_and_machines(self):
        budgets = '[faults]\ncrashes = 4\nkills = 2\nslow_disks = 2\ncalm_from = "15s"\n'
        for program in (("append", "sync"), ("append", "dsync"), ("replace", "full")):
            status, output, errors = self.simulate(budgets + store(*program, "checked"), "--seeds", "1..15", command="search")
            self.assertEqual((status, output), (0, ""), errors)

    def test_a_budget_limits_the_faults(self):
        counts = []
        for seed in range(1, 13):
            text = '[faults]\nkills = 3\ncalm_from = "5s"\n' + machine("a", "wait")
            status, _, errors = self.simulate(text, "--seed", str(seed), duration="10s")
            self.assertEqual(status, 0, errors)
            self.assertIn("a: ran until the end", errors)  # each fault ends before `calm_from`
            counts.append(int((re.search(r"started (\d) times", errors) or [0, 1])[1]) - 1)
        self.assertEqual(min(counts), 0, counts)
        self.assertTrue(1 < max(counts) <= 3, counts)

    def test_faults_of_the_network_are_shrunk_to_the_fewest(self):
        text = '[faults]\nresets = 4\ndelays = 5\nsplits = 5\n' + worlds.CLIENT_AND_SERVER + machine("client", "ask", "server", "15")
        smallest, _ = self.search(text, "--fault-rate", "5")
        self.assertIn('"--resets", "1"', smallest)
        self.assertNotIn("--delays", smallest)
        self.assertEqual(self.run_again(smallest).returncode, 1)

    def test_large_budgets_are_shrunk_in_few_runs(self):
        # The program fails at its start, so no fault is needed. One run for each fault would take minutes.
        text = '[faults]\nkills = 1000\ncuts = 1000\nresets = 1000000\n' + machine("a", "wait") + machine("b", "exit", "x", "3")
        smallest, errors = self.search(text)
        self.assertNotIn("[[events]]", smallest, errors)
        self.assertNotIn("--resets", smallest)

    def test_faults_are_for_the_named_machines(self):
        text = '[faults]\nkills = 5\nmachines = ["b"]\n' + machine("a", "wait") + machine("b", "wait")
        for seed in "123":
            status, _, errors = self.simulate(text, "--seed", seed, "--twice", duration="10s")
            self.assertEqual(status, 0, errors)
            self.assertIn("a: ran until the end\n", errors)


class Events(worlds.World):
    RANKD = Path(worlds.SIMULATOR).parent / "rankd"

    @unittest.skipUnless(RANKD.exists(), "rankd was not built")
    def test_rankd_loses_no_acknowledged_event(self):
        server = ", ".join(f'"{word}"' for word in (self.RANKD, "serve", "--listen", "0.0.0.0:80", "--loops", "1", "--events",
                                                    "new/events"))
        text = f'[machines.server]\nprogram = [{server}]\nfolder = "{Path("examples/books").resolve()}"\ndisk = true\n'
        text += f'[machines.client]\nprogram = ["{worlds.PROGRAMS}/events", "server"]\nmust_end = true\n'
        for at, what in ((5, "crash"), (7, "restart"), (20, "kill"), (21, "restart"), (30, "crash"), (33, "restart")):
            text += event(f"{at}s", f'{what} = "server"')
        status, _, errors = self.simulate(text, "--seeds", "1..1", "--every", "16", command="search", duration="5min")
        self.assertEqual(status, 0, errors)


class Links(worlds.World):
    def test_bandwidth_limits_a_stream(self):
        for kilobytes, seconds in ((1000, 5), (500, 10)):  # for 5 MB
            status, _, errors = self.simulate(machine("reader", "swallow") + machine("writer", "stream", "reader"), "--every", "16",
                                              "--bandwidth", str(kilobytes), "--twice")
            self.assertEqual(status, 0, errors)
            self.assertEqual(int(re.search(r"reader: ended with status 0 at (\d+)\.", errors)[1]), seconds, errors)


class Sometimes(worlds.World):
    def test_some_places_are_true_in_a_simulation_only(self):
        seen = set()
        for seed in "1234":
            _, output, errors = self.simulate(machine("a", "sometimes"), "--seed", seed, "--twice")
            self.assertIn("the second run was the same", errors)
            seen.add(int(output.split()[2]))
        self.assertTrue(len(seen) > 1 and all(0 < count < 30 for count in seen), seen)
        calm = self.simulate('[faults]\ncalm_from = "1s"\n' + machine("a", "sometimes", more='starts_at = "1s"\n'))
        self.assertIn("0 names", calm[1])
        real = subprocess.run([f"{worlds.PROGRAMS}/machines", "sometimes"], capture_output=True, text=True, check=True)
        self.assertEqual(real.stdout, "0 names\n")


class WrongFiles(worlds.World):
    def test_each_problem_has_its_line(self):
        good = machine("a", "wait")
        for line, sentence, text in (
                (2, "`faults` must be a table: write [faults]", "faults = 5\n" + good),
                (3, "unknown key `faults.color`; expected one of `crashes`, `kills`", "[faults]\ncolor = 1\n" + good),
                (3, "unknown key `faults.reset`; did you mean `resets`?", "[faults]\nreset = 1\n" + good),
                (3, "`crashes` must be an integer from 0 to 1000, got -1", "[faults]\ncrashes = -1\n" + good),
                (3, "`resets` must be an integer from 0 to 1000000, got 1000001", "[faults]\nresets = 1000001\n" + good),
                (3, "`crashes` must be an integer from 0 to 1000, got 1000000", "[faults]\ncrashes = 1000000\n" + good),
                (3, "`kills` must be an integer from 0 to 1000", '[faults]\nkills = "many"\n' + good),
                (3, "`calm_from` must not be after the end of the world, which `duration` sets", '[faults]\ncalm_from = "2h"\n' + good),
                (3, "`calm_from` must not be below 1ns, got \"-5s\"", '[faults]\ncalm_from = "-5s"\n' + good),
                (3, "`calm_from` must be a duration such as \"250ms\" or \"10min\", in quotes", "[faults]\ncalm_from = 5\n" + good),
                (3, "the machine `b` does not exist; the world has `a`", '[faults]\nmachines = ["a", "b"]\n' + good),
                (3, "`machines` must name at least one machine; remove the key", "[faults]\nmachines = []\n" + good),
                (3, "`full_disks` needs a machine with `disk = true` that may have faults", "[faults]\nfull_disks = 1\n" + good),
                (3, "`cuts` needs two machines that may have faults", "[faults]\ncuts = 1\n" + good),
                (3, "`crashes` needs a machine that may have faults; name the machine in `machines`",
                 "[faults]\ncrashes = 1\n" + machine("a", "wait", more="must_end = true\n")),
        ):
            with self.subTest(sentence):
                status, output, errors = self.simulate(text)
                self.assertEqual((status, output), (2, ""), errors)
                self.assertTrue(errors.startswith(f"{self.file}:{line}: {sentence}"), errors)
                self.assertEqual(errors.count("\n"), 1, errors)

    def test_bandwidth_is_for_worlds(self):
        done = subprocess.run([worlds.SIMULATOR, "run", "--bandwidth", "5", "--", f"{worlds.PROGRAMS}/machines"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "braid-sim: --bandwidth applies only to worlds; a single program has no links\n"))


if __name__ == "__main__":
    unittest.main()
