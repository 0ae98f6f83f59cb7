// tests/coro/async_barrier_test.cpp: tasks that wait for each other in phases.
#include <braid/coro/synchronization.hpp>

#include <braid/coro/task.hpp>

#include <tests/support/scripted_home.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace braid;
using testing::scripted_home;

TEST_CASE("nobody begins a phase before all have ended the one before") {
  scripted_home one;
  scripted_home two;
  async_barrier barrier(3);
  std::string order;
  auto member = [&](char name) -> task<void> {
    for (int phase = 0; phase < 3; ++phase) {
      order += static_cast<char>(name + phase);
      co_await barrier.arrive_and_wait();
    }
  };
  one.root().spawn(member('a'));
  two.root().spawn(member('a'));
  one.root().spawn(member('a'));
  for (int i = 0; i < 3; ++i) {
    two.run_all();
    one.run_all();
  }
  CHECK(order == "aaabbbccc");
  CHECK(one.root().tasks() == 0);
  CHECK(two.root().tasks() == 0);
}

TEST_CASE("who drops out is not expected again") {
  scripted_home where;
  async_barrier barrier(2);
  int phases = 0;
  auto member = [&]() -> task<void> {
    for (; phases < 5; ++phases) co_await barrier.arrive_and_wait();
  };
  where.root().spawn(member());
  where.run_all();
  CHECK(phases == 0);
  barrier.arrive_and_drop();
  where.run_all();
  CHECK(phases == 5);
}

TEST_CASE("a task that is stopped while it waits has arrived all the same") {
  scripted_home where;
  scripted_home other;
  async_barrier barrier(2);
  bool passed = false;
  auto member = [&](bool& to) -> task<void> {
    co_await barrier.arrive_and_wait();
    to = true;
  };
  bool stopped_passed = false;
  other.root().spawn(member(stopped_passed));
  other.root().request_stop();
  other.run_all();
  where.root().spawn(member(passed));
  where.run_all();
  CHECK(passed);
  CHECK_FALSE(stopped_passed);
}

TEST_CASE("a barrier for one holds nobody") {
  scripted_home where;
  async_barrier barrier(1);
  int phases = 0;
  auto member = [&]() -> task<void> {
    for (; phases < 5; ++phases) co_await barrier.arrive_and_wait();
  };
  where.root().spawn(member());
  where.run_all();
  CHECK(phases == 5);
}

TEST_CASE("a task whose budget is used up has arrived before it yields") {
  scripted_home where;
  async_barrier alone(1);
  async_barrier barrier(2);
  auto uses_up = [&]() -> task<void> {
    for (int i = 0; i < detail::ready_awaits_in_succession; ++i) co_await alone.arrive_and_wait();
    co_await barrier.arrive_and_wait();
  };
  where.refill_budget();
  where.root().spawn(uses_up());
  CHECK(where.has_work());
  where.root().request_stop();
  where.run_all();
  CHECK(where.root().tasks() == 0);
  bool passed = false;
  scripted_home other;
  auto member = [&]() -> task<void> {
    co_await barrier.arrive_and_wait();
    passed = true;
  };
  other.root().spawn(member());
  CHECK(passed);
}
