// tests/coro/async_event_test.cpp: an event that tasks of several homes wait for.
#include <braid/coro/synchronization.hpp>

#include <braid/coro/schedule_on.hpp>
#include <braid/coro/task.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/scripted_home.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::scripted_home;

TEST_CASE("set wakes each waiter at its own home, in the order in which they came") {
  scripted_home one;
  scripted_home two;
  async_event happened;
  std::string order;
  auto waiter = [&](char name) -> task<void> {
    co_await happened;
    order += name;
  };
  one.root().spawn(waiter('a'));
  two.root().spawn(waiter('b'));
  one.root().spawn(waiter('c'));
  CHECK_FALSE(happened.is_set());
  happened.set();
  CHECK(happened.is_set());
  CHECK(order.empty());
  one.run_all();
  CHECK(order == "ac");
  two.run_all();
  CHECK(order == "acb");
}

TEST_CASE("a reset makes later tasks wait, and not those that were released") {
  scripted_home where;
  async_event happened;
  int passed = 0;
  auto waiter = [&]() -> task<void> {
    co_await happened;
    ++passed;
  };
  where.root().spawn(waiter());
  happened.set();
  happened.reset();
  where.root().spawn(waiter());
  where.run_all();
  CHECK(passed == 1);
  happened.set();
  where.root().spawn(waiter());
  CHECK(passed == 2);
  where.run_all();
  CHECK(passed == 3);
}

TEST_CASE("a stopped waiter leaves the queue, and one that was released before goes on to its next wait") {
  scripted_home where;
  async_event first;
  async_event never;
  deaths seen;
  bool went_on = false;
  auto waiter = [&](async_event& waits_for) -> task<void> {
    const mortal local(seen);
    co_await waits_for;
    went_on = true;
    co_await never;
    went_on = false;
  };
  where.root().spawn(waiter(never));
  where.root().spawn(waiter(first));
  where.elsewhere([&] { first.set(); });
  where.root().request_stop();
  where.run_all();
  CHECK(went_on);
  CHECK(seen.count == 2);
  never.set();
  CHECK_FALSE(where.has_work());
}

TEST_CASE("a task that is away comes home to wait") {
  scripted_home where;
  testing::manual_executor there;
  async_event happened;
  bool at_home = false;
  auto body = [&]() -> task<void> {
    co_await schedule_on(there);
    co_await happened;
    at_home = where.is_current();
  };
  where.root().spawn(body());
  where.elsewhere([&] { there.run(); });
  where.run_all();
  where.elsewhere([&] { happened.set(); });
  where.run_all();
  CHECK(at_home);
}

TEST_CASE("an endless run of ready awaits lets the other tasks of the home go on") {
  scripted_home where;
  async_event ready;
  ready.set();
  bool ended = false;
  int rounds = 0;
  auto greedy = [&]() -> task<void> {
    while (!ended) {
      co_await ready;
      ++rounds;
    }
  };
  auto other = [&]() -> task<void> {
    ended = true;
    co_return;
  };
  where.root().spawn(greedy());
  CHECK(rounds > 0);
  CHECK(rounds <= 2 * detail::ready_awaits_in_succession);
  where.root().spawn(other());
  where.run_all();
  CHECK(where.root().tasks() == 0);
}

TEST_CASE("a waiter may destroy the event that it waited for") {
  scripted_home where;
  auto happened = std::make_unique<async_event>();
  auto waiter = [&]() -> task<void> {
    co_await *happened;
    happened.reset();
  };
  where.root().spawn(waiter());
  happened->set();
  where.run_all();
  CHECK(happened == nullptr);
}
