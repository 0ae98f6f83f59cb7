#!/usr/bin/env python3
# tests/doctor/tasks.py: braid-doctor tasks of a program that waits in each way: by itself, by gdb, and from core files,
# whole and damaged.
# usage: tests/doctor/tasks.py WAITING_PROGRAM BRAID_DOCTOR
import os
import pathlib
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import types

program, doctor = (str(pathlib.Path(each).resolve()) for each in sys.argv[1:3])
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED:", what)


class Waiting:
    """The program, once its tasks wait."""

    def __init__(self, **variables):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
        self.process = subprocess.Popen([program], stdout=subprocess.PIPE, env=clean | variables)
        assert self.process.stdout.readline() == b"ready\n"
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


def tasks(*words):
    return subprocess.run([doctor, "tasks", *words], capture_output=True, text=True, timeout=100)


def by_name(text):
    """The lines of each task that has a name, without what differs from one look to the next or that only the program
    itself knows."""
    found = {}
    name = None
    for line in text.splitlines():
        head = re.match(r'  task \d+ "([^"]*)"(.*)', line)
        if head:
            name = head[1]
            found[name] = [re.sub(r"deadline in .*", "a deadline", head[2]).replace("with a", "a")]
        elif line.startswith("   ") and name:
            line = re.sub(r"(task) \d+", r"\1", line)
            line = re.sub(r", deadline in [^,]*|, with a deadline", ", a deadline", line)
            found[name].append(re.sub(r"(waits for [^,]*),.*", r"\1", line))
        else:
            name = None
    return found


def expect_all(text, what):
    for expected in ('"chain"', "calls_dozes() at waiting_program.cpp:", "dozes() at waiting_program.cpp:",
                     "waits for channel with a value", "waits for event", "waits for future", "waits for offload",
                     "waits for tasks of a scope", "waits for I/O", "waits for lock", "waits for sleep"):
        check(expected in text, f"{what}: {expected}")


def live():
    with Waiting(BRAID_TOP="1") as running:
        end = tasks(str(running.pid))
        check(end.returncode == 0 and end.stderr == "", f"the program answers: {end.stderr}")
        expect_all(end.stdout, "the program")
        check(re.match(r'deadlock: task \d+ "first" waits for the lock of task \d+ "second", which waits for the lock of',
                       end.stdout), "the cycle of locks comes first")
        check("\n  task 1 \"chain\"\n" in end.stdout, "tasks have numbers and names")
        return by_name(end.stdout)


def impostor():
    """Another process, this one, has the name of the program's socket before it."""
    with Waiting() as running:
        with socket.socket(socket.AF_UNIX) as taken:
            taken.bind(f"\0braid.{running.pid}")
            taken.listen()
            for command in (["tasks", str(running.pid)], ["top", str(running.pid), "--once"]):
                end = subprocess.run([doctor, *command], capture_output=True, text=True, timeout=100)
                check(end.returncode == 1 and "another process has the socket" in end.stderr,
                      f"{command[0]}: another process is found out: {end.stderr}")


def with_socket(act):
    """A process that has a socket of its own name, and does there as `act` says."""
    return subprocess.Popen([sys.executable, "-c", f"""
import os, socket, time
with socket.socket(socket.AF_UNIX) as own:
    own.bind(f"\\0braid.{{os.getpid()}}")
    own.listen()
    print("ready", flush=True)
    asked, _ = own.accept()
    asked.recv(1)
    {act}
    time.sleep(1000)
"""], stdout=subprocess.PIPE)


def answers(act, *command):
    with with_socket(act) as running:
        try:
            running.stdout.readline()
            return subprocess.run([doctor, command[0], str(running.pid), *command[1:]], capture_output=True, text=True,
                                  timeout=100)
        finally:
            running.kill()


def hostile():
    end = answers(r'asked.send(b"task \x1b[2J\n  \x9b next\n# EOF\n"); asked.close()', "tasks")
    check(end.returncode == 0 and end.stdout == "task \\x1b[2J\n  \\x9b next\n", f"what it says is escaped: {end}")
    end = answers("pass", "top", "--once")
    check(end.returncode == 1, f"one that says nothing is not waited for: {end}")


def by_gdb(expected, folder):
    """Gives a core file, where this user may look into processes."""
    with Waiting() as running:
        end = tasks(str(running.pid))
        if end.returncode != 0:
            check(re.search(r"may not be looked at by this user .*: run this as root, or the program with BRAID_TOP=1",
                            end.stderr), f"gdb: {end.stderr}")
            return None
        check(end.stderr == "", f"gdb is quiet: {end.stderr}")
        found = by_name(end.stdout)
        for name, lines in expected.items():
            check(found.get(name) == lines, f"gdb: {name}: {found.get(name)} and not {lines}")
        check(len(found) == len(expected), "gdb finds as many tasks")
        check(re.search(r'"deadline", deadline in 8[56]\d{3}\.\d s\n', end.stdout), f"time is left: {end.stdout}")
        core = folder / "core"
        subprocess.run(["gdb", "-nx", "-q", "-batch", "-p", str(running.pid), "-ex", f"generate-core-file {core}"],
                       capture_output=True, timeout=100, check=True, stdin=subprocess.DEVNULL)
        return core


def from_core(expected, core):
    end = tasks("--core", str(core))
    check(end.returncode == 0 and end.stderr == "", f"a core file: {end.stderr}")
    check(by_name(end.stdout) == expected, f"a core file gives the same: {end.stdout}")
    check('"deadline", with a deadline\n' in end.stdout, f"no time is left of what is gone: {end.stdout}")
    end = tasks("--core", str(core), "/bin/true")
    check(end.returncode == 1 and end.stderr.count("\n") == 1, f"the wrong program: {end.stderr}")


def damaged(core, seed):
    """Bytes of the memory are flipped: there is an end, and no error of the script. One gdb reads several."""
    whole = core.read_bytes()
    chance = random.Random(seed)
    for share in (1_000_000, 100):
        part = bytearray(whole)
        for _ in range(max(1, len(part) // share)):
            part[chance.randrange(len(part) // 20, len(part))] = chance.randrange(256)
        core.write_bytes(part)
        end = tasks("--core", str(core), program)
        check(end.returncode in (0, 1) and "Traceback" not in end.stderr and "Python" not in end.stderr,
              f"seed {seed}, a byte in {share}: {end.returncode} {end.stderr}")
        check(end.returncode == 0 or end.stderr.startswith("braid-doctor: tasks: "), "one sentence says why")


def bounds():
    """Of the script alone, with a chain of coroutines that has no end and that many waits may share."""
    gdb = types.ModuleType("gdb")
    gdb.error, gdb.COMMAND_STACK = RuntimeError, 0
    gdb.Command = type("Command", (), {"__init__": lambda *_, **__: None})
    gdb.execute = lambda *_, **__: "a" * 1_000_000 + " in section .text"
    sys.modules["gdb"] = gdb
    script = {}
    exec((pathlib.Path(__file__).parents[2] / "doctor/gdb/braid.py").read_text(), script)

    def read(address, size):
        return struct.pack("<5Q", address + 4096, 4096, address + 4096, 4096, 0)[:size]

    memory = types.SimpleNamespace(bytes=read, word=lambda address: 4096)
    table = types.SimpleNamespace(promise_bytes=40, promise_parent=0, promise_scope=8, promise_continuation=16,
                                  promise_context=24, promise_at=32, scope_deadline=0, scope_stop=8)
    walk = script["Walk"](memory, table, [1000])
    for promise in range(0, 1_000_000, 1000):
        walk.guard(lambda promise=promise: walk.chain(4096 + promise, 4096))
    check(walk.budget == [0] and len(walk.problems) == 1000, "levels have a bound in all tasks together")
    check(len(script["margin_of"](1_000_000)) < 1000, "margins have a bound")
    second, text = 10**9, script["deadline_text"]
    shown = [text(5 * second, now) for now in (3 * second, 5 * second - 10**7, 5 * second, 9 * second, None)]
    check(shown == [", deadline in 2.0 s", ", deadline in 10.0 ms", ", deadline in 0.0 ms", ", deadline 4.0 s ago",
                    ", with a deadline"], f"deadlines: {shown}")
    looked_at = []
    script["short_name"] = lambda name: looked_at.append(len(name)) or name
    script["Names"].symbol(4096)
    check(looked_at == [4000], "symbols have a bound")


def wrong_usage():
    for words in ([], ["0"], ["x"], ["1", "2"], ["--core"], ["--core", "/nonexistent"], ["1", "--core", program]):
        end = tasks(*words)
        check(end.returncode == 2 and "try --help" in end.stderr, f"{words}: {end.stderr}")
    end = tasks("4194304")  # more than the system gives
    check(end.returncode == 1 and "process 4194304" in end.stderr, f"no such process: {end.stderr}")
    end = tasks("--core", __file__, program)
    check(end.returncode == 1, "a file that is no core file")


with tempfile.TemporaryDirectory() as scratch:
    seen = live()
    impostor()
    hostile()
    bounds()
    wrong_usage()
    core_file = by_gdb(seen, pathlib.Path(scratch))
    if core_file:
        from_core(seen, core_file)
        damaged(core_file, int(os.environ.get("BRAID_SEED", "1")))
if failures:
    sys.exit(f"{len(failures)} failures")
print("all as expected")
