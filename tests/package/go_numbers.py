# tests/package/go_numbers.py: every float and every id of 64 bits comes back from Go's encoding/json to rankd, and from
# rankd to Go, in requests, answers, data to load and dumps. tests/package/numbers.go is the Go program. Exit status 77:
# skipped, with the reason.
#
#   python3 tests/package/go_numbers.py RANKD
import math
import os
import random
import shutil
import struct
import sys
import tempfile
from pathlib import Path

from checks import must, run

GO_FOLDER = "/usr/local/go/bin"  # where the archive of go.dev is unpacked
PROGRAM = Path(__file__).resolve().with_name("numbers.go")
FIRST_ID = 2**53 + 1  # the first integer that no float equals
LAST_ID = 2**63 - 1
KEY = """[[key]]
key_id = {}
name = "{}"
type = "{}"
nullable = {}
allow_read = true
allow_write = {}
"""
KINDS = ("value", "stored", "score", "field")  # in an answer as the request has it and as the store has it; in a dump
PROJECT = 'name = "numbers"\nenvironment = "dev"\nregistry = "registry"\nplans = "plans"\n'
PLAN = """{"schema_version": 1, "plan_name": "numbers", "outputs": ["stored"], "nodes": [
  {"node_id": "rows", "op": "core::candidates", "inputs": [], "params": {"keys": [2]}},
  {"node_id": "stored", "op": "core::fetch_features", "inputs": ["rows"],
   "params": {"endpoint": "ep_0001", "keys": [3]}}]}
"""
ENDPOINTS = """[[endpoint]]
endpoint_id = "ep_0001"
name = "features"
kind = "redis"
resolver = { type = "embedded", path = "store" }
policy = { max_inflight = 64, connect_timeout_ms = 1000, request_timeout_ms = 1000, connections = 1 }
"""


def bits_of(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def numbers():
    """Powers and their neighbours, integers around 2^53, 2^63, 2^64 and 1e21, the ends, and random bits."""
    out = [0.0, 5e-324, 2.0**-1022, sys.float_info.max, 0.1, 1 / 3, 123456.789, 2.9514790517935283e20]
    for value in [math.ldexp(1.0, power) for power in range(40, 81)] + [10.0**power for power in range(-20, 31)]:
        out += [value, math.nextafter(value, 0.0), math.nextafter(value, math.inf)]
    source = random.Random(5)
    out += [float(source.getrandbits(64) << source.randrange(14)) for _ in range(500)]
    for _ in range(500):
        value = abs(struct.unpack("<d", struct.pack("<Q", source.getrandbits(64)))[0])
        if math.isfinite(value):
            out.append(value)
    return out + [-value for value in out]


def make_project(folder):
    for part in ("registry", "plans"):
        (folder / part).mkdir()
    keys = KEY.format(1, "id", "int", "false", "false")
    keys += KEY.format(2, "value", "float", "true", "true") + KEY.format(3, "stored", "float", "true", "true")
    (folder / "registry" / "keys.toml").write_text(keys, encoding="utf-8")
    (folder / "registry" / "params.toml").write_text("# none\n", encoding="utf-8")
    (folder / "registry" / "endpoints.dev.toml").write_text(ENDPOINTS, encoding="utf-8")
    (folder / "rankd.toml").write_text(PROJECT, encoding="utf-8")
    (folder / "plans" / "numbers.json").write_text(PLAN, encoding="utf-8")


def check(rankd, go, folder):
    values = numbers()
    ids = [FIRST_ID + at for at in range(len(values) - 1)] + [LAST_ID]
    make_project(folder)
    lines = "".join(f"{number} {bits_of(value)}\n" for number, value in zip(ids, values))
    run(go, "run", PROGRAM, "write", cwd=folder, stdin=None, input=lines)
    run(rankd, "load", "data.ndjson", cwd=folder)
    answer = run(rankd, "rank", "--plan", "numbers", "--request", "request.json", cwd=folder)
    (folder / "answer.json").write_text(answer, encoding="utf-8")
    (folder / "dump.ndjson").write_text(run(rankd, "dump", cwd=folder), encoding="utf-8")
    found = {}
    for line in run(go, "run", PROGRAM, "read", cwd=folder).splitlines():
        kind, number, bits = line.split()
        found[kind, int(number)] = int(bits)
    must(len(found) == len(KINDS) * len(values), f"{len(found)} numbers came back, not {len(KINDS)} × {len(values)}")
    for number, value in zip(ids, values):
        for kind in KINDS:
            came = found[kind, number]
            # The scores of a sorted set have no negative zero. Go writes it as the integer -0, which is 0 in a request.
            expected = bits_of(0.0 if value == 0 and kind in ("value", "score") else value)
            must(came == expected, f"{kind} {number}: {value!r} came back with the bits {came}, not {expected}")
    print(f"{len(found)} numbers are equal")


def main():
    go = shutil.which("go", path=os.pathsep.join([os.environ.get("PATH", ""), GO_FOLDER]))
    if go is None:
        print("skipped: there is no `go`: unpack an archive of go.dev in /usr/local, or install golang-go")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        check(Path(sys.argv[1]).resolve(), go, Path(scratch))


main()
