// tests/coro/async_semaphore_test.cpp: permits that tasks hold and wait for.
#include <braid/coro/synchronization.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>

#include <tests/support/scripted_home.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

using namespace braid;
using testing::scripted_home;

TEST_CASE("so many tasks hold a permit at once, and not one more") {
  scripted_home where;
  async_semaphore permits(3);
  int inside = 0;
  int max_count = 0;
  int done = 0;
  auto user = [&]() -> task<void> {
    const auto held = co_await permits.acquire();
    max_count = std::max(max_count, ++inside);
    co_await yield();
    --inside;
    ++done;
  };
  for (int i = 0; i < 50; ++i) where.root().spawn(user());
  where.run_all();
  CHECK(max_count == 3);
  CHECK(done == 50);
  CHECK(permits.available() == 3);
}

TEST_CASE("permits are handed out in order, and nobody overtakes those who wait") {
  scripted_home one;
  scripted_home two;
  async_semaphore permits(0);
  std::string order;
  auto user = [&](char name) -> task<void> {
    auto held = co_await permits.acquire();
    order += name;
    held.forget();
  };
  one.root().spawn(user('a'));
  two.root().spawn(user('b'));
  one.root().spawn(user('c'));
  permits.release();
  CHECK_FALSE(permits.try_acquire());
  one.run_all();
  two.run_all();
  CHECK(order == "a");
  permits.release(3);
  CHECK(permits.available() == 1);
  two.run_all();
  one.run_all();
  CHECK(order == "abc");
}

TEST_CASE("a permit moves, is given back once, and can be given back early") {
  async_semaphore permits(2);
  auto first = permits.try_acquire();
  REQUIRE(first);
  async_semaphore::permit moved = std::move(*first);
  CHECK_FALSE(*first);
  CHECK(permits.available() == 1);
  moved.release();
  moved.release();
  CHECK(permits.available() == 2);
  moved = std::move(*permits.try_acquire());
  CHECK(permits.available() == 1);
  moved = std::move(*permits.try_acquire());
  CHECK(permits.available() == 1);
}

TEST_CASE("a stopped waiter leaves the queue, and the permit goes to the next") {
  scripted_home stops;
  scripted_home lives;
  async_semaphore permits(0);
  int got = 0;
  auto user = [&]() -> task<void> {
    const auto held = co_await permits.acquire();
    ++got;
    co_await yield();
    got += 10;
  };
  stops.root().spawn(user());
  lives.root().spawn(user());
  stops.root().request_stop();
  permits.release();
  stops.run_all();
  CHECK(got == 0);
  lives.run_all();
  CHECK(got == 11);
}

TEST_CASE("a waiter that was handed a permit before its stop passes it on when it ends") {
  scripted_home stops;
  scripted_home lives;
  async_semaphore permits(0);
  int got = 0;
  auto user = [&]() -> task<void> {
    const auto held = co_await permits.acquire();
    ++got;
    co_await yield();
    got += 10;
  };
  stops.root().spawn(user());
  lives.root().spawn(user());
  permits.release();
  stops.root().request_stop();
  lives.run_all();
  CHECK(got == 0);
  stops.run_all();
  CHECK(got == 1);
  lives.run_all();
  CHECK(got == 12);
  CHECK(permits.available() == 1);
}

TEST_CASE("a task whose budget is used up yields without a permit") {
  scripted_home where;
  async_semaphore semaphore(2);
  auto user = [&]() -> task<void> {
    for (int i = 0; i < detail::ready_awaits_in_succession + 1; ++i) const auto held = co_await semaphore.acquire();
  };
  where.refill_budget();
  where.root().spawn(user());
  CHECK(where.has_work());
  CHECK(semaphore.available() == 2);
  where.run_all();
  CHECK(where.root().tasks() == 0);
}

TEST_CASE("permits are free again after the last waiter was stopped") {
  scripted_home where;
  async_semaphore semaphore(0);
  auto waits = [&]() -> task<void> { const auto held = co_await semaphore.acquire(); };
  where.root().spawn(waits());
  where.root().request_stop();
  where.run_all();
  CHECK_FALSE(semaphore.try_acquire());
  semaphore.release(3);
  CHECK(semaphore.available() == 3);
  CHECK(semaphore.try_acquire());
}
