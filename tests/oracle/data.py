"""Makes the data and the models of a project; the same seed makes the same."""

from __future__ import annotations

import json
import random
from typing import Any

from . import vocabulary as words
from .store import parse_id
from .templates import spelled
from .worlds import TYPES, World, vector_of


def make_data(world: World, seed: int) -> str:
    """NDJSON that fills a store."""
    rng = random.Random(f"data {seed}")
    lines: list[dict[str, Any]] = []
    for number in words.IDS:  # what features of rows are found by, whatever the ids are
        if rng.random() < 0.85:
            lines.append({"hash": f"user:{number}", "fields": _features(world, rng, 0.2) | _user_fields(rng)})
        if rng.random() < 0.8:
            lines.append({"hash": f"features:{number}", "fields": _features(world, rng, 0.8)})
        for kind in () if world.text_ids else ("follow", "recommendation", "media"):
            if number in words.POPULAR_IDS:
                lines.append({"list": f"{kind}:{number}", "values": rng.sample(words.IDS, len(words.IDS))})
            elif rng.random() < 0.75:
                lines.append({"list": f"{kind}:{number}", "values": _list_values(world, rng)})
    known = {line.get("hash") for line in lines}
    for name in map(spelled, words.TEXT_IDS if world.text_ids else []):
        if f"user:{name}" not in known and rng.random() < 0.85:
            lines.append({"hash": f"user:{name}", "fields": _features(world, rng, 0.2) | _user_fields(rng)})
    lines += _named_lines(world, rng)
    rng.shuffle(lines)
    return "".join(json.dumps(line, ensure_ascii=rng.random() < 0.5) + "\n" for line in lines)


def _named_lines(world: World, rng: random.Random) -> list[dict[str, Any]]:
    """Records of all kinds under keys that templates have for ids, texts and truths."""
    lines: list[dict[str, Any]] = []
    for name in dict.fromkeys(map(spelled, [*world.ids, *words.STRINGS, True, False])):
        if rng.random() < 0.7:
            lines.append({"list": f"shelf:{name}", "values": _list_values(world, rng)})
        if rng.random() < 0.7:
            members = {str(each) for each in _list_values(world, rng)}
            lines.append({"set": f"bought:{name}", "members": [_bare(each, rng) for each in sorted(members)]})
        if rng.random() < 0.7:
            scores = {str(each): words.number(rng) for each in _list_values(world, rng)}
            lines.append({"sorted_set": f"near:{name}", "scores": scores})
        if rng.random() < 0.7:
            lines.append({"string": f"price:{name}", "value": words.feature(rng, rng.choice(TYPES))})
        if rng.random() < 0.7:
            lines.append({"hash": f"item:{name}", "fields": _features(world, rng, 0.8) | {"odd-name": words.string(rng)}})
    return lines


def _bare(text: str, rng: random.Random) -> int | str:
    """A member as a number where it is one, or as text."""
    number = parse_id(text)
    return number if number is not None and str(number) == text and rng.random() < 0.5 else text


def _user_fields(rng: random.Random) -> dict[str, str]:
    fields = {"title": words.string(rng)}
    if rng.random() < 0.8:
        fields["country"] = words.string(rng)
    return fields


def _features(world: World, rng: random.Random, share: float) -> dict[str, Any]:
    """Fields that are called as keys are, each there with a probability."""
    spelled = [row for row in world.keys if row["type"] in [*TYPES, "vector"]]
    return {row["name"]: _feature(row, rng) for row in spelled if rng.random() < share}


def _feature(row: dict[str, Any], rng: random.Random) -> str | list[float]:
    """A vector is now and then a text, whose bytes are of another length, or those of two numbers."""
    if row["type"] != "vector":
        return words.feature(rng, row["type"])
    if rng.random() < 0.05:
        return "no vector"
    return vector_of(rng, row["dimensions"]) if rng.random() < 0.95 else "of eight"


def make_models(world: World, seed: int) -> dict[str, dict[str, Any]]:
    """The models of a project by their names."""
    rng = random.Random(f"models {seed}")
    sure = dict.fromkeys(words.SURE_MODELS) | {name: _forest(world, rng) for name in words.SURE_MODELS[1:]}
    sure[words.SURE_MODELS[0]] = _line(world, rng, 1.0)
    return sure | {name: _line(world, rng, 0.6) for name in words.UNSURE_MODELS}


def _head(rng: random.Random, kind: str) -> dict[str, Any]:
    head: dict[str, Any] = {"schema_version": 1, "kind": kind}
    if rng.random() < 0.6:
        head["intercept"] = rng.choice([0, 2, -0.5, 0.1])
    return head | rng.choice([{}, {"sigmoid": False}, {"sigmoid": True}])


def _line(world: World, rng: random.Random, known: float) -> dict[str, Any]:
    """A linear model that knows what a null means with a probability."""
    weights: list[dict[str, Any]] = []
    for name in rng.sample(world.model_keys, rng.randint(1, min(4, len(world.model_keys)))):
        weight: dict[str, Any] = {"key": name, "weight": rng.choice([0, 1, -2, 0.1, 1 / 3, rng.uniform(-3, 3)])}
        weights.append(weight | ({"when_null": rng.choice([0, -1, 0.5])} if rng.random() < known else {}))
    return _head(rng, "linear") | {"weights": weights}


def _forest(world: World, rng: random.Random) -> dict[str, Any]:
    keys = rng.sample(world.model_keys, rng.randint(1, min(3, len(world.model_keys))))
    trees = [_tree(rng, len(keys), rng.randint(0, 4)) for _ in range(rng.randint(1, 6))]
    return _head(rng, "trees") | {"keys": keys, "split": rng.choice(["<", "<="]), "trees": trees}


def _tree(rng: random.Random, keys: int, depth: int) -> dict[str, list[Any]]:
    fields = ("feature", "threshold", "left", "right", "null_left", "value")
    tree: dict[str, list[Any]] = {field: [] for field in fields}

    def add(levels: int) -> int:
        at = len(tree["feature"])
        splits = levels > 0 and rng.random() < 0.8
        threshold = float(words.number(rng)) if rng.random() < 0.5 else rng.choice([0, 0.5, 1, -2])
        row = (rng.randrange(keys) if splits else -1, threshold, -1, -1, rng.random() < 0.5, rng.uniform(-2, 2))
        for name, value in zip(fields, row):
            tree[name].append(value)
        sides = ["left", "right"]
        rng.shuffle(sides)
        for side in sides if splits else []:
            tree[side][at] = add(levels - 1)
        return at

    add(depth)
    return tree


def _list_values(world: World, rng: random.Random) -> list[int | str]:
    if rng.random() < 0.1:
        return []
    if rng.random() < 0.1:
        return rng.sample(world.ids, len(world.ids))
    make = _text_element if world.text_ids else _element
    return [make(rng) for _ in range(rng.randint(1, 14))]


def _text_element(rng: random.Random) -> int | str:
    """A number is the text of its digits."""
    chance = rng.random()
    if chance < 0.08:
        return rng.choice(words.TEXT_JUNK)
    return rng.choice([*words.SMALL_IDS, *words.JUNK[1:]]) if chance < 0.2 else rng.choice(words.TEXT_IDS)


def _element(rng: random.Random) -> int | str:
    chance = rng.random()
    if chance < 0.08:
        return rng.choice(words.JUNK)
    if chance < 0.12:
        return rng.choice(words.ODDLY_WRITTEN)
    number = rng.choice(words.LARGE_IDS if rng.random() < 0.3 else words.IDS)
    return str(number) if rng.random() < 0.2 else number
