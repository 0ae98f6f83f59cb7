// tests/base/assert_test.cpp: a broken contract ends the process and says what was expected.
#include <braid/base/config.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>

#include <csignal>
#include <string>

using braid::testing::run_in_child;

TEST_CASE("a contract that holds costs nothing but its condition") {
  int evaluated = 0;
  BRAID_EXPECTS(++evaluated == 1, "never seen");
  CHECK(evaluated == 1);
}

TEST_CASE("a broken contract terminates with sentence, condition and place on stderr") {
  const auto end = run_in_child([] {
    const int apples = 3;
    BRAID_EXPECTS(apples == 4, "four apples are needed");
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("braid: four apples are needed\n") != std::string::npos);
  CHECK(end.errors.find("condition: apples == 4\n") != std::string::npos);
  CHECK(end.errors.find("assert_test.cpp:") != std::string::npos);
}

namespace braid_test {

/// Nobody exports it, so the dynamic linker does not know its name.
[[gnu::noinline]] static void breaks_a_contract(int apples) {
  BRAID_EXPECTS(apples == 4, "four apples are needed");
  asm volatile("" : : : "memory");
}

}  // namespace braid_test

TEST_CASE("the stack of a broken contract names the program's functions") {
  const auto end = run_in_child([] { braid_test::breaks_a_contract(3); });
  CHECK(end.signal == SIGABRT);
  const std::size_t stack = end.errors.find("called from:\n");
  REQUIRE(stack != std::string::npos);
  CHECK(end.errors.find("braid_test::breaks_a_contract(int)\n", stack) != std::string::npos);
}

TEST_CASE("an internal assertion is checked in checked builds, and elsewhere not even evaluated") {
  bool evaluated = false;
  BRAID_ASSERT((evaluated = true), "never seen");
  const auto end = run_in_child([] { BRAID_ASSERT(2 + 2 == 5, "sums are right"); });
#if defined(BRAID_CHECKED)
  CHECK(evaluated);
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("sums are right") != std::string::npos);
#else
  CHECK_FALSE(evaluated);
  CHECK(end.signal == 0);
  CHECK(end.errors.empty());
#endif
}
