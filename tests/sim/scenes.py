#!/usr/bin/env python3
"""tests/sim/scenes.py: simulated worlds of services and clients that check an invariant while a seed chooses faults.

    tests/sim/scenes.py BRAID_SIM BUILD [--seeds A..B] [--twice N] [SCENE…]

SCENE is a name of the table below; all of them without one. Prints each scene with its seeds, its switches and its
time. Without --seeds, runs the seeds of the gate; BRAID_STRESS multiplies them, and BRAID_SEED is the first seed, as
tools/long_runs sets them. --twice N runs the first N seeds twice: a seed fails if the hashes of its two worlds differ.

Exit status: 0; 1 when a seed fails, with the command that repeats it; 2 for wrong usage."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REDIS = ("redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--jemalloc-bg-thread", "no", "--save", "")


def machine(name, program, **keys):
    """Returns the table of a machine. JSON writes strings, arrays and truth values as TOML does."""
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in {"program": list(map(str, program)), **keys}.items())
    return f"[machines.{name}]\n{lines}"


def faults(**budgets):
    return "[faults]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in budgets.items())


def http(build, _):
    services = build / "tests/sim/services"
    return ('duration = "3min"\noptions = ["--every", "4"]\n' +
            faults(crashes=2, kills=2, cuts=2, splits=100, delays=10, resets=5, refusals=3, partitions=2, calm_from="60s") +
            machine("server", [services, "http_server"], disk=True) +  # which remembers the calls that it has served
            machine("client", [services, "http_client", "10.0.0.1"], must_end=True))


def make_bookshop(build, folder):
    """Makes a project whose rule counts clicks, and loads its store."""
    project = Path(folder, "books")
    shutil.copytree(ROOT / "examples/books", project)
    (project / "registry/events.toml").write_text('[[event]]\nname = "click"\n\n[[counter]]\nevent = "click"\n'
                                                  'endpoint = "ep_0001"\nkey = "features:{item_id}"\nname = "sales"\n')
    plan = json.loads((project / "plans/first.json").read_text())
    for node in plan["nodes"]:
        node["params"].update({"priced": {"keys": [3, 4, 5]}, "best": {"count": 6}}.get(node["node_id"], {}))
    (project / "plans/first.json").write_text(json.dumps(plan))
    subprocess.run([build / "bin/rankd", "load"], cwd=project, check=True, capture_output=True)
    return project


def events(build, folder):
    # Without disks that fail: rankd does not start while its folder of events cannot be written.
    server = [build / "bin/rankd", "serve", "--listen", "0.0.0.0:80", "--loops", "1", "--events", "new/events"]
    return ('duration = "5min"\noptions = ["--every", "16"]\n' +
            faults(crashes=3, kills=2, slow_disks=1, cuts=1, splits=20, resets=3, calm_from="75s") +
            # rankd writes a snapshot of its counters every minute. It then counts the later events of the log again.
            "".join(f'[[events]]\nat = "{at}s"\n{what} = "server"\n' for at, what in ((145, "crash"), (146, "restart"))) +
            machine("server", server, folder=str(make_bookshop(build, folder)), disk=True) +
            machine("client", [build / "tests/sim/events", "server", "counters"], must_end=True))


def redis(build, folder):
    # Redis 7.0 does not sync the folder in which it makes this one, so that a crash may lose the whole log.
    Path(folder, "files/appendonlydir").mkdir(parents=True)
    names = ("redis1", "redis2", "redis3")
    server = [*REDIS, "--appendonly", "yes", "--appendfsync", "always"]
    return ('duration = "80s"\noptions = ["--every", "8"]\n' +
            faults(crashes=3, kills=2, cuts=2, slow_disks=1, splits=50, delays=20, resets=5, partitions=3, calm_from="20s") +
            "".join(machine(name, server, folder=f"{folder}/files", disk=True) for name in names) +
            machine("client", [build / "tests/sim/services", "kept_shards", "10.0.0.1", "10.0.0.2", "10.0.0.3"], must_end=True))


def write_cluster(folder):
    """Writes the files of six servers: three masters, and a replica of each. A server that begins without files would
    make a copy of its data for its replica in another process, which cannot be simulated. So master and replica begin
    with the same data, the history of which has the same id: the replica then needs no copy."""
    def text(value):
        return bytes([len(value)]) + value.encode()

    ids = [f"{number:040x}" for number in range(1, 7)]
    for own in range(6):
        server = Path(folder, f"redis{own + 1}")
        server.mkdir()
        history = (("repl-stream-db", "0"), ("repl-id", ids[own % 3]), ("repl-offset", "1"))
        server.joinpath("dump.rdb").write_bytes(b"REDIS0010" + b"".join(b"\xfa" + text(key) + text(value) for key, value in history) +
                                                b"\xff" + bytes(8))  # a checksum of 0 is not checked
        lines = []
        for each in range(6):
            kind = ("myself," if each == own else "") + ("master -" if each < 3 else f"slave {ids[each - 3]}")
            slots = f" {each * 5461 + (each > 0)}-{min(16383, (each + 1) * 5461)}" if each < 3 else ""
            lines.append(f"{ids[each]} 10.0.0.{each + 1}:6379@16379 {kind} 0 0 {each % 3 + 1} connected{slots}\n")
        server.joinpath("nodes.conf").write_text("".join(lines) + "vars currentEpoch 3 lastVoteEpoch 0\n")


def make_failovers(folder):
    """Returns a world with a cluster whose first two masters crash, and the addresses of its servers."""
    write_cluster(folder)
    server = [*REDIS, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000"]
    # With the default rate, most faults would happen before the servers of the cluster know each other. A reset may cost
    # a replica the vote of a master. It then asks again after 8 s, and needs both other masters: the second one crashes
    # later.
    world = ('duration = "70s"\noptions = ["--every", "16", "--fault-rate", "100"]\n' +
             faults(splits=100, delays=40, resets=10, calm_from="18s"))
    for number in range(1, 7):
        world += machine(f"redis{number}", server, folder=f"{folder}/redis{number}", disk=True)
    events = "".join(f'[[events]]\nat = "{at}s"\ncrash = "redis{number}"\n' for at, number in ((8, 1), (26, 2)))
    return world + events, [f"10.0.0.{number}" for number in range(1, 7)]


def failover(build, folder):
    world, nodes = make_failovers(folder)
    return world + machine("client", [build / "tests/sim/services", "cluster", *nodes], must_end=True)


def ranking(build, folder):
    project = make_bookshop(build, folder)
    endpoints = project / "registry/endpoints.dev.toml"
    world, nodes = make_failovers(folder)
    listed = ", ".join(f'{{ host = "{node}", port = 6379 }}' for node in nodes)
    text = re.sub(r"resolver = .*", f'resolver = {{ type = "cluster", nodes = [{listed}] }}', endpoints.read_text())
    # Less than the longest delay of a packet, so that replies arrive after their commands have timed out.
    endpoints.write_text(re.sub(r"request_timeout_ms = \d+", "request_timeout_ms = 200", text))
    (project / "registry/events.toml").unlink()
    plan = json.loads((project / "plans/first.json").read_text())
    plan["nodes"][-1]["params"]["count"] = 3
    (project / "plans/first.json").write_text(json.dumps(plan))
    servers = [f"10.0.0.{number}" for number in range(11, 14)]
    for number, address in enumerate(servers, 1):
        world += machine(f"rankd{number}", [build / "bin/rankd", "serve", "--listen", "0.0.0.0:80", "--loops", "1"],
                         folder=str(project), address=address)
    return world + machine("client", [build / "tests/sim/services", "rankings", *servers, *nodes], must_end=True)


def reload(build, _):
    return [build / "tests/rankd/server/all_stress", "--source-file=*/reload_stress.cpp"]


# The world or the program of each scene, the seeds of the gate, further options, and what it needs.
SCENES = {
    "http": (http, 3, (), ("tests/sim/services",)),
    "events": (events, 1, (), ("tests/sim/events", "bin/rankd")),
    "redis": (redis, 1, (), ("tests/sim/services", "redis-server")),
    "failover": (failover, 1, (), ("tests/sim/services", "redis-server")),
    "ranking": (ranking, 1, (), ("tests/sim/services", "bin/rankd", "redis-server")),
    "reload": (reload, 1, ("--every", "16", "--splits", "20", "--latency", "0..20"), ("tests/rankd/server/all_stress",)),
}


def is_missing(build, needed):
    return not ((build / needed).exists() or ("/" not in needed and shutil.which(needed)))


def simulate(simulator, build, name, *words):
    """Runs a command of braid-sim, `words`, for a scene. Returns its exit status and what it has written."""
    make, _, options, _ = SCENES[name]
    with tempfile.TemporaryDirectory() as folder:
        made = make(build, folder)
        subject = ["--", *map(str, made)]
        if isinstance(made, str):
            Path(folder, "world.toml").write_text(made)
            subject = [f"{folder}/world.toml"]
        done = subprocess.run([simulator, *words, *options, *subject],
                              cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simulator")
    parser.add_argument("build", type=Path)
    parser.add_argument("--seeds", default="")
    parser.add_argument("--twice", type=int, default=0, metavar="N")
    parser.add_argument("scenes", nargs="*", metavar="SCENE")
    given = parser.parse_intermixed_args()
    if unknown := sorted(set(given.scenes) - SCENES.keys()):
        parser.error(f"no scene is called {unknown[0]!r}; expected one of {', '.join(SCENES)}")
    if given.seeds and not re.fullmatch(r"\d+\.\.\d+", given.seeds):
        parser.error(f"--seeds must be a range such as 1..100, got {given.seeds!r}")
    build = given.build.resolve()
    first = int(os.environ.get("BRAID_SEED", "1"))
    failed = 0
    for name in given.scenes or SCENES:
        _, usual, _, needs = SCENES[name]
        if lacking := [each for each in needs if is_missing(build, each)]:
            print(f"{name}: left out, because {lacking[0]} is missing")
            continue
        count = usual * int(os.environ.get("BRAID_STRESS", "1"))
        seeds = tuple(map(int, given.seeds.split(".."))) if given.seeds else (first, first + count - 1)
        middle = min(seeds[0] + given.twice, seeds[1] + 1)
        for part, more in (((seeds[0], middle - 1), ("--twice",)), ((middle, seeds[1]), ())):
            if part[0] > part[1]:
                continue
            begin = time.monotonic()
            status, output = simulate(given.simulator, build, name, "search", "--seeds", f"{part[0]}..{part[1]}", *more)
            seconds = time.monotonic() - begin
            failed += status != 0
            switches = re.search(r"(\d+) switches\n$", output)
            print(f"{name}: seeds {part[0]}..{part[1]}{', each twice' if more else ''}, " +
                  (f"{switches[1]} switches, {seconds:.0f} s" if status == 0 and switches else f"FAILED\n{output}"), flush=True)
            if status != 0:
                break
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
