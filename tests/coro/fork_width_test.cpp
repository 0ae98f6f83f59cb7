// tests/coro/fork_width_test.cpp: coroutines that fork leave no worker without a leaf while one is left.
#include <braid/coro/fork_task.hpp>

#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/rounds.hpp>

#include <cstddef>
#include <functional>
#include <ranges>

using braid::fork_task;
using braid::pool;
using braid::testing::rounds;

namespace {

auto tree(rounds& all, std::size_t first, std::size_t last) -> fork_task<void> {
  if (last - first == 1) {
    all.leaf();
    co_return;
  }
  const std::size_t middle = first + (last - first) / 2;
  co_await braid::fork_join(tree(all, first, middle), tree(all, middle, last));
}

auto leaf(rounds& all) -> fork_task<void> {
  all.leaf();
  co_return;
}

auto loop(rounds& all, std::size_t /*first*/, std::size_t count) -> fork_task<void> {
  auto child = [&all](std::size_t) { return leaf(all); };
  co_await braid::fork_each(std::views::iota(std::size_t{0}, count), std::ref(child));
}

using form = fork_task<void> (*)(rounds&, std::size_t first, std::size_t last);

void check_width(form run, std::size_t workers, std::size_t each) {
  rounds all(workers);
  pool on({.workers = static_cast<unsigned>(workers)});
  braid::run_in(on, run(all, 0, workers * each));
  CHECK(all.begun() == workers * each);
  CHECK_FALSE(all.gave_up());
}

}  // namespace

TEST_CASE("a tree of coroutines keeps all workers at work") {
  for (const std::size_t each : {1U, 4U, 16U}) check_width(tree, 8, each);
  check_width(tree, 32, 1);
}

TEST_CASE("a loop of coroutines keeps all workers at work") {
  for (const std::size_t each : {1U, 4U, 16U}) check_width(loop, 8, each);
  check_width(loop, 32, 1);
}
