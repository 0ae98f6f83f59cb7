// tests/coro/home_test.cpp: coroutines on a home that is no event loop, to show that they need nothing else.
#include <braid/coro/home.hpp>

#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/scripted_home.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

using namespace braid;
using testing::scripted_home;

static_assert(std::is_base_of_v<executor, home>);
static_assert(std::is_base_of_v<timer_service, home>);

TEST_CASE("sleeps, events and scopes work on anything that queues jobs and fires timers") {
  scripted_home where;
  event happened;
  std::string order;
  auto sleeper = [&]() -> task<void> {
    co_await sleep_for(1ms);
    order += 's';
    happened.set();
  };
  auto waiter = [&]() -> task<void> {
    co_await happened;
    order += 'w';
  };
  auto body = [&]() -> task<void> {
    auto family = [&](scope& children) -> task<void> {
      children.spawn(waiter());
      children.spawn(sleeper());
      co_return;
    };
    co_await with_scope(family);
    order += 'j';
  };
  where.root().spawn(body());
  where.run_all();
  CHECK(order.empty());
  where.clock.advance(2ms);
  where.run_all();
  CHECK(order == "swj");
}

TEST_CASE("a woken task goes on when its home comes to it, also while the home refuses other work") {
  scripted_home where;
  event happened;
  bool went_on = false;
  auto waiter = [&]() -> task<void> {
    co_await happened;
    went_on = true;
  };
  where.root().spawn(waiter());
  where.closed = true;
  happened.set();
  CHECK(where.has_work());
  CHECK_FALSE(went_on);
  where.run_all();
  CHECK(went_on);
}

TEST_CASE("a stop of the root reaches every task of the home") {
  scripted_home where;
  auto sleeper = []() -> task<void> { co_await sleep_for(1h); };
  for (int i = 0; i < 3; ++i) where.root().spawn(sleeper());
  CHECK(where.root().tasks() == 3);
  CHECK(where.has_timers());
  where.root().request_stop();
  CHECK_FALSE(where.has_timers());
  where.run_all();
  CHECK(where.root().tasks() == 0);
}
