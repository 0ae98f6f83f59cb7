# tests/tools/test_times.py: how tools/times groups what Ninja wrote down, and what it calls slower.
import tempfile
import unittest
from pathlib import Path

from tree import load

times = load("times")


class Kinds(unittest.TestCase):
    def test_outputs_count_in_the_row_of_their_layer(self):
        for output, kind in (("src/CMakeFiles/braid_io.dir/io/loop.cpp.o", "src/io"),
                             ("rankd/cli/CMakeFiles/rankd_cli.dir/table.cpp.o", "rankd/cli"),
                             ("tests/CMakeFiles/test_task_all_test.dir/__/unity/x.cpp.o", "tests/task"),
                             ("tests/CMakeFiles/test_rankd_op_all_test.dir/x.cpp.o", "tests/rankd/op"),
                             ("tests/CMakeFiles/test_net_resp_writer_test.dir/x.cpp.o", "tests/alone"),
                             ("tests/CMakeFiles/braid_test_headers.dir/cmake_pch.hxx.pch", "precompiled headers"),
                             ("bin/rankd", "link"), ("build.ninja", None)):
            with self.subTest(output):
                self.assertEqual(times.kind_of(output), kind)

    def test_the_last_time_of_an_output_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, ".ninja_log").write_text("# ninja log v5\n0\t2000\t1\ta.o\tx\n0\t500\t1\ta.o\tx\n", encoding="utf-8")
            self.assertEqual(times.ninja_seconds(Path(folder)), {"a.o": 0.5})


class Worse(unittest.TestCase):
    budget = {"seconds": 40, "slowest": 0.25, "layers": {"src/io": 0.25, "src/net": 0.75}}

    @staticmethod
    def build(io, net):
        return {f"src/CMakeFiles/braid_{layer}.dir/{number}.cpp.o": spent / 5
                for layer, spent in (("io", io), ("net", net)) for number in range(5)}

    def test_the_same_shares_on_a_slower_machine_are_not_worse(self):
        self.assertEqual(times.worse(self.build(100, 300), self.budget), [])

    def test_a_layer_that_takes_a_third_more_is_named(self):
        told = times.worse(self.build(20, 30), self.budget)
        self.assertEqual(told, ["src/io: 40.0% of the build, 25.0% in the budget"])

    def test_an_object_that_is_slower_than_any_was_is_named(self):
        told = times.worse(self.build(10, 30) | {"src/CMakeFiles/braid_net.dir/big.cpp.o": 40}, self.budget)
        self.assertTrue(any("big.cpp.o" in sentence for sentence in told), told)

    def test_a_build_from_a_cache_is_not_judged(self):
        self.assertIn("too few to judge by", times.worse(self.build(1, 1), self.budget)[0])


if __name__ == "__main__":
    unittest.main()
