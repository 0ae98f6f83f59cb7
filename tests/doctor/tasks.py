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
    """The lines of each task that has a name, and cycles by "deadlock", without what differs from one look to the
    next."""
    found = {}
    name = None
    for line in text.splitlines():
        line = re.sub(r", deadline in [^,]*|, with a deadline", ", a deadline", line)
        line = re.sub(r"\d+\.\d m?s left", "TIME left", re.sub(r"fd \d+", "fd N", re.sub(r":\d{4,5}$", ":PORT", line)))
        head = re.match(r'  (task \d+ "([^"]*)".*)', line)
        if head:
            name = head[2]
            found[name] = [head[1]]
        elif line.startswith("   ") and name:
            found[name].append(line)
        elif line.startswith("deadlock: "):
            found.setdefault("deadlock", []).append(line)
        else:
            name = None
    return found


def of_what_is_gone(tasks_of):
    """What a core file has of them: no time of day, and no sockets."""
    return {name: [re.sub(r", TIME left$|, 127\.0\.0\.1:PORT$", "", line) for line in lines]
            for name, lines in tasks_of.items()}


def expect_all(text, what):
    for expected in ('"chain"', "calls_dozes() at waiting_program.cpp:", "dozes() at waiting_program.cpp:",
                     "waits for channel with a value", "waits for event", "waits for future", "waits for offload",
                     "waits for tasks of a scope", "waits for I/O, read of fd ", "waits for lock, taken by task 10\n",
                     "waits for sleep, 8", "waits for readiness, read of fd ", "waits for future, of task 13\n",
                     "waits for future, of task 15\n", ", 127.0.0.1:"):
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
                check(end.returncode == 1 and "another process owns the socket" in end.stderr,
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
            check(re.search(r"cannot be examined by this user .*: run braid-doctor as root, or start the program with "
                            "BRAID_TOP=1", end.stderr), f"gdb: {end.stderr}")
            return None
        check(end.stderr == "", f"gdb is quiet: {end.stderr}")
        found = by_name(end.stdout)
        expect_all(end.stdout, "gdb")
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
    found, left = by_name(end.stdout), of_what_is_gone(expected)
    for name, lines in left.items():
        check(found.get(name) == lines, f"a core file: {name}: {found.get(name)} and not {lines}")
    check(len(found) == len(left), "a core file has as many tasks")
    check('"deadline", with a deadline\n' in end.stdout, f"no time is left of what is gone: {end.stdout}")
    end = tasks("--core", str(core), "/bin/true")
    check(end.returncode == 1 and end.stderr.count("\n") == 1, f"the wrong program: {end.stderr}")


def unknown_version(core):
    """The table as one of a later library."""
    whole = core.read_bytes()
    head = re.search(rb"braidtab" + re.escape(struct.pack("<Q", 3)), whole)
    check(head is not None, "a core file has the table")
    if head is None:
        return
    of_core = core.with_name("other")
    of_core.write_bytes(whole.replace(head[0], b"braidtab" + struct.pack("<Q", 4)))
    end = tasks("--core", str(of_core), program)
    check(end.returncode == 1 and "the program has version 4 of braid_debug_layout" in end.stderr,
          f"version 4 is refused: {end.stderr}")


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


def load_script():
    """The script alone, without gdb."""
    gdb = types.ModuleType("gdb")
    gdb.error, gdb.COMMAND_STACK = RuntimeError, 0
    gdb.Command = type("Command", (), {"__init__": lambda *_, **__: None})
    gdb.execute = lambda *_, **__: "a" * 1_000_000 + " in section .text"
    sys.modules["gdb"] = gdb
    path = pathlib.Path(__file__).parents[2] / "doctor/gdb/braid.py"
    script = {"__file__": str(path)}
    exec(path.read_text(), script)
    return script


def bounds(script):
    """With a chain of coroutines that has no end and that many waits may share."""
    def read(address, size):
        return struct.pack("<5Q", address + 4096, 4096, address + 4096, 4096, 0)[:size]

    memory = types.SimpleNamespace(bytes=read, word=lambda address: 4096)
    table = types.SimpleNamespace(has_own_handles=True, promise_bytes=40, promise_parent=0, promise_scope=8,
                                  promise_self=16, promise_context=24, promise_at=32, scope_deadline=0, scope_stop=8)
    walk = script["Walk"](memory, table, [1000])
    for promise in range(0, 1_000_000, 1000):
        walk.guard(lambda promise=promise: walk.chain(4096 + promise, None))
    check(walk.budget == [0] and len(walk.problems) == 1000, "levels have a bound in all tasks together")
    check(len(script["margin_of"](1_000_000)) < 1000, "margins have a bound")
    second, text = 10**9, script["deadline_text"]
    shown = [text(5 * second, now) for now in (3 * second, 5 * second - 10**7, 5 * second, 9 * second, None)]
    check(shown == [", deadline in 2.0 s", ", deadline in 10.0 ms", ", deadline in 0.0 ms", ", deadline 4.0 s ago",
                    ", with a deadline"], f"deadlines: {shown}")
    looked_at = []
    script["symbols"].short_name = lambda name: looked_at.append(len(name)) or name
    script["Names"].symbol(4096)
    check(looked_at == [4000], "symbols have a bound")


def tables(script):
    """Of versions that are known, and of none."""
    sys.modules["gdb"].parse_and_eval = lambda _: 4096

    def refusal(version, words, value=8):
        table = struct.pack("<8s102Q", b"braidtab", version, words, *[value] * 100)
        try:
            script["Table"](types.SimpleNamespace(bytes=lambda address, size: table[address - 4096:][:size]))
        except script["Damaged"] as error:
            return str(error)
        return ""

    words = [len(script["WORDS"][version]) for version in (1, 2, 3)]
    check(words == [37, 40, 39] and not any(refusal(at + 1, count) for at, count in enumerate(words)),
          "all versions are read")
    for version, count in ((0, 0), (1, 40), (2, 37), (3, 40), (4, 39), (2**64 - 1, 2**64 - 1)):
        check(f"version {version} of braid_debug_layout with {count} words" in refusal(version, count),
              f"version {version} with {count} words is refused")
    check("braid_debug_layout.part_count is " in refusal(2, 40, 1 << 40), "an offset is refused")


def versions(script):
    """A task of two coroutines, and a scope beside its own, in memory as each version of the table describes it."""
    scope, info, wait, operation, child, root, other = range(8192, 8192 * 8, 8192)
    frames = {child: 70000, root: 71000}
    hooks = {"callbacks": scope + 16, "deaf": scope + 32, "wait": wait + 16, "other": other}
    offsets = {name: 0 for name in script["WORDS_3"] + script["WORDS_2"]} | {
        "is_scope": 1, "is_wait": 2, "is_deaf": 3, "task_info_key": 4, "hook_next": 8, "callback_code": 16,
        "scope_callbacks": 16, "scope_deaf": 32, "scope_tasks": 48, "scope_deadline": 56, "scope_key": 64,
        "scope_value": 72, "scope_stop": 80, "scope_idle": 88, "scope_parent": 96, "awaiter_hook": 16, "awaiter_how": 40,
        "awaiter_promise": 48, "awaiter_handle": 56, "operation_name": 8, "operation_layout": 16, "promise_parent": 0,
        "promise_continuation": 8, "promise_self": 8, "promise_context": 16, "promise_scope": 24, "promise_at": 32,
        "promise_bytes": 40, "info_number": 0, "info_name": 8}
    for version in (1, 2, 3):
        words = {hooks["callbacks"] + 8: hooks["wait"], hooks["wait"] + 8: hooks["callbacks"], hooks["wait"] + 16: 2,
                 hooks["deaf"] + 8: hooks["other"], hooks["other"] + 8: hooks["deaf"], hooks["other"] + 16: 1,
                 other + 24: other + 16, other + 40: other + 32,  # the lists of the other scope are empty
                 scope + 48: 1, scope + 64: 4, scope + 72: info, info: 17, wait + 40: operation, wait + 48: child,
                 operation + 8: 500, child: root, child + 24: scope, root + 16: scope, root + 24: scope,
                 frames[child]: 600, frames[root]: 601}
        if version < 3:
            words |= {wait + 56: frames[child], child + 8: frames[root]}
        else:
            words |= {info + 8: 900, child + 8: frames[child], root + 8: frames[root]}

        def read(address, size, words=words):
            return b"".join(struct.pack("<Q", words.get(at, 0)) for at in range(address, address + size, 8))[:size]

        memory = types.SimpleNamespace(bytes=read, word=lambda at, read=read: struct.unpack("<Q", read(at, 8))[0],
                                       text={500: "sleep"}.get, string={info + 8: "old", 900: "new"}.get)
        table = types.SimpleNamespace(has_details=version >= 2, has_own_handles=version >= 3,
                                      **{name: offsets[name] for name in script["WORDS"][version]})
        walk = script["Walk"](memory, table, [1000]).through(scope)
        check(not walk.problems, f"version {version}: {walk.problems}")
        seen = [(each.name, each.around) for each in walk.scopes]
        check(seen == [("new" if version == 3 else "old", None), ("", None if version == 3 else 0)],
              f"version {version}: scopes: {seen}")
        levels = [(each.waits_for, [code for code, _ in each.levels]) for each in walk.tasks]
        check(levels == [("sleep", [600, 601])], f"version {version}: levels of the task: {levels}")


def details(script, seed):
    """Of waits, from layouts that are right, and from any others."""
    bytes_at = {}

    def read(address, size):
        return b"".join(bytes_at.get(at, b"\0") for at in range(address, address + size))

    def write(address, form, *values):
        for at, each in enumerate(struct.pack(form, *values)):
            bytes_at[address + at] = bytes([each])

    memory = types.SimpleNamespace(bytes=read, word=lambda address: struct.unpack("<Q", read(address, 8))[0])
    walk = script["Walk"](memory, None, [1000])
    tree = script["Tree"](walk, None, types.SimpleNamespace(text=lambda number: f", peer of {number}"), 10**9)

    def shown(*layout):
        write(9000, "<5Q", *layout)
        task = script["Task"]()
        walk.add_details(task, 5000, 9000)
        return tree.details(task)

    write(5008, "<q", 3 * 10**9)
    write(5016, "<Q", 6000)
    write(6004, "<i", 7)
    write(6008, "<Q", 21)
    write(5024, "<B", 1)
    got = [shown(*layout) for layout in ((1, 0, 0, 8, 0), (2, 24, 1, 16, 4), (2, 25, 1, 16, 4), (3, 24, 1, 16, 8),
                                         (3, 25, 1, 16, 8), (9, 0, 0, 8, 0))]
    check(got == [", 2.0 s left", ", write of fd 7, peer of 7", ", read of fd 7, peer of 7", ", taken by task 21", "", ""],
          f"details of waits: {got}")
    times = [script["time_text"](until, now) for until, now in ((5, 5), (10**9 + 5, 5), (2**63 - 1, None), (9, None))]
    check(times == [", due", ", 1.0 s left", ", for ever", ""], f"times of sleeps: {times}")
    def is_refused(*layout):
        try:
            shown(*layout)
        except script["Damaged"]:
            return True
        return False

    for layout in ((1, 0, 2, 8, 0), (1, 0, 0, 1 << 40, 0), (2, 1 << 40, 0, 8, 0), (2, 24, 1, 16, 1 << 40)):
        check(is_refused(*layout), f"a layout that is none: {layout}")
    chance = random.Random(seed)
    for _ in range(2000):
        is_refused(*(chance.choice((chance.randrange(6), chance.randrange(5000), chance.getrandbits(64)))
                     for _ in range(5)))
    addresses = [script["address_text"](family, peer) for family, peer in (
        (socket.AF_INET, ("127.0.0.1", 80)), (socket.AF_INET6, ("::1", 80, 0, 0)),
        (socket.AF_INET6, ("fe80::1%lo", 80, 0, 7)), (socket.AF_UNIX, "/a\nb"), (socket.AF_UNIX, b"\0c"),
        (socket.AF_UNIX, ""), (socket.AF_NETLINK, (0, 0)))]
    check(addresses == ["127.0.0.1:80", "[::1]:80", "[fe80::1%7]:80", "unix:/a?b", "unix:@c", "unix:", "none"],
          f"addresses: {addresses}")


def names(script):
    """Each as the test of src/base/symbols.cpp has it, beside what is expected."""
    text = (pathlib.Path(__file__).parents[1] / "base/symbols_test.cpp").read_text()
    case = text[text.index('TEST_CASE("the name of a function template'):].split("\n}\n")[0]
    pairs = re.findall(r"short_function_name\(((?:\s*\"[^\"]*\")+)\)\s*==\s*\"([^\"]*)\"", case)
    check(len(pairs) == case.count("CHECK("), f"names of the test: {len(pairs)}")
    for literals, expected in pairs:
        given = "".join(re.findall(r'"([^"]*)"', literals))
        shown = script["symbols"].short_name(given)
        check(shown == expected, f"{given} is {shown} and not {expected}")


def cycles(script, seed):
    """Of waits that are made up: each line of a scene is a task, with what it waits for. Task N has the scope N."""
    def walk_of(waits, running=(), owners=None):
        made = script["Walk"](None, None, [0])
        for number in range(1 + max(owners or waits)):
            scope = script["Scope"](1000 + number, 0 if number else None)
            scope.owner, scope.result = number, 5000 + number
            scope.tasks = 1 + (number in running)
            made.places[scope.address] = number
            made.scopes.append(scope)
        made.scopes[0].tasks = len(made.scopes) - 1
        for number, (kind, of) in waits.items():
            task = script["Task"]()
            task.within, task.is_owner, task.result = 1000 + number, True, 5000 + number
            if kind == "lock":
                task.lock_of = of
            elif kind == "future":
                task.future = 5000 + of
            elif kind == "scope":
                task.joins = 1000 + of
            made.tasks.append(task)
        return made

    def texts(*walks):
        script["cycles"].find_makers(walks)
        return list(script["cycles"].Cycles(walks).texts())

    ring = {1: ("lock", 2), 2: ("future", 3), 3: ("lock", 1)}
    check(texts(walk_of(ring)) == ["task 1 waits for the lock of task 2, which waits for the future of task 3, which waits "
                                   "for the lock of task 1"], f"a ring: {texts(walk_of(ring))}")
    check(texts(walk_of(ring | {2: ("sleep", 0)})) == [], "a task that sleeps ends a ring")
    check(texts(walk_of(ring, running=(2,))) == [], "a task that runs ends a ring")
    check(texts(walk_of(ring | {4: ("lock", 1)})) == texts(walk_of(ring)), "what waits for a ring is in no other one")
    check(texts(walk_of({1: ("scope", 2), 2: ("lock", 1)})) ==
          ["task 1 waits for the end of task 2, which waits for the lock of task 1"], "the end of a task")
    check(texts(walk_of({1: ("lock", 1)})) == ["task 1 waits for the lock of task 1"], "a lock that is taken twice")
    halves = walk_of({1: ("lock", 2)}, owners=[1]), walk_of({2: ("lock", 1)})
    halves[1].scopes[1].owner = 0  # it is in the other home
    halves[1].scopes[0].tasks = 1
    check(len(texts(*halves)) == 1, "a ring through two homes")
    chance = random.Random(seed)
    found = 0
    for _ in range(3000):
        numbers = [chance.randrange(1, 9) for _ in range(chance.randrange(1, 9))]
        walk = walk_of({number: (chance.choice(("lock", "future", "scope", "lock", "sleep")), chance.randrange(12))
                        for number in numbers}, running=numbers[:chance.randrange(2)])
        for scope in walk.scopes[1:]:
            scope.around = chance.randrange(walk.places[scope.address])
            scope.tasks += chance.choice((0, 0, 0, -1, 2**64 - 1 - scope.tasks))
            scope.owner = chance.choice((scope.owner, scope.owner, 0, 1))
        found += len(texts(walk))
    check(found > 100, f"seed {seed}: of walks that cannot be, {found} cycles")


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
    seed_of_run = int(os.environ.get("BRAID_SEED", "1"))
    loaded = load_script()
    names(loaded)
    tables(loaded)
    versions(loaded)
    details(loaded, seed_of_run)
    cycles(loaded, seed_of_run)
    bounds(loaded)
    wrong_usage()
    core_file = by_gdb(seen, pathlib.Path(scratch))
    if core_file:
        from_core(seen, core_file)
        unknown_version(core_file)
        damaged(core_file, seed_of_run)
if failures:
    sys.exit(f"{len(failures)} failures")
print("all as expected")
