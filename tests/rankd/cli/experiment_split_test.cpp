// tests/rankd/cli/experiment_split_test.cpp: the test of a split, and the units that it counts.
#include <rankd/cli/experiments/experiment_split.hpp>

#include <cmath>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("a split that is uneven is found") {
  CHECK(test_split({500, 500}, {0.5, 0.5}, 1000).p_value == doctest::Approx(1));
  const split_test off = test_split({60, 40}, {0.5, 0.5}, 100);
  CHECK(off.chi_squared == doctest::Approx(4));
  CHECK(off.degrees == 1);
  CHECK(off.p_value == doctest::Approx(0.0455003).epsilon(1e-5));
  CHECK(off.largest_deviation == doctest::Approx(2));
  CHECK(off.is_fair());
  CHECK(test_split({30, 30, 40}, {0.3, 0.3, 0.4}, 100).p_value == doctest::Approx(1));
  CHECK(test_split({20, 30, 50}, {0.3, 0.3, 0.4}, 100).p_value == doctest::Approx(std::exp(-(100.0 / 30 + 2.5) / 2)));
  CHECK(!test_split({600, 400}, {0.5, 0.5}, 1000).is_fair());
  CHECK(test_split({100}, {1}, 100).is_fair());
}
