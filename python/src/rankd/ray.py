"""Ranks data sets with the nodes of a Ray cluster: each actor has a Ranker, and any number of actors gives the same bytes.

``rank_dataset`` ranks a ``ray.data.Dataset``, ``rank_blocks`` tables one after the other, and the command ``rankd-ray``
a file, which it can continue after an interruption. An answer depends on its request, the plan, the registries and the
store, so a request may be ranked again by another actor if one dies.
"""
from __future__ import annotations

import argparse
import collections
import fcntl
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import ray

from . import Ranker, RankdError, __version__

__all__ = ["Archive", "RankBatches", "main", "rank_blocks", "rank_dataset"]

# A block whose actor dies this often is divided, until one request is left.
MAX_DEATHS = 2
# Blocks that an actor has at once: the next one is there when it has ranked one.
BLOCKS_PER_ACTOR = 2
# Processes of actors that may end one after the other while they start.
MAX_FAILED_STARTS = 10
_LEFT_OUT = {".git", "node_modules", "__pycache__"}


@dataclass(frozen=True)
class Archive:
    """A project as bytes, to be sent to nodes that do not have its folder. ``digest`` is the SHA-256 of ``data``."""

    data: bytes
    digest: str

    @classmethod
    def of(cls, project: str | os.PathLike[str]) -> Archive:
        """Packs a folder with everything in it, its embedded store as well. The same files give the same digest."""
        root = Path(project)
        if not (root / "rankd.toml").is_file():
            raise _error("no_project", f"there is no rankd.toml in {root}")
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for file in sorted(root.rglob("*")):
                name = file.relative_to(root)
                if file.is_dir() or _LEFT_OUT.intersection(name.parts):
                    continue
                entry = tarfile.TarInfo(name.as_posix())
                entry.size, entry.mode = file.stat().st_size, file.stat().st_mode & 0o755
                with file.open("rb") as content:
                    archive.addfile(entry, content)
        data = out.getvalue()
        return cls(data, hashlib.sha256(data).hexdigest())

    def unpack(self) -> Path:
        """The project in a folder of this node, which the first caller makes and the others share."""
        if hashlib.sha256(self.data).hexdigest() != self.digest:
            raise _error("digest_mismatch", f"the archive of the project does not have the digest {self.digest}",
                         "pack it again with Archive.of")
        parent = Path(tempfile.gettempdir()) / f"rankd-ray-{os.getuid()}"
        parent.mkdir(mode=0o700, exist_ok=True)
        if parent.stat().st_uid != os.getuid():
            raise _error("unsafe_folder", f"{parent} belongs to another user", "set TMPDIR to a folder of your own")
        folder = parent / self.digest
        with (parent / f"{self.digest}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                part = parent / f"{self.digest}.part"
                shutil.rmtree(part, ignore_errors=True)
                self._extract(part)
                part.rename(folder)
        return folder

    def _extract(self, folder: Path) -> None:
        with tarfile.open(fileobj=io.BytesIO(self.data)) as archive:
            for entry in archive:
                name = PurePosixPath(entry.name)
                content = archive.extractfile(entry) if entry.isfile() else None
                if content is None or name.is_absolute() or ".." in name.parts:
                    raise _error("unsafe_archive", f"the archive has the entry {entry.name!r}; expected files below the project's folder")
                file = folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("wb") as out:
                    shutil.copyfileobj(content, out)
                file.chmod(entry.mode)


class RankBatches:
    """Ranks tables of requests, for ``Dataset.map_batches`` with ``batch_format="pyarrow"``: one Ranker for each actor.

    A table has the columns that ``Ranker.rank_many`` reads; the result has the columns ``line``, ``code``, ``answer``.
    ``project`` is a folder that each node has, or an ``Archive``, also as an object reference.
    """

    def __init__(
        self,
        project: Any,
        plan: str | None = None,
        threads: int = 1,
        environment: str | None = None,
        store: str | None = None,
        allow_degraded: bool = False,
    ) -> None:
        if isinstance(project, ray.ObjectRef):
            project = ray.get(project)
        self._error: RankdError | None = None
        self._allow_degraded = allow_degraded
        try:
            folder = project.unpack() if isinstance(project, Archive) else project
            self._ranker = Ranker(folder, plan, environment, threads, store)
        except RankdError as error:  # an actor whose constructor fails is only said to have died
            self._error = error

    def __call__(self, requests: pa.Table) -> pa.Table:
        if self._error is not None:
            raise self._error
        return pa.table(self._ranker.rank_many(requests, allow_degraded=self._allow_degraded))


def rank_dataset(
    ds: Any,
    project: Any,
    plan: str | None = None,
    *,
    actors: int = 1,
    threads: int = 1,
    order: bool = False,
    batch_size: int = 4096,
    environment: str | None = None,
    store: str | None = None,
    allow_degraded: bool = False,
) -> Any:
    """Ranks a ``ray.data.Dataset`` of requests with at most ``actors`` actors of ``threads`` threads each; lazily, as Ray does.

    Ray starts more than one actor if that leaves CPUs for its tasks that read and write.
    Rows come in any order unless ``order`` is true, which keeps that of the data set. If requests have no
    ``request_id``, give the data set a column ``line``, by which they are named: batches do not know their place.
    """
    _check_cpus(threads, 1)
    if isinstance(project, Archive):
        project = ray.put(project)
    out = ds.map_batches(
        RankBatches,
        fn_constructor_kwargs={"project": project, "plan": plan, "threads": threads, "environment": environment, "store": store,
                               "allow_degraded": allow_degraded},
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=actors),  # all CPUs for actors would leave none to read
        num_cpus=threads,
        zero_copy_batch=True,
    )
    out.context.execution_options.preserve_order = order
    return out


def rank_blocks(
    blocks: Iterable[tuple[Any, pa.Table]],
    project: Any,
    plan: str | None = None,
    *,
    actors: int = 1,
    threads: int = 1,
    environment: str | None = None,
    store: str | None = None,
    allow_degraded: bool = False,
    actor_class: type = RankBatches,
) -> Iterator[tuple[Any, pa.Table]]:
    """Ranks tables, which come with a key each, and yields the keys with their answers, in the order in which they end.

    Actors for which the cluster has no CPUs yet get no tables until they start.
    If an actor dies, another one ranks its blocks again. A block at which actors die again and again is divided, until
    one request is left: that request is reported as RankdError with the code ``actor_died`` and its line.
    """
    _check_cpus(threads)
    if isinstance(project, Archive):
        project = ray.put(project)
    pool = _Pool(ray.remote(actor_class).options(num_cpus=threads), actors,
                 {"project": project, "plan": plan, "threads": threads, "environment": environment, "store": store,
                  "allow_degraded": allow_degraded})
    try:
        yield from pool.rank(iter(blocks))
    finally:
        pool.close()


@dataclass
class _Block:
    key: Any
    requests: pa.Table
    deaths: int = 0


class _Pool:
    """Actors with the blocks that each has."""

    def __init__(self, made_by: Any, size: int, arguments: dict[str, Any]) -> None:
        self._make = lambda: made_by.remote(**arguments)
        self._actors: list[Any] = [None] * size
        self._load: list[int | None] = [None] * size  # blocks of each actor, or None until it has started
        self._starting: dict[Any, tuple[int, Any]] = {}
        self._running: dict[Any, tuple[int, Any, _Block]] = {}
        self._failed_starts = 0
        for at in range(size):
            self._start(at)

    def close(self) -> None:
        for each in self._actors:
            ray.kill(each)

    def rank(self, blocks: Iterator[tuple[Any, pa.Table]]) -> Iterator[tuple[Any, pa.Table]]:
        waiting: collections.deque[_Block] = collections.deque()
        at_end = False
        while True:
            if not waiting and not at_end:
                read = next(blocks, None)
                at_end = read is None
                if read is not None:
                    waiting.append(_Block(*read))
            if waiting and (free := self._least_loaded()) is not None:
                self._submit(free, waiting.popleft())
                continue
            if not waiting and not self._running:
                return
            (ready, *_), _ = ray.wait([*self._running, *self._starting], num_returns=1)
            if ready in self._starting:
                self._admit(ready)
                continue
            at, actor, block = self._running.pop(ready)
            if actor is self._actors[at]:
                self._load[at] -= 1
            try:
                answers = ray.get(ready)
            except ray.exceptions.RayActorError:
                self._replace(at, actor)
                block.deaths += 1
                if block.deaths < MAX_DEATHS:
                    waiting.append(block)
                    continue
                answers = self._rank_apart(at, block.requests)
            except ray.exceptions.RayTaskError as error:
                raise error.cause if isinstance(error.cause, RankdError) else error
            yield block.key, answers

    def _least_loaded(self) -> int | None:
        loads = [(load, at) for at, load in enumerate(self._load) if load is not None and load < BLOCKS_PER_ACTOR]
        return min(loads)[1] if loads else None

    def _start(self, at: int) -> None:
        self._actors[at], self._load[at] = self._make(), None
        self._starting[self._actors[at].__ray_ready__.remote()] = (at, self._actors[at])

    def _admit(self, ready: Any) -> None:
        """Lets an actor that has started have blocks, or replaces one whose process has ended before."""
        at, actor = self._starting.pop(ready)
        if actor is not self._actors[at]:
            return
        try:
            ray.get(ready)
        except ray.exceptions.RayActorError as error:
            self._failed_starts += 1
            if error.actor_init_failed or self._failed_starts >= MAX_FAILED_STARTS:
                raise
            self._replace(at, actor)
        else:
            self._load[at], self._failed_starts = 0, 0

    def _submit(self, at: int, block: _Block) -> None:
        actor = self._actors[at]
        self._running[actor.__call__.remote(block.requests)] = (at, actor, block)
        self._load[at] += 1

    def _replace(self, at: int, dead: Any) -> None:
        if self._actors[at] is dead:
            self._start(at)

    def _rank_apart(self, at: int, requests: pa.Table) -> pa.Table:
        """Ranks a block at which actors died, and divides it if the next actor of this place dies as well."""
        parts, done = [requests], []
        while parts:
            part, actor = parts.pop(0), self._actors[at]
            try:
                done.append(ray.get(actor.__call__.remote(part)))
            except ray.exceptions.RayActorError as error:
                self._replace(at, actor)
                if part.num_rows == 1:
                    line = part.column("line")[0].as_py() if "line" in part.column_names else "unknown"
                    raise _error("actor_died", f"the request of line {line} ends the process that ranks it: {error}",
                                 "rank it alone with rankd rank, under a debugger; the last lines of the actor's log say more") from error
                half = part.num_rows // 2
                parts[:0] = [part.slice(0, half), part.slice(half)]
            except ray.exceptions.RayTaskError as error:
                raise error.cause if isinstance(error.cause, RankdError) else error
        return pa.concat_tables(done)


def _check_cpus(threads: int, spare: int = 0) -> None:
    """Refuses an actor that the cluster cannot start. A cluster without any CPU may still grow, so it is left alone."""
    if not ray.is_initialized():
        ray.init()
    cpus = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
    if any(cpus) and (max(cpus) < threads or sum(cpus) < threads + spare):
        raise _error("too_few_cpus", f"the cluster has {sum(cpus):g} CPUs, and its largest node has {max(cpus):g}; expected at least "
                     f"{threads + spare}: {threads} on one node for the threads of an actor" + (", and one to read requests" if spare else ""),
                     "lower `threads`, or start Ray with more CPUs, for example by ray.init(num_cpus=4)")


# --- the command ---


def _error(code: str, message: str, hint: str = "") -> RankdError:
    return RankdError([{"code": code, "pointer": "", "node": "", "message": message, "hint": hint, "source": ""}])


def read_blocks(file: Path, rows: int) -> Iterator[tuple[int, pa.Table]]:
    """The requests of a file of Parquet or of lines of JSON, in tables of at most ``rows``, which have a column ``line``.

    Blank lines of JSON are no requests, but count as lines, as for ``rankd batch``.
    """
    if file.suffix == ".parquet":
        yield from _parquet_blocks(file, rows)
        return
    with file.open("rb") as lines:
        numbered = ((number, line.rstrip(b"\r\n")) for number, line in enumerate(lines, 1))
        block: list[tuple[int, bytes]] = []
        index = 0
        for number, line in numbered:
            if line.strip(b" \t\r"):
                block.append((number, line))
            if len(block) == rows:
                yield index, _table_of(block)
                index, block = index + 1, []
        if block:
            yield index, _table_of(block)


def _table_of(lines: list[tuple[int, bytes]]) -> pa.Table:
    texts = pa.array([text for _, text in lines], pa.large_binary())
    # The engine reports what is not UTF-8, so the bytes are passed on as they are.
    return pa.table({"line": pa.array([number for number, _ in lines], pa.int64()), "request": texts.view(pa.large_string())})


def _parquet_blocks(file: Path, rows: int) -> Iterator[tuple[int, pa.Table]]:
    import pyarrow.parquet

    begin = 1
    try:
        opened = pyarrow.parquet.ParquetFile(file)
    except pa.ArrowInvalid as error:
        raise _error("requests_unreadable", f"{file} is not a file of Parquet: {error}", "name lines of JSON otherwise than *.parquet") from error
    with opened as source:
        for index, batch in enumerate(source.iter_batches(batch_size=rows)):
            table = pa.Table.from_batches([batch])
            if "line" not in table.column_names:
                table = table.append_column("line", pa.array(range(begin, begin + table.num_rows), pa.int64()))
            begin += table.num_rows
            yield index, table


class Output:
    """A folder of answers: a file of Parquet for each block, and ``batch.json``, which says what they were made from.

    A block is written under another name and renamed, so a file that exists is complete.
    """

    def __init__(self, folder: Path, made_from: dict[str, Any], *, restart: bool = False) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _error("output_unwritable", f"{folder} cannot be used as a folder: {error.strerror}", "name another folder by --out") from error
        state = folder / "batch.json"
        if restart:
            for each in [*folder.glob("part-*.parquet"), *folder.glob("*.tmp")]:
                each.unlink()
            state.unlink(missing_ok=True)
        text = json.dumps(made_from, sort_keys=True, indent=1) + "\n"
        if state.exists():
            try:
                before = json.loads(state.read_text(encoding="utf-8"))
            except ValueError as error:
                raise _error("resume_mismatch", f"{state} is not JSON: {error}", "--restart deletes it, and the answers beside it") from error
            changed = sorted(name for name in made_from if before.get(name) != made_from[name])
            if changed:
                raise _error("resume_mismatch", f"the answers in {folder} were computed from different inputs: {', '.join(changed)}",
                             "--restart forgets them")
        elif any(folder.iterdir()):
            raise _error("output_unwritable", f"{folder} is not empty, and was not made by rankd-ray", "name another folder")
        else:
            self._write(state, lambda file: file.write_text(text, encoding="utf-8"))

    def has(self, index: int) -> bool:
        return self._part(index).exists()

    def write(self, index: int, answers: pa.Table) -> None:
        import pyarrow.parquet

        self._write(self._part(index), lambda file: pyarrow.parquet.write_table(answers, file, compression="zstd"))

    def _part(self, index: int) -> Path:
        return self._folder / f"part-{index:08d}.parquet"

    @staticmethod
    def _write(file: Path, write: Any) -> None:
        part = file.with_name(file.name + ".tmp")
        write(part)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.rename(file)


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def batch(options: argparse.Namespace) -> int:
    """Ranks a file, and returns how many requests have an error."""
    if not options.requests.is_file():
        raise _error("requests_unreadable", f"there is no file {options.requests}", "name a file of requests by --in")
    archive = Archive.of(options.project)
    Ranker(options.project, options.plan, options.environment, 1).close()  # what is wrong with them is said before Ray starts
    output = Output(options.out, {"version": __version__, "requests": _sha256(options.requests), "project": archive.digest,
                                  "plan": options.plan, "environment": options.environment, "block_rows": options.block_rows,
                                  "allow_degraded": options.allow_degraded}, restart=options.restart)
    ray.init(address=options.address, num_cpus=None if options.address else max(options.actors * options.threads, 1),
             log_to_driver=False, include_dashboard=False, configure_logging=False)
    try:
        blocks = (each for each in read_blocks(options.requests, options.block_rows) if not output.has(each[0]))
        answered = failed = 0
        for index, answers in rank_blocks(blocks, archive, options.plan, actors=options.actors, threads=options.threads,
                                          environment=options.environment, allow_degraded=options.allow_degraded):
            output.write(index, answers)
            answered += answers.num_rows
            failed += sum(code != "ok" for code in answers.column("code").to_pylist())
            print(f"\r{answered} requests", end="", file=sys.stderr, flush=True) if sys.stderr.isatty() else None
    finally:
        ray.shutdown()
    print(f"answered {answered} requests, {failed or 'none'} of them with an error, into {options.out}", file=sys.stderr)
    return failed


def main(words: list[str] | None = None) -> int:
    """The command ``rankd-ray``. Exit status: 0; 1 if a request has an error, or nothing could be ranked; 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="rankd-ray", description="Ranks a file of requests with a cluster of Ray.")
    parser.add_argument("--version", action="version", version=f"rankd-ray {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    of = commands.add_parser("batch", help="answers a file; run it again to continue after an interruption")
    of.add_argument("--project", type=_path, required=True, help="a folder with rankd.toml; the nodes get a copy of it")
    of.add_argument("--plan", help="for requests that name none")
    of.add_argument("--environment", help="dev, test or prod, in place of that of rankd.toml")
    of.add_argument("--in", dest="requests", type=_path, required=True, help="requests: *.parquet, or lines of JSON")
    of.add_argument("--out", type=_path, required=True, help="a folder of Parquet files with the columns line, code, answer")
    of.add_argument("--actors", type=_count, default=1, help="processes that rank")
    of.add_argument("--threads", type=_count, default=1, help="of each actor, which gets as many CPUs")
    of.add_argument("--block-rows", type=_count, default=4096, help="requests that an actor gets at once")
    of.add_argument("--address", help="of the cluster, or `auto`; without it one is started on this machine")
    of.add_argument("--restart", action="store_true", help="forget the answers that are in the folder")
    of.add_argument("--allow-degraded", action="store_true", help="also run plans whose answers depend on time")
    options = parser.parse_args(words)
    try:
        return 1 if batch(options) else 0
    except RankdError as error:
        print(f"rankd-ray: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # a file, or a cluster that does not answer
        print(f"rankd-ray: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("rankd-ray: interrupted; the same command continues", file=sys.stderr)
        return 130


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 7 and 1 <= int(text) <= 1_000_000):
        raise argparse.ArgumentTypeError(f"must be an integer from 1 to 1000000, got {text!r}")
    return int(text)


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return Path(text)


if __name__ == "__main__":
    sys.exit(main())
