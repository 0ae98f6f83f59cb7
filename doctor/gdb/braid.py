# doctor/gdb/braid.py: the tasks of a braid program, live or from a core file, for gdb: `source braid.py`, `braid tasks`.
#
# Needs no debug information: the table braid_debug_layout says where everything lies. A program may have been stopped
# in the middle of a change, and a core file may be damaged: each address is checked by reading it, each walk is bounded,
# and nothing is looked at twice.
import ctypes
import os
import socket
import struct
import time
import types

import gdb


def beside(name):
    """A part of this script, from its folder, where nothing is to be written beside it."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    with open(path, encoding="utf-8") as text:
        made = types.ModuleType(name)
        exec(compile(text.read(), path, "exec"), made.__dict__)
    return made


cycles, symbols = beside("braid_cycles"), beside("braid_symbols")

WORDS_1 = ("home_parts is_scope is_wait is_deaf task_info_key part_count part_bytes part_homes hook_next callback_code "
           "home_hook home_root scope_hook scope_callbacks scope_deaf scope_tasks scope_deadline scope_key scope_value "
           "scope_stop awaiter_hook awaiter_how awaiter_promise awaiter_handle operation_name deaf_hook deaf_joined "
           "deaf_promise deaf_handle promise_parent promise_continuation promise_context promise_scope promise_at "
           "promise_bytes info_number info_name").split()
WORDS_2 = WORDS_1 + "operation_layout scope_idle scope_idle_context".split()
# From version 3 on, a promise has the handle of its own frame, a name is behind a pointer, and a scope may be shown
# beside another one without being inside it.
REPLACED = {"awaiter_handle": None, "deaf_handle": None, "promise_continuation": "promise_self"}
WORDS_3 = [REPLACED.get(name, name) for name in WORDS_2 if REPLACED.get(name, name)] + ["scope_parent"]
WORDS = {1: WORDS_1, 2: WORDS_2, 3: WORDS_3}  # by version
ADDRESSES = ("home_parts", "is_scope", "is_wait", "is_deaf", "task_info_key")
TIME, DESCRIPTOR, LOCK, FUTURE = 1, 2, 3, 4  # kinds of wait_layout
MAX_OFFSET = 1 << 16   # of a member in an object
MAX_HOMES = 100_000
MAX_SCOPES = 1_000_000
MAX_STEPS = 4_000_000  # waits and levels in all homes
MAX_LEVELS = 10_000    # of a task
MAX_DEPTH = 100        # that lines are indented for
MAX_SYMBOL = 4000
HOMES = (("braid::loop", "loop"), ("braid::serial_executor", "serial executor"))
NEVER = (1 << 63) - 1
STOPS = {1: "the work was stopped before it was done",  # errc; others as numbers
         2: "the deadline passed before the work was done"}


class Damaged(Exception):
    """What was read cannot be right."""


class Memory:
    def __init__(self):
        self.inferior = gdb.selected_inferior()

    def bytes(self, address, size):
        if address < 4096 or address + size >= 1 << 64:
            raise Damaged(f"no memory at {address:#x}")
        try:
            return bytes(self.inferior.read_memory(address, size))
        except (gdb.error, OverflowError, MemoryError) as error:
            raise Damaged(f"no memory at {address:#x}") from error

    def word(self, address):
        return struct.unpack("<Q", self.bytes(address, 8))[0]

    def text(self, address, limit=400):
        """What ends with a zero byte."""
        read = b""
        while len(read) < limit:
            piece = self.bytes(address + len(read), 16 - (address + len(read)) % 16)
            end = piece.find(b"\0")
            if end >= 0:
                return printable(read + piece[:end])
            read += piece
        return printable(read)

    def string(self, address, limit=400):
        """A std::string of libstdc++."""
        data, size = struct.unpack("<QQ", self.bytes(address, 16))
        return printable(self.bytes(data, min(size, limit))) if size != 0 else ""


def printable(read):
    return "".join(c if c.isprintable() else "?" for c in read.decode("utf-8", "replace"))


class Table:
    def __init__(self, memory):
        try:
            address = int(gdb.parse_and_eval("(unsigned long)&braid_debug_layout"))
        except gdb.error as error:
            raise Damaged("this program has no table braid_debug_layout: it does not use braid, or an older one") from error
        magic, version, words = struct.unpack("<8sQQ", memory.bytes(address, 24))
        if magic != b"braidtab":
            raise Damaged("braid_debug_layout is no table: the program and the core file do not belong together")
        if version not in WORDS or words != len(WORDS[version]):
            raise Damaged(f"the program has version {version} of braid_debug_layout with {words} words, and this script "
                          f"reads versions 1 to {max(WORDS)}: take the one that was installed with the program's library")
        self.has_details = version >= 2
        self.has_own_handles = version >= 3
        read = struct.unpack(f"<{words}Q", memory.bytes(address + 24, 8 * words))
        for name, value in zip(WORDS[version], read):
            if name not in ADDRESSES and value > MAX_OFFSET:
                raise Damaged(f"braid_debug_layout.{name} is {value}")
            setattr(self, name, value)


class Scope:
    def __init__(self, address, around):
        self.address, self.around = address, around
        self.tasks, self.owner, self.name = 0, 0, ""
        self.result = 0  # the address of the task's future, where it waits for its own tasks


class Task:
    def __init__(self):
        self.within, self.is_owner, self.result = 0, False, 0  # its scope, whether that is its own, and its future
        self.levels, self.inner, self.joins = [], [], 0
        self.waits_for, self.deadline, self.stopped_for = "", NEVER, 0
        self.until, self.descriptor, self.side = None, None, ""  # of a sleep, and of a wait for I/O
        self.lock_of, self.future, self.maker = 0, 0, 0          # a task, an address, and the task that makes that


class Walk:
    """The tasks of one home, as src/coro/task_walk.cpp finds them."""

    def __init__(self, memory, table, budget):
        self.memory, self.table, self.budget = memory, table, budget
        self.scopes, self.places, self.tasks = [], {}, []
        self.problems = []

    def through(self, root):
        self.enter(root, None)
        at = 0
        while at < len(self.scopes):
            scope = self.scopes[at]
            for head in (self.table.scope_callbacks, self.table.scope_deaf):
                self.guard(lambda head=head: self.visit(scope.address + head, at))
            at += 1
        return self

    def guard(self, step):
        try:
            step()
        except Damaged as error:
            self.problems.append(str(error))

    def enter(self, address, around):
        t, memory = self.table, self.memory
        if address in self.places:
            return
        if len(self.scopes) >= MAX_SCOPES:
            raise Damaged("too many scopes")
        made = Scope(address, around)
        made.tasks = memory.word(address + t.scope_tasks)
        if memory.word(address + t.scope_key) == t.task_info_key:
            info = memory.word(address + t.scope_value)
            made.owner = memory.word(info + t.info_number)
            name = memory.word(info + t.info_name) if t.has_own_handles else info + t.info_name
            made.name = memory.string(name) if name else ""
            if t.has_details and memory.word(address + t.scope_idle):
                made.result = memory.word(address + t.scope_idle_context)
        self.places[address] = len(self.scopes)
        self.scopes.append(made)

    def visit(self, head, place):
        for hook in nodes(self.memory, head, self.table.hook_next, self.budget):
            self.guard(lambda hook=hook: self.look(hook, place))

    def look(self, hook, place):
        t, memory = self.table, self.memory
        code = memory.word(hook + t.callback_code)
        if code == t.is_scope:
            scope = hook - t.scope_hook
            is_inside = not t.has_own_handles or memory.word(scope + t.scope_parent)
            self.enter(scope, place if is_inside else None)
        elif code == t.is_wait:
            wait = hook - t.awaiter_hook
            how = memory.word(wait + t.awaiter_how)
            name = memory.text(memory.word(how + t.operation_name))
            made = self.chain(memory.word(wait + t.awaiter_promise), self.handle(wait, "awaiter_handle"))
            made.waits_for = name
            if t.has_details:
                self.guard(lambda: self.add_details(made, wait, memory.word(how + t.operation_layout)))
        elif code == t.is_deaf:
            wait = hook - t.deaf_hook
            joined = memory.word(wait + t.deaf_joined)
            made = self.chain(memory.word(wait + t.deaf_promise), self.handle(wait, "deaf_handle"))
            made.waits_for = "tasks of a scope" if joined else "offload"
            if joined:
                made.inner.append(joined)
                made.joins = joined

    def handle(self, wait, name):
        """The handle that a wait has, or None if the promises have the handles."""
        return None if self.table.has_own_handles else self.memory.word(wait + getattr(self.table, name))

    def add_details(self, task, wait, layout):
        """What `describe` and `needs` of the wait read."""
        if layout == 0:
            return
        kind, flag, hops, first, second = struct.unpack("<5Q", self.memory.bytes(layout, 40))
        if hops > 1 or max(flag, first, second) > MAX_OFFSET:
            raise Damaged(f"the layout of a wait at {layout:#x} is none")
        place = self.memory.word(wait + first) + second if hops else wait + first
        is_flagged = flag != 0 and self.memory.bytes(wait + flag, 1) != b"\0"
        if kind == TIME:
            task.until = struct.unpack("<q", self.memory.bytes(place, 8))[0]
        elif kind == DESCRIPTOR:
            task.descriptor = struct.unpack("<i", self.memory.bytes(place, 4))[0]
            task.side = "write" if is_flagged else "read"
        elif kind == LOCK and is_flagged:  # else it was handed the lock, and has not gone on yet
            task.lock_of = self.memory.word(place)
        elif kind == FUTURE:
            task.future = self.memory.word(place)

    def chain(self, promise, handle):
        t, memory = self.table, self.memory
        made = Task()
        seen = set()
        while True:
            if promise in seen or len(seen) >= MAX_LEVELS:
                raise Damaged(f"the coroutine with the promise at {promise:#x} awaits itself")
            if self.budget[0] == 0:
                raise Damaged("too many waits")
            self.budget[0] -= 1
            seen.add(promise)
            read = memory.bytes(promise, t.promise_bytes)
            parent, scope = word_in(read, t.promise_parent), word_in(read, t.promise_scope)
            if not made.levels:
                made.deadline = struct.unpack("<q", memory.bytes(scope + t.scope_deadline, 8))[0]
                made.stopped_for = memory.bytes(scope + t.scope_stop, 1)[0]
            if t.has_own_handles:
                handle = word_in(read, t.promise_self)
            made.levels.append((memory.word(handle), word_in(read, t.promise_at)))
            if parent == 0:
                break
            if memory.word(parent + t.promise_scope) != scope:
                made.inner.append(scope)
            promise, handle = parent, None if t.has_own_handles else word_in(read, t.promise_continuation)
        made.within = scope
        made.result = word_in(read, t.promise_context)
        made.is_owner = made.result != scope
        self.tasks.append(made)
        return made


def word_in(read, offset):
    if offset + 8 > len(read):
        raise Damaged("braid_debug_layout has an offset beyond its object")
    return struct.unpack_from("<Q", read, offset)[0]


def nodes(memory, head, next_offset, budget):
    """Each element of an intrusive list; never one twice."""
    seen = {head}
    at = memory.word(head + next_offset)
    while at not in seen:
        if at == 0 or budget[0] == 0:
            raise Damaged(f"the list at {head:#x} has no end")
        budget[0] -= 1
        seen.add(at)
        yield at
        at = memory.word(at + next_offset)


class Tree:
    """Which task belongs to which, as src/coro/dump_tree.cpp has it."""

    def __init__(self, walk, names, peers, now):
        self.walk, self.names, self.peers, self.now = walk, names, peers, now
        scopes = walk.scopes
        self.tasks_in = [[] for _ in scopes]
        self.scopes_in = [[] for _ in scopes]
        self.owner = [None] * len(scopes)
        self.known = [0] * len(scopes)
        self.held = [[] for _ in walk.tasks]
        is_held = [False] * len(scopes)
        for number, task in enumerate(walk.tasks):
            place = walk.places.get(task.within)
            if place is None:
                continue
            self.known[place] += 1
            if task.is_owner and scopes[place].owner and self.owner[place] is None:
                self.owner[place] = number
            else:
                self.tasks_in[place].append(number)
            for inner in task.inner:
                held = walk.places.get(inner)
                if held is not None and held != place and not is_held[held]:
                    is_held[held] = True
                    self.held[number].append(held)
        for number, scope in enumerate(scopes):
            if scope.around is None:
                continue
            if scope.owner:
                self.known[scope.around] += 1
            if not is_held[number]:
                self.scopes_in[scope.around].append(number)

    def lines(self):
        scopes = self.walk.scopes
        left = [("scope", number, 0) for number in reversed(range(len(scopes))) if scopes[number].around is None]
        while left:
            kind, number, depth = left.pop()
            if kind == "others":
                yield from self.others(number, depth)
            elif kind == "task":
                yield from self.task("task", self.walk.tasks[number], depth)
                left += [("scope", each, depth + 1) for each in reversed(self.held[number])]
            elif not self.walk.scopes[number].owner:
                self.leave(left, number, depth)
            else:
                scope, main = self.walk.scopes[number], self.owner[number]
                yield from self.task(cycles.head_of(scope), self.walk.tasks[main] if main is not None else None, depth)
                self.leave(left, number, depth + 1)
                if main is not None:
                    left += [("scope", each, depth + 1) for each in reversed(self.held[main])]

    def leave(self, left, scope, depth):
        others = self.walk.scopes[scope].tasks - self.known[scope]
        if 0 < others:
            left.append(("others", others, depth))
        left += [("scope", each, depth) for each in reversed(self.scopes_in[scope])]
        left += [("task", each, depth) for each in reversed(self.tasks_in[scope])]

    @staticmethod
    def others(count, depth):
        yield margin_of(depth) + f"{count} task{' is' if count == 1 else 's are'} ready, or running on another executor"

    def task(self, head, task, depth):
        margin = margin_of(depth)
        if task is None:
            yield margin + head
            yield margin + "  is ready, runs on another executor, or waits for its own tasks"
            return
        if task.stopped_for:
            head += f", stopped: {self.names.reason(task.stopped_for)}"
        if task.deadline != NEVER:
            head += deadline_text(task.deadline, self.now)
        yield margin + head
        levels = [(self.names.function(code), at) for code, at in reversed(task.levels)]
        shown = [level for level in levels if not is_of_the_library(level[0])] or levels[-1:]
        for name, at in shown:
            place = self.names.place(at)
            yield margin + "  " + name + (f" at {place}" if place else "")
        yield margin + "  waits for " + task.waits_for + self.details(task)

    def details(self, task):
        if task.until is not None:
            return time_text(task.until, self.now)
        if task.descriptor is not None:
            return f", {task.side} of fd {task.descriptor}" + self.peers.text(task.descriptor)
        if task.lock_of:
            return f", taken by task {task.lock_of}"
        return f", of task {task.maker}" if task.maker else ""


def deadline_text(deadline, now):
    """As src/coro/dump_text.cpp has it; a process that is gone has no time of day."""
    if now is None:
        return ", with a deadline"
    left = deadline - now
    return f", deadline in {span_text(left)}" if left >= 0 else f", deadline {span_text(-left)} ago"


def time_text(until, now):
    if until == NEVER:
        return ", for ever"
    if now is None:
        return ""
    return f", {span_text(until - now)} left" if until > now else ", due"


def span_text(nanoseconds):
    return f"{nanoseconds / 1e9:.1f} s" if nanoseconds >= 1e9 else f"{nanoseconds / 1e6:.1f} ms"


def process_here():
    """The number of the process, where it runs on this machine; else null."""
    inferior = gdb.selected_inferior()
    connection = getattr(inferior, "connection", None)
    return inferior.pid if connection is not None and connection.type == "native" else None


def now_of_process():
    """The clock of deadlines, in nanoseconds: that of this machine, where the process runs here and has no other one."""
    process = process_here()
    try:
        if process is None or os.readlink("/proc/self/ns/time") != os.readlink(f"/proc/{process}/ns/time"):
            return None
    except OSError:
        return None
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Peers:
    """Peers of sockets, asked of the kernel by a copy of the descriptor, which is closed at once. A process that is gone
    has none."""
    GETFD = 438  # pidfd_getfd(2), which Python has no function for; the number is that of all architectures

    def __init__(self):
        self.process = None
        try:
            if process := process_here():
                self.process = os.pidfd_open(process)
        except (OSError, AttributeError):  # an older kernel, or an older Python
            pass

    def text(self, number):
        if self.process is None or number < 0:
            return ""
        copy = ctypes.CDLL(None).syscall(self.GETFD, self.process, number, 0)
        if copy < 0:
            return ""
        try:
            known = socket.socket(fileno=copy)
        except OSError:  # no socket
            os.close(copy)
            return ""
        with known:
            try:
                return ", " + address_text(known.family, known.getpeername())
            except OSError:  # not connected
                return ""


def address_text(family, peer):
    """As braid::socket_address::to_string has it."""
    if family == socket.AF_INET:
        return f"{peer[0]}:{peer[1]}"
    if family == socket.AF_INET6:
        host = peer[0].split("%")[0]
        return f"[{host}%{peer[3]}]:{peer[1]}" if peer[3] else f"[{host}]:{peer[1]}"
    if family != socket.AF_UNIX:
        return "none"
    name = os.fsencode(peer)
    return "unix:" + ("@" + printable(name[1:]) if name[:1] == b"\0" else printable(name))


def margin_of(depth):
    return "  " * (min(depth, MAX_DEPTH) + 1)


def is_of_the_library(name):
    before = name.split("(", 1)[0]
    return "braid::detail::" in before or "::kept_until_end<" in name


class Names:
    def __init__(self, memory):
        self.memory, self.functions, self.places = memory, {}, {}

    def function(self, code):
        if code not in self.functions:
            self.functions[code] = self.symbol(code)
        return self.functions[code]

    @staticmethod
    def symbol(code):
        try:
            said = gdb.execute(f"info symbol {code:#x}", to_string=True).strip()
        except gdb.error:
            said = ""
        if " in section " not in said:
            return f"{code:#x}"
        return symbols.short_name(printable(said.split(" in section ")[0][:MAX_SYMBOL].encode()))

    def place(self, at):
        if at == 0:
            return ""
        if at not in self.places:
            self.places[at] = self.read_place(at)
        return self.places[at]

    def read_place(self, at):
        try:
            line = struct.unpack("<I", self.memory.bytes(at + 16, 4))[0]
            return self.memory.text(self.memory.word(at)).rsplit("/", 1)[-1] + f":{line}"
        except Damaged:
            return ""

    @staticmethod
    def reason(number):
        return STOPS.get(number, f"reason {number}")


def homes(memory, table):
    first = memory.word(table.home_parts)
    if first == 0:
        return
    budget = [MAX_HOMES]
    for part in range(min(table.part_count, 1024)):
        head = first + part * table.part_bytes + table.part_homes
        try:
            yield from (hook - table.home_hook for hook in nodes(memory, head, table.hook_next, budget))
        except Damaged as error:
            yield str(error)


def all_lines():
    memory = Memory()
    table = Table(memory)
    names = Names(memory)
    budget = [MAX_STEPS]
    now = now_of_process()
    found = []
    for home in homes(memory, table):
        if isinstance(home, str):
            found.append((f"damaged: {home}", Walk(memory, table, budget)))
            continue
        walk, kind = Walk(memory, table, budget), "home"  # stripped: which is not known
        try:
            symbol = names.symbol(memory.word(home))
            kind = next((word for name, word in HOMES if name in symbol), kind)
            walk.through(memory.word(home + table.home_root))
        except Damaged as error:
            walk.problems.append(str(error))
        found.append((kind, walk))
    walks = [walk for _, walk in found]
    cycles.find_makers(walks)
    if any(task.lock_of or task.maker for walk in walks for task in walk.tasks):
        yield from ("deadlock: " + each for each in cycles.Cycles(walks).texts())
    peers = Peers()
    for head, walk in found:
        yield head
        yield from Tree(walk, names, peers, now).lines()
        for problem in walk.problems[:10]:
            yield f"  damaged: {problem}"


class TasksCommand(gdb.Command):
    """braid tasks: what each suspended task of a braid program waits for."""

    def __init__(self):
        super().__init__("braid tasks", gdb.COMMAND_STACK)

    def invoke(self, _argument, _from_tty):
        try:
            for line in all_lines():
                gdb.write(line + "\n")
        except Damaged as error:
            raise gdb.GdbError(str(error)) from error


def write_to(descriptor):
    """For braid-doctor: the lines, then a line that says that these are all, or why there are none."""
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as out:
        try:
            if core := os.environ.get("BRAID_TASKS_CORE"):
                open_core(core, os.environ.get("BRAID_TASKS_PROGRAM", ""))
            for line in all_lines():
                out.write(line + "\n")
            out.write("# EOF\n")
        except (Damaged, gdb.error) as error:
            out.write(f"# {error}\n")


def open_core(core, program):
    """A core file names the program that left it, of which gdb needs the symbols first."""
    gdb.execute("set confirm off")
    if not (core + program).isprintable():
        raise Damaged("the name of the file is not printable")
    if not program:
        gdb.execute(f"core-file {core}", to_string=True)
        auxiliary = gdb.execute("info auxv", to_string=True)
        names = [line.split('"')[1] for line in auxiliary.splitlines() if "AT_EXECFN" in line and line.count('"') > 1]
        if not names:
            raise Damaged("the core file does not say which program left it: name that as well")
        program = names[0]
    if not os.path.isfile(program):
        raise Damaged(f"the program {printable(program.encode())} is not there: name it after the core file")
    quoted = program.replace("\\", "\\\\").replace('"', '\\"')
    gdb.execute(f'file "{quoted}"', to_string=True)
    gdb.execute(f"core-file {core}", to_string=True)


gdb.Command("braid", gdb.COMMAND_STACK, prefix=True)
TasksCommand()
if "BRAID_TASKS_TO" in os.environ:
    write_to(int(os.environ["BRAID_TASKS_TO"]))
