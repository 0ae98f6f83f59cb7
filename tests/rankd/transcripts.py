#!/usr/bin/env python3
"""Runs the commands of transcripts as docs/tutorial_rankd.md shows them, and compares what they print.

A transcript is a text file: lines that begin with `$ ` are commands of one shell, and what follows each is its output.
`…` in an output stands for any text within a line. A command that ends in `&` goes on in the background; the port of
its `http://127.0.0.1:PORT` replaces 8080 in all later commands, so that no test depends on a free port.

  transcripts.py --rankd BINARY --project FOLDER TRANSCRIPT…   the shell begins in a copy of the project
  transcripts.py --write …                                     writes what was printed, to be looked at"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

END = "---- end of output ----"
PORT = re.compile(r"http://127\.0\.0\.1:(\d+)")


def steps_of(text):
    """(command, lines of its output), in order."""
    steps = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps:
            steps[-1][1].append(line)
    return steps


class Shell:
    """One bash in which the commands run; knows the port that stands for 8080."""

    def __init__(self, folder, rankd):
        path = f"{pathlib.Path(rankd).resolve().parent}:{os.environ['PATH']}"
        self.port = "8080"
        self.bash = subprocess.Popen(["bash"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                     stderr=subprocess.STDOUT, env={**os.environ, "PATH": path})

    def run(self, command):
        if command.endswith("&"):
            return self._start(command)
        self._send(f"{command.replace('8080', self.port)}\necho; echo '{END}'\n")
        lines = []
        for line in self.bash.stdout:
            if line.rstrip("\n") == END:
                break
            lines.append(line.rstrip("\n").replace(f"127.0.0.1:{self.port}", "127.0.0.1:8080"))
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _start(self, command):
        self._send(command.replace("8080", "0") + "\n")
        line = self.bash.stdout.readline().rstrip("\n")
        self.port = PORT.search(line)[1]
        return [line.replace(self.port, "8080")]

    def _send(self, text):
        self.bash.stdin.write(text)
        self.bash.stdin.flush()

    def close(self):
        self._send("kill $(jobs -p) 2>/dev/null; wait\n")
        self.bash.stdin.close()
        self.bash.stdout.close()
        self.bash.wait()


def agrees(wanted, printed):
    pattern = ".*".join(re.escape(part) for part in wanted.split("…"))
    return re.fullmatch(pattern, printed) is not None


def check(path, shell, write):
    """Whether the transcript is true."""
    true, seen = True, []
    for command, wanted in steps_of(path.read_text(encoding="utf-8")):
        printed = shell.run(command)
        seen += [f"$ {command}", *printed]
        while wanted and not wanted[-1]:
            wanted.pop()
        if len(wanted) != len(printed) or not all(map(agrees, wanted, printed)):
            true = False
            if not write:
                print(f"{path}: `{command}` printed", *printed, "where the transcript says", *wanted, sep="\n  ")
    if write and not true:
        path.write_text("\n".join(seen) + "\n", encoding="utf-8")
    return true or write


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rankd", required=True)
    parser.add_argument("--project", required=True, type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("transcripts", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / options.project.name
        shutil.copytree(options.project, folder)
        shell = Shell(folder, options.rankd)
        try:
            return 0 if all([check(each, shell, options.write) for each in options.transcripts]) else 1
        finally:
            shell.close()


if __name__ == "__main__":
    sys.exit(main())
