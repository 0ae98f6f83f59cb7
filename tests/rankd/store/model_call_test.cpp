// tests/rankd/store/model_call_test.cpp: where a score stands among those of other rows.
#include <rankd/store/model_call.hpp>

#include <array>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("scores stand one after the other for all rows") {
  constexpr std::array values{1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
  const score_batch two{.values = values, .scores = 2};
  CHECK(two.rows() == 3);
  CHECK(two.at(0, 0) == 1);
  CHECK(two.at(2, 0) == 3);
  CHECK(two.at(0, 1) == 4);
  CHECK(two.at(2, 1) == 6);
  CHECK(score_batch{.values = {}, .scores = 1}.rows() == 0);
}
