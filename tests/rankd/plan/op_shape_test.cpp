// tests/rankd/plan/op_shape_test.cpp: finding the shape of an operator.
#include <rankd/plan/op_shape.hpp>
#include <tests/rankd/plan/shapes.hpp>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("an operator is found by its whole name") {
  REQUIRE(testing::ops.find("core::take") != nullptr);
  CHECK(testing::ops.find("core::take")->inputs == 1);
  CHECK(testing::ops.find("core::tak") == nullptr);
  CHECK(testing::ops.find("") == nullptr);
}

TEST_CASE("the names come in the order of the table") {
  const auto names = testing::ops.names();
  REQUIRE(names.size() == testing::shapes.size());
  CHECK(names.front() == "core::viewer");
  CHECK(names.back() == "test::all");
}

TEST_CASE("a param without bounds takes every int64 and every finite double") {
  constexpr param_shape shape{.name = "x"};
  CHECK(shape.range.min == std::numeric_limits<std::int64_t>::min());
  CHECK(shape.range.max == std::numeric_limits<std::int64_t>::max());
  CHECK(shape.floats.max == std::numeric_limits<double>::max());
  CHECK(shape.need == presence::required);
}
