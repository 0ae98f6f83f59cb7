"""python/measure.py: the figures of docs/scale_out.md and docs/python.md: rates of rankd batch, rank_many and actors.

  RANKD=build/release/bin/rankd build/python/tests/bin/python python/measure.py --requests 200000

Other programs on the machine slow all of them alike, so each rate is also given for each second of CPU time that was used.
An actor is busy from the begin to the end of each block, whether or not other programs leave it a CPU then. With --kills 3,
the actors are measured once more, while three of them are killed."""
import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "tests"))
from support import RANKD, rankd  # noqa: E402

PLAN = "home_feed"


def cpu_s(whose):
    times = os.times()
    return times.user + times.system if whose == "own" else times.children_user + times.children_system


class Best:
    """The fastest of several runs, by name."""

    def __init__(self, requests):
        self._requests = requests
        self._runs = {}

    def run(self, name, whose, work):
        begin, before = time.perf_counter(), cpu_s(whose)
        result = work()
        self._runs.setdefault(name, []).append((time.perf_counter() - begin, cpu_s(whose) - before))
        return result

    def show(self):
        for name, runs in self._runs.items():
            wall, used = (min(each) for each in zip(*runs))
            print(f"{name:24} {self._requests / wall:9.0f} requests/s {self._requests / used:9.0f} for each CPU second")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--actors", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--block-rows", type=int, default=1024, help="requests that an actor gets at once")
    parser.add_argument("--kills", type=int, default=0, help="actors to kill in an additional run of the most actors")
    options = parser.parse_args()
    imports = [float(subprocess.run([sys.executable, "-c", "import time; t = time.process_time(); import rankd; print(time.process_time() - t)"],
                                    capture_output=True, check=True).stdout) for _ in range(10)]
    print(f"import rankd: {min(imports) * 1e3:.0f} ms of CPU time")

    import pyarrow

    import rankd as package

    with tempfile.TemporaryDirectory(prefix="rankd_measure_") as scratch:
        demo, requests, out = (Path(scratch) / name for name in ("demo", "requests.ndjson", "answers.ndjson"))
        rankd("init", "demo", demo)
        rankd("load", "--project", demo)
        lines = [f'{{"user_id":{1 + at % 10_000}}}' for at in range(options.requests)]
        requests.write_text("\n".join(lines) + "\n", encoding="utf-8")
        table = pyarrow.table({"request": lines})
        best = Best(options.requests)
        batch = [RANKD, "batch", "--project", demo, "--plan", PLAN, "--workers", "1", "--in", requests, "--out", out, "--restart"]
        with package.Ranker(demo, PLAN, threads=1) as ranker:
            for _ in range(options.rounds):
                best.run("rankd batch, 1 thread", "children", lambda: subprocess.run(batch, check=True, stderr=subprocess.DEVNULL))
                best.run("rank_many of a table", "own", lambda: ranker.rank_many(table))
                answers = best.run("rank_many of a list", "own", lambda: ranker.rank_many(lines))
        expected = out.read_text(encoding="utf-8")
        same = "".join(line + "\n" for line in answers.lines()) == expected
        print(f"rank_many gives the bytes of rankd batch: {same}")
        best.show()
        if options.actors:
            measure_actors(options, demo, requests, hashlib.sha256("".join(sorted(expected.splitlines(True))).encode()).hexdigest())


def measure_actors(options, demo, requests, expected):
    import ray

    from rankd import ray as rankd_ray

    class Timed(rankd_ray.RankBatches):
        """An actor that adds the times of each block, on the clocks of the machine and of its process, to the answers."""

        def __call__(self, requests):
            begin, used = time.monotonic(), time.process_time()
            answers = super().__call__(requests)
            spent = {"pid": os.getpid(), "begin": begin, "end": time.monotonic(), "used": time.process_time() - used}
            return answers.replace_schema_metadata({name: repr(value) for name, value in spent.items()})

    ray.init(num_cpus=max(options.actors), include_dashboard=False, log_to_driver=False, configure_logging=False)
    blocks = list(rankd_ray.read_blocks(requests, options.block_rows))
    for actors, kills in [(each, 0) for each in options.actors] + [(max(options.actors), options.kills)] * (options.kills > 0):
        lines, times, killed = [], [], set()
        moments = sorted(random.Random(actors).sample(range(len(blocks) // 8, len(blocks) * 3 // 4), kills))
        for number, (_, table) in enumerate(rankd_ray.rank_blocks(iter(blocks), str(demo), PLAN, actors=actors, actor_class=Timed)):
            lines += table.column("answer").to_pylist()
            spent = {name.decode(): float(value) for name, value in table.schema.metadata.items()}
            times.append({**spent, "rows": table.num_rows, "spent": spent["end"] - spent["begin"]})
            if moments and number >= moments[0] and (pid := int(times[-1]["pid"])) not in killed:
                moments.pop(0)
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
        first = {}  # when each actor began its first block
        for each in times:
            first[each["pid"]] = min(each["begin"], first.get(each["pid"], each["begin"]))
        begin, end = sorted(first.values())[min(actors, len(first)) - 1], max(each["end"] for each in times)  # all actors have started at the begin
        times = [each for each in times if each["end"] > begin]
        busy = sum(each["end"] - max(each["begin"], begin) for each in times)
        used, inside = (sum(each[name] for each in times) for name in ("used", "spent"))
        rate = sum(each["rows"] for each in times) / (end - begin)
        same = hashlib.sha256("".join(line + "\n" for line in sorted(lines)).encode()).hexdigest() == expected
        print(f"{actors} actors, {len(killed)} of them killed: {rate:.0f} requests/s, {rate * (end - begin) / used:.0f} for each CPU "
              f"second; busy {busy / actors / (end - begin):.1%} of the time, in which they got {used / inside:.1%} of a CPU each; "
              f"the sorted lines have the hash of rankd batch: {same}", flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
