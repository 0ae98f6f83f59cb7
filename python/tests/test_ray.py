"""python/tests/test_ray.py: a cluster changes nothing, whatever dies, and the command continues where it was interrupted.

  python python/tests/test_ray.py           # RANKD_RAY_REQUESTS=200000 for the run of docs/scale_out.md"""
import contextlib
import hashlib
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import unittest
from pathlib import Path

from support import PATIENCE_S, ProjectTest, rankd, skip_without

skip_without("rankd", "ray", "pyarrow")

import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402
import ray  # noqa: E402

import rankd as package  # noqa: E402
from rankd import ray as rankd_ray  # noqa: E402

PLAN = "home_feed"
REQUESTS = int(os.environ.get("RANKD_RAY_REQUESTS", "4000"))
CPUS = 4  # as Ray counts them: actors share what the machine has


def hash_of(lines):
    """The digest of the sorted lines."""
    return hashlib.sha256("".join(line + "\n" for line in sorted(lines)).encode()).hexdigest()


class Poisoned(rankd_ray.RankBatches):
    """An actor whose process ends at one request."""

    def __call__(self, requests):
        if any("poison" in text for text in requests.column("request").to_pylist()):
            os._exit(1)
        return super().__call__(requests)


class Broken(rankd_ray.RankBatches):
    """An actor that does not start."""

    def __init__(self, **_):
        raise ImportError("no engine here")


class Cluster(ProjectTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.environ.setdefault("RAY_DEDUP_LOGS", "1")
        os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # for the class of this file
        ray.init(num_cpus=CPUS, include_dashboard=False, log_to_driver=False, configure_logging=False, object_store_memory=200 << 20)
        cls.addClassCleanup(ray.shutdown)
        users = random.Random(1)
        cls.requests = cls.scratch / "requests.ndjson"
        lines = [f'{{"user_id":{users.randint(-2, 300)}}}' if number % 50 else "nonsense" for number in range(REQUESTS)]
        cls.requests.write_text("\n".join(lines) + "\n", encoding="utf-8")
        cls.expected = rankd("batch", "--project", cls.demo, "--plan", PLAN, "--in", cls.requests, check=False).decode().splitlines()
        cls.block_rows = max(REQUESTS // 40, 50)

    def blocks(self):
        return list(rankd_ray.read_blocks(self.requests, self.block_rows))

    def test_any_number_of_actors_gives_the_lines_of_rankd_batch(self):
        for actors in (1, 2, 4):
            begin = time.perf_counter()
            got = dict(rankd_ray.rank_blocks(self.blocks(), str(self.demo), PLAN, actors=actors))
            spent = time.perf_counter() - begin
            lines = [line for _, table in sorted(got.items()) for line in table.column("answer").to_pylist()]
            self.assertEqual(hash_of(lines), hash_of(self.expected))
            self.assertEqual(lines, self.expected)
            print(f"{actors} actors: {REQUESTS / spent:.0f} requests/s with their start")

    def test_three_actors_that_are_killed_change_nothing(self):
        victims = random.Random(2)
        killed = []
        blocks = self.blocks()
        moments = sorted(victims.sample(range(2, len(blocks) - 2), 3))
        lines = []
        ranked = rankd_ray.rank_blocks(blocks, rankd_ray.Archive.of(self.demo), PLAN, actors=2)
        for number, (_, table) in enumerate(ranked):
            lines += table.column("answer").to_pylist()
            if moments and number >= moments[0]:
                pids = _actor_pids()
                if pids:
                    moments.pop(0)
                    killed.append(victims.choice(pids))
                    os.kill(killed[-1], signal.SIGKILL)
        self.assertEqual(len(killed), 3)
        self.assertEqual(hash_of(lines), hash_of(self.expected))

    def test_a_dataset_is_ranked_in_its_order_if_that_is_asked_for(self):
        table = pyarrow.concat_tables(table for _, table in self.blocks()[:8])
        expected = self.expected[:table.num_rows]
        ds = ray.data.from_arrow([table.slice(at, 100) for at in range(0, table.num_rows, 100)])
        for order in (True, False):
            ranked = rankd_ray.rank_dataset(ds, str(self.demo), PLAN, actors=2, order=order, batch_size=100)
            lines = [row["answer"] for row in ranked.take_all()]
            self.assertEqual(lines if order else sorted(lines), expected if order else sorted(expected))

    def test_a_request_that_ends_its_process_is_named_by_its_line(self):
        table = pyarrow.table({"line": pyarrow.array(range(31, 35), pyarrow.int64()),
                               "request": ['{"user_id":1}', '{"user_id":2}', '{"request_id":"poison"}', '{"user_id":1}']})
        error = self.refused("actor_died", list, rankd_ray.rank_blocks([(0, table)], str(self.demo), PLAN, actor_class=Poisoned))
        self.assertIn("line 33 ", error.message)

    def test_actors_without_a_cpu_keep_no_block(self):
        got = dict(rankd_ray.rank_blocks(self.blocks()[:12], str(self.demo), PLAN, actors=3 * CPUS))
        lines = [line for _, table in sorted(got.items()) for line in table.column("answer").to_pylist()]
        self.assertEqual(lines, self.expected[:len(lines)])
        self.assertEqual(list(rankd_ray.rank_blocks([], str(self.demo), PLAN, actors=3 * CPUS)), [])

    def test_a_block_is_divided_by_actors_that_have_all_cpus(self):
        table = pyarrow.table({"line": pyarrow.array([7, 8], pyarrow.int64()), "request": ['{"user_id":1}', '{"request_id":"poison"}']})
        error = self.refused("actor_died", list, rankd_ray.rank_blocks([(0, table)], str(self.demo), PLAN, actors=CPUS, actor_class=Poisoned))
        self.assertIn("line 8 ", error.message)

    def test_actors_that_cannot_start_are_refused(self):
        error = self.refused("too_few_cpus", list, rankd_ray.rank_blocks(self.blocks()[:1], str(self.demo), PLAN, threads=CPUS + 1))
        self.assertIn(f"has {CPUS}", error.message)
        ds = ray.data.from_arrow(self.blocks()[0][1])
        self.refused("too_few_cpus", rankd_ray.rank_dataset, ds, str(self.demo), PLAN, threads=CPUS)
        with self.assertRaises(ray.exceptions.RayActorError) as caught:
            list(rankd_ray.rank_blocks(self.blocks()[:1], str(self.demo), PLAN, actor_class=Broken))
        self.assertIn("no engine here", str(caught.exception))

    def test_a_dataset_needs_no_more_cpus_than_there_are(self):
        file = self.scratch / "dataset.parquet"
        pyarrow.parquet.write_table(self.blocks()[0][1], file)
        ranked = rankd_ray.rank_dataset(ray.data.read_parquet(str(file)), str(self.demo), PLAN, actors=CPUS)
        ranked.write_parquet(str(self.scratch / "dataset"))
        lines = pyarrow.parquet.read_table(self.scratch / "dataset").column("answer").to_pylist()
        self.assertEqual(sorted(lines), sorted(self.expected[:self.block_rows]))

    def test_what_is_wrong_with_a_project_or_a_plan_is_said(self):
        self.refused("unknown_plan", list, rankd_ray.rank_blocks(self.blocks()[:1], str(self.demo), "nothing"))
        self.refused("unsupported_type", list, rankd_ray.rank_blocks([(0, pyarrow.table({"request": [1]}))], str(self.demo), PLAN))
        self.refused("no_project", rankd_ray.Archive.of, self.scratch)
        archive = rankd_ray.Archive.of(self.demo)
        self.refused("digest_mismatch", rankd_ray.Archive(archive.data + b"x", archive.digest).unpack)

    def test_an_archive_writes_nothing_outside_of_its_folder(self):
        for name in ("../outside", "/tmp/outside", "a/../../outside"):
            data = io.BytesIO()
            with tarfile.open(fileobj=data, mode="w") as archive:
                archive.addfile(tarfile.TarInfo(name))
            made = rankd_ray.Archive(data.getvalue(), hashlib.sha256(data.getvalue()).hexdigest())
            self.refused("unsafe_archive", made.unpack)

    def test_an_archive_has_the_digest_of_its_files_and_is_unpacked_once(self):
        copy = self.scratch / "copy"
        shutil.copytree(self.demo, copy)
        archive = rankd_ray.Archive.of(copy)
        self.assertEqual(archive.digest, rankd_ray.Archive.of(self.demo).digest)
        folder = archive.unpack()
        self.addCleanup(shutil.rmtree, folder)
        made = folder.stat().st_mtime_ns
        self.assertEqual(archive.unpack(), folder)
        self.assertEqual(folder.stat().st_mtime_ns, made)
        (copy / "rankd.toml").write_text((copy / "rankd.toml").read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
        self.assertNotEqual(rankd_ray.Archive.of(copy).digest, archive.digest)

    # --- the command ---

    def command(self, out, *more):
        address = ray.get_runtime_context().gcs_address
        return [sys.executable, "-m", "rankd.ray", "batch", "--project", self.demo, "--plan", PLAN, "--in", self.requests, "--out", out,
                "--actors", "2", "--block-rows", self.block_rows, "--address", address, *more]

    def run_command(self, out, *more):
        return subprocess.run([str(word) for word in self.command(out, *more)], capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False)

    def lines_in(self, out):
        table = pyarrow.parquet.read_table(sorted(out.glob("part-*.parquet"))).sort_by("line")
        return table.column("answer").to_pylist()

    def test_a_driver_that_is_killed_three_times_loses_no_finished_block(self):
        out = self.scratch / "resumed"
        for moment in (1, 10, 20):
            process = subprocess.Popen([str(word) for word in self.command(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            begin = time.monotonic()
            while len(list(out.glob("part-*.parquet"))) < moment and process.poll() is None:
                self.assertLess(time.monotonic() - begin, PATIENCE_S)
                time.sleep(0.01)
            process.kill()
            process.communicate()
            before = {file.name: file.stat().st_mtime_ns for file in out.glob("part-*.parquet")}
            self.assertGreaterEqual(len(before), moment)
        done = self.run_command(out)
        self.assertEqual(done.returncode, 1, done.stderr)  # some requests have errors
        self.assertEqual(before, {name: (out / name).stat().st_mtime_ns for name in before})
        self.assertEqual(self.lines_in(out), self.expected)
        self.assertEqual(list(out.glob("*.tmp")), [])
        done = self.run_command(out)
        self.assertIn("answered 0 requests", done.stderr)
        done = self.run_command(out, "--allow-degraded")
        self.assertIn("[resume_mismatch]", done.stderr)
        self.assertIn("allow_degraded", done.stderr)

    def test_a_folder_that_is_not_its_own_and_requests_that_do_not_exist_are_refused(self):
        out = self.scratch / "other"
        out.mkdir()
        (out / "mine.txt").write_text("mine", encoding="utf-8")
        self.assertIn("[output_unwritable]", self.run_command(out).stderr)
        self.assertEqual([file.name for file in out.iterdir()], ["mine.txt"])
        self.assertIn("[requests_unreadable]", self.run_command(out, "--in", "nowhere.parquet").stderr)
        self.assertIn("[unknown_plan]", self.run_command(out, "--plan", "nothing").stderr)
        self.assertEqual(self.run_command(out, "--actors", "0").returncode, 2)

    def test_a_wrong_value_is_named_with_what_is_expected(self):
        whole = ["batch", f"--project={self.demo}", f"--in={self.requests}", f"--out={self.scratch / 'unused'}"]

        def usage_error(*words):
            error = io.StringIO()
            with contextlib.redirect_stderr(error), self.assertRaises(SystemExit) as ended:
                rankd_ray.main([*whole, *words])
            self.assertEqual(ended.exception.code, 2)
            return error.getvalue()

        for option in ("--actors", "--threads", "--block-rows"):
            for value in ("0", "-1", "1e99", "NaN", "", "text", "9223372036854775808", "1" * 5000, "\u0663"):
                with self.subTest(option, value=value[:20]):
                    self.assertIn(f"argument {option}: must be an integer from 1 to 1000000, got {value!r}",
                                  usage_error(f"{option}={value}"))
        for option in ("--project", "--in", "--out"):
            self.assertIn(f"argument {option}: must not be empty", usage_error(f"{option}="))
        self.assertFalse((self.scratch / "unused").exists())

    def test_files_that_are_something_else_are_refused(self):
        file = self.scratch / "text.parquet"
        file.write_text("text", encoding="utf-8")
        done = self.run_command(self.scratch / "of_text", "--in", file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("text.parquet is not a file of Parquet", done.stderr)
        done = self.run_command(file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("text.parquet cannot be used as a folder", done.stderr)
        out = self.scratch / "damaged"
        out.mkdir()
        (out / "batch.json").write_text("{", encoding="utf-8")
        self.assertIn("batch.json is not JSON", self.run_command(out).stderr)

    def test_the_version_is_that_of_the_package(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), self.assertRaises(SystemExit) as ended:
            rankd_ray.main(["--version"])
        self.assertEqual((ended.exception.code, out.getvalue()), (0, f"rankd-ray {package.__version__}\n"))

    def test_parquet_is_read_as_lines_are(self):
        file = self.scratch / "requests.parquet"
        texts = self.requests.read_text(encoding="utf-8").splitlines()[:100]
        pyarrow.parquet.write_table(pyarrow.table({"request": texts}), file)
        blocks = list(rankd_ray.read_blocks(file, 30))
        self.assertEqual([table.num_rows for _, table in blocks], [30, 30, 30, 10])
        self.assertEqual(blocks[1][1].column("line")[0].as_py(), 31)
        with package.Ranker(self.demo, PLAN) as ranker:
            lines = [line for _, table in blocks for line in ranker.rank_many(table).lines()]
        self.assertEqual(lines, self.expected[:100])


def _actor_pids():
    """The processes of the actors that rank, among those that this process has started."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "cmdline").read_bytes().startswith(b"ray::RankBatches"):
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended
    return [pid for pid in found if os.getpid() in _ancestors(pid)]


def _ancestors(pid):
    found = []
    while pid > 1:
        found.append(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()[1])
        except OSError:
            break
    return found


if __name__ == "__main__":
    unittest.main()
