# tests/tools/test_check_tests.py: every rule of tools/check_tests, broken and kept.
import unittest

from tree import ToolCase

GOOD = 'TEST_CASE("a sentence") { CHECK(true); }\n'
HEADER, TEST = "include/braid/base/a.hpp", "tests/base/a_test.cpp"


class CheckTests(ToolCase):
    tool = "check_tests"

    def needs_a_test(self, header, spelled):
        for text in (GOOD, f"// #include <{spelled}>\n{GOOD}", f"#include <{spelled}.hpp>\n{GOOD}"):
            with self.subTest(text):
                self.refuses({header: "", TEST: text}, f"{header}:1: no test file includes this header")
        self.refuses({TEST: GOOD, "tests/base/world.hpp": f"#include <{spelled}>\n"}, f"{header}:1: no test file includes")
        self.accepts({TEST: f"#include <{spelled}>\n{GOOD}"})

    def test_a_test_file_includes_every_header_of_the_library(self):
        self.needs_a_test(HEADER, "braid/base/a.hpp")

    def test_a_test_file_includes_every_header_of_rankd(self):
        self.needs_a_test("rankd/cli/commands/a.hpp", "rankd/cli/commands/a.hpp")

    def test_details_parts_and_sources_need_none(self):
        self.accepts({"include/braid/task/detail/a.hpp": "", "include/braid/braid.hpp": "", "include/braid/io.hpp": "",
                      "rankd/rows/detail/a.hpp": "", "rankd/rows/a.cpp": "", "src/task/a.hpp": ""})

    def test_a_test_file_has_a_test_case(self):
        for text in ("", "// TEST_CASE(1)\nCHECK(1);\n", 'auto x = "TEST_CASE(1)"; CHECK(1);\n'):
            with self.subTest(text):
                self.refuses({TEST: text}, f"{TEST}:1: has no TEST_CASE")

    def test_a_test_file_asserts_something(self):
        self.refuses({TEST: 'TEST_CASE("a") { /* CHECK(1) */ CHECKED(1); }\n'}, f"{TEST}:1: neither CHECK nor REQUIRE")

    def test_all_forms_of_cases_and_assertions_count(self):
        for case in ('TEST_CASE("a")', 'TEST_CASE_FIXTURE(f, "a")', 'TEST_CASE_TEMPLATE("a", T, int)'):
            for assertion in ("CHECK(a)", "REQUIRE(a)", "CHECK_EQ(a, b)", "REQUIRE_THROWS_AS(a, b)"):
                with self.subTest(case=case, assertion=assertion):
                    self.accepts({TEST: f"{case} {{ {assertion}; }}\n"})


if __name__ == "__main__":
    unittest.main()
