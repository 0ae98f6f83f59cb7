#!/usr/bin/env python3
"""tests/sim/suites.py: runs test programs and examples of braid under the simulator, each seed twice.

    tests/sim/suites.py BRAID_SIM BUILD [--seeds A..B] [--jobs N] [--every N] [--short] [NAME…]

Tests of sockets expect what the loopback device does, so packets arrive without a latency.

NAME is a program of the table below, as `task` or `examples/08_pools`; all of them without one. Test cases that make
another process are left out, because the simulator refuses fork. Prints each program with the number of its switches.
--short runs a few files of each suite, as the gate does.

Exit status: 0; 1 when a seed fails or its two runs differ; 2 for wrong usage."""
import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Calls that make another process, directly or by the helpers in tests/support.
PROCESS = (r"\bfork\(|\brun_in_child\b|\bstatus_of_fork\b|\bchild_works\b|\brun_process\b|\bstarted_process\b|\bhttp_child\b"
           r"|\bchild_process\b|\bpopen\(|\b(tls_)?redis_server\b|\breal_cluster\b")

# Programs, and cases that cannot be simulated, with the reason.
SUITES = {
    "task": {
        "a chain of a million links runs while it is made": "takes long",
        "links that were made before the value is there run one after the other": "takes long",
        "links that were made after the value was there run one after the other": "takes long",
        "futures that are returned from within each other are unwrapped one after the other": "takes long",
        "values that wait for those who look at them are passed on one after the other": "takes long",
        "links that run inline do not run inside of each other": "takes long",
        "a chain of lookers does not run inside of each other": "takes long",
        "a chain whose executor drops it fails from there on": "takes long",
        "a failure passes a million links by, and their captures are destroyed one after the other": "takes long",
        "a chain that nobody fulfils or waits for is destroyed link by link": "takes long",
        "jobs without number that all wait do not use up the stack of the worker that helps": "takes long",
        "a partition divides, and loses nothing": "takes long",
        "a search finds the first, and questions about all have the answer of a loop": "takes long",
        "merged ranges are in order, equals of the first before those of the second": "takes long",
        "any number of elements with any number of keys is sorted, and stays what it was": "takes long",
        "the only worker gets through waits that are nested deeper than it likes to help": "takes long",
        "threads that place and take at once lose no job and double none": "spins without a call",
    },
    "coro": {
        "a task for each element, a million of them, of which few live at a time": "takes long",
        "a million awaits in turn, and as deep, need no stack": "takes long",
        "a chain of a million tasks, each spawning the next before its first wait, does not use up the stack": "takes long",
        "an unbalanced tree, and a spine of a hundred thousand forks, need no stack": "takes long",
        "a hundred thousand fibers one after another use the same stack": "takes long",
        "a million stopped children do not use up the stack": "takes long",
        "the last of a million ready awaits lies as deep in the stack as the first": "takes long",
        "a million awaits of ready tasks in a row do not use up the stack": "takes long",
    },
    "graph": {
        "as many nodes as there may be without edges run once each": "takes long",
        "a long chain needs neither stack nor queue": "takes long",
        "long chains do not use up the stack": "takes long",
        "a long chain of small functions and of coroutines does not use up the stack": "takes long",
    },
    "runtime": {
        "a loop that does not come back is reported once, with its thread and its functions": "looks at a thread that spins",
    },
    "io": {
        "every signal that can be caught is given by its number": "uses a signal that the simulator keeps for itself",
        "a handshake that is stopped at any moment leaves nothing behind": "counts turns of a loop until another thread has run",
    },
    "net": {
        "the authorities of the system are read once, and the loop goes on meanwhile": "opens a FIFO that has no other end",
    },
}

# The files that --short runs: those with a few thousand switches.
SHORT = {
    "task": ["basic_pool_test", "blocking_pool_test", "fork_join_test", "future_test", "least_loaded_test", "outlived_executor_test"],
    "coro": ["offload_test", "schedule_on_test", "serial_executor_test", "spawn_test", "with_scope_test"],
    "graph": ["flow_test", "run_certain_test", "run_options_test"],
    "runtime": ["dump_test", "finalized_test", "merged_quiesce_test", "metrics_test"],
    "io": ["stream_socket_test", "stream_listener_test", "udp_socket_test"],
    "net": ["http_client_test", "redis_connection_test"],
}


def cases_with(pattern, text):
    """Returns the names of the test cases of a file whose bodies match a pattern."""
    parts = re.split(r"^\s*TEST_CASE(?:_FIXTURE|_TEMPLATE)?\(", text, flags=re.MULTILINE)
    # A function of the file that makes a process is as good as the call itself.
    for function in re.split(r"\n(?=\S)", text):
        name = re.match(r"(?:auto|void|int|bool) (\w+)\(", function)
        if name and name[1] != "TEST_CASE" and re.search(pattern, function):
            pattern += rf"|\b{name[1]}\("
    names = []
    for part in parts[1:]:
        name = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', part.split("{")[0]))
        if re.search(pattern, part):
            names.append(name.replace('\\"', '"'))
    return names


def excluded(folder, more):
    """Returns the option of doctest that leaves these cases out."""
    names = list(more)
    for file in sorted((ROOT / "tests" / folder).glob("*_test.cpp")):
        names += cases_with(PROCESS, file.read_text())
    # A comma separates names, and a backslash escapes.
    return "--test-case-exclude=" + ",".join(re.sub(r"[^\w ]", "?", name) for name in names) if names else None


def programs(build, is_short):
    """Yields (name, command) of each program."""
    for folder, cases in SUITES.items():
        out = excluded(folder, cases)
        files = "--source-file=" + ",".join(f"*/{stem}.cpp" for stem in SHORT[folder])
        yield folder, [str(build / "tests" / folder / "all_test")] + ([out] if out else []) + ([files] if is_short else [])
    for file in sorted((ROOT / "examples").glob("[0-9]*.cpp")):
        if (build / "examples" / file.stem).exists() and not re.search(PROCESS, file.read_text()):
            yield f"examples/{file.stem}", [str(build / "examples" / file.stem)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("simulator")
    parser.add_argument("build", type=Path)
    parser.add_argument("--seeds", default="1..1")
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--every", default="16")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    found = dict(programs(options.build.resolve(), options.short))
    unknown = [name for name in options.names if name not in found]
    if unknown:
        print(f"suites.py: unknown program `{unknown[0]}`; expected one of {', '.join(found)}", file=sys.stderr)
        return 2
    failed = []
    for name in options.names or found:
        started = time.monotonic()
        done = subprocess.run([options.simulator, "search", "--twice", "--seeds", options.seeds, "--jobs", options.jobs,
                               "--every", options.every, "--latency", "0", "--", *found[name]], capture_output=True, text=True, check=False,
                              cwd=ROOT, env=os.environ | {"BRAID_WATCHDOG": "0"})
        text = done.stderr.strip()
        if done.returncode:
            failed.append(name)
            print(f"{name}: FAILED\n{text}\n{done.stdout}", flush=True)
        else:
            print(f"{name}: {text.removeprefix('braid-sim: ')}, {time.monotonic() - started:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
