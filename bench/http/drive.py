"""bench/http/drive.py: runs wrk against a server that is running already, and prints the results on one line:

requests, errors, nanoseconds, nanoseconds of the server's processors, the median and p99 of latency in microseconds; and
where the server computes as well, how many tasks it has run, in how many nanoseconds, and how many of its processors' they
took, as it says at /tasks; else zeros.
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


class Server:
    """What a server has had so far, and when: of processors; tasks, where it counts them, and their part of processors."""

    def __init__(self, process, port, counts_tasks):
        self.process = process
        self.port = http.client.HTTPConnection("127.0.0.1", port, timeout=10) if counts_tasks else None

    def read(self):
        tasks = tasks_ns = 0
        if self.port is not None:
            self.port.request("GET", "/tasks")
            tasks, tasks_ns = map(int, self.port.getresponse().read().split())
        return processor_ns(self.process), time.monotonic_ns(), tasks, tasks_ns


def main():
    read = argparse.ArgumentParser(description=__doc__)
    for name in ("server", "port", "connections", "seconds", "load_percent"):
        read.add_argument("--" + name, type=int, required=True)
    read.add_argument("--tasks", action="store_true", help="ask how many tasks the server has run")
    asked = read.parse_args()
    os.sched_setaffinity(0, range(os.cpu_count()))  # the parent may be a server that has been pinned
    processors = sorted(os.sched_getaffinity(0))
    for task in tasks_of(asked.server):
        os.sched_setaffinity(int(task.name), {processors[0]})
    burners = [subprocess.Popen([sys.executable, "-c", BURN, str(asked.load_percent)], preexec_fn=pinned(each))
               for each in {processors[0], processors[-1]} if asked.load_percent]
    try:
        command = ["wrk", "-t1", f"-c{asked.connections}", "-s", str(HERE / "report.lua"), "--timeout", "10s",
                   f"http://127.0.0.1:{asked.port}/"]
        server = Server(asked.server, asked.port, asked.tasks)
        before = server.read()
        done = subprocess.run([*command[:3], f"-d{asked.seconds}", *command[3:]], capture_output=True, text=True, check=True,
                              preexec_fn=pinned(processors[-1]))
        used, passed, tasks, tasks_used = (now - then for now, then in zip(server.read(), before))
    finally:
        for each in burners:
            each.kill()
    requests, errors, nanoseconds, median, p99 = done.stdout.strip().splitlines()[-1].split()
    print(requests, errors, nanoseconds, used, median, p99, tasks, passed if tasks else 0, tasks_used)


if __name__ == "__main__":
    main()
