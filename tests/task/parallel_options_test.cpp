// tests/task/parallel_options_test.cpp: how large chunks are.
#include <braid/task/parallel_options.hpp>

#include <braid/task/detail/parallel_range.hpp>

#include <doctest/doctest.h>

#include <cstddef>

TEST_CASE("a grain that was given counts, another one depends on the number of elements alone") {
  using braid::detail::choose_grain;
  CHECK(choose_grain(1'000'000, {.grain = 3}) == 3);
  CHECK(choose_grain(10, {}) == 1);
  CHECK(choose_grain(1280, {}) == 10);
  CHECK(choose_grain(std::size_t{1} << 40U, {}) == 512);
}
