// tests/coro/yield_test.cpp: tasks that let others go first.
#include <braid/coro/sleep.hpp>

#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/scripted_home.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::scripted_home;
using testing::test_loop;

TEST_CASE("tasks that yield take turns") {
  scripted_home where;
  std::string order;
  auto writer = [&](char name) -> task<void> {
    for (int i = 0; i < 3; ++i) {
      order += name;
      co_await yield();
    }
  };
  where.root().spawn(writer('a'));
  where.root().spawn(writer('b'));
  where.run_all();
  CHECK(order == "ababab");
}

TEST_CASE("a stopped task ends where it yields, and one that has yielded goes on once more") {
  test_loop here;
  deaths seen;
  int rounds = 0;
  auto endless = [&]() -> task<void> {
    const mortal local(seen);
    while (true) {
      ++rounds;
      co_await yield();
    }
  };
  here.io().spawn(endless());
  here.io().root().request_stop();
  here.run_once();
  CHECK(seen.count == 1);
  CHECK(rounds == 2);
}

TEST_CASE("a task without a home goes on at once") {
  auto body = []() -> task<int> {
    co_await yield();
    co_return 3;
  };
  CHECK(sync_wait(body()) == 3);
}

TEST_CASE("two tasks that wake each other for ever delay a third by one step each") {
  scripted_home where;
  int steps = 0;
  int steps_before_third = -1;
  auto drain_of_first = std::make_unique<event>();
  auto drain_of_second = std::make_unique<event>();
  auto player = [&](std::unique_ptr<event>& mine, std::unique_ptr<event>& other) -> task<void> {
    while (steps < 1000) {
      co_await *mine;
      mine = std::make_unique<event>();
      ++steps;
      other->set();
    }
  };
  auto third = [&]() -> task<void> {
    co_await yield();
    steps_before_third = steps;
  };
  where.root().spawn(player(drain_of_first, drain_of_second));
  where.root().spawn(player(drain_of_second, drain_of_first));
  drain_of_first->set();
  where.root().spawn(third());
  where.run_all();
  CHECK(steps >= 1000);
  CHECK(steps_before_third >= 0);
  CHECK(steps_before_third <= 2);
  where.root().request_stop();
  where.run_all();
}
