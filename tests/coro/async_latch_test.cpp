// tests/coro/async_latch_test.cpp: a count that is waited for.
#include <braid/coro/synchronization.hpp>

#include <braid/coro/task.hpp>

#include <tests/support/child.hpp>
#include <tests/support/scripted_home.hpp>

#include <doctest/doctest.h>

#include <csignal>

using namespace braid;
using testing::scripted_home;

TEST_CASE("tasks wait until the count is down, and not afterwards") {
  scripted_home where;
  async_latch latch(3);
  int passed = 0;
  auto waiter = [&]() -> task<void> {
    co_await latch.wait();
    ++passed;
  };
  where.root().spawn(waiter());
  latch.count_down();
  latch.count_down();
  where.run_all();
  CHECK_FALSE(latch.try_wait());
  CHECK(passed == 0);
  where.elsewhere([&] { latch.count_down(); });
  CHECK(latch.try_wait());
  where.run_all();
  CHECK(passed == 1);
  where.root().spawn(waiter());
  CHECK(passed == 2);
}

TEST_CASE("arrive_and_wait counts and waits") {
  scripted_home one;
  scripted_home two;
  async_latch latch(2);
  int passed = 0;
  auto member = [&]() -> task<void> {
    co_await latch.arrive_and_wait();
    ++passed;
  };
  one.root().spawn(member());
  one.run_all();
  CHECK(passed == 0);
  two.root().spawn(member());
  one.run_all();
  two.run_all();
  CHECK(passed == 2);
}

TEST_CASE("a latch of nothing is open, and one that is counted below ends the program") {
  const async_latch open(0);
  CHECK(open.try_wait());
  const auto end = testing::run_in_child([] {
    async_latch latch(1);
    latch.count_down(2);
  });
  CHECK(end.signal == SIGABRT);
}
