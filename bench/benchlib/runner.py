"""bench/benchlib/runner.py: runs measuring programs one at a time, each for a limited time, and reads their samples."""
import json
import os
import resource
import signal
import subprocess
import time
from typing import NamedTuple

FIELDS = {"subject": str, "case": str, "params": dict, "contender": str, "kind": str, "version": str, "compiler": str,
          "round": int, "items": (int, float), "wall_ns": (int, float), "cpu_ns": (int, float), "peak_kib": int,
          "extra": dict, "check": bool}


class Contender(NamedTuple):
    """A solver of a case: its name, and its program."""
    name: str
    kind: str
    program: str


class Failure(NamedTuple):
    row: str
    contender: str
    why: str


class Finished(NamedTuple):
    """What became of a program."""
    output: str
    why: str  # empty: it ended with 0
    others_cpu_ms: float
    host_cpu_ms: float
    wall_ms: float


def processors():
    """What processes and the host have taken of all processors so far, in seconds; ticks of ten milliseconds."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, _, _, stolen = (int(word) for word in file.readline().split()[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system) / tick, stolen / tick


def own_cpu_s():
    """Of this process and of the children that have ended."""
    mine, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + children.ru_utime + children.ru_stime


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def run_program(command, time_limit_s):
    """Runs it with its own group of processes; all of them are killed when the time is over."""
    busy, stolen, own, begin = *processors(), own_cpu_s(), time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=time_limit_s)
            why = f"ended with {process.returncode}: {last_line(errors)}" if process.returncode else ""
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            why = f"killed after {time_limit_s:g} s"
    busy_now, stolen_now = processors()
    others = max(0.0, busy_now - busy - (own_cpu_s() - own))
    return Finished(output, why, others * 1e3, (stolen_now - stolen) * 1e3, (time.monotonic() - begin) * 1e3)


def contenders_of(programs, time_limit_s=10):
    """(subject, case) → the contenders that the programs name; and the programs that do not say."""
    found, failures = {}, []
    for program in programs:
        done = run_program([str(program), "--list"], time_limit_s)
        try:
            lines = [json.loads(line) for line in done.output.splitlines()]
            for each in lines:
                who = Contender(each["contender"], each["kind"], str(program))
                found.setdefault((each["subject"], each["case"]), []).append(who)
        except (ValueError, KeyError) as wrong:
            failures.append(Failure("--list", str(program), f"says what is no list of cases: {wrong}"))
            continue
        if done.why or not lines:
            failures.append(Failure("--list", str(program), done.why or "names no case"))
    return found, failures


def diagnostic_of(sample):
    """Why a line is not a sample; None where it is."""
    for name, kind in FIELDS.items():
        if name not in sample:
            return f"a sample lacks {name}"
        if not isinstance(sample[name], kind) or (kind is int and isinstance(sample[name], bool)):
            return f"{name} of a sample is {sample[name]!r}"
    return None


def samples_of(output):
    """The samples that a program printed, and what is wrong with them; empty where nothing is."""
    samples = []
    for line in output.splitlines():
        try:
            sample = json.loads(line)
        except ValueError:
            return samples, f"printed what is no JSON: {line[:80]}"
        wrong = diagnostic_of(sample) if isinstance(sample, dict) else "printed what is no sample"
        if wrong:
            return samples, wrong
        samples.append(sample)
    if not samples:
        return samples, "printed no sample"
    if not all(sample["check"] for sample in samples):
        return samples, "a result was wrong"
    return samples, ""


class Runner:
    """Measures points; a contender that failed at one does not run again there."""

    def __init__(self, contenders, time_limit_s, rounds_in_process=1):
        self.contenders = contenders
        self.time_limit_s = time_limit_s
        self.rounds_in_process = rounds_in_process
        self.samples, self.failures = [], []
        self.gone = set()

    def who_runs(self, point):
        return [each for each in self.contenders.get(point.case.program, []) if each.name not in point.case.without]

    def run_round(self, point, number):
        """Each contender once; the first one changes from round to round."""
        everyone = self.who_runs(point)
        first = number % max(1, len(everyone))
        for who in everyone[first:] + everyone[:first]:
            if (point.id, who.name) not in self.gone:
                self.run_one(point, who, number)

    def run_one(self, point, who, number):
        options = [word for name, value in point.params.items() for word in (f"--{name}", str(value))]
        command = [who.program, "--case", point.case.program[1], "--contender", who.name, "--rounds-in-process",
                   str(self.rounds_in_process), *options]
        done = run_program(command, self.time_limit_s)
        samples, wrong = samples_of(done.output)
        why = done.why if not samples and done.why else wrong or done.why
        if why:
            self.failures.append(Failure(point.id, who.name, why))
            self.gone.add((point.id, who.name))
            return
        for sample in samples:
            sample.update(subject=point.case.subject, case=point.case.name, params=point.params, round=number)
            sample["extra"] |= {"others_cpu_ms": round(done.others_cpu_ms), "host_cpu_ms": round(done.host_cpu_ms),
                                "program_ms": round(done.wall_ms)}
        self.samples += samples


class ByTurns:
    """Two runners that measure each point one right after the other; which one begins changes from round to round."""

    def __init__(self, *sides):
        self.sides = sides

    def run_round(self, point, number):
        for side in self.sides[:: 1 if number % 2 == 0 else -1]:
            side.run_round(point, number)
