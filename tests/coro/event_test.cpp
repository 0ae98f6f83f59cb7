// tests/coro/event_test.cpp: tasks that wait for something that happens once.
#include <braid/coro/synchronization.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::test_loop;

TEST_CASE("waiters go on after set, in the order in which they came, and not inside of set") {
  test_loop here;
  event happened;
  std::vector<int> order;
  auto waiter = [&](int number) -> task<void> {
    co_await happened;
    order.push_back(number);
  };
  for (int i = 0; i < 100; ++i) here.io().spawn(waiter(i));
  here.run_once();
  CHECK(order.empty());
  CHECK_FALSE(happened.is_set());
  happened.set();
  CHECK(happened.is_set());
  CHECK(order.empty());
  here.run_once();
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("nobody waits for what has happened") {
  test_loop here;
  event happened;
  happened.set();
  happened.set();
  int count = 0;
  auto body = [&]() -> task<void> {
    for (int i = 0; i < 1000; ++i) {
      co_await happened;
      ++count;
    }
  };
  here.io().spawn(body());
  CHECK(count == 1000);
}

TEST_CASE("a stopped waiter leaves the event, and the others still wait") {
  test_loop here;
  event happened;
  deaths seen;
  bool went_on = false;
  auto waiter = [&]() -> task<void> {
    const mortal local(seen);
    co_await happened;
    went_on = true;
  };
  bool other_went_on = false;
  auto other = [&]() -> task<void> {
    co_await happened;
    other_went_on = true;
  };
  auto owner = [&]() -> task<void> {
    scope inside(here.io().root());
    inside.spawn(waiter());
    inside.request_stop();
    co_await inside.join();
  };
  here.io().spawn(other());
  here.io().spawn(owner());
  here.run_once();
  CHECK(seen.count == 1);
  CHECK_FALSE(went_on);
  happened.set();
  here.run_once();
  CHECK(other_went_on);
  CHECK_FALSE(went_on);
}

TEST_CASE("a stop after set comes too late for this wait, and in time for the next") {
  test_loop here;
  event happened;
  event never;
  bool went_on = false;
  deaths seen;
  auto waiter = [&]() -> task<void> {
    const mortal local(seen);
    co_await happened;
    went_on = true;
    co_await never;
    went_on = false;
  };
  here.io().spawn(waiter());
  happened.set();
  here.io().root().request_stop();
  here.run_once();
  CHECK(went_on);
  CHECK(seen.count == 1);
}

TEST_CASE("a waiter may set another event, and destroy the one it waited for") {
  test_loop here;
  auto first = std::make_unique<event>();
  event second;
  bool done = false;
  auto one = [&]() -> task<void> {
    co_await *first;
    first.reset();
    second.set();
  };
  auto two = [&]() -> task<void> {
    co_await second;
    done = true;
  };
  here.io().spawn(two());
  here.io().spawn(one());
  first->set();
  here.run_once();
  CHECK(done);
}
