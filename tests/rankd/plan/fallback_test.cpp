// tests/rankd/plan/fallback_test.cpp: the failures that patterns stand for.
#include <rankd/plan/fallback.hpp>

#include <algorithm>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("a pattern stands for one code, or for all that begin with what is before its star") {
  CHECK(stands_for("store_timeout", "store_timeout"));
  CHECK_FALSE(stands_for("store_time", "store_timeout"));
  CHECK(stands_for("store_*", "store_timeout"));
  CHECK_FALSE(stands_for("store_*", "node_timeout"));
  CHECK(stands_for("*", "node_timeout"));
  CHECK_FALSE(stands_for("", "node_timeout"));
}

TEST_CASE("only failures that are known are found") {
  CHECK(find_failure({"*"}, "null_value", node_failure_codes()) == "null_value");
  CHECK_FALSE(find_failure({"*"}, "budget_exceeded", node_failure_codes()));
  CHECK_FALSE(find_failure({"*"}, "deadline_exceeded", node_failure_codes()));
  CHECK(find_failure({"store_*", "deadline_*"}, "deadline_exceeded", plan_failure_codes()) == "deadline_exceeded");
  CHECK_FALSE(find_failure({"store_*"}, "null_value", plan_failure_codes()));
  CHECK(std::ranges::is_sorted(node_failure_codes()));
  CHECK(std::ranges::is_sorted(plan_failure_codes()));
}

TEST_CASE("patterns that stand for what is late name time") {
  CHECK(names_time({"null_value", "store_*"}));
  CHECK(names_time({"deadline_exceeded"}));
  CHECK(names_time({"*"}));
  CHECK_FALSE(names_time({"null_value", "store_corrupt"}));
}
