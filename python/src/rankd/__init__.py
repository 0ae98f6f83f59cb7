"""Ranks with the plans of a rankd project, within this process.

>>> import rankd
>>> with rankd.Ranker("demo", plan="home_feed") as ranker:
...     ranking = ranker.rank(user_id=42)

Answers are those of ``rankd rank`` and ``rankd batch``, byte for byte. ``rankd.ray`` ranks data sets on a cluster.
"""
from __future__ import annotations

import json as _json
import os as _os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import _native
from ._errors import RankdError

__all__ = ["Answers", "RankdError", "Ranker", "Ranking"]
__version__ = "0.1.0"


def _request_text(request: Any) -> str | bytes:
    """The text of a request: str and bytes are texts already, mappings become JSON."""
    if isinstance(request, (str, bytes)):
        return request
    if isinstance(request, Mapping):
        return _json.dumps(request if isinstance(request, dict) else dict(request), ensure_ascii=False, separators=(",", ":"))
    raise TypeError(f"a request must be a mapping, str or bytes, got {type(request).__name__}")


class Ranking:
    """The answer to one request.

    It has the methods of a mapping of the members of the JSON answer: ``ranking["candidates"]``. It is also a table, with
    a row for each candidate, by the Arrow PyCapsule interface: ``pyarrow.record_batch(ranking)``,
    ``polars.DataFrame(ranking)``. It is no ``collections.abc.Mapping``, because libraries of tables look for that first.
    """

    __slots__ = ("_answer", "_json", "_members")

    def __init__(self, answer: _native.Answer) -> None:
        self._answer = answer
        self._json: str | None = None
        self._members: dict[str, Any] | None = None

    @property
    def json(self) -> str:
        """The line that ``rankd rank`` prints for the request, without the line feed."""
        if self._json is None:
            self._json = self._answer.json
        return self._json

    @property
    def ids(self) -> list[Any]:
        """The ids of the candidates in their order."""
        return [each["id"] for each in self["candidates"]]

    @property
    def num_rows(self) -> int:
        """How many candidates there are."""
        return len(self._answer)

    def _all(self) -> dict[str, Any]:
        if self._members is None:
            self._members = _json.loads(self.json)
        return self._members

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def keys(self):
        return self._all().keys()

    def values(self):
        return self._all().values()

    def items(self):
        return self._all().items()

    def get(self, name: str, default: Any = None) -> Any:
        return self._all().get(name, default)

    def __repr__(self) -> str:
        return f"<rankd.Ranking of {self['plan']}: {self.num_rows} candidates>"

    def __reduce__(self):
        raise TypeError("a Ranking cannot be pickled: pickle its `json`, or a table that was made of it")

    def __arrow_c_schema__(self) -> object:
        return self._answer.schema()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._answer.schema(), self._answer.array()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._answer.stream()

    def to_pandas(self):
        """The candidates as a pandas.DataFrame. Requires pandas."""
        import pandas

        try:
            import pyarrow
        except ImportError:
            return pandas.DataFrame([{"id": each["id"], **each["fields"]} for each in self["candidates"]])
        return pyarrow.record_batch(self).to_pandas()


class Answers:
    """The answers to many requests, in the order of the requests.

    ``answers[0]`` is the first of them as a dict, which has ``error`` for a wrong request. As a table of Arrow they have the
    columns ``line``, ``code``, which is ``ok`` or the code of the error, and ``answer``, the JSON text.
    """

    __slots__ = ("_answers",)

    def __init__(self, answers: _native.Answers) -> None:
        self._answers = answers

    def __len__(self) -> int:
        return len(self._answers)

    def __getitem__(self, at):
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        return _json.loads(self.line(at))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(_json.loads, self.lines())

    def line(self, at: int) -> str:
        """The line that ``rankd batch`` writes for a request, without the line feed."""
        return self._answers.line(at + len(self) if at < 0 else at)

    def code(self, at: int) -> str:
        """``ok``, or the code of the error."""
        return self._answers.code(at + len(self) if at < 0 else at)

    def lines(self) -> Iterator[str]:
        """The lines that ``rankd batch`` writes."""
        return map(self._answers.line, range(len(self)))

    def __repr__(self) -> str:
        return f"<rankd.Answers: {len(self)}>"

    def __arrow_c_schema__(self) -> object:
        return self._answers.schema()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._answers.stream()


class Ranker:
    """An open project. Threads may share it; use it as a context manager, or call ``close``.

    ``project`` is a folder with rankd.toml. ``plan`` is for requests that name none. ``environment`` replaces that of
    rankd.toml. ``threads`` compute; by default as many as the process may use. ``store`` is the folder of an embedded
    store, in place of the project's own.

    A process that was forked from one with a Ranker cannot use or open one: it raises RankdError with the code
    ``forked``. Start such processes with ``spawn``.
    """

    def __init__(
        self,
        project: str | _os.PathLike[str],
        plan: str | None = None,
        environment: str | None = None,
        threads: int | None = None,
        store: str | _os.PathLike[str] | None = None,
    ) -> None:
        if threads is not None and not 1 <= threads <= 1024:
            raise ValueError(f"threads must be from 1 to 1024, got {threads}")
        folder = _os.fspath(project)
        self._ranker = _native.Ranker(folder or ".", plan or "", environment or "", threads or 0, _os.fspath(store or ""))

    @property
    def project(self) -> str:
        """The folder of the project."""
        return self._ranker.project

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._ranker.closed

    def rank(self, request: Mapping[str, Any] | str | bytes | None = None, /, **members: Any) -> Ranking:
        """Answers one request: its JSON text, a mapping, or its members as arguments.

        Raises RankdError if the request is wrong or its plan fails.
        """
        return Ranking(self._ranker.rank(_one(request, members), ""))

    def explain(
        self, request: Mapping[str, Any] | str | bytes | None = None, /, *, ids: Iterable[Any] = (), **members: Any
    ) -> Ranking:
        """Answers a request and explains the answer: ``ranking["explain"]`` has the time of each node, and what became
        of these ids."""
        return Ranking(self._ranker.explain(_one(request, members), [str(each) for each in ids], ""))

    def rank_many(
        self, requests: Any, *, plan: str | None = None, threads: int | None = None, allow_degraded: bool = False
    ) -> Answers:
        """Answers many requests on several threads.

        ``requests`` is a table with the Arrow PyCapsule interface, or an iterable of mappings, str and bytes. A table
        has whole requests in a column ``request``, or a column for each member of the requests; nulls are left out. A
        column ``line`` of int64 has the numbers of the lines, by which requests without an id are named; without it
        they are counted from 1. A wrong request is answered by its error. Plans whose answers depend on time are refused, unless
        ``allow_degraded`` is true.
        """
        if threads is not None and not 1 <= threads <= 1024:
            raise ValueError(f"threads must be from 1 to 1024, got {threads}")
        if hasattr(requests, "__arrow_c_stream__") and not isinstance(requests, (Ranking, Answers)):
            call, source = self._ranker.rank_stream, requests.__arrow_c_stream__()
        elif isinstance(requests, (str, bytes, Mapping)):
            raise TypeError("rank_many answers a table or an iterable of requests; rank answers one request")
        else:
            call, source = self._ranker.rank_iterator, map(_request_text, requests)
        return Answers(call(source, plan or "", threads or 0, allow_degraded))

    def plans(self) -> list[dict[str, Any]]:
        """The plans of the project that can be run: ``plan``, ``nodes``, ``digest``."""
        return _json.loads(self._ranker.plans())["plans"]

    def validate(self, *plans: str) -> list[dict[str, Any]]:
        """Checks plans by name or file, or all plans of the project: ``plan``, ``valid``, ``diagnostics``."""
        return _json.loads(self._ranker.validate(list(plans)))["plans"]

    def reload(self) -> None:
        """Reads the project, its plans and its stores again. If they are wrong, raises RankdError and keeps the old ones."""
        self._ranker.reload()

    def close(self) -> None:
        """Ends the threads once requests that run have been answered. Later calls raise RankdError with ``closed``."""
        self._ranker.close()

    def __enter__(self) -> Ranker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self):
        raise TypeError("a Ranker cannot be pickled: open one in each process, as rankd.ray does")


def _one(request: Any, members: dict[str, Any]) -> str | bytes:
    if request is None:
        return _request_text(members)
    if members:
        raise TypeError("give a request, or its members as arguments, not both")
    return _request_text(request)
