# tests/package/arrow.py: files of `rankd serve --captures-form arrow`, as pyarrow, polars and duckdb read them, have every
# value that the lines of JSON of the same requests have. Plans, data and requests are random ones of tests/oracle, with a
# capture at every node. The Python of docs/capture.md reads files that are cut, too. Exit status 77: skipped, with the reason.
#
#   python3 tests/package/arrow.py RANKD
import base64
import http.client
import json
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import python_tools
from checks import must
from python_tools import SOURCES

sys.path.insert(0, str(SOURCES / "tests"))
from oracle.compare import make_case, make_project  # noqa: E402

CAPTURE = "cap.rfc.0010.capture.v1"
PROJECTS, PLANS, REQUESTS = (0, 1, 2, 3, 5, 8), 10, 6
PATIENCE_S = 120


def add_captures(plan):
    """Every node captures what it takes and gives, in requests of all ids."""
    for number, node in enumerate(plan["nodes"]):
        node["capture"] = {"side": "both", "max_rows": 10 + number % 3}
    plan["capabilities_required"] = sorted({*plan.get("capabilities_required", []), CAPTURE})
    return plan


class Server:
    """`rankd serve` of a project, until the end of the block."""

    def __init__(self, rankd, folder, *more):
        words = [rankd, "serve", "--project", folder, "--listen", "127.0.0.1:0", "--loops", "1", "--keep-going", "--log", "/dev/null",
                 "--default-deadline-ms", "60000", *more]
        self._process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        said = self._process.stdout.readline()
        found = re.match(r"listening on http://127\.0\.0\.1:(\d+)", said)
        must(found, f"the server said {said!r}")
        self._connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE_S)
        return self

    def rank(self, request):
        """The status of the answer."""
        self._connection.request("POST", "/v1/rank", json.dumps(request))
        answer = self._connection.getresponse()
        answer.read()
        return answer.status

    def __exit__(self, *_):
        self._connection.close()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(PATIENCE_S)


def declare_captures(folder):
    file = folder / "registry/capabilities.toml"
    text = file.read_text(encoding="utf-8")
    if CAPTURE not in text:
        file.write_text(text + f'\n[[capability]]\nid = "{CAPTURE}"\nname = "capture"\n', encoding="utf-8")


def make_requests(project, seed):
    """Writes plans, and gives requests for them, each with an id of its own."""
    made = []
    for number in range(PLANS):
        case = make_case(project.world, seed * 20 + number, REQUESTS)
        plan = add_captures(case.plan)
        (project.folder / f"plans/{plan['plan_name']}.json").write_text(json.dumps(plan), encoding="utf-8")
        for at, request in enumerate(case.requests):
            made.append({**request, "plan": plan["plan_name"], "request_id": f"{seed}.{number}.{at}"})
            made[-1].pop("experiments", None)
    return made


def captured(rankd, project, form, requests):
    """The folder of captures, and the status of each answer."""
    folder = project.folder / form
    with Server(rankd, project.folder, "--captures", folder, "--captures-form", form, "--segment-mib", "1") as server:
        return folder, [server.rank(request) for request in requests]


def files_of(folder, suffix):
    files = sorted(folder.glob(f"captures-*.{suffix}"))
    must(files and len(files) == len(list(folder.iterdir())), f"{folder} has {sorted(each.name for each in folder.iterdir())}")
    return files


def value_as_json(value):
    """A value that pyarrow gives, as the line has it."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode("ascii")}
    return value


def same(ours, theirs):
    """Whether a value of a line and one of a table are the same: doubles bit by bit, numbers of vectors as float32."""
    if isinstance(theirs, float):
        return type(ours) in (int, float) and struct.pack("d", ours) == struct.pack("d", theirs)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(struct.pack("f", a) == struct.pack("f", b) for a, b in zip(ours, theirs))
    return type(ours) is type(theirs) and ours == theirs


def parse_int(text):
    return -0.0 if text == "-0" else int(text)


def compare_line(line, row, types):
    """What is different about a row of the table, or None."""
    import pyarrow

    rows, table = line.pop("rows", None), row.pop("rows")
    written, read = line.pop("time"), row.pop("time")
    if read.tzinfo is None or abs(read.timestamp() - as_seconds(written)) > PATIENCE_S:
        return "another time"
    if {name: value for name, value in row.items() if value is not None} != line:
        return "other fields"
    if (rows is None) != (table is None):
        return "rows, or none"
    columns = {name: values for name, values in (table or {}).items() if values is not None}
    if list(columns) != list(rows or {}):
        return f"other columns: {list(columns)}"
    for name, values in columns.items():
        if len(values) != len(rows[name]) or not all(same(a, value_as_json(b)) for a, b in zip(rows[name], values)):
            return f"other values of {name}: {values}"
        types[str(pyarrow.array(values).type) if values else "none"] += 1
        types["null"] += values.count(None)
    return None


def as_seconds(text):
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def compare_project(rankd, folder, seed, types):
    """Compares all lines of a project; gives how many there are."""
    import pyarrow

    project = make_project(folder, seed)
    declare_captures(folder)
    requests = make_requests(project, seed)
    subprocess.run([rankd, "load", "--project", folder], check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
    lines_in, statuses = captured(rankd, project, "ndjson", requests)
    tables_in, again = captured(rankd, project, "arrow", requests)
    must(statuses == again, "other answers at the second time")
    # Where a request fails, it is a matter of time how far its other nodes have come.
    wanted = {each["request_id"] for each, status in zip(requests, statuses) if status == 200}
    lines = [json.loads(text, parse_int=parse_int) for file in files_of(lines_in, "ndjson")
             for text in file.read_text(encoding="utf-8").split("\n") if text]
    tables = [pyarrow.ipc.open_stream(file.read_bytes()).read_all() for file in files_of(tables_in, "arrows")]
    for table in tables:
        table.validate(full=True)
    rows = [row for table in tables for row in table.to_pylist()]
    lines = [each for each in lines if each["request_id"] in wanted]
    rows = [each for each in rows if each["request_id"] in wanted]
    must(len(lines) == len(rows), f"{len(lines)} lines and {len(rows)} rows of tables")
    ids = [value for line in lines for value in line.get("rows", {}).get("id", [])]
    compare_readers(tables_in, wanted, ids)
    for line, row in zip(lines, rows):
        shown = json.dumps(line)
        difference = compare_line(line, row, types)
        must(difference is None, f"project {seed}: {difference}\n{shown}\n{row}")
    return len(lines)


def compare_readers(folder, wanted, ids):
    """polars, and duckdb over a table of pyarrow, find the same ids."""
    import duckdb
    import polars
    import pyarrow

    by_polars, by_duckdb = [], []
    for file in files_of(folder, "arrows"):
        table = pyarrow.ipc.open_stream(file.read_bytes()).read_all()  # noqa: F841: duckdb finds it by its name
        by_duckdb += [each for each in duckdb.sql('select request_id, unnest("rows".id) from "table"').fetchall() if each[0] in wanted]
        frame = polars.read_ipc_stream(file).select("request_id", "rows").unnest("rows").select("request_id", "id").explode("id")
        by_polars += [each for each in frame.drop_nulls("id").rows() if each[0] in wanted]
    must([each[1] for each in by_polars] == ids, "polars reads other ids")
    must([each[1] for each in by_duckdb] == ids, "duckdb reads other ids")


def check_bytes(rankd, folder):
    """Text that is not UTF-8 makes its key one of bytes."""
    import polars
    import pyarrow

    shutil.copytree(SOURCES / "registry", folder / "registry")
    for name in ("data", "plans"):
        (folder / name).mkdir()
    (folder / "rankd.toml").write_text('name = "bytes"\nenvironment = "test"\nregistry = "registry"\nplans = "plans"\ndata = "data"\n',
                                       encoding="utf-8")
    titles = {1: "plain", 2: [-1.0]}  # a vector is stored as bytes, and those of this one are no UTF-8
    (folder / "data/items.ndjson").write_text(
        "".join(json.dumps({"hash": f"item:{number}", "fields": {"raw": title}}) + "\n" for number, title in titles.items()),
        encoding="utf-8")
    nodes = [{"node_id": "a", "op": "test::fixed_source", "inputs": [], "params": {"row_count": 3}},
             {"node_id": "b", "op": "core::hash", "inputs": ["a"],
              "params": {"endpoint": "ep_0001", "key": "item:{id}", "keys": [3002], "fields": ["raw"]}}]
    plan = add_captures({"schema_version": 1, "plan_name": "bytes", "nodes": nodes, "outputs": ["b"]})
    (folder / "plans/bytes.json").write_text(json.dumps(plan), encoding="utf-8")
    subprocess.run([rankd, "load", "--project", folder], check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
    captures = folder / "captures"
    with Server(rankd, folder, "--captures", captures, "--captures-form", "arrow") as server:
        must(server.rank({"plan": "bytes", "user_id": 1}) == 200, "the plan that reads bytes fails")
    (file,) = files_of(captures, "arrows")
    rows = pyarrow.ipc.open_stream(file.read_bytes()).read_all().column("rows")
    must(rows.type.field("title").type == pyarrow.list_(pyarrow.binary()), f"the type of rows is {rows.type}")
    wanted = [b"plain", struct.pack("f", -1.0), None]
    must(rows.to_pylist()[-1]["title"] == wanted, f"the last row is {rows.to_pylist()[-1]}")
    must(polars.read_ipc_stream(file).get_column("rows")[-1]["title"] == wanted, "polars reads other bytes")


def documented():
    """The functions of docs/capture.md."""
    text = (SOURCES / "docs/capture.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(import pyarrow\n\ndef captured_batches.*?)```", text, re.DOTALL)
    must(found, "docs/capture.md has no function that reads files that are cut")
    names = {}
    exec(found[1], names)  # noqa: S102: a page of this repository
    return names["captured_batches"]


def check_cuts(folder):
    """A file that is cut has its batches up to there."""
    import pyarrow

    read = documented()
    file = max(files_of(folder, "arrows"), key=lambda each: each.stat().st_size)
    data = file.read_bytes()
    whole = list(pyarrow.ipc.open_stream(data))
    must(len(whole) >= 1 and [each.num_rows for each in read(file)] == [each.num_rows for each in whole], "a whole file is not read whole")
    cut = file.with_name("cut.arrows")
    for left_out, missing in ((0, 0), (3, 0), (8, 0), (9, 1), (100, 1)):
        cut.write_bytes(data[:len(data) - left_out])
        must(len(list(read(cut))) == len(whole) - missing, f"a file without its last {left_out} bytes has {len(list(read(cut)))} batches")
    cut.write_bytes(data[:100])
    must(not list(read(cut)), "part of a schema has batches")
    cut.unlink()


def main():
    python_tools.run_with("pyarrow", "polars", "duckdb")
    rankd = Path(sys.argv[1]).resolve()
    types, count = Counter(), 0
    with tempfile.TemporaryDirectory(prefix="rankd_arrow_") as scratch:
        for seed in PROJECTS:
            folder = Path(scratch) / f"project_{seed}"
            count += compare_project(rankd, folder, seed, types)
            check_cuts(folder / "arrow")
        check_bytes(rankd, Path(scratch) / "bytes")
    for kind in ("int64", "double", "string", "bool", "list<item: double>", "null"):
        must(types[kind] > 0, f"no {kind} was compared: {types}")
    print(f"{count} row sets are the same: {dict(types)}")


if __name__ == "__main__":
    main()
