// tests/task/default_pool_test.cpp: threads that are no workers get the pool of the process, or the program's own.
#include <braid/task/detail/default_pool.hpp>

#include <braid/task/fork_join.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <system_error>
#include <thread>

namespace {

auto own_pool() -> braid::pool& {
  static braid::pool only({.workers = 1, .name = "own"});
  return only;
}

/// Puts back what was there.
struct restored {
  ~restored() { braid::detail::set_default_pool(before); }
  braid::detail::default_pool_source before;
};

}  // namespace

TEST_CASE("the pool of the process is one and the same") {
  braid::pool& first = braid::detail::default_pool();
  CHECK(&first == &braid::detail::default_pool());
  CHECK(braid::run_in(first, [&] { return first.is_current(); }));
}

TEST_CASE("a program may give another one") {
  const restored at_end{braid::detail::set_default_pool(&own_pool)};
  CHECK(&braid::detail::default_pool() == &own_pool());
  const auto [left, right] = braid::fork_join([] { return own_pool().is_current(); }, [] { return 1; });
  CHECK(left);
  CHECK(right == 1);
}

TEST_CASE("where nobody gives one, that is an error") {
  const restored at_end{braid::detail::set_default_pool(nullptr)};
  CHECK_THROWS_AS(static_cast<void>(braid::detail::default_pool()), std::system_error);
  CHECK_THROWS_AS(braid::fork_join([] {}, [] {}), std::system_error);
}
