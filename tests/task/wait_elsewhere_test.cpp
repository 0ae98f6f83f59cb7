// tests/task/wait_elsewhere_test.cpp: one thread starts work and another waits for it, on a machine that grants one
// CPU. oneTBB#2056: with a quota of one CPU there is no worker, and the wait on the other thread never ends.
#include <braid/task/fork_join.hpp>
#include <braid/task/future.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <tests/support/chosen_pool.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <thread>
#include <vector>

using namespace braid;

namespace {

/// Calls it on a thread that is over when this returns.
template <typename Fn>
void on_another_thread(Fn fn) {
  std::jthread other(fn);
}

}  // namespace

TEST_CASE("a future that one thread has got is ready when another one waits for it, with a single worker" *
          testing::needs_threads()) {
  testing::watchdog dog(std::chrono::seconds(200));
  testing::chosen_pool workers({.workers = 1});
  std::optional<future<int>> work;
  on_another_thread([&] { work = spawn(workers, [] { return 7; }); });
  int got = 0;
  on_another_thread([&] { got = work->get(); });
  CHECK(got == 7);
}

TEST_CASE("work that waits for work of the same single worker ends, whichever thread waits for it" *
          testing::needs_threads()) {
  testing::watchdog dog(std::chrono::seconds(200));
  testing::chosen_pool workers({.workers = 1});
  std::optional<future<int>> work;
  on_another_thread([&] {
    work = spawn(workers, [&workers] {
      auto inner = spawn(workers, [] { return 3; });
      const auto [left, right] = fork_join([] { return 1; }, [] { return 2; });
      return inner.get() + left + right;
    });
  });
  int got = 0;
  on_another_thread([&] { got = work->get(); });
  CHECK(got == 6);
}

TEST_CASE("a group in a pool of one worker ends, and so does a loop that a thread outside begins" *
          testing::needs_threads()) {
  testing::watchdog dog(std::chrono::seconds(200));
  testing::chosen_pool workers({.workers = 1});
  int counted = 0;
  on_another_thread([&] {
    run_in(workers, [&counted] {
      task_group group;
      for (int i = 0; i < 10; ++i) group.run([&counted] { ++counted; });
      or_throw(group.wait());
    });
  });
  CHECK(counted == 10);
  std::vector<int> squares(100);
  on_another_thread([&] { parallel_for(0, 100, [&squares](int i) { squares[static_cast<std::size_t>(i)] = i * i; }); });
  CHECK(squares.back() == 99 * 99);
}
