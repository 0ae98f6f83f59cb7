// tests/rankd/server/histogram_test.cpp: times in their classes.
#include <rankd/server/metrics/histogram.hpp>

#include <chrono>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

TEST_CASE_TEMPLATE("times are counted in the class whose bound they do not exceed", histogram, request_histogram,
                   part_histogram) {
  constexpr std::size_t all = histogram::bounds.size();
  for (std::size_t at = 0; at < all; ++at) {
    const auto bound =
        std::chrono::round<std::chrono::nanoseconds>(std::chrono::duration<double>(histogram::bounds[at]));
    histogram times;
    times.add(bound);
    times.add(bound + 1ns);
    CHECK(times.up_to(at) == 1);
    CHECK(times.up_to(at + 1) == 2);
    if (at > 0) CHECK(times.up_to(at - 1) == 0);
    CHECK(times.seconds() == doctest::Approx(2 * histogram::bounds[at]).epsilon(0.001));
    histogram twice = times;
    twice.add(times);
    CHECK(twice.up_to(all) == 4);
    CHECK(twice.seconds() == doctest::Approx(2 * times.seconds()));
  }
}
