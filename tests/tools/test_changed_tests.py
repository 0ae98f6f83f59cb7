# tests/tools/test_changed_tests.py: which tests tools/changed_tests takes a change to concern.
import unittest

from tree import load

changed_tests = load("changed_tests")

TESTS = {"base/arena_test": "tests/base/all_test", "io/loop_test": "tests/io/all_test", "io/loop_test.epoll": "tests/io/all_test",
         "rankd/op/fuse_test": "tests/rankd/op/all_test", "examples/01": "examples/01", "dsl/build": "", "tools/python": ""}
KNOWN = {"tests/base/arena_test.cpp": {"tests/base/arena_test.cpp", "include/braid/base/arena.hpp"},
         "tests/io/loop_test.cpp": {"tests/io/loop_test.cpp", "include/braid/io/loop.hpp", "include/braid/base/arena.hpp"},
         "tests/rankd/op/fuse_test.cpp": {"tests/rankd/op/fuse_test.cpp", "rankd/op/fuse.hpp"}}


def concerned(*changed):
    return sorted(changed_tests.concerned(list(changed), TESTS, KNOWN))


class Concerned(unittest.TestCase):
    def test_a_test_file_concerns_its_own_entries(self):
        self.assertEqual(concerned("tests/io/loop_test.cpp"), ["io/loop_test", "io/loop_test.epoll"])

    def test_a_header_concerns_what_includes_it_and_whole_programs_above(self):
        self.assertEqual(concerned("rankd/op/fuse.hpp"), ["rankd/op/fuse_test"])
        self.assertEqual(concerned("include/braid/base/arena.hpp"),
                         ["base/arena_test", "examples/01", "io/loop_test", "io/loop_test.epoll"])

    def test_a_source_concerns_its_layer_and_those_above(self):
        self.assertEqual(concerned("src/io/loop.cpp"), ["examples/01", "io/loop_test", "io/loop_test.epoll", "rankd/op/fuse_test"])
        self.assertEqual(concerned("rankd/engine/engine.cpp"), [])

    def test_a_build_file_concerns_all(self):
        self.assertEqual(concerned("src/CMakeLists.txt"), sorted(TESTS))

    def test_a_page_concerns_none(self):
        self.assertEqual(concerned("docs/pools.md"), [])

    def test_tools_and_the_compiler_of_plans_concern_their_own_tests(self):
        self.assertEqual(concerned("tools/step"), ["tools/python"])
        self.assertEqual(concerned("dsl/packages/dslc/src/a.ts"), ["dsl/build"])


if __name__ == "__main__":
    unittest.main()
