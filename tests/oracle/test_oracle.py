#!/usr/bin/env python3
"""Tests of the interpreter on cases that were computed by hand, and of the generator."""

from __future__ import annotations

import contextlib
import io
import json
import math
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))

from oracle import compare  # noqa: E402
from oracle.experiments import ArmError, arms_of, bucket_of, make_experiments, spelled  # noqa: E402
from oracle.expressions import Scope, evaluate, holds, text_value  # noqa: E402
from oracle.fallbacks import substitute  # noqa: E402
from oracle.data import make_data, make_models  # noqa: E402
from oracle.generate import make_plan, make_request  # noqa: E402
from oracle.interpreter import Answer, Failure, ForeignOperator, Known, edges_into, interpret, order_of  # noqa: E402
from oracle.patterns import BadPattern, compile_pattern  # noqa: E402
from oracle.registry import Key, Param, Registry, load_registry  # noqa: E402
from oracle.store import Store, load_store, parse_id  # noqa: E402
from oracle.templates import key_of  # noqa: E402
from oracle.vectors import vector_of_text  # noqa: E402
from oracle.worlds import make_world  # noqa: E402

P53 = 2**53
NULL = {"op": "const_null"}
REGISTRY = load_registry(REPOSITORY / "registry")
MODELS: dict[str, Any] = {
    "line": {
        "schema_version": 1, "kind": "linear", "intercept": 0.5,
        "weights": [{"key": "id", "weight": 2}, {"key": "final_score", "weight": -1, "when_null": 4}],
    },
    "strict": {"schema_version": 1, "kind": "linear", "weights": [{"key": "final_score", "weight": 1}]},
    "huge": {"schema_version": 1, "kind": "linear", "weights": [{"key": "id", "weight": 1e308}]},
    "trees": {
        "schema_version": 1, "kind": "trees", "keys": ["id", "final_score"], "split": "<=", "sigmoid": True,
        "trees": [{
            "feature": [0, 1, -1, -1, -1], "threshold": [2, 0, 0, 0, 0], "left": [2, 3, -1, -1, -1],
            "right": [1, 4, -1, -1, -1], "null_left": [True, False, True, True, True], "value": [0, 0, -1000, 1, 2],
        }],
    },
}
REFERENCE = load_store(sorted((REPOSITORY / "data" / "reference").glob("*.ndjson")))


def const(value: int | float) -> dict[str, Any]:
    return {"op": "const_number", "value": value}


def key(number: int) -> dict[str, Any]:
    return {"op": "key_ref", "key_id": number}


def param(number: int) -> dict[str, Any]:
    return {"op": "param_ref", "param_id": number}


def two(op: str, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    return {"op": op, "a": a, "b": b}


def one(op: str, x: dict[str, Any]) -> dict[str, Any]:
    return {"op": op, "x": x}


def clamp(x: dict[str, Any], lo: dict[str, Any], hi: dict[str, Any]) -> dict[str, Any]:
    return {"op": "clamp", "x": x, "lo": lo, "hi": hi}


def cmp(sign: str, a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    return two("cmp", a, b) | {"cmp": sign}


def regex(pattern: str, flags: str = "") -> dict[str, Any]:
    return {"op": "regex", "key_id": 3001, "pattern": {"kind": "literal", "value": pattern}, "flags": flags}


def node(name: str, op: str, *inputs: str, **params: Any) -> dict[str, Any]:
    return {"node_id": name, "op": op, "inputs": list(inputs), "params": params}


VIEWER = node("viewer", "core::viewer", endpoint="ep_0001")
THREE = node("three", "test::fixed_source", row_count=3)


def linked(name: str, op: str, source: str, fanout: int) -> dict[str, Any]:
    return node(name, op, source, endpoint="ep_0001", fanout=fanout)


def plan_of(*nodes: dict[str, Any], outputs: list[str] | None = None, **tables: Any) -> dict[str, Any]:
    last = outputs or [nodes[-1]["node_id"]]
    return {"schema_version": 1, "plan_name": "p", "nodes": list(nodes), "outputs": last} | tables


def reference_plan(name: str) -> dict[str, Any]:
    return json.loads((REPOSITORY / "plans" / "compiled" / f"{name}.json").read_text(encoding="utf-8"))


def run(plan: dict[str, Any], store: Store = REFERENCE, **request: Any) -> Answer | Failure:
    return interpret(Known(REGISTRY, store, MODELS), plan, {"user_id": 1} | request)


def ids(answer: Answer | Failure) -> list[int]:
    assert isinstance(answer, Answer), answer
    return [candidate.id for candidate in answer.candidates]


class Expressions(unittest.TestCase):
    def setUp(self) -> None:
        keys = dict(REGISTRY.keys) | {9: Key(9, "count", "int", True)}
        params = dict(REGISTRY.params) | {8: Param(8, "number", "int", True, None, True)}
        self.scope = Scope(Registry(keys, params), {2: "text", 3: 0.5, 8: P53 + 1})
        self.row = {1: P53 + 1, 2001: 1.5, 3001: "US"}

    def value(self, tree: dict[str, Any]) -> Any:
        return evaluate(tree, self.row, self.scope)

    def test_arithmetic_is_done_in_doubles(self) -> None:
        self.assertEqual(self.value(two("add", key(1), const(0))), float(P53))
        self.assertEqual(str(self.value({"op": "neg", "x": const(0)})), "-0.0")

    def test_a_null_operand_gives_null(self) -> None:
        for tree in (two("add", const(1), NULL), two("mul", key(3001), const(2)), {"op": "neg", "x": key(3002)}):
            self.assertIsNone(self.value(tree))

    def test_coalesce_takes_the_other_side_of_null(self) -> None:
        self.assertEqual(self.value(two("coalesce", param(1), const(0.25))), 0.25)
        self.assertEqual(self.value(two("coalesce", key(3001), const(3))), 3)
        self.assertIsNone(self.value(two("coalesce", NULL, NULL)))

    def test_coalesce_of_exact_sides_is_exact_and_of_mixed_ones_double(self) -> None:
        self.assertEqual(self.value(two("coalesce", key(9), key(1))), P53 + 1)
        self.assertEqual(self.value(two("coalesce", NULL, param(8))), P53 + 1)
        self.assertEqual(self.value(two("coalesce", key(1), const(0.5))), float(P53))


    def test_what_is_no_finite_number_is_null(self) -> None:
        huge = two("mul", const(1e308), const(10))
        nothing = two("sub", huge, huge)
        for tree in (
            two("div", key(1), const(0)), one("sqrt", const(-1)), one("log", const(0)), one("log1p", const(-1)),
            one("exp", const(710)), two("pow", const(0), const(-1)), two("pow", const(-8), const(0.5)),
            two("pow", const(1), nothing), two("min", const(1), nothing), one("floor", huge), two("max", huge, const(1)),
            clamp(key(2001), const(3), const(2)), clamp(nothing, const(1), const(2)), one("abs", NULL),
        ):
            self.assertIsNone(self.value(tree), tree)

    def test_further_arithmetic(self) -> None:
        self.assertEqual(self.value(two("div", const(1), const(2))), 0.5)
        self.assertEqual(self.value(two("min", key(1), const(2.0**60))), float(P53))
        self.assertEqual(str(self.value(one("ceil", const(-0.5)))), "-0.0")
        self.assertEqual(str(self.value(two("max", const(-0.0), const(0)))), "-0.0")
        self.assertEqual(self.value(clamp(key(2001), const(0), const(1))), 1.0)
        self.assertEqual(self.value(two("div", const(1), two("mul", const(1e308), const(10)))), 0.0)

    def test_remainders_of_integers_are_exact_and_of_others_those_of_doubles(self) -> None:
        self.assertEqual(self.value(two("mod", key(1), const(10))), (P53 + 1) % 10)
        self.assertEqual(self.value(two("mod", const(-7), const(4))), -3)
        self.assertEqual(self.value(two("mod", const(-7), const(4.5))), -2.5)
        self.assertIsNone(self.value(two("mod", key(1), const(0))))
        self.assertIsNone(self.value(two("mod", const(1), const(0.0))))

    def test_a_bucket_depends_on_its_seed_and_is_null_for_null(self) -> None:
        bucket = {"op": "bucket", "x": key(1), "count": 1000}
        self.assertNotEqual(self.value(bucket), self.value(bucket | {"seed": "b"}))
        self.assertIsNone(self.value(bucket | {"x": NULL}))

    def test_strings_are_joined_measured_and_spread_over_buckets(self) -> None:
        def text(value: str) -> dict[str, Any]:
            return {"op": "const_text", "value": value}

        joined = two("concat", text("caf\u00e9"), text("\U0001f600"))
        self.assertEqual(text_value(joined, self.row, self.scope), "caf\u00e9\U0001f600")
        self.assertEqual(self.value({"op": "length", "x": joined}), 5)
        self.assertIsNone(self.value({"op": "length", "x": two("concat", joined, NULL)}))
        self.assertIsNone(text_value(two("concat", text("x" * 65_536), text("y")), self.row, self.scope))
        # The same numbers stand in tests/rankd/expr/strings_test.cpp.
        bucket = {"op": "bucket_text", "count": 1000, "seed": "layout"}
        buckets = [self.value(bucket | {"x": text(each)}) for each in ("US", "", "caf\u00e9")]
        self.assertEqual(buckets, [711, 313, 606])

    def test_a_choice_is_null_only_where_what_it_took_is(self) -> None:
        first = {"op": "if", "pred": cmp("<", const(1), const(2)), "a": key(1), "b": NULL}
        self.assertEqual(self.value(first), P53 + 1)
        self.assertEqual(self.value(first | {"b": const(0.5)}), float(P53))
        self.assertIsNone(self.value(first | {"pred": cmp(">", NULL, const(2))}))


class Predicates(unittest.TestCase):
    setUp = Expressions.setUp

    def holds(self, tree: dict[str, Any]) -> bool:
        return holds(tree, self.row, self.scope)

    def test_strings_compare_by_their_bytes_and_null_is_related_to_none(self) -> None:
        def text(op: str, a: str, b: str, sign: str = "==") -> bool:
            sides = {"a": {"kind": "literal", "value": a}, "b": {"kind": "literal", "value": b}}
            return self.holds({"op": op, "cmp": sign} | sides)

        self.assertTrue(text("cmp_text", "\uffff", "\U00010000", "<"))
        self.assertTrue(text("starts_with", "abc", "ab") and text("ends_with", "abc", "bc") and text("contains", "abc", ""))
        self.assertFalse(text("starts_with", "ab", "abc"))
        null = {"op": "cmp_text", "cmp": "!=", "a": {"kind": "key", "key_id": 3002}, "b": {"kind": "literal", "value": ""}}
        self.assertFalse(self.holds(null))

    def test_ids_compare_exactly(self) -> None:
        self.assertTrue(self.holds(cmp("==", key(1), const(P53 + 1))))
        self.assertFalse(self.holds(cmp("==", key(1), const(P53))))
        self.assertFalse(self.holds(cmp("==", key(1), const(float(P53)))))
        self.assertTrue(self.holds(cmp(">", key(1), const(float(P53)))))
        self.assertTrue(self.holds(cmp("==", two("mul", key(1), const(1)), const(P53))))

    def test_a_comparison_with_null_is_false_and_not_negates_it(self) -> None:
        for sign in ("==", "!=", "<", "<=", ">", ">="):
            tree = cmp(sign, key(1001), const(1))
            self.assertFalse(self.holds(tree))
            self.assertTrue(self.holds({"op": "not", "x": tree}))

    def test_equality_with_literal_null_tests_for_null(self) -> None:
        self.assertFalse(self.holds(cmp("==", key(3001), NULL)))
        self.assertTrue(self.holds(cmp("!=", NULL, key(3001))))
        self.assertTrue(self.holds(cmp("==", key(3002), NULL)))
        self.assertTrue(self.holds(cmp("==", NULL, NULL)))
        self.assertFalse(self.holds(cmp("<=", NULL, NULL)))

    def test_null_tests_look_at_keys_and_params_themselves(self) -> None:
        self.assertFalse(self.holds({"op": "is_null", "x": key(3001)}))
        self.assertTrue(self.holds({"op": "not_null", "x": param(2)}))
        self.assertTrue(self.holds({"op": "is_null", "x": two("add", key(3001), const(1))}))

    def test_no_comparison_holds_for_nan(self) -> None:
        infinity = two("mul", const(1e308), const(1e308))
        nan = two("sub", infinity, infinity)
        self.assertTrue(self.holds(cmp(">", infinity, const(2**63 - 1))))
        for sign in ("==", "!=", "<", "<=", ">", ">="):
            self.assertFalse(self.holds(cmp(sign, nan, nan)))
        self.assertFalse(self.holds({"op": "is_null", "x": nan}))
        self.assertFalse(self.holds({"op": "in", "lhs": nan, "list": [0, 1]}))

    def test_in_is_exact_and_false_for_null(self) -> None:
        self.assertTrue(self.holds({"op": "in", "lhs": key(1), "list": [5.5, P53 + 1]}))
        self.assertFalse(self.holds({"op": "in", "lhs": key(1), "list": [P53, float(P53)]}))
        self.assertFalse(self.holds({"op": "in", "lhs": key(1001), "list": [0]}))
        self.assertTrue(self.holds({"op": "in", "lhs": key(3001), "list": ["CA", "US"]}))
        self.assertFalse(self.holds({"op": "in", "lhs": key(3002), "list": ["", "US"]}))

    def test_regexes_are_unanchored_and_false_for_null(self) -> None:
        self.assertTrue(self.holds(regex("S")))
        self.assertFalse(self.holds(regex("s")))
        self.assertTrue(self.holds(regex("^us$", "i")))
        self.assertFalse(self.holds(regex("") | {"key_id": 3002}))


class Patterns(unittest.TestCase):
    def test_the_end_is_the_end_of_the_text(self) -> None:
        self.assertIsNone(compile_pattern("a$", "").search("a\n"))
        self.assertIsNotNone(compile_pattern(r"\$[$]", "").search("$$"))

    def test_what_re2_refuses_is_refused(self) -> None:
        for pattern in ("(", "*a", "a**", "(?=a)", r"(a)\1", "[z-a]"):
            with self.assertRaises(BadPattern):
                compile_pattern(pattern, "")


class Vectors(unittest.TestCase):
    def test_a_text_of_the_right_length_is_a_vector(self) -> None:
        self.assertEqual(vector_of_text("\0\0\0?", 1), (0.5,))
        self.assertEqual(vector_of_text("\0\0\0?\0\0\0\0", 2), (0.5, 0.0))
        self.assertIsNone(vector_of_text("\0\0\0?", 2))
        self.assertIsNone(vector_of_text("", 1))


class Ids(unittest.TestCase):
    def test_signed_decimals_of_64_bits_are_ids(self) -> None:
        for text, number in (("007", 7), ("-5", -5), ("-0", 0), ("9223372036854775807", 2**63 - 1)):
            self.assertEqual(parse_id(text), number)
        for text in ("", "+1", " 1", "1 ", "1.0", "x", "-", "9223372036854775808", "١"):
            self.assertIsNone(parse_id(text))


class Order(unittest.TestCase):
    def test_of_the_ready_nodes_the_first_in_the_artifact_is_next(self) -> None:
        nodes = [
            node("late", "core::take", "b", count=1),
            node("a", "core::concat", "b", rhs="c"),
            node("c", "test::fixed_source"),
            node("b", "test::fixed_source"),
        ]
        self.assertEqual([each["node_id"] for each in order_of(nodes)], ["c", "b", "late", "a"])

    def test_the_first_failure_in_that_order_is_reported(self) -> None:
        fails = {"duration_ms": 0, "fail_after_sleep": True}
        nodes = [node("z", "test::sleep", "t", **fails), THREE, node("t", "core::take", "three", count=1)]
        nodes.append(node("a", "test::sleep", "three", **fails))
        self.assertEqual(run(plan_of(*nodes, outputs=["z", "a"])), Failure("test_failure", "z"))


class Operators(unittest.TestCase):
    def test_reels_plan_a(self) -> None:
        answer = run(reference_plan("reels_plan_a"))
        # id * 0.2 >= 0.6 holds from 3 on: 3 * 0.2 is a little more than 0.6.
        self.assertEqual(ids(answer), [3, 4, 5, 6, 7])
        assert isinstance(answer, Answer)
        self.assertEqual(answer.candidates[0].fields, [("final_score", 3 * 0.2), ("country", "DE")])

    def test_reels_plan_a_with_another_weight(self) -> None:
        answer = run(reference_plan("reels_plan_a"), param_overrides={"media_age_penalty_weight": 0.1})
        self.assertEqual(ids(answer), [6, 7, 8, 9, 10])

    def test_concat_plan(self) -> None:
        answer = run(reference_plan("concat_plan"), output_keys=["country"])
        self.assertEqual(ids(answer), [1, 2, 3, 4, 1001, 1002, 1003, 1004])
        assert isinstance(answer, Answer)
        countries = [dict(candidate.fields)["country"] for candidate in answer.candidates]
        self.assertEqual(countries, ["US", "CA", "DE", "FR", "US", "MX", "US", "KR"])

    def test_malformed_ids_are_counted_and_skipped(self) -> None:
        answer = run(plan_of(VIEWER, linked("f", "core::follow", "viewer", 6)), user_id="14")
        self.assertEqual(ids(answer), [2, 4])
        assert isinstance(answer, Answer)
        self.assertEqual(answer.malformed_ids, 4)

    def test_lists_follow_the_rows_and_media_have_only_ids(self) -> None:
        answer = run(plan_of(VIEWER, linked("f", "core::follow", "viewer", 2), linked("m", "core::media", "f", 2)))
        self.assertEqual(ids(answer), [50101, 50102, 50201])
        assert isinstance(answer, Answer)
        self.assertEqual([candidate.fields for candidate in answer.candidates], [[], [], []])
        self.assertEqual(answer.row_counts, {"viewer": (0, 1), "f": (1, 2), "m": (2, 3)})

    def test_a_user_without_record_has_no_country(self) -> None:
        answer = run(plan_of(VIEWER), user_id=11)
        assert isinstance(answer, Answer)
        self.assertEqual((answer.candidates[0].id, answer.candidates[0].fields), (11, []))

    def test_sort_is_stable_with_nulls_last_both_ways(self) -> None:
        store = Store(lists={"follow:1": ["1", "2", "3", "4", "5"]})
        for user, country in ((1, "b"), (2, "a"), (4, "b"), (5, "é")):
            store.hashes[f"user:{user}"] = {"country": country}
        follow = linked("f", "core::follow", "viewer", 9)
        up = plan_of(VIEWER, follow, node("s", "core::sort", "f", by=3001))
        down = plan_of(VIEWER, follow, node("s", "core::sort", "f", by=3001, order="desc"))
        self.assertEqual(ids(run(up, store)), [2, 1, 4, 5, 3])
        self.assertEqual(ids(run(down, store)), [5, 1, 4, 2, 3])

    def test_vm_refuses_null_where_the_key_does_and_what_is_not_finite(self) -> None:
        vm = node("vm", "core::vm", "three", out_key=2001, expr_id="e")
        self.assertEqual(run(plan_of(THREE, vm, expr_table={"e": NULL})), Failure("null_value", "vm"))
        huge = two("mul", const(1e308), const(10))
        self.assertEqual(run(plan_of(THREE, vm, expr_table={"e": huge})), Failure("non_finite_value", "vm"))

    def test_vm_looks_only_at_active_rows(self) -> None:
        none = node("none", "core::filter", "three", pred_id="p")
        vm = node("vm", "core::vm", "none", out_key=2001, expr_id="e")
        tables = {"expr_table": {"e": NULL}, "pred_table": {"p": {"op": "const_bool", "value": False}}}
        self.assertEqual(ids(run(plan_of(THREE, none, vm, **tables))), [])

    def test_a_pattern_that_is_null_fails_even_where_it_does_not_matter(self) -> None:
        pattern = regex("") | {"pattern": {"kind": "param", "param_id": 2}}
        tree = two("or", {"op": "const_bool", "value": True}, pattern)
        plan = plan_of(THREE, node("f", "core::filter", "three", pred_id="p"), pred_table={"p": tree})
        self.assertEqual(run(plan), Failure("regex_pattern_null", "f"))
        self.assertEqual(run(plan, param_overrides={"blocklist_regex": "("}), Failure("bad_regex", "f"))
        self.assertEqual(ids(run(plan, param_overrides={"blocklist_regex": "a"})), [1, 2, 3])

    def test_concat_keeps_the_columns_of_both(self) -> None:
        vm = node("vm", "core::vm", "three", out_key=2001, expr_id="e")
        plan = plan_of(THREE, vm, VIEWER, node("c", "core::concat", "vm", rhs="viewer"), expr_table={"e": key(1)})
        answer = run(plan)
        assert isinstance(answer, Answer)
        fields = [candidate.fields for candidate in answer.candidates]
        self.assertEqual(fields, [[("final_score", number)] for number in (1.0, 2.0, 3.0)] + [[("country", "US")]])

    def test_dedupe_keeps_one_row_of_each_value_at_its_place(self) -> None:
        twice = node("c", "core::concat", "f", rhs="three")
        follow = linked("f", "core::follow", "viewer", 3)  # 1 US, 2 CA, 3 DE
        nodes = (VIEWER, follow, THREE, twice)

        def kept(**params: Any) -> list[tuple[int, bool]]:
            answer = run(plan_of(*nodes, node("d", "core::dedupe", "c", **params)))
            assert isinstance(answer, Answer), answer
            return [(candidate.id, bool(candidate.fields)) for candidate in answer.candidates]

        self.assertEqual(kept(), [(1, True), (2, True), (3, True)])
        self.assertEqual(kept(by=None, strategy="last"), [(1, False), (2, False), (3, False)])
        # Rows without a country are all different.
        self.assertEqual(kept(by=3001), [(1, True), (2, True), (3, True), (1, False), (2, False), (3, False)])

    def test_the_highest_score_stays_and_null_is_the_lowest(self) -> None:
        vm = node("vm", "core::vm", "three", out_key=2001, expr_id="e")
        again = node("c", "core::concat", "three", rhs="vm")
        more = node("m", "core::vm", "three", out_key=2001, expr_id="n")
        both = node("b", "core::concat", "c", rhs="m")
        best = node("d", "core::dedupe", "b", strategy="max_by", score_key=2001)
        tables = {"expr_table": {"e": const(2), "n": two("mul", key(1), key(1))}}
        answer = run(plan_of(THREE, vm, again, more, both, best, **tables))
        assert isinstance(answer, Answer)
        found = [(candidate.id, dict(candidate.fields)["final_score"]) for candidate in answer.candidates]
        self.assertEqual(found, [(1, 2.0), (2, 4.0), (3, 9.0)])

    def test_diversify_moves_drops_and_fills_slots(self) -> None:
        twice = node("c", "core::concat", "three", rhs="three")  # 1 2 3 1 2 3

        def ids(**params: Any) -> list[int]:
            answer = run(plan_of(THREE, twice, node("d", "core::diversify", "c", **params)))
            assert isinstance(answer, Answer), answer
            return [candidate.id for candidate in answer.candidates]

        window = {"strategy": "window", "by": 1, "at_most": 1}
        self.assertEqual(ids(**window, window=3), [1, 2, 3, 1, 2, 3])
        self.assertEqual(ids(**window, window=5), [1, 2, 3, 1, 2, 3])
        self.assertEqual(ids(**window, window=5, overflow="drop"), [1, 2, 3])
        self.assertEqual(ids(**window | {"by": 3001}, window=2), [1, 2, 3, 1, 2, 3])
        quota = {"strategy": "quota", "by": 1, "values": [3]}
        self.assertEqual(ids(**quota, every_nth=2, first=1), [3, 1, 3, 2, 1, 2])
        self.assertEqual(ids(**quota, every_nth=4), [1, 2, 1, 3, 2, 3])
        self.assertEqual(ids(**quota, every_nth=4, overflow="drop"), [1, 2, 1, 3, 2])

    def test_concat_says_where_rows_are_from_and_their_ranks_are_fused(self) -> None:
        ten = node("ten", "test::fixed_source", row_count=2)
        first = node("a", "core::concat", "three", rhs="ten", out_key=3002, sources=["three", "ten"])
        more = node("b", "core::concat", "a", rhs="ten", out_key=3002, sources=["before", "again"])
        fused = node("f", "core::rank_fusion", "b", by=3002, out_key=2001, k=1)
        answer = run(plan_of(THREE, ten, first, more))
        assert isinstance(answer, Answer), answer
        self.assertEqual(
            [(candidate.id, candidate.fields[0][1]) for candidate in answer.candidates],
            [(1, "three"), (2, "three"), (3, "three"), (1, "ten"), (2, "ten"), (1, "again"), (2, "again")],
        )
        answer = run(plan_of(THREE, ten, first, more, fused))
        assert isinstance(answer, Answer), answer
        scores = [(candidate.id, dict(candidate.fields)["final_score"]) for candidate in answer.candidates]
        self.assertEqual(scores, [(1, 0.5 + 0.5 + 0.5), (2, 1 / 3 + 1 / 3 + 1 / 3), (3, 0.25)])

    def test_aggregates_are_of_all_rows_or_of_a_value(self) -> None:
        twice = node("c", "core::concat", "three", rhs="three", out_key=3002, sources=["a", "b"])

        def made(**params: Any) -> list[float]:
            answer = run(plan_of(THREE, twice, node("g", "core::aggregate", "c", out_key=2001, **params)))
            assert isinstance(answer, Answer), answer
            return [dict(candidate.fields)["final_score"] for candidate in answer.candidates]

        self.assertEqual(made(of="count"), [6.0] * 6)
        self.assertEqual(made(of="sum", key=1, per=3002), [6.0] * 6)
        self.assertEqual(made(of="mean", key=1, per=1), [1.0, 2.0, 3.0] * 2)
        self.assertEqual(made(of="max", key=1), [3.0] * 6)
        self.assertEqual(made(of="min", key=1, per=3001), [1.0, 2.0, 3.0] * 2)

    def test_a_sample_depends_on_its_seed_and_keeps_the_order(self) -> None:
        many = node("m", "test::fixed_source", row_count=100)

        def drawn(seed: str) -> list[int]:
            answer = run(plan_of(many, node("s", "core::sample", "m", count=10, seed=seed)))
            assert isinstance(answer, Answer), answer
            return [candidate.id for candidate in answer.candidates]

        self.assertEqual(drawn("a"), drawn("a"))
        self.assertEqual(drawn("a"), sorted(drawn("a")))
        self.assertEqual(len(drawn("a")), 10)
        self.assertNotEqual(drawn("a"), drawn("b"))

    def test_a_broadcast_gives_all_rows_the_columns_of_one(self) -> None:
        one = node("one", "test::fixed_source")
        vm = node("vm", "core::vm", "one", out_key=2001, expr_id="e")
        cast = node("j", "core::join", "three", rhs="vm", how="broadcast", select=[2001])
        answer = run(plan_of(THREE, one, vm, cast, expr_table={"e": const(7)}))
        assert isinstance(answer, Answer), answer
        self.assertEqual([candidate.fields for candidate in answer.candidates], [[("final_score", 7.0)]] * 3)
        many = node("j", "core::join", "one", rhs="three", how="broadcast", select=[])
        self.assertEqual(run(plan_of(THREE, one, many)), Failure("not_one_row", "j"))

    def test_a_join_takes_columns_over_or_only_looks(self) -> None:
        five = node("five", "test::fixed_source", row_count=5)
        vm = node("vm", "core::vm", "three", out_key=2001, expr_id="e")

        def joined(how: str, **params: Any) -> list[tuple[int, list[tuple[str, Any]]]]:
            join = node("j", "core::join", "five", rhs="vm", how=how, **params)
            answer = run(plan_of(THREE, vm, five, join, expr_table={"e": key(1)}))
            assert isinstance(answer, Answer), answer
            return [(candidate.id, candidate.fields) for candidate in answer.candidates]

        known = [(number, [("final_score", float(number))]) for number in (1, 2, 3)]
        self.assertEqual(joined("inner", select=[2001]), known)
        self.assertEqual(joined("left", select=[2001]), [*known, (4, []), (5, [])])
        zeros = [(4, [("final_score", 0.0)]), (5, [("final_score", 0.0)])]
        self.assertEqual(joined("left", select=[2001], on_missing="default"), [*known, *zeros])
        moved = [(number, [("model_score_1", float(number))]) for number in (1, 2, 3)]
        self.assertEqual(joined("inner", select=[2001], map=[1001]), moved)
        self.assertEqual(joined("semi"), [(1, []), (2, []), (3, [])])
        self.assertEqual(joined("anti"), [(4, []), (5, [])])
        self.assertEqual(joined("inner", by=3001, select=[]), [])

    def test_operators_of_libraries_are_refused(self) -> None:
        far = node("far", "geo::distance", "three", latitude=1)
        with self.assertRaisesRegex(ForeignOperator, "`geo::distance` is an operator of a library"):
            run(plan_of(THREE, far))

    def test_a_join_may_fail(self) -> None:
        twice = node("c", "core::concat", "three", rhs="three")
        five = node("five", "test::fixed_source", row_count=5)
        repeated = node("j", "core::join", "five", rhs="c", how="semi")
        self.assertEqual(run(plan_of(THREE, twice, five, repeated)), Failure("duplicate_join_key", "j"))
        missing = node("j", "core::join", "five", rhs="three", how="left", select=[2001], on_missing="error")
        self.assertEqual(run(plan_of(THREE, five, missing)), Failure("missing_join_partner", "j"))

    def made(self, plan: dict[str, Any], name: str, store: Store = REFERENCE) -> list[Any]:
        """The values that the rows of the answer have under a key."""
        answer = run(plan, store)
        assert isinstance(answer, Answer), answer
        return [dict(candidate.fields).get(name) for candidate in answer.candidates]

    def test_features_are_fetched_each_hash_once(self) -> None:
        store = Store(lists={"follow:1": ["1", "2", "2", "3"]})
        store.hashes["features:1"] = {"final_score": "-.5e1", "title": ""}
        store.hashes["features:2"] = {"final_score": " 1", "model_score_1": "nan"}
        fetch = node("x", "core::fetch_features", "f", endpoint="ep_0001", keys=[2001, 3002, 1001], hash=None)
        plan = plan_of(VIEWER, linked("f", "core::follow", "viewer", 9), fetch)
        self.assertEqual(self.made(plan, "final_score", store), [-5.0, 0.0, 0.0, 0.0])
        self.assertEqual(self.made(plan, "title", store), ["", None, None, None])
        answer = run(plan, store)
        assert isinstance(answer, Answer)
        self.assertEqual(answer.malformed_values, 2)
        by = node("x", "core::fetch_features", "three", endpoint="ep_0001", keys=[2001], hash="user", by=1)
        store.hashes["user:3"] = {"final_score": "7"}
        self.assertEqual(self.made(plan_of(THREE, by), "final_score", store), [0.0, 0.0, 7.0])

    def test_keys_are_made_of_values_that_are_escaped(self) -> None:
        values = {"id": -7, "country": "a:é", "P.on": True, "none": None}
        self.assertEqual(key_of("x:{id}:{country}", values.get), "x:-7:a%3A%C3%A9")
        self.assertEqual(key_of("{{{P.on}}}", values.get), "{true}")
        self.assertIsNone(key_of("x:{none}", values.get))
        self.assertIsNone(key_of("{country}" + "k" * 502, values.get))

    def test_ids_come_from_keys_of_all_kinds(self) -> None:
        store = Store(lists={"shelf:2": ["5", "x", "6", "7"]}, sets={"bought:2": {"10", "9", "x"}})
        store.sorted_sets["near:2"] = {"9": 1.0, "10": 1.0, "3": 0.5}

        def found(op: str, key: str, *inputs: str, **params: Any) -> list[int]:
            read = node("x", op, *inputs, endpoint="ep_0001", key=key, **params)
            return ids(run(plan_of(*([THREE] if inputs else []), read), store))

        self.assertEqual(found("core::list", "shelf:{id}", "three", count=2), [5])
        self.assertEqual(found("core::list", "shelf:2", "three", count=1, offset=2), [6, 6, 6])
        self.assertEqual(found("core::list", "shelf:2", count=1, offset=None), [5])
        self.assertEqual(found("core::set", "bought:{id}", "three", count=5), [9, 10])
        self.assertEqual(found("core::sorted_set", "near:2", count=2), [3, 10])
        self.assertEqual(found("core::sorted_set", "near:2", count=2, order="desc"), [9, 10])
        self.assertEqual(found("core::sorted_set", "near:2", count=9, offset=1, min=0.7), [9])

    def test_fields_and_members_are_looked_up(self) -> None:
        store = Store(hashes={"item:2": {"odd": "1.5", "title": "Two"}}, sets={"bought:7": {"2", "US"}})
        store.sorted_sets["near:7"] = {"3": 2.5}
        named = node("x", "core::hash", "three", endpoint="ep_0001", key="item:{id}", keys=[2001, 3002], fields=["odd", "title"])
        self.assertEqual(self.made(plan_of(THREE, named), "final_score", store), [0.0, 1.5, 0.0])
        self.assertEqual(self.made(plan_of(THREE, named), "title", store), [None, "Two", None])
        scored = node("x", "core::members_of", "three", endpoint="ep_0001", key="near:7", of="sorted_set", out_key=2001)
        self.assertEqual(self.made(plan_of(THREE, scored), "final_score", store), [0.0, 0.0, 2.5])

    def test_strings_are_read_by_the_type_of_their_key(self) -> None:
        store = Store(strings={"s:1": "0.5", "s:2": "x", "s:3": "-1e-3"})
        read = node("x", "core::strings", "three", endpoint="ep_0001", key="s:{id}", out_key=1001)
        answer = run(plan_of(THREE, read), store)
        assert isinstance(answer, Answer)
        self.assertEqual([dict(each.fields)["model_score_1"] for each in answer.candidates], [0.5, 0.0, -0.001])
        self.assertEqual(answer.malformed_values, 1)
        texts = node("x", "core::strings", "three", endpoint="ep_0001", key="s:2", out_key=3002)
        self.assertEqual(self.made(plan_of(THREE, texts), "title", store), ["x", "x", "x"])

    def test_features_are_extracted(self) -> None:
        def made(transform: str, key: int = 1, **params: Any) -> list[Any]:
            extract = node("x", "core::extract_features", "three", transform=transform, keys=[key], out_keys=[2001], **params)
            return self.made(plan_of(THREE, extract), "final_score")

        self.assertEqual(made("bucket", boundaries=[-3, 2, 2.5]), [1.0, 2.0, 3.0])
        self.assertEqual(made("clip", min=1.5, max=2), [1.5, 2.0, 2.0])
        self.assertEqual(made("clip", min=None, max=2.5), [1.0, 2.0, 2.5])
        self.assertEqual(made("log1p"), [math.log(2), math.log1p(2), math.log1p(3)])
        self.assertEqual((made("is_null"), made("is_null", 3001)), ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]))
        self.assertEqual(made("one_hot", values=[2]), [0.0, 1.0, 0.0])
        self.assertEqual(made("one_hot", 3001, values=[""]), [0.0, 0.0, 0.0])

    def test_an_extraction_may_fail(self) -> None:
        def failure(key: int, **params: Any) -> Any:
            extract = node("x", "core::extract_features", "vm", keys=[key], out_keys=[1001], **params)
            return run(plan_of(THREE, vm, extract, expr_table={"e": two("sub", const(1), key_of_id)}))

        key_of_id = key(1)
        vm = node("vm", "core::vm", "three", out_key=2001, expr_id="e")
        self.assertEqual(failure(2001, transform="log1p"), Failure("non_finite_value", "x"))
        self.assertEqual(failure(1002, transform="log1p"), Failure("null_value", "x"))
        self.assertEqual(failure(1002, transform="bucket", boundaries=[0]), Failure("null_value", "x"))

    def test_models_are_called(self) -> None:
        def scores(model: str) -> Any:
            call = node("x", "core::call_models", "three", models=[model], out_keys=[1001])
            return self.made(plan_of(THREE, call), "model_score_1")

        self.assertEqual(scores("line"), [-1.5, 0.5, 2.5])
        self.assertEqual(scores("trees"), [0.0, 0.0, 1 / (1 + math.exp(-2.0))])
        for model, code in (("strict", "null_value"), ("huge", "non_finite_value")):
            call = node("x", "core::call_models", "three", models=[model], out_keys=[1001])
            self.assertEqual(run(plan_of(THREE, call)), Failure(code, "x"))

    def test_several_outputs_follow_each_other(self) -> None:
        self.assertEqual(ids(run(plan_of(THREE, VIEWER, outputs=["viewer", "three"]))), [1, 1, 2, 3])


class Requests(unittest.TestCase):
    def test_faults_have_codes(self) -> None:
        faults: list[tuple[dict[str, Any], str]] = [
            ({"user_id": 0}, "bad_user_id"),
            ({"user_id": True}, "bad_user_id"),
            ({"user_id": str(2**63)}, "bad_user_id"),
            ({"unknown": 1}, "unknown_field"),
            ({"request_id": 1}, "wrong_type"),
            ({"output_keys": ["x"]}, "unknown_key"),
            ({"param_overrides": {"x": 1}}, "unknown_param"),
            ({"param_overrides": {"esr_cutoff": None}}, "null_param"),
            ({"param_overrides": {"esr_cutoff": True}}, "wrong_type"),
            ({"context": {"x": 1}}, "unknown_param"),
            ({"context": {"esr_cutoff": 1}}, "wrong_source"),
        ]
        for request, code in faults:
            self.assertEqual(run(plan_of(VIEWER), **request), Failure(code), request)

    def test_a_context_is_held_against_the_registry_and_the_plan(self) -> None:
        def asked(plan: dict[str, Any], **request: Any) -> Any:
            registry = Registry(REGISTRY.keys, {
                7: Param(7, "hour", "int", False, None, writable=False, in_context=True, required=True),
                8: Param(8, "device", "string", True, "phone", in_context=True),
            })
            return interpret(Known(registry, Store()), plan, request)

        reads = plan_of(
            THREE, node("vm", "core::vm", "three", out_key=2001, expr_id="e"),
            expr_table={"e": {"op": "param_ref", "param_id": 7}},
        )
        listed = plan_of({"node_id": "l", "op": "core::list", "inputs": [], "params": {
            "endpoint": "ep_0001", "key": "shelf:{{x}}{P.hour}", "count": 1}})
        sampled = plan_of(THREE, node("s", "core::sample", "three", count=1, seed="{P.hour}"))
        for plan in (reads, listed, sampled):
            self.assertEqual(asked(plan), Failure("missing_field"))
            self.assertNotIsInstance(asked(plan, context={"hour": 9}), Failure)
        self.assertNotIsInstance(asked(plan_of(THREE)), Failure)
        self.assertEqual([dict(each.fields) for each in asked(reads, context={"hour": 9}).candidates], [{"final_score": 9.0}] * 3)
        faults: list[tuple[dict[str, Any], str]] = [
            ({"context": {"hour": "9"}}, "wrong_type"),
            ({"context": {"hour": None}}, "null_param"),
            ({"context": {"hour": 9}, "param_overrides": {"hour": 9}}, "unwritable_param"),
            ({"context": {"hour": 9, "device": "tv"}, "param_overrides": {"device": "tv"}}, "duplicate_value"),
        ]
        for request, code in faults:
            self.assertEqual(asked(plan_of(THREE), **request), Failure(code), request)

    def test_rows_and_columns_are_the_same_candidates(self) -> None:
        plan = plan_of({"node_id": "c", "op": "core::candidates", "inputs": [], "params": {"keys": [2001, 3001]}})
        rows = [{"id": 3, "final_score": 1}, {"id": "3", "final_score": 0.5, "country": "US"}]
        columns = {"id": [3, 3], "country": [None, "US"], "final_score": [1, 0.5]}
        answers = [run(plan, candidates=given) for given in (rows, columns)]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(ids(answers[0]), [3, 3])

    def test_faults_of_candidates_have_codes(self) -> None:
        plan = plan_of({"node_id": "c", "op": "core::candidates", "inputs": [], "params": {"keys": [2001]}})
        self.assertEqual(run(plan), Failure("missing_field"))
        self.assertEqual(run(plan_of(VIEWER), candidates=[]), Failure("unknown_field"))
        faults: list[tuple[Any, str]] = [
            ([{"id": 1}], "missing_field"),
            ([{"final_score": 1}], "missing_field"),
            ([{"id": 1.5, "final_score": 1}], "bad_id"),
            ([{"id": 1, "final_score": None}], "null_value"),
            ([{"id": 1, "final_score": "1"}], "wrong_type"),
            ([{"id": 1, "final_score": 1, "country": "US"}], "unknown_column"),
            ([{"id": 1, "final_score": 1, "none": 1}], "unknown_key"),
            ({"id": [1, 2], "final_score": [1]}, "wrong_length"),
            ([{"id": 1, "final_score": 1}] * 10_001, "too_many_candidates"),
        ]
        for given, code in faults:
            self.assertEqual(run(plan, candidates=given), Failure(code), code)


class Experiments(unittest.TestCase):
    DECLARED: dict[str, Any] = {
        "layer": [{"name": "feed", "salt": "2026-11", "buckets": 10}, {"name": "by_size", "salt": "x", "unit": "size"}],
        "experiment": [
            {"id": "exp_0001", "name": "sizes", "layer": "feed", "status": "active", "plans": ["t"], "arms": [
                {"name": "low", "from": 0, "to": 4, "set": {"size": 3}}, {"name": "high", "from": 5, "to": 8}]},
            {"id": "exp_0002", "name": "draft", "layer": "feed", "status": "draft", "plans": ["t"], "arms": [
                {"name": "all", "from": 0, "to": 9}]},
        ],
    }
    REGISTRY = Registry(REGISTRY.keys, {7: Param(7, "size", "float", False, 1.0)})

    def arms(self, declared: dict[str, Any] | None = None, **request: Any) -> Any:
        return arms_of(self.DECLARED if declared is None else declared, "t", request, {7: 1.0}, self.REGISTRY)

    def user_in(self, bucket: int) -> int:
        return next(user for user in range(1, 1000) if bucket_of("2026-11", str(user), 10) == bucket)

    def test_buckets_are_those_of_the_engine(self) -> None:
        self.assertEqual(bucket_of("2026-11", "1", 10_000), 4207)
        self.assertEqual(bucket_of("salt", "device-\u00e4", 7), 2)

    def test_the_bucket_decides_the_arm(self) -> None:
        low = self.arms(user_id=f"00{self.user_in(4)}")
        self.assertEqual((low.names, low.values, low.overridden), ({"sizes": "low"}, {7: 3.0}, []))
        self.assertEqual(self.arms(user_id=self.user_in(5)).names, {"sizes": "high"})
        self.assertEqual(self.arms(user_id=self.user_in(9)).names, {})
        self.assertEqual(self.arms().names, {})
        self.assertIsNone(self.arms({}))

    def test_a_request_overrides_and_names_arms(self) -> None:
        over = self.arms(user_id=self.user_in(4), param_overrides={"size": 9})
        self.assertEqual((over.names, over.values, over.overridden), ({"sizes": "low"}, {}, ["sizes"]))
        self.assertEqual(self.arms(experiments={"sizes": "low"}).values, {7: 3.0})
        for named, code in (({"draft": "all"}, "unknown_experiment"), ({"sizes": "all"}, "unknown_arm")):
            with self.assertRaises(ArmError) as raised:
                self.arms(experiments=named)
            self.assertEqual(raised.exception.code, code)

    def test_what_is_made_is_read_again(self) -> None:
        made = 0
        for seed in range(20):
            world = make_world(seed)
            declared = make_experiments(world, seed, make_plan(world, seed, "p")[0])
            self.assertEqual(declared, make_experiments(world, seed, make_plan(world, seed, "p")[0]))
            read = tomllib.loads(spelled(declared))
            self.assertEqual(read.get("experiment", []), declared.get("experiment", []))
            made += bool(declared)
        self.assertGreater(made, 5)


class Generator(unittest.TestCase):
    def test_the_same_seed_makes_the_same(self) -> None:
        for seed in (4, 5):
            world = make_world(seed)
            self.assertEqual(world, make_world(seed))
            self.assertEqual(make_plan(world, 5, "p"), make_plan(world, 5, "p"))
            plan, _ = make_plan(world, 5, "p")
            self.assertEqual(make_request(world, "5", plan), make_request(world, "5", plan))
            self.assertEqual(make_data(world, seed), make_data(world, seed))
            self.assertEqual(make_models(world, seed), make_models(world, seed))

    def test_every_node_reaches_an_output_and_every_operator_is_used(self) -> None:
        used: set[str] = set()
        unlike = 0
        for seed in range(100):
            plan, _ = make_plan(make_world(seed), seed, "p")
            read = {source for each in plan["nodes"] for source in edges_into(each)}
            read |= {substitute(each) for each in plan["nodes"]} - {None}
            self.assertEqual(len(order_of(plan["nodes"])), len(plan["nodes"]))
            self.assertEqual({each["node_id"] for each in plan["nodes"]}, read | set(plan["outputs"]))
            used |= {each["op"] for each in plan["nodes"]}
            unlike += sum(each["params"].get("strategy") == "mmr" for each in plan["nodes"])
        known = {op["name"] for op in tomllib.loads((REPOSITORY / "registry/ops.toml").read_text("utf-8"))["op"]}
        unused = {"core::call_remote_model"}  # which needs a server of models
        unused |= {"core::decode", "core::decode_ids"}  # whose texts no generated data has
        self.assertEqual(used, known - unused)
        self.assertGreater(unlike, 5)

    def test_where_ids_are_strings_no_node_is_for_numbers(self) -> None:
        numeric = {"core::follow", "core::recommendation", "core::media", "test::fixed_source"}
        worlds = pages = 0
        for seed in range(200):
            world = make_world(seed)
            if not world.text_ids:
                continue
            plan, _ = make_plan(world, seed, "p")
            worlds += 1
            pages += any(each["op"] == "core::paginate" for each in plan["nodes"])
            self.assertFalse(numeric & {each["op"] for each in plan["nodes"]})
            for each in plan["nodes"]:
                if each["op"] == "core::fetch_features":
                    self.assertIn(each["params"]["by"], world.int_keys)
        self.assertEqual(worlds, 50)
        self.assertGreater(pages, 10)


class Comparing(unittest.TestCase):
    def different(self, fields: dict[str, Any], **more: Any) -> str | None:
        pair = compare.Pair(plan_of(VIEWER), {"user_id": 1})
        vm = node("vm", "core::vm", "one", out_key=2001, expr_id="e")
        expected = run(plan_of(node("one", "test::fixed_source"), vm, expr_table={"e": const(0.0)}))
        response = {"plan": "p", "candidates": [{"id": 1, "fields": fields}]} | more
        return compare.difference(expected, response, pair)

    def test_doubles_are_compared_bit_by_bit(self) -> None:
        self.assertIsNone(self.different({"final_score": 0}))
        self.assertIsNotNone(self.different({"final_score": -0.0}))
        self.assertIsNotNone(self.different({"final_score": 5e-324}))

    def test_names_errors_and_counts_are_compared(self) -> None:
        self.assertIsNotNone(self.different({}))
        self.assertIsNotNone(self.different({"model_score_1": 0}))
        self.assertIsNotNone(self.different({"final_score": 0}, malformed_ids=1))
        self.assertIsNotNone(self.different({"final_score": 0}, malformed_values=1))
        self.assertIsNotNone(self.different({"final_score": 0}, error={"code": "x"}))

    def test_where_rows_are_kept_another_node_may_fail_and_nothing_else(self) -> None:
        cached = plan_of(VIEWER | {"cache": {"ttl_ms": 1}})

        def different(expected: Failure, plan: dict[str, Any] = cached, **error: str) -> str | None:
            return compare.difference(expected, {"error": error}, compare.Pair(plan, {}))

        of_node = Failure("null_value", "a")
        self.assertIsNone(different(of_node, code="bad_regex", node="b"))
        self.assertIsNotNone(different(of_node, code="internal_error", node="a"))
        self.assertIsNotNone(different(of_node, code="stopped", node="a"))
        self.assertIsNotNone(different(of_node, code="missing_field"))
        self.assertIsNotNone(different(Failure("missing_field"), code="null_value", node="a"))
        self.assertIsNotNone(different(of_node, plan_of(VIEWER), code="bad_regex", node="b"))

    def test_a_project_is_read_as_it_is_written(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(8):
                project = compare.make_project(Path(folder) / f"project_{seed}", seed)
                numbers = sorted(row["key_id"] for row in project.world.keys)
                self.assertEqual(sorted(project.known.registry.keys), numbers)
                self.assertTrue(set(project.world.readable_params) <= set(project.known.registry.params))
                self.assertTrue(project.known.store.lists)
                self.assertEqual(set(project.known.models), {path.stem for path in (project.folder / "models").iterdir()})

    def test_every_answer_and_the_exit_status_count(self) -> None:
        plan = plan_of(VIEWER)
        case = compare.Case(1, plan, [{"user_id": 1}, {"user_id": 0}], None)
        expected = [run(plan), Failure("bad_user_id")]
        good = {"request_id": "line_1", "plan": "p", "candidates": [{"id": 1, "fields": {"country": "US"}}]}
        bad = {"error": {"code": "bad_user_id"}}

        def differences(status: int, *responses: dict[str, Any]) -> int:
            with contextlib.redirect_stdout(io.StringIO()):
                outcome = compare.Outcome(list(responses), status)
                return compare.compare_outcome(case, expected, outcome, names_lines=True)

        self.assertEqual(differences(1, good, bad), 0)
        self.assertEqual(differences(0, good, bad), 1)
        self.assertEqual(differences(1, good), 1)
        self.assertEqual(differences(1, bad, bad), 1)
        self.assertEqual(differences(1, good | {"request_id": "line_2"}, bad), 1)


if __name__ == "__main__":
    unittest.main()
