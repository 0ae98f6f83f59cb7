"""bench/benchlib/suite.py: what is measured: the subjects of bench/*/subject.toml, their cases, sizes and targets."""
import itertools
import tomllib
from typing import NamedTuple

WALL = "wall"


class SuiteError(Exception):
    """A subject.toml that says something that cannot be."""


class Metric(NamedTuple):
    """One number of a sample: wall time by item, or one of `extra`."""
    name: str
    of: str
    unit: str

    def value(self, sample):
        """None where the sample does not have it."""
        if self.of == WALL:
            return sample["wall_ns"] / max(sample["items"], 1)
        return sample["extra"].get(self.of)


class Target(NamedTuple):
    """What ours must reach at the points that agree with `where`: a value, or a factor of the best in the run."""
    where: dict
    metric: str
    at_most: float | None
    factor_of_best: float | None

    def meets(self, point, metric):
        return metric.name == self.metric and all(point.params.get(name) == value for name, value in self.where.items())


class Known(NamedTuple):
    """A metric of a system that no registry carries, measured elsewhere on a machine of this kind."""
    system: str
    workers: int
    value: float


class Case(NamedTuple):
    subject: str
    name: str
    what: str
    program: tuple  # subject and case of the programs that measure it
    metrics: list
    params: dict
    quick: dict
    smoke: dict
    without: list
    targets: list
    known: list
    serial: float | None  # the serial reference beside the known metrics


class Point(NamedTuple):
    """A case with one value for each parameter."""
    case: Case
    params: dict

    @property
    def id(self):
        return "/".join([self.case.subject, self.case.name, *(f"{name}:{value}" for name, value in self.params.items())])


def row_id(point, metric):
    return point.id + (f"/{metric.name}" if metric.name else "")


def take(table, place, required=(), /, **defaults):
    """The values of a table; reports what is missing and what is unknown."""
    unknown = set(table) - set(required) - set(defaults)
    missing = set(required) - set(table)
    if unknown or missing:
        wrong = [f"unknown {name}" for name in sorted(unknown)] + [f"missing {name}" for name in sorted(missing)]
        raise SuiteError(f"{place}: {', '.join(wrong)}")
    return {**defaults, **table}


def read_case(subject, table):
    where = f"{subject}, case {table.get('name', '?')}"
    read = take(table, where, ("name", "what", "unit"), params={}, quick={}, smoke={}, metrics=[], without=[], target=[],
                known=[], serial=None, program=subject, program_case=None)
    metrics = [Metric(**take(each, where, ("name", "of"), unit=read["unit"])) for each in read["metrics"]]
    targets = [Target(**take(each, where, (), where={}, metric=metrics[0].name if metrics else "", at_most=None,
                             factor_of_best=None)) for each in read["target"]]
    if any((target.at_most is None) == (target.factor_of_best is None) for target in targets):
        raise SuiteError(f"{where}: a target has either at_most or factor_of_best")
    for name in ("quick", "smoke"):
        strange = set(read[name]) - set(read["params"])
        if strange:
            raise SuiteError(f"{where}: {name} sets {', '.join(sorted(strange))}, which is not in params")
    return Case(subject, read["name"], read["what"], (read["program"], read["program_case"] or read["name"]),
                metrics or [Metric("", WALL, read["unit"])], read["params"], read["quick"], read["smoke"],
                read["without"], targets, [Known(**each) for each in read["known"]], read["serial"])


def read_subject(path):
    with path.open("rb") as file:
        table = take(tomllib.load(file), str(path), ("what", "case"))
    return [read_case(path.parent.name, each) for each in table["case"]]


def read_suite(folder):
    """All cases, by subject: the physical limits first, and what repeats other subjects last."""
    order = {"limits": 0, "growth": 2}
    paths = sorted(folder.glob("*/subject.toml"), key=lambda path: (order.get(path.parent.name, 1), path))
    return [case for path in paths for case in read_subject(path)]


def points_of(case, size="params"):
    """Every combination of the parameters; `size` says which overrides apply: params, quick or smoke.

    Parameters that belong together are given as `{ size = [{…}, {…}] }`, a list of tables: each is one choice."""
    chosen = {**case.params, **({} if size == "params" else getattr(case, size))}
    lists = [[(name, value) for value in (values if isinstance(values, list) else [values])]
             for name, values in chosen.items()]
    for combination in itertools.product(*lists):
        params = {}
        for name, value in combination:
            params.update(value if isinstance(value, dict) else {name: value})
        yield Point(case, params)
