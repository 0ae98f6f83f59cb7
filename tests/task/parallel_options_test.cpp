// tests/task/parallel_options_test.cpp: how large chunks are.
#include <braid/task/parallel_options.hpp>

#include <braid/task/detail/parallel_range.hpp>

#include <doctest/doctest.h>

#include <cstddef>

TEST_CASE("a grain that was given counts, another one depends on the number of elements alone") {
  using braid::detail::grain_of;
  CHECK(grain_of(1'000'000, {.grain = 3}) == 3);
  CHECK(grain_of(10, {}) == 1);
  CHECK(grain_of(1280, {}) == 10);
  CHECK(grain_of(std::size_t{1} << 40U, {}) == 512);
}
