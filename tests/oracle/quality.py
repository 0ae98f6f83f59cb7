"""tests/oracle/quality.py: metrics of rankings by their definitions, and random cases for the engine's.

`python3 tests/oracle/quality.py > tests/rankd/engine/quality_cases.ndjson` writes the cases that
tests/rankd/engine/quality_test.cpp reads: 100 answers with their judgements, then 20 lists of values with intervals."""
import itertools
import json
import math
import random
from typing import Any

MASK = (1 << 64) - 1


def _gain(relevance: float, exponential: bool) -> float:
    return 2.0**relevance - 1 if exponential else relevance


def metrics(case: dict[str, Any]) -> dict[str, float | None]:
    """Every metric of one answer; None where it is not defined."""
    depth, judged = case["depth"], {int(key): value for key, value in case["judged"].items()}
    top = case["ids"][:depth]
    relevant = {key for key, value in judged.items() if value > 0}
    first = {}
    for rank, key in enumerate(top, 1):
        first.setdefault(key, rank)
    out: dict[str, float | None] = dict.fromkeys(["ndcg", "map", "mrr", "recall", "judged", "diversity"])
    if top:
        out["judged"] = sum(key in judged for key in top) / len(top)
    values = case["values"][:depth]
    if len(values) > 1:
        pairs = list(itertools.combinations(values, 2))
        out["diversity"] = sum(a is None or b is None or a != b for a, b in pairs) / len(pairs)
    if not relevant:
        return out
    hits = sorted(rank for key, rank in first.items() if key in relevant)
    exponential = case["gain"] == "exponential"
    dcg = math.fsum(_gain(judged[key], exponential) / math.log2(1 + rank) for key, rank in first.items() if key in judged)
    best = sorted((judged[key] for key in relevant), reverse=True)[:depth]
    ideal = math.fsum(_gain(value, exponential) / math.log2(1 + rank) for rank, value in enumerate(best, 1))
    out["ndcg"] = dcg / ideal
    out["map"] = math.fsum(number / rank for number, rank in enumerate(hits, 1)) / len(relevant)
    out["mrr"] = 1 / hits[0] if hits else 0.0
    out["recall"] = len(hits) / len(relevant)
    return out


def numbers(seed: int) -> Any:
    """SplitMix64."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        yield mixed ^ (mixed >> 31)


def interval(values: list[float], resamples: int, seed: int, confidence: float) -> dict[str, float]:
    """The mean, and percentiles of the means of resamples."""
    draws = numbers(seed)
    means = sorted(
        math.fsum(values[(next(draws) * len(values)) >> 64] for _ in values) / len(values) for _ in range(resamples)
    )

    def at(share: float) -> float:
        place = share * (resamples - 1)
        below = math.floor(place)
        above = min(below + 1, resamples - 1)
        return means[below] * (1 - (place - below)) + means[above] * (place - below)

    mean = math.fsum(values) / len(values)
    return {"mean": mean, "low": at((1 - confidence) / 2), "high": at((1 + confidence) / 2)}


def _case(rng: random.Random) -> dict[str, Any]:
    known = list(range(1, rng.choice([3, 12, 40])))
    grades = rng.choice([[0, 1], [0, 1, 2, 3], [0, 0, 0, 0.5], [0]])
    judged = {str(key): rng.choice(grades) for key in known if rng.random() < 0.6}
    ids = [rng.choice(known) for _ in range(rng.choice([0, 1, 2, 10, 30]))]
    if rng.random() < 0.7:
        ids = list(dict.fromkeys(ids))
    values = [rng.choice(["a", "b", "c", None]) for _ in ids] if rng.random() < 0.8 else []
    return {
        "depth": rng.choice([1, 3, 10, 100]),
        "gain": rng.choice(["linear", "exponential"]),
        "ids": ids,
        "values": values,
        "judged": judged,
    }


def main() -> None:
    """Prints the cases."""
    rng = random.Random("quality")
    for _ in range(100):
        case = _case(rng)
        print(json.dumps(case | {"metrics": metrics(case)}))
    for _ in range(20):
        values = [rng.choice([0.0, 1.0, rng.random()]) for _ in range(rng.choice([1, 2, 10, 50]))]
        how = {"resamples": rng.choice([1, 2, 100, 333]), "seed": rng.randrange(1000), "confidence": rng.choice([0.9, 0.95])}
        print(json.dumps({"values": values} | how | interval(values, **how)))


if __name__ == "__main__":
    main()
