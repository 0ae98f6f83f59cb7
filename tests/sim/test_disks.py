"""tests/sim/test_disks.py: machines with a disk of their own: what a crash loses, and faults of the disk.

BRAID_SIM names the command, and BRAID_SIM_PROGRAMS the folder of the programs."""
import contextlib
import fcntl
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.sim import test_worlds as worlds
from tests.sim.test_worlds import event

COUNT = 24
CRASH = ("2050ms", "crash"), ("3s", "restart")


def machine(*words, name="a", more="disk = true\n"):
    program = ", ".join(f'"{word}"' for word in (f"{worlds.PROGRAMS}/disks", *words))
    return f"[machines.{name}]\nprogram = [{program}]\n{more}"


class Disk(worlds.World):
    def run_many(self, words, events, *options, count=COUNT, seed="1", more="disk = true\n"):
        """Runs a world of many equal machines. Returns the lines of each."""
        names = [f"a{at:02}" for at in range(count)]
        world = "".join(machine(*words, name=name, more=more) for name in names)
        world += "".join(event(at, f'{what} = "{name}"' + "".join(details)) for at, what, *details in events for name in names)
        status, output, errors = self.simulate(world, "--every", "8", "--seed", seed, *options)
        self.assertEqual(status, 0, output[-1000:] + errors)
        return [[line[6:] for line in output.splitlines() if line.startswith(name)] for name in names]

    def run_crashes(self, *words, events=CRASH, **options):
        """Returns for each machine the number of records that were written before the crash, and what was found after."""
        runs = []
        for lines in self.run_many(words, events, **options):
            second = [at for at, line in enumerate(lines) if line.startswith("found")][-1]
            runs.append((sum(line.startswith("wrote") for line in lines[:second]), lines[second].removeprefix("found ")))
        return runs


class Folder(Disk):
    """The folder with the disks of a world, below TMPDIR."""

    def folders_after(self, prepare):
        with tempfile.TemporaryDirectory() as folder:
            first = Path(folder, "braid-sim-disks-100")
            first.mkdir()
            Path(first, "0").mkdir()
            Path(first, "0", "old").write_text("text")
            with prepare(first):
                status, _, errors = self.simulate(machine("append", "sync"), "--seed", "1", variables={"TMPDIR": folder})
            self.assertEqual(status, 0, errors)
            return sorted(each.name for each in Path(folder).iterdir())

    def test_what_a_killed_simulation_left_is_deleted(self):
        self.assertEqual(self.folders_after(lambda _: contextlib.nullcontext()), [])

    def test_the_folder_of_a_running_simulation_stays(self):
        @contextlib.contextmanager
        def in_use(folder):
            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
            os.close(descriptor)

        self.assertEqual(self.folders_after(in_use), ["braid-sim-disks-100"])


class Crashes(Disk):
    def test_a_crash_keeps_what_was_synced(self):
        for variant in ("sync", "dsync"):
            for written, found in self.run_crashes("append", variant):
                self.assertGreater(written, 15)
                self.assertGreaterEqual(int(found.split()[0]), written)

    def test_a_crash_drops_or_tears_what_was_not_synced(self):
        runs = self.run_crashes("append", "none")
        self.assertTrue(any(found == str(written) for written, found in runs), runs)
        self.assertTrue(any(found == "0" for _, found in runs), runs)
        self.assertTrue(any(found.endswith("torn") for _, found in runs), runs)

    def test_a_kill_keeps_everything(self):
        more = "disk = true\nmust_end = true\n"  # so that the second world may restart programs that have ended by themselves
        for kill in ((("2050ms", "kill"), ("3s", "restart")), (("20s", "restart"),)):
            for written, found in self.run_crashes("append", "none", events=kill, count=6, more=more):
                self.assertEqual(found, str(written))

    def test_a_crash_after_a_kill_loses_what_the_killed_process_wrote(self):
        runs = self.run_crashes("append", "none", events=(("2050ms", "kill"), ("2100ms", "crash"), ("3s", "restart")))
        self.assertTrue(any(found != str(written) for written, found in runs), runs)

    def test_what_a_crash_has_kept_is_durable(self):
        events = (*CRASH, ("40s", "crash"), ("41s", "restart"))
        runs = [[line for line in lines if line.startswith("found")] for lines in self.run_many(("append", "none"), events)]
        self.assertTrue(all(first == "found 0" or first == second for _, first, second in runs), runs)

    def test_a_new_file_needs_a_sync_of_its_folder(self):
        runs = self.run_crashes("append", "no_folder_sync")
        self.assertEqual({"0" if found == "0" else "all" for _, found in runs}, {"0", "all"}, runs)
        self.assertTrue(all(found == "0" or int(found) >= written for written, found in runs), runs)

    def test_a_rename_needs_two_syncs(self):
        for written, found in self.run_crashes("replace", "full"):
            self.assertGreaterEqual(int(found), written)
        runs = self.run_crashes("replace", "no_folder_sync")
        self.assertNotIn("damage", {found for _, found in runs})
        self.assertTrue(any(int(found) < written for written, found in runs), runs)
        self.assertIn("damage", {found for _, found in self.run_crashes("replace", "no_file_sync")})

    def test_overwritten_bytes_come_back_by_sectors(self):
        found = {found for _, found in self.run_crashes("overwrite", count=60)}
        self.assertTrue({"4096 bytes: o", "3500 bytes: ono"} <= found, found)
        self.assertTrue(any(kinds.count("n") > 1 for kinds in found), found)

    def test_removed_names_come_back(self):
        found = {found for _, found in self.run_crashes("remove", count=60)}
        self.assertIn(" kept link folder folder/inner: content", {" " + each.strip() for each in found})
        self.assertIn("renamed added added/inner: ", found)
        for each in found:  # one point in the order of changes
            self.assertNotEqual("folder" in each.split(), "renamed" in each.replace(":", "").split(), each)

    def test_a_seed_decides_what_is_lost(self):
        self.assertNotEqual(*(self.run_many(("append", "none"), CRASH, "--twice", seed=seed) for seed in "12"))

class Calls(Disk):
    def test_calls_return_the_same_as_without_a_simulator(self):
        with tempfile.TemporaryDirectory() as folder:
            real = subprocess.run([f"{worlds.PROGRAMS}/disks", "calls"], cwd=folder, capture_output=True, text=True, check=True)
        status, output, errors = self.simulate(machine("calls"))
        self.assertEqual(status, 0, errors)
        self.assertEqual(output.replace("a | ", ""), real.stdout)

    def test_a_disk_begins_as_a_copy_of_the_folder(self):
        folder = self.file.parent / "initial"
        (folder / "inner").mkdir(parents=True)
        (folder / "log").write_text("x")
        status, output, errors = self.simulate(machine("append", "none", more=f'disk = true\nfolder = "{folder}"\n'))
        self.assertEqual((status, output), (0, "a | found 0 torn\n"), errors)
        self.assertEqual((folder / "log").read_text(), "x")

    def test_a_disk_is_deleted_at_the_end(self):
        folder = self.file.parent / "temporary"
        variables = {"TMPDIR": str(folder)}
        self.assertNotEqual(self.simulate(machine("append", "none"), variables=variables)[0], 0)  # there is no such folder
        folder.mkdir()
        status, _, errors = self.simulate(machine("append", "none"), variables=variables)
        self.assertEqual(status, 0, errors)
        self.assertEqual(list(folder.iterdir()), [])


class Faults(Disk):
    def watch(self, events, path="file"):
        status, output, errors = self.simulate(machine("errors", path) + events, "--twice")
        self.assertEqual(status, 0, errors)
        lines = [line for line in output.replace("a | ", "").splitlines() if not line.startswith("short")]
        return [line for at, line in enumerate(lines) if at == 0 or line != lines[at - 1]]

    def test_a_full_disk_refuses_writes_and_new_files(self):
        events = event("2s", 'fill_disk = "a"') + event("4s", 'heal_disk = "a"')
        self.assertEqual(self.watch(events), ["written, synced, created", "ENOSPC, synced, ENOSPC", "written, synced, created"])

    def test_a_failing_disk_refuses_writes_and_syncs(self):
        events = event("2s", 'fail_disk = "a"') + event("4s", 'heal_disk = "a"')
        self.assertEqual(self.watch(events), ["written, synced, created", "EIO, EIO, EIO", "written, synced, created"])

    def test_a_fault_may_be_for_some_files_only(self):
        for paths, seen in (("ne*", "written, synced, ENOSPC"), ("f?le", "ENOSPC, synced, created"), ("other", None)):
            lines = self.watch(event("2s", f'fill_disk = "a"\npaths = "{paths}"'))
            self.assertEqual(lines, ["written, synced, created", *([seen] if seen else [])], paths)

    def test_a_slow_disk_takes_virtual_time(self):
        lines = self.watch(event("2s", 'slow_disk = "a"\ndelay = "3s"\npaths = "file"'))
        self.assertEqual(lines, ["written, synced, created", "written, synced, created, slow"])

    def test_faults_outlive_a_restart(self):
        lines = self.watch(event("2s", 'fill_disk = "a"') + event("3s", 'kill = "a"') + event("4s", 'restart = "a"'))
        self.assertEqual(lines, ["written, synced, created", "ENOSPC, synced, ENOSPC"])

    def test_a_crash_during_a_slow_sync_loses_its_data(self):
        events = (("1s", "slow_disk", '\ndelay = "30s"'), *CRASH)
        written = {int(re.match(r"\d+", found)[0]) - written for written, found in self.run_crashes("append", "sync", events=events)}
        self.assertTrue({0, 1} >= written and len(written) == 2, written)


    def test_what_is_written_during_a_sync_is_not_durable(self):
        runs = self.run_crashes("meanwhile", events=(("0s", "slow_disk", '\ndelay = "1s"'), *CRASH))
        self.assertEqual({found for _, found in runs}, {"1", "12"})

    def test_a_sync_that_has_failed_may_lose_data_for_ever(self):
        events = (("500ms", "fail_disk"), ("1s", "heal_disk"), *CRASH)
        self.assertEqual({found for _, found in self.run_crashes("sync_again", events=events)}, {"0", "1"})


class WrongFiles(worlds.World):
    def test_each_problem_has_its_line(self):
        good = machine("calls")  # lines 2 to 4 after the duration
        for line, sentence, text in (
                (4, "`disk` must be true or false", machine("calls", more="disk = 5\n")),
                (5, "the folder `/nowhere` of the machine `a` does not exist; create it, or name another folder",
                 good + 'folder = "/nowhere"\n'),
                (7, "the machine `a` has no disk that can fail; write `disk = true` for it",
                 machine("calls", more='folder = "/"\n') + event("1s", 'fill_disk = "a"')),
                (7, "the machine `b` does not exist; the world has `a`", good + event("1s", 'fail_disk = "b"')),
                (8, "`delay` belongs to `slow_disk`, not to `fill_disk`", good + event("1s", 'fill_disk = "a"\ndelay = "1s"')),
                (8, "`delay` must not be below 1ns, got \"-1s\"", good + event("1s", 'slow_disk = "a"\ndelay = "-1s"')),
                (5, "`delay` is missing; write a duration such as \"10min\"", good + event("1s", 'slow_disk = "a"')),
                (8, "`paths` belongs to `fill_disk`, `fail_disk` and `slow_disk`, not to `crash`",
                 good + event("1s", 'crash = "a"\npaths = "x"')),
                (8, "`paths` must be a pattern below the folder of the machine, such as \"events/*\", got \"/x\"",
                 good + event("1s", 'fail_disk = "a"\npaths = "/x"')),
                (8, "`paths` must be a string that is not empty", good + event("1s", 'fail_disk = "a"\npaths = ""')),
        ):
            with self.subTest(sentence):
                status, output, errors = self.simulate(text)
                self.assertEqual((status, output), (2, ""), errors)
                self.assertTrue(errors.startswith(f"{self.file}:{line}: {sentence}"), errors)
                self.assertEqual(errors.count("\n"), 1, errors)


if __name__ == "__main__":
    unittest.main()
