# tests/tools/test_check_tests.py: every rule of tools/check_tests, broken and kept.
import unittest

from tree import ToolCase

GOOD = 'TEST_CASE("a sentence") { CHECK(true); }\n'
HEADER, TEST = "include/braid/base/a.hpp", "tests/base/a_test.cpp"
EXCEPTIONS = "tools/test_exceptions.txt"


class CheckTests(ToolCase):
    tool = "check_tests"

    def test_every_public_header_has_a_test_file(self):
        self.refuses({HEADER: ""}, f"{HEADER}:1: has no test file {TEST}")
        self.accepts({TEST: GOOD})

    def test_a_test_file_by_another_name_may_include_the_header(self):
        other = "tests/base/b_test.cpp"
        self.accepts({HEADER: "", other: "#include <braid/base/a.hpp>\n" + GOOD})
        for test, text in ((other, GOOD), ("tests/task/b_test.cpp", "#include <braid/base/a.hpp>\n" + GOOD)):
            with self.subTest(test):
                self.refuses({HEADER: "", test: text}, f"{HEADER}:1: has no test file {TEST}")
        self.refuses({HEADER: "", other: "#include <braid/base/a.hpp>\n"}, f"{other}:1: has no TEST_CASE")

    def test_every_header_of_rankd_has_a_test_file(self):
        self.refuses({"rankd/rows/a.hpp": "", "tests/rows/a_test.cpp": GOOD},
                     "rankd/rows/a.hpp:1: has no test file tests/rankd/rows/a_test.cpp")
        self.accepts({"tests/rankd/rows/a_test.cpp": GOOD})

    def test_details_the_umbrella_and_sources_need_none(self):
        self.accepts({"include/braid/task/detail/a.hpp": "", "include/braid/braid.hpp": "", "include/braid/io.hpp": "", "rankd/rows/a.cpp": "",
                      "src/task/a.hpp": ""})

    def test_a_test_file_has_a_test_case(self):
        for text in ("", "// TEST_CASE(1)\nCHECK(1);\n", 'auto x = "TEST_CASE(1)"; CHECK(1);\n'):
            with self.subTest(text):
                self.refuses({HEADER: "", TEST: text}, f"{TEST}:1: has no TEST_CASE")

    def test_a_test_file_asserts_something(self):
        self.refuses({HEADER: "", TEST: 'TEST_CASE("a") { /* CHECK(1) */ CHECKED(1); }\n'},
                     f"{TEST}:1: neither CHECK nor REQUIRE")

    def test_all_forms_of_cases_and_assertions_count(self):
        for case in ('TEST_CASE("a")', 'TEST_CASE_FIXTURE(f, "a")', 'TEST_CASE_TEMPLATE("a", T, int)'):
            for assertion in ("CHECK(a)", "REQUIRE(a)", "CHECK_EQ(a, b)", "REQUIRE_THROWS_AS(a, b)"):
                with self.subTest(case=case, assertion=assertion):
                    self.accepts({HEADER: "", TEST: f"{case} {{ {assertion}; }}\n"})

    def test_a_reasoned_exception_is_accepted(self):
        self.accepts({HEADER: "", EXCEPTIONS: f"# why\n{HEADER} macros only, seen in every other test\n"})
        self.accepts({TEST: "", EXCEPTIONS: f"{HEADER} compiling it is the test\n"})
        self.accepts({TEST: 'TEST_CASE("a") {}\n', EXCEPTIONS: f"{HEADER} compiling it is the test\n"})

    def test_an_exception_needs_a_reason_and_a_need(self):
        self.refuses({HEADER: "", EXCEPTIONS: f"{HEADER}\n"}, f"{EXCEPTIONS}:1: gives no reason")
        self.refuses({TEST: GOOD, EXCEPTIONS: f"{HEADER} a reason\n"}, f"{EXCEPTIONS}:1: delete it")


if __name__ == "__main__":
    unittest.main()
