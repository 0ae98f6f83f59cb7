"""bench/http/drive.py: lets wrk ask a server that somebody else has started, and prints what came of it on one line:

requests, errors, nanoseconds, nanoseconds of the server's processors, the median and p99 of latency in microseconds; and
where the server computes as well, how many tasks it has run, and in how many nanoseconds, as it says at /tasks.
The server has the first processor, wrk the last one; where load is asked for, each of them has a process that takes so much.
"""
import argparse
import http.client
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
BURN = """
import sys, time
busy = float(sys.argv[1]) / 100
while True:
    begin = time.monotonic()
    while time.monotonic() < begin + 0.002 * busy:
        pass
    if busy < 1:
        time.sleep(0.002 * (1 - busy))
"""


def tasks_of(process):
    return [path for path in pathlib.Path(f"/proc/{process}/task").iterdir()]


def processor_ns(process):
    """What the threads of a process have had of processors, to the nanosecond."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks_of(process))


def pinned(processor):
    return lambda: os.sched_setaffinity(0, {processor})


class Tasks:
    """What a server has run so far, and when; nothing where it does not count."""

    def __init__(self, port, is_counted):
        self.server = http.client.HTTPConnection("127.0.0.1", port, timeout=10) if is_counted else None

    def read(self):
        if self.server is None:
            return 0, 0
        self.server.request("GET", "/tasks")
        return int(self.server.getresponse().read()), time.monotonic_ns()


def main():
    read = argparse.ArgumentParser(description=__doc__)
    for name in ("server", "port", "connections", "seconds", "load_percent"):
        read.add_argument("--" + name, type=int, required=True)
    read.add_argument("--tasks", action="store_true", help="ask how many tasks the server has run")
    asked = read.parse_args()
    os.sched_setaffinity(0, range(os.cpu_count()))  # whoever started this may be a server that has been pinned
    processors = sorted(os.sched_getaffinity(0))
    for task in tasks_of(asked.server):
        os.sched_setaffinity(int(task.name), {processors[0]})
    burners = [subprocess.Popen([sys.executable, "-c", BURN, str(asked.load_percent)], preexec_fn=pinned(each))
               for each in {processors[0], processors[-1]} if asked.load_percent]
    try:
        command = ["wrk", "-t1", f"-c{asked.connections}", "-s", str(HERE / "report.lua"), "--timeout", "10s",
                   f"http://127.0.0.1:{asked.port}/"]
        tasks = Tasks(asked.port, asked.tasks)
        ran, since = tasks.read()
        before = processor_ns(asked.server)
        done = subprocess.run([*command[:3], f"-d{asked.seconds}", *command[3:]], capture_output=True, text=True, check=True,
                              preexec_fn=pinned(processors[-1]))
        used = processor_ns(asked.server) - before
        ran_now, now = tasks.read()
    finally:
        for each in burners:
            each.kill()
    requests, errors, nanoseconds, median, p99 = done.stdout.strip().splitlines()[-1].split()
    print(requests, errors, nanoseconds, used, median, p99, ran_now - ran, now - since)


if __name__ == "__main__":
    main()
