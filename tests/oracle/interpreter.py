"""Runs a plan, row by row, and gives the response that the specification asks for."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .branches import named_nodes, settled, sources_of
from .draws import drawn
from .expressions import PatternError, Row, Scope, check_patterns, evaluate, holds, text_value
from .experiments import Arms, Declared
from .fallbacks import answers, substitute, wakers_of, with_waits
from .features import Model, linked, spelled, sum_of, transformed
from .registry import Key, Registry
from .requests import Asked, RequestError, read_request
from .store import Store, parse_element, parse_text_id
from .templates import key_of, listed, members, ranked
from .templates import spelled as written
from .vectors import VectorFile, nearest, unlike

ID = 1
COUNTRY = 3001

Node = dict[str, Any]
Rows = list[Row]


@dataclass(frozen=True)
class Candidate:
    """A row of the answer: its id and its non-null fields in the order of their keys."""

    id: int | str
    fields: list[tuple[str, Any]]


@dataclass(frozen=True)
class Failure:
    """An error: its code and, where one failed, the node."""

    code: str
    node: str | None = None


@dataclass
class Answer:
    """What a plan gives."""

    candidates: list[Candidate]
    malformed_ids: int = 0
    malformed_values: int = 0
    # Per node the rows that went in and came out.
    row_counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    # None where no experiment runs for the plan.
    arms: Arms | None = None
    # What stood in for which node, in the order of the plan.
    degraded: list[dict[str, str]] = field(default_factory=list)
    # Whether a page after this one has rows.
    more: bool = False


class NodeFailed(Exception):
    """A node of the plan fails."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Known:
    """What plans and requests refer to."""

    registry: Registry
    store: Store
    models: dict[str, Model] = field(default_factory=dict)
    experiments: Declared = field(default_factory=dict)
    vectors: VectorFile | None = None


class ForeignOperator(Exception):
    """A plan uses what a library brings."""


def interpret(known: Known, plan: dict[str, Any], request: dict[str, Any], page: int = 0) -> Answer | Failure:
    """The response to `request` by `plan`, which must be a valid one, and use operators of rankd alone.

    Where the plan gives pages: that to the cursor of the page before, without that cursor."""
    for node in plan["nodes"]:
        if not node["op"].startswith(("core::", "test::")):
            raise ForeignOperator(f"`{node['op']}` is an operator of a library, which only rankd can load")
    try:
        asked = read_request(request, plan, known.registry, known.experiments)
    except RequestError as error:
        return Failure(error.code)
    return _Run(known, plan, asked, page).answer()


def edges_into(node: Node) -> list[str]:
    """The ids of the nodes that `node` reads: its inputs, then its node_refs."""
    return list(node["inputs"]) + named_nodes(node.get("params") or {})


def order_of(nodes: list[Node], edges: dict[str, list[str]] | None = None) -> list[Node]:
    """Topological order; of the nodes that are ready, the one that stands first in the artifact."""
    number = {node["node_id"]: index for index, node in enumerate(nodes)}
    into = {node["node_id"]: edges_into(node) for node in nodes} if edges is None else edges
    sources = [{number[name] for name in into[node["node_id"]]} for node in nodes]
    readers: list[list[int]] = [[] for _ in nodes]
    for index, wanted in enumerate(sources):
        for source in wanted:
            readers[source].append(index)
    waiting = [len(wanted) for wanted in sources]
    ready = [index for index, count in enumerate(waiting) if count == 0]
    order: list[Node] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(nodes[index])
        for reader in readers[index]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heapq.heappush(ready, reader)
    return order


def _as_shown(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


class _Run:
    """One run of a plan."""

    def __init__(self, known: Known, plan: dict[str, Any], asked: Asked, page: int) -> None:
        self._registry = known.registry
        self._store = known.store
        self._models = known.models
        self._vectors = known.vectors
        self._plan = plan
        self._asked = asked
        self._id_of = parse_text_id if known.registry.has_text_ids else parse_element
        country = known.registry.key_named("country")
        self._country = COUNTRY if country is None else country.number
        self._scope = Scope(known.registry, asked.params)
        self._malformed_ids = 0
        self._malformed_values = 0
        self._more = False
        self._page = page
        self._rows: dict[str, Rows] = {}
        self._fallen: dict[str, dict[str, str]] = {}
        # By a node, those for which it stands in that have failed before it ended.
        self._wait_for: dict[str, list[str]] = {}
        self._sources = sources_of(plan, asked.params, known.registry)
        self._operators: dict[str, Callable[[Node, dict[str, Any]], Rows]] = {
            "core::aggregate": self._aggregate,
            "core::rank_fusion": self._rank_fusion,
            "core::sample": self._sample,
            "core::jitter": self._jitter,
            "core::viewer": self._viewer,
            "core::candidates": self._candidates,
            "core::follow": lambda node, params: self._linked(node, params, "follow"),
            "core::recommendation": lambda node, params: self._linked(node, params, "recommendation"),
            "core::media": self._media,
            "core::vm": self._vm,
            "core::flag": self._flag,
            "core::filter": self._filter,
            "core::concat": self._concat,
            "core::dedupe": self._dedupe,
            "core::diversify": self._diversify,
            "core::join": self._join,
            "core::fetch_features": self._fetch_features,
            "core::list": lambda node, params: self._named(node, params, listed),
            "core::set": lambda node, params: self._named(node, params, members),
            "core::sorted_set": lambda node, params: self._named(node, params, ranked),
            "core::hash": self._hash,
            "core::strings": self._strings,
            "core::members_of": self._members_of,
            "core::nearest": self._nearest,
            "core::extract_features": self._extract_features,
            "core::call_models": self._call_models,
            "core::choose": lambda node, params: self._rows[self._sources[node["node_id"]][0]],
            "core::sort": self._sort,
            "core::take": self._take,
            "core::at_least": self._at_least,
            "core::paginate": self._paginate,
            "test::fixed_source": self._fixed_source,
            "test::sleep": self._sleep,
            "test::busy_cpu": lambda node, params: self._input(node),
        }

    def answer(self) -> Answer | Failure:
        counts = {node["node_id"]: (0, 0) for node in self._plan["nodes"]}  # those of nodes that do not run
        running = [node for node in self._plan["nodes"] if node["node_id"] in self._sources]
        wakers = wakers_of(self._plan, self._sources)
        order = order_of(running, with_waits(running, self._sources, wakers))
        for node in order:
            name = node["node_id"]
            if name in wakers and not wakers[name] & self._fallen.keys():
                continue
            rows_in = sum(len(self._rows[source]) for source in self._sources[name])
            counts[name] = (rows_in, 0)
            malformed = (self._malformed_ids, self._malformed_values)
            try:
                options = settled(node.get("params") or {}, self._asked.params)
                rows = self._operators[node["op"]](node, options)
            except NodeFailed as error:
                if not answers(node, error.code):
                    return Failure(error.code, name)
                self._malformed_ids, self._malformed_values = malformed
                self._fall(node, error.code)
                continue
            counts[name] = (rows_in, len(rows))
            self._give(name, rows)
        degraded = [self._fallen[node["node_id"]] for node in order if node["node_id"] in self._fallen]
        rows = [row for output in self._plan["outputs"] for row in self._rows[output]]
        found = [self._candidate(row) for row in rows]
        return Answer(found, self._malformed_ids, self._malformed_values, counts, self._asked.arms, degraded, self._more)

    def _give(self, name: str, rows: Rows) -> None:
        """The rows of a node, which are those of the nodes for which it stands in as well."""
        self._rows[name] = rows
        for other in self._wait_for.pop(name, []):
            self._give(other, rows)

    def _fall(self, node: Node, code: str) -> None:
        name, other = node["node_id"], substitute(node)
        used = node["fallback"]["use"] if other is None else other
        self._fallen[name] = {"node": name, "code": code, "used": used}
        if other is not None and other not in self._rows:
            self._wait_for.setdefault(other, []).append(name)
        elif other is not None:
            self._give(name, self._rows[other])
        else:
            self._give(name, self._rows[self._sources[name][0]] if used == "input" else [])

    def _candidate(self, row: Row) -> Candidate:
        shown = (key for key in self._asked.shown if key.number != ID and row.get(key.number) is not None)
        return Candidate(row[ID], [(key.name, _as_shown(row[key.number])) for key in shown])

    def _input(self, node: Node) -> Rows:
        return self._rows[node["inputs"][0]]

    def _user(self, name: int | str) -> Row:
        return {ID: name, self._country: self._store.country(written(name))}

    def _viewer(self, node: Node, params: dict[str, Any]) -> Rows:
        return [self._user(self._asked.user)]

    def _candidates(self, node: Node, params: dict[str, Any]) -> Rows:
        taken = [ID, *_given(params, "keys", [])]
        return [{number: row.get(number) for number in taken} for row in self._asked.candidates]

    def _listed(self, node: Node, params: dict[str, Any], kind: str) -> list[int]:
        """Each list is asked for once, so what is malformed in it counts once, however many rows share it."""
        answers = {
            row[ID]: self._store.ids(kind, row[ID], params["fanout"]) for row in self._input(node)
        }
        self._malformed_ids += sum(malformed for _, malformed in answers.values())
        return [number for row in self._input(node) for number in answers[row[ID]][0]]

    def _linked(self, node: Node, params: dict[str, Any], kind: str) -> Rows:
        return [self._user(number) for number in self._listed(node, params, kind)]

    def _media(self, node: Node, params: dict[str, Any]) -> Rows:
        return [{ID: number} for number in self._listed(node, params, "media")]

    def _key(self, template: str, row: Row) -> str | None:
        """The key that a template gives a row."""

        def value_of(name: str) -> Any:
            if name.startswith("P."):
                param = self._registry.param_named(name[2:])
                return None if param is None else self._asked.params[param.number]
            key = self._registry.key_named(name)
            return None if key is None else row.get(key.number)

        return key_of(template, value_of)

    def _named(self, node: Node, params: dict[str, Any], read: Callable[..., Any]) -> Rows:
        """Each key is asked for once, so what is malformed under it counts once."""
        rows = self._input(node) if node["inputs"] else [{}]
        keys = [self._key(params["key"], row) for row in rows]
        found = {key: read(self._store, key, params, self._id_of) for key in keys if key is not None}
        self._malformed_ids += sum(malformed for _, malformed in found.values())
        out = _given(params, "out_key", None)
        pairs = [pair for key in keys if key is not None for pair in found[key][0]]
        return [{ID: number} if out is None else {ID: number, out: score} for number, score in pairs]

    def _hash(self, node: Node, params: dict[str, Any]) -> Rows:
        keys = [self._registry.keys[number] for number in params["keys"]]
        fields = dict(zip(keys, _given(params, "fields", [key.name for key in keys])))
        rows = self._input(node)
        names = [self._key(params["key"], row) for row in rows]
        found = {name: self._fetched(keys, name, fields) for name in dict.fromkeys(names) if name is not None}
        missing = {key.number: None if key.nullable else key.default for key in keys}
        return [row | missing | ({} if name is None else found[name]) for row, name in zip(rows, names)]

    def _strings(self, node: Node, params: dict[str, Any]) -> Rows:
        """Each key is read once, so what is malformed under it counts once."""
        key = self._registry.keys[params["out_key"]]
        rows = self._input(node)
        names = [self._key(params["key"], row) for row in rows]
        found: dict[str, Any] = {}
        for name in dict.fromkeys(names):
            text = None if name is None else self._store.strings.get(name)
            if name is None or text is None:
                continue
            found[name] = spelled(key, text)
            if found[name] is None:
                self._malformed_values += 1
        missing = None if key.nullable else key.default
        values = [None if name is None else found.get(name) for name in names]
        return [row | {key.number: missing if value is None else value} for row, value in zip(rows, values)]

    def _members_of(self, node: Node, params: dict[str, Any]) -> Rows:
        out = self._registry.keys[params["out_key"]]
        member = _given(params, "member", ID)
        table: dict[str, Any] = self._store.sets
        if _given(params, "of", "set") == "sorted_set":
            table = self._store.sorted_sets
        otherwise = None if out.nullable else out.default
        made: Rows = []
        for row in self._input(node):
            name = self._key(params["key"], row)
            known = {} if name is None or row.get(member) is None else table.get(name, {})
            is_member = str(row.get(member)) in known
            score = known[str(row[member])] if is_member and out.type == "float" else otherwise
            made.append(row | {out.number: is_member if out.type == "bool" else score})
        return made

    def _vm(self, node: Node, params: dict[str, Any]) -> Rows:
        key = self._registry.keys[params["out_key"]]
        tree = self._checked_tree("expr_table", params["expr_id"])
        value_of = text_value if key.type == "string" else evaluate
        checked = _CHECKS.get(key.type, _checked)
        return [row | {key.number: checked(value_of(tree, row, self._scope), key)} for row in self._input(node)]

    def _flag(self, node: Node, params: dict[str, Any]) -> Rows:
        tree = self._checked_tree("pred_table", params["pred_id"])
        return [row | {params["out_key"]: holds(tree, row, self._scope)} for row in self._input(node)]

    def _filter(self, node: Node, params: dict[str, Any]) -> Rows:
        tree = self._checked_tree("pred_table", params["pred_id"])
        return [row for row in self._input(node) if holds(tree, row, self._scope)]

    def _checked_tree(self, table: str, name: str) -> dict[str, Any]:
        """A tree whose patterns are fine, which does not depend on rows."""
        tree: dict[str, Any] = self._plan[table][name]
        try:
            check_patterns(tree, self._scope)
        except PatternError as error:
            raise NodeFailed(error.code) from error
        return tree

    def _concat(self, node: Node, params: dict[str, Any]) -> Rows:
        sides = (self._input(node), self._rows[params["rhs"]])
        key = _given(params, "out_key", None)
        if key is None:
            return sides[0] + sides[1]
        named = zip(sides, params["sources"])
        return [row | {key: name if row.get(key) is None else row[key]} for rows, name in named for row in rows]

    def _dedupe(self, node: Node, params: dict[str, Any]) -> Rows:
        key, strategy = _given(params, "by", ID), _given(params, "strategy", "first")
        rows = self._input(node)
        groups: dict[Any, list[int]] = {}
        for position, row in enumerate(rows):
            # A null is the same as nothing else, so it makes a group of its own.
            groups.setdefault(("null", position) if row.get(key) is None else row[key], []).append(position)
        kept = []
        for group in groups.values():
            if strategy == "max_by":
                known = [at for at in group if rows[at].get(params["score_key"]) is not None]
                # Python's max gives the first of several.
                kept.append(max(known, key=lambda at: rows[at][params["score_key"]]) if known else group[0])
            else:
                kept.append(group[0] if strategy == "first" else group[-1])
        return [rows[at] for at in sorted(kept)]

    def _diversify(self, node: Node, params: dict[str, Any]) -> Rows:
        spread = {"window": _windowed, "quota": _slotted, "mmr": unlike}[params["strategy"]]
        return spread(list(self._input(node)), params)

    def _nearest(self, node: Node, params: dict[str, Any]) -> Rows:
        out: Rows = []
        vectors = dict(self._vectors.rows)
        for row in self._rows[params["changes"]] if params.get("changes") else []:
            vectors[row[ID]] = row.get(params["query"])
        if params.get("only"):
            only = {row[ID] for row in self._rows[params["only"]]}
            vectors = {each: vector for each, vector in vectors.items() if each in only}
        for row in self._rows[params["except"]] if params.get("except") else []:
            vectors[row[ID]] = None
        left = [(each, vector) for each, vector in vectors.items() if vector is not None]
        for row in self._input(node):
            if row.get(params["query"]) is not None:
                for score, number in nearest(self._vectors.metric, left, row[params["query"]], params["count"]):
                    out.append({ID: number} | ({params["out_key"]: score} if params.get("out_key") else {}))
        return out

    def _rank_fusion(self, node: Node, params: dict[str, Any]) -> Rows:
        k = float(_given(params, "k", 60))
        lists: dict[Any, list[int]] = {}
        for row in self._input(node):
            if row.get(params["by"]) is not None:
                lists.setdefault(row[params["by"]], []).append(row[ID])
        scores: dict[int, float] = {}
        for ids in lists.values():
            for number in dict.fromkeys(ids):
                scores[number] = scores.get(number, 0.0) + 1.0 / (k + (ids.index(number) + 1))
        first = {row[ID]: row for row in reversed(self._input(node))}
        once = dict.fromkeys(row[ID] for row in self._input(node))
        return [first[number] | {params["out_key"]: scores.get(number, 0.0)} for number in once]

    def _aggregate(self, node: Node, params: dict[str, Any]) -> Rows:
        out, per = self._registry.keys[params["out_key"]], _given(params, "per", None)
        groups: dict[Any, Rows] = {}
        names: list[Any] = []
        for position, row in enumerate(self._input(node)):
            # A null is the same as nothing else, so it makes a group of its own.
            known = per is None or row.get(per) is not None
            names.append(("value", None if per is None else row[per]) if known else ("null", position))
            groups.setdefault(names[-1], []).append(row)
        made = {name: _checked(_aggregated(rows, params), out) for name, rows in groups.items()}
        return [row | {out.number: made[name]} for row, name in zip(self._input(node), names)]

    def _sample(self, node: Node, params: dict[str, Any]) -> Rows:
        rows = self._input(node)
        draws = [(drawn(self._key(params["seed"], row) or "", row[ID]), at) for at, row in enumerate(rows)]
        return [rows[at] for at in sorted(at for _, at in sorted(draws)[: params["count"]])]

    def _jitter(self, node: Node, params: dict[str, Any]) -> Rows:
        out, rows = self._registry.keys[params["out_key"]], []
        for row in self._input(node):
            value = row.get(params["key"])
            draw = drawn(self._key(params["seed"], row) or "", row[ID]) & 0xFFFFFFFF
            made = None if value is None else float(value) + params["amount"] * (draw / 2**31 - 1)
            rows.append(row | {out.number: _checked(made, out)})
        return rows

    def _join(self, node: Node, params: dict[str, Any]) -> Rows:
        key, how = _given(params, "by", ID), params["how"]
        on_missing = _given(params, "on_missing", "null")
        if how == "broadcast":
            return self._broadcast(node, params, on_missing)
        partners: dict[Any, Row] = {}
        for row in self._rows[params["rhs"]]:
            if row.get(key) is None:
                continue
            if row[key] in partners:
                raise NodeFailed("duplicate_join_key")
            partners[row[key]] = row
        pairs = [(row, None if row.get(key) is None else partners.get(row[key])) for row in self._input(node)]
        if how in ("semi", "anti"):
            return [row for row, partner in pairs if (partner is None) == (how == "anti")]
        if how == "inner":
            pairs = [pair for pair in pairs if pair[1] is not None]
        if on_missing == "error" and any(partner is None for _, partner in pairs):
            raise NodeFailed("missing_join_partner")
        columns = _joined_columns(params)
        return [row | self._joined(partner, columns, on_missing) for row, partner in pairs]

    def _broadcast(self, node: Node, params: dict[str, Any], on_missing: str) -> Rows:
        rows, others = self._input(node), self._rows[params["rhs"]]
        if len(others) > 1:
            raise NodeFailed("not_one_row")
        if rows and not others and on_missing == "error":
            raise NodeFailed("missing_join_partner")
        more = self._joined(others[0] if others else None, _joined_columns(params), on_missing)
        return [row | more for row in rows]

    def _joined(self, partner: Row | None, columns: list[tuple[int, int]], on_missing: str) -> Row:
        if partner is not None:
            return {to: partner.get(source) for source, to in columns}
        return {to: self._registry.keys[to].default if on_missing == "default" else None for _, to in columns}

    def _fetch_features(self, node: Node, params: dict[str, Any]) -> Rows:
        """Each hash is asked for once, so what is malformed in it counts once, however many rows share it."""
        keys = [self._registry.keys[number] for number in params["keys"]]
        by, hash_name = _given(params, "by", ID), _given(params, "hash", "features")
        rows = self._input(node)
        owners = {row[by] for row in rows if row.get(by) is not None}
        found = {owner: self._fetched(keys, f"{hash_name}:{owner}") for owner in owners}
        missing = {key.number: None if key.nullable else key.default for key in keys}
        return [row | missing | found.get(row.get(by), {}) for row in rows]

    def _fetched(self, keys: list[Key], name: str, fields: dict[Key, str] | None = None) -> Row:
        out: Row = {}
        for key in keys:
            text = self._store.hashes.get(name, {}).get(key.name if fields is None else fields[key])
            value = None if text is None else spelled(key, text)
            if value is not None:
                out[key.number] = value
            elif text is not None:
                self._malformed_values += 1
        return out

    def _extract_features(self, node: Node, params: dict[str, Any]) -> Rows:
        rows = self._input(node)
        made: Rows = [{} for _ in rows]
        for place, number in enumerate(params["out_keys"]):
            source = params["keys"][0 if params["transform"] == "one_hot" else place]
            key = self._registry.keys[number]
            for row, more in zip(rows, made):
                more[number] = _checked(transformed(params, row.get(source), place), key)
        return [row | more for row, more in zip(rows, made)]

    def _call_models(self, node: Node, params: dict[str, Any]) -> Rows:
        rows = self._input(node)
        made: Rows = [{} for _ in rows]
        for name, number in zip(params["models"], params["out_keys"]):
            model, key = self._models[name], self._registry.keys[number]
            for row, more in zip(rows, made):
                total = _checked(sum_of(model, row, self._registry), key)
                more[number] = None if total is None else linked(model, total)
        return [row | more for row, more in zip(rows, made)]

    def _sort(self, node: Node, params: dict[str, Any]) -> Rows:
        key = params["by"]
        rows = self._input(node)
        known = [row for row in rows if row.get(key) is not None]
        unknown = [row for row in rows if row.get(key) is None]
        # Python's sort keeps the order of equals in both directions.
        known.sort(key=lambda row: _sortable(row[key]), reverse=params.get("order", "asc") == "desc")
        return known + unknown

    def _take(self, node: Node, params: dict[str, Any]) -> Rows:
        return self._input(node)[: params["count"]]

    def _at_least(self, node: Node, params: dict[str, Any]) -> Rows:
        if len(self._input(node)) < params["count"]:
            raise NodeFailed("too_few_rows")
        return self._input(node)

    def _paginate(self, node: Node, params: dict[str, Any]) -> Rows:
        rows, begin = self._input(node), self._page * params["size"]
        self._more = len(rows) > begin + params["size"]
        return rows[begin : begin + params["size"]]

    def _fixed_source(self, node: Node, params: dict[str, Any]) -> Rows:
        return [{ID: number} for number in range(1, params.get("row_count", 1) + 1)]

    def _sleep(self, node: Node, params: dict[str, Any]) -> Rows:
        if params.get("fail_after_sleep", False):
            raise NodeFailed("test_failure")
        return self._input(node)


def _joined_columns(params: dict[str, Any]) -> list[tuple[int, int]]:
    """Pairs of keys: of the other side, and of what becomes of it."""
    return list(zip(params["select"], _given(params, "map", params["select"])))


def _aggregated(rows: Rows, params: dict[str, Any]) -> float | None:
    if params["of"] == "count":
        return float(len(rows))
    values = [float(row[params["key"]]) for row in rows if row.get(params["key"]) is not None]
    if not values:
        return None
    if params["of"] in ("min", "max"):
        return min(values) if params["of"] == "min" else max(values)
    total = 0.0
    for value in values:  # `sum` of newer versions of Python rounds once
        total += value
    return total / len(values) if params["of"] == "mean" else total


def _windowed(left: Rows, params: dict[str, Any]) -> Rows:
    """Row by row the first of those that are left that the rows before it allow."""
    key, window = params["by"], _given(params, "window", None)
    drops = _given(params, "overflow", "later") == "drop"
    placed: Rows = []

    def may_come(row: Row) -> bool:
        recent = placed if window is None else placed[max(0, len(placed) - window + 1) :]
        value = row.get(key)
        return value is None or sum(other.get(key) == value for other in recent) < params["at_most"]

    while left:
        place = 0 if drops else next((at for at, row in enumerate(left) if may_come(row)), 0)
        row = left.pop(place)
        if not drops or may_come(row):
            placed.append(row)
    return placed


def _slotted(rows: Rows, params: dict[str, Any]) -> Rows:
    """Rows with some values every so many positions, the others between them."""
    wanted = [row for row in rows if row.get(params["by"]) in params["values"]]
    others = [row for row in rows if row.get(params["by"]) not in params["values"]]
    every = params["every_nth"]
    first = _given(params, "first", every)
    out: Rows = []
    while wanted or others:
        position = len(out) + 1
        is_slot = position >= first and (position - first) % every == 0
        if not others and not is_slot and _given(params, "overflow", "later") == "drop":
            break
        out.append(wanted.pop(0) if wanted and (is_slot or not others) else others.pop(0))
    return out


def _given(params: dict[str, Any], name: str, otherwise: Any) -> Any:
    """A param, or what stands for it where it is absent or null."""
    value = params.get(name)
    return otherwise if value is None else value


def _checked(value: float | None, key: Key) -> float | None:
    """A value that a row may have under a key of floats."""
    if value is None:
        if not key.nullable:
            raise NodeFailed("null_value")
        return None
    if not math.isfinite(value):
        raise NodeFailed("non_finite_value")
    return float(value)


def _checked_integer(value: Any, key: Key) -> int | None:
    """A value that a row may have under a key of ints."""
    if value is None and not key.nullable:
        raise NodeFailed("null_value")
    return None if value is None else int(value)


def _checked_string(value: Any, key: Key) -> str | None:
    """A value that a row may have under a key of strings."""
    if value is None and not key.nullable:
        raise NodeFailed("null_value")
    return value


_CHECKS: dict[str, Callable[[Any, Key], Any]] = {"int": _checked_integer, "string": _checked_string}


def _sortable(value: Any) -> Any:
    return value.encode("utf-8") if isinstance(value, str) else value
