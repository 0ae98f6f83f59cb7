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
from operator import index as _index
from typing import Any

from . import _native
from ._errors import RankdError

__all__ = ["Answers", "RankdError", "Ranker", "Ranking"]
__version__ = "0.1.0"


_MAX_THREADS = 1024


def _request_text(request: Any, name: str = "the request") -> str | bytes:
    """Returns the text of a request: str and bytes are texts already, mappings become JSON."""
    if isinstance(request, (str, bytes)):
        return request
    if not isinstance(request, Mapping):
        raise TypeError(f"{name} must be a mapping, str or bytes, got {type(request).__name__}")
    members = request if isinstance(request, dict) else dict(request)
    try:
        return _to_json(members)
    except (TypeError, ValueError, RecursionError) as error:
        raise _without_json(members, error) from None


def _to_json(value: Any) -> str:
    return _json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    """Returns a value of numpy, pandas or pyarrow as a value of Python, and any other mapping as a dict."""
    for name in ("tolist", "as_py", "to_pylist", "to_list"):
        if callable(convert := getattr(value, name, None)):
            return convert()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of the type {type(value).__name__} has no form in JSON")


def _without_json(members: dict[Any, Any], error: Exception) -> RankdError:
    """Returns the error of a request that cannot be written as JSON, with a pointer to the first such member."""
    pointer, found = "", error
    for name, value in members.items():
        try:
            _to_json({name: value})
        except (TypeError, ValueError, RecursionError) as reason:
            pointer, found = "/" + str(name).replace("~", "~0").replace("/", "~1"), reason
            break
    reason = "it is nested too deeply" if isinstance(found, RecursionError) else str(found)
    request_id = members.get("request_id", "")
    return RankdError([{
        "code": "unsupported_type",
        "pointer": pointer,
        "message": f"the request cannot be written as JSON: {reason}",
        "hint": "give numbers, str, bool, None, lists or mappings",
        "source": "request",
    }], request_id if isinstance(request_id, str) else "")


def _texts(requests: Iterable[Any]) -> Iterator[str | bytes | RankdError]:
    """Yields the texts of requests, or the error of a request that has no text."""
    for number, request in enumerate(requests, 1):
        try:
            yield _request_text(request, f"request {number}")
        except RankdError as error:
            yield error


def _name(parameter: str, value: str | None) -> str:
    """Returns a name, or an empty str for None. Surrogates are escaped, so that the name is UTF-8 and matches nothing."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"`{parameter}` must be a str, got {value!r}")
    return (value or "").encode("utf-8", "backslashreplace").decode()


def _thread_count(threads: int | None) -> int:
    if threads is None:
        return 0
    sentence = f"`threads` must be an integer from 1 to {_MAX_THREADS}, got {threads!r}"
    if isinstance(threads, bool) or not hasattr(threads, "__index__"):
        raise TypeError(sentence)
    if not 1 <= threads <= _MAX_THREADS:
        raise ValueError(sentence)
    return _index(threads)


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
        return self._answers.line(range(len(self))[at])

    def code(self, at: int) -> str:
        """``ok``, or the code of the error."""
        return self._answers.code(range(len(self))[at])

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
        self._ranker = _native.Ranker(
            _os.fsencode(project) or b".", _name("plan", plan), _name("environment", environment), _thread_count(threads),
            b"" if store is None else _os.fsencode(store))

    @property
    def project(self) -> str:
        """The folder of the project."""
        return _os.fsdecode(self._ranker.project)

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
        if isinstance(ids, (str, bytes)):
            raise TypeError(f"`ids` must be a list of ids, got {ids!r}")
        names = [_name("ids", str(each)) for each in ids]
        return Ranking(self._ranker.explain(_one(request, members), names, ""))

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
        options = _name("plan", plan), _thread_count(threads), bool(allow_degraded)
        if isinstance(requests, (str, bytes, Mapping, Ranking, Answers)) or not (
                hasattr(requests, "__arrow_c_stream__") or isinstance(requests, Iterable)):
            raise TypeError(f"rank_many answers a table or an iterable of requests, got {type(requests).__name__}; "
                            "rank answers one request")
        if hasattr(requests, "__arrow_c_stream__"):
            return Answers(self._ranker.rank_stream(requests.__arrow_c_stream__(), *options))
        return Answers(self._ranker.rank_iterator(_texts(requests), *options))

    def plans(self) -> list[dict[str, Any]]:
        """The plans of the project that can be run: ``plan``, ``nodes``, ``digest``."""
        return _json.loads(self._ranker.plans())["plans"]

    def validate(self, *plans: str) -> list[dict[str, Any]]:
        """Checks plans by name or file, or all plans of the project: ``plan``, ``valid``, ``diagnostics``."""
        return _json.loads(self._ranker.validate([_name("plans", each) for each in plans]))["plans"]

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
