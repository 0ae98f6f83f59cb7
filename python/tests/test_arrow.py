"""python/tests/test_arrow.py: pyarrow, pandas, polars and duckdb read rankings and answers, and their tables are requests."""
import contextlib
import doctest
import io
import json
import re
import tempfile
import unittest

from support import REPOSITORY, ProjectTest, rankd, skip_without

skip_without("rankd", "pyarrow", "pandas", "polars", "duckdb")

import duckdb  # noqa: E402
import numpy  # noqa: E402
import pandas  # noqa: E402
import polars  # noqa: E402
import pyarrow  # noqa: E402

from rankd import Ranker  # noqa: E402

PLAN = "home_feed"


class Tables(ProjectTest):
    def setUp(self):
        self.ranker = Ranker(self.demo, PLAN)
        self.addCleanup(self.ranker.close)

    def test_each_library_reads_a_ranking(self):
        ranking = self.ranker.rank(user_id=42)
        expected = [{"id": each["id"], **each["fields"]} for each in ranking["candidates"]]
        batch = pyarrow.record_batch(ranking)
        batch.validate(full=True)
        self.assertEqual(batch.to_pylist(), expected)
        self.assertEqual(pyarrow.table(ranking).to_pylist(), expected)
        self.assertEqual(pyarrow.schema(ranking), batch.schema)
        self.assertEqual(polars.DataFrame(ranking).to_dicts(), expected)
        self.assertEqual(ranking.to_pandas().to_dict("records"), expected)
        shown = pyarrow.table(ranking)  # noqa: F841: duckdb finds it by its name
        self.assertEqual([each[0] for each in duckdb.sql("select id from shown").fetchall()], ranking.ids)

    def test_readers_share_one_copy_of_the_texts(self):
        ranking = self.ranker.rank(user_id=42)
        first, second = (pyarrow.record_batch(ranking).column("country").buffers()[2] for _ in range(2))
        self.assertEqual(first.address, second.address)
        address = first.address
        del first, second, ranking
        self.assertGreater(address, 0)

    def test_a_table_outlives_its_ranking(self):
        ranking = self.ranker.rank(user_id=42)
        batch = pyarrow.record_batch(ranking)
        expected = ranking.ids
        del ranking
        self.ranker.close()
        self.assertEqual(batch.column("id").to_pylist(), expected)

    def test_each_library_gives_requests(self):
        users = [1, 2, 3]
        expected = list(self.ranker.rank_many([{"user_id": each} for each in users]).lines())
        for table in (pyarrow.table({"user_id": users}), pandas.DataFrame({"user_id": users}), polars.DataFrame({"user_id": users}),
                      pyarrow.table({"request": [json.dumps({"user_id": each}, separators=(",", ":")) for each in users]}),
                      polars.DataFrame({"user_id": users}).with_columns(polars.lit(None).alias("request_id"))):
            self.assertEqual(list(self.ranker.rank_many(table).lines()), expected)

    def test_answers_are_a_table(self):
        answers = self.ranker.rank_many([{"user_id": 1}, "nonsense"])
        table = pyarrow.table(answers)
        table.validate(full=True)
        self.assertEqual(table.column_names, ["line", "code", "answer"])
        self.assertEqual(table.column("line").to_pylist(), [1, 2])
        self.assertEqual(table.column("code").to_pylist(), ["ok", "json_syntax"])
        self.assertEqual(table.column("answer").to_pylist(), list(answers.lines()))
        self.assertEqual(polars.DataFrame(answers)["code"].to_list(), ["ok", "json_syntax"])
        self.assertEqual(pyarrow.table(self.ranker.rank_many([])).num_rows, 0)

    def test_lines_name_requests_without_an_id(self):
        answers = self.ranker.rank_many(pyarrow.table({"line": [70, 80], "user_id": [1, 2]}))
        self.assertEqual([each["request_id"] for each in answers], ["line_70", "line_80"])
        self.assertEqual(pyarrow.table(answers).column("line").to_pylist(), [70, 80])

    def test_types_nesting_nulls_slices_and_chunks(self):
        table = pyarrow.table({
            "user_id": pyarrow.chunked_array([[9, 1], [2, None]], pyarrow.uint16()),
            "plan": pyarrow.array([PLAN] * 4).dictionary_encode(),
            "request_id": pyarrow.array(["zero", "a", None, "c"], pyarrow.string_view()),
            "output_keys": [["country"], ["country"], None, ["country"]],
        }).slice(1)
        with Ranker(self.demo) as ranker:
            answers = ranker.rank_many(table)
        expected = [json.dumps(each) for each in ({"user_id": 1, "plan": PLAN, "request_id": "a", "output_keys": ["country"]},
                                                  {"user_id": 2, "plan": PLAN},
                                                  {"plan": PLAN, "request_id": "c", "output_keys": ["country"]})]
        with Ranker(self.demo) as ranker:
            theirs = list(ranker.rank_many(expected).lines())
        self.assertEqual([json.loads(each).get("candidates") for each in answers.lines()], [json.loads(each).get("candidates") for each in theirs])
        self.assertEqual([answers.code(at) for at in range(3)], ["ok", "ok", "missing_field"])

    def test_wrong_columns_are_errors_of_each_row_and_wrong_types_of_the_table(self):
        answers = self.ranker.rank_many(pyarrow.table({"user": [1, 2]}))
        self.assertEqual({answers.code(at) for at in range(2)}, {"unknown_field"})
        answers = self.ranker.rank_many(pandas.DataFrame({"user_id": [1.5, float("nan")]}))
        self.assertEqual(answers.code(0), "bad_user_id")
        error = self.refused("unsupported_type", self.ranker.rank_many,
                             pyarrow.table({"user_id": [1], "when": pyarrow.array([0], pyarrow.timestamp("s")), "raw": [b"x"]}))
        self.assertEqual([each["pointer"] for each in error.diagnostics], ["/when", "/raw"])
        self.refused("unsupported_type", self.ranker.rank_many, pyarrow.table({"request": [1]}))
        self.refused("unsupported_type", self.ranker.rank_many, pyarrow.table({"line": ["1"], "user_id": [1]}))

    def test_values_of_other_libraries_are_values_of_requests(self):
        expected = self.ranker.rank(user_id=3, output_keys=["country"]).json
        for user in (numpy.int64(3), numpy.uint8(3), pandas.Series([3])[0], pyarrow.scalar(3)):
            self.assertEqual(self.ranker.rank(user_id=user, output_keys=["country"]).json, expected)
        for keys in (numpy.array(["country"]), pandas.Series(["country"]), pyarrow.array(["country"]), polars.Series(["country"]), ("country",)):
            self.assertEqual(self.ranker.rank(user_id=3, output_keys=keys).json, expected)
        texts = numpy.array(['{"user_id":3}'])
        self.assertEqual(list(self.ranker.rank_many(texts).lines()), list(self.ranker.rank_many(['{"user_id":3}']).lines()))
        for missing in (pandas.NA, pandas.NaT, numpy.datetime64("2020-01-01"), pandas.Timestamp(0)):
            self.assertEqual(self.refused("unsupported_type", self.ranker.rank, user_id=missing).pointer, "/user_id")

    def test_what_is_no_table_of_requests(self):
        self.assertIn("expected a table", self.refused("unsupported_type", self.ranker.rank_many, pandas.Series(["{}"])).message)
        self.refused("unsupported_type", self.ranker.rank_many, polars.Series(["{}"]))
        answers = self.ranker.rank_many(pyarrow.chunked_array([[{"user_id": 1}, None]]))
        self.assertEqual([answers.code(at) for at in range(2)], ["ok", "wrong_type"])

        def batches():
            yield pyarrow.record_batch({"user_id": [1]})
            raise ValueError("mine")

        reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("user_id", pyarrow.int64())]), batches())
        self.assertIn("mine", self.refused("requests_unreadable", self.ranker.rank_many, reader).message)

        class Once:
            capsule = pyarrow.table({"user_id": [1]}).__arrow_c_stream__()

            def __arrow_c_stream__(self, requested_schema=None):
                return self.capsule

        self.assertEqual(len(self.ranker.rank_many(Once())), 1)
        self.assertIn("read before", self.refused("requests_unreadable", self.ranker.rank_many, Once()).message)

    def test_a_million_rows(self):
        rows = 1_000_000
        table = pyarrow.table({"request": pyarrow.DictionaryArray.from_arrays(
            pyarrow.array([at % 2 for at in range(rows)], pyarrow.int8()), ['{"user_id":-1}', "nonsense"]).cast(pyarrow.string())})
        answers = self.ranker.rank_many(table)
        self.assertEqual(len(answers), rows)
        codes = pyarrow.compute.value_counts(pyarrow.table(answers).column("code")).to_pylist()
        self.assertEqual({each["values"]: each["counts"] for each in codes}, {"bad_user_id": rows // 2, "json_syntax": rows // 2})
        self.assertTrue(answers.line(rows - 1).endswith(f'"request_id":"line_{rows}"}}}}'))


class Page(unittest.TestCase):
    def test_the_examples_of_the_page_run(self):
        page = (REPOSITORY / "docs/python.md").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory(prefix="rankd_page_") as scratch, contextlib.chdir(scratch):
            rankd("init", "demo", "demo")
            rankd("load", "--project", "demo")
            session = doctest.DocTestParser().get_doctest(page.replace("```", "\n"), {}, "docs/python.md", None, 0)
            self.assertGreater(len(session.examples), 2)
            self.assertEqual(doctest.DocTestRunner().run(session, clear_globs=False).failed, 0)
            names = {**session.globs, "duckdb": duckdb, "polars": polars, "pyarrow": pyarrow}
            names["ranking"] = names["ranker"].rank(user_id=42)
            blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                for block in blocks:
                    if "ranker.rank" in block:
                        exec(block, names)
            self.assertEqual(said.getvalue(), "bad_user_id /user_id\n")
            names["ranker"].close()


if __name__ == "__main__":
    unittest.main()
