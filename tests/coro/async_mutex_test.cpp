// tests/coro/async_mutex_test.cpp: a lock that is held across waits.
#include <braid/coro/synchronization.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>

#include <tests/support/scripted_home.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using namespace braid;
using testing::scripted_home;

TEST_CASE("one task at a time holds it, in the order in which they came") {
  scripted_home one;
  scripted_home two;
  async_mutex mutex;
  std::string order;
  auto user = [&](char name) -> task<void> {
    const auto held = co_await mutex.lock();
    order += name;
    co_await yield();
    order += name;
  };
  one.root().spawn(user('a'));
  two.root().spawn(user('b'));
  one.root().spawn(user('c'));
  CHECK(mutex.is_locked());
  CHECK_FALSE(mutex.try_lock());
  for (int i = 0; i < 3; ++i) {
    two.run_all();
    one.run_all();
  }
  CHECK(order == "aabbcc");
  CHECK_FALSE(mutex.is_locked());
}

TEST_CASE("an exception gives it back, and so does a stop") {
  scripted_home where;
  async_mutex mutex;
  auto fails = [&]() -> task<void> {
    const auto held = co_await mutex.lock();
    throw std::runtime_error("held");
  };
  auto body = [&]() -> task<void> { CHECK((co_await as_outcome(fails())).has_exception()); };
  where.root().spawn(body());
  CHECK_FALSE(mutex.is_locked());
  auto holds = [&]() -> task<void> {
    const auto held = co_await mutex.lock();
    co_await yield();
    co_await yield();
  };
  where.root().spawn(holds());
  CHECK(mutex.is_locked());
  where.root().request_stop();
  where.run_all();
  CHECK_FALSE(mutex.is_locked());
}

TEST_CASE("a guard can be given back early") {
  async_mutex mutex;
  auto held = mutex.try_lock();
  REQUIRE(held);
  CHECK(mutex.is_locked());
  held->release();
  CHECK_FALSE(mutex.is_locked());
}

TEST_CASE("a task whose budget is used up yields without the lock") {
  scripted_home where;
  async_mutex mutex;
  int entered = 0;
  auto user = [&]() -> task<void> {
    for (int i = 0; i < detail::ready_awaits_in_succession + 1; ++i) {
      const auto held = co_await mutex.lock();
      ++entered;
    }
  };
  where.refill_budget();
  where.root().spawn(user());
  CHECK(entered == detail::ready_awaits_in_succession);
  CHECK(where.has_work());  // it goes on behind the others
  CHECK_FALSE(mutex.is_locked());
  {
    const auto other = mutex.try_lock();
    CHECK(other);
    where.run_all();  // now it waits for the other one
    CHECK(entered == detail::ready_awaits_in_succession);
  }
  where.run_all();
  CHECK(entered == detail::ready_awaits_in_succession + 1);
  CHECK_FALSE(mutex.is_locked());
}

TEST_CASE("tasks of one home that lock often do not hand the lock to each other") {
  scripted_home where;
  async_mutex mutex;
  constexpr int times = 10 * detail::ready_awaits_in_succession;
  int running = 2;
  int rounds = 0;
  auto user = [&]() -> task<void> {
    for (int i = 0; i < times; ++i) const auto held = co_await mutex.lock();
    --running;
  };
  auto counter = [&]() -> task<void> {
    while (running != 0) {
      ++rounds;
      co_await yield();
    }
  };
  where.refill_budget();
  where.root().spawn(user());
  where.root().spawn(user());
  where.root().spawn(counter());
  where.run_all();
  CHECK(rounds <= 11);  // a yield after each budget; with a hand-over for each lock, more than a thousand
}

TEST_CASE("a task that is stopped while it yields takes no lock") {
  scripted_home where;
  async_mutex mutex;
  bool went_on = false;
  auto user = [&]() -> task<void> {
    for (int i = 0; i < detail::ready_awaits_in_succession + 1; ++i) const auto held = co_await mutex.lock();
    went_on = true;
  };
  where.refill_budget();
  where.root().spawn(user());
  where.root().request_stop();
  where.run_all();
  CHECK_FALSE(went_on);
  CHECK_FALSE(mutex.is_locked());
  CHECK(where.root().tasks() == 0);
}
