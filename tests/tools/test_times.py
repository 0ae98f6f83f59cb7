# tests/tools/test_times.py: how tools/times groups what Ninja wrote down.
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


if __name__ == "__main__":
    unittest.main()
