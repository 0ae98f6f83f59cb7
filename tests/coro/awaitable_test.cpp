// tests/coro/awaitable_test.cpp: anything that can be awaited becomes a task, and takes part where tasks do.
#include <braid/coro/spawn.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/loop.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/pipes.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

using namespace braid;
using testing::ends;
using testing::test_loop;

namespace {

auto give(int value) -> task<int> { co_return value; }

static_assert(awaitable<task<int>> && std::same_as<braid::detail::await_result_t<task<int>>, int>);
static_assert(awaitable<event&> && !braid::detail::awaitable_work<int> && !awaitable<int>);
static_assert(std::same_as<braid::detail::await_result_t<future<int>>, int>);
static_assert(std::same_as<decltype(as_task(give(1))), task<int>>);

}  // namespace

TEST_CASE("a value of a channel, a sleep and a task come together") {
  test_loop here;
  channel<int> numbers(1);
  auto body = [&]() -> task<int> {
    auto all = when_all(numbers.receive(), sleep_for(1ms), give(2));
    const auto [received, slept, given] = co_await std::move(all);
    static_assert(std::same_as<decltype(received), const std::optional<int>>);
    static_assert(std::same_as<decltype(slept), const std::monostate>);
    co_return received.value() + given;
  };
  auto sends = [&]() -> task<void> {
    co_await sleep_for(2ms);
    static_cast<void>(co_await numbers.send(40));
  };
  here.io().spawn(sends());
  CHECK(here.run_through(body(), 100us).take() == 42);
}

TEST_CASE("of a descriptor, a value and a sleep the first wins, and the others leave") {
  test_loop here;
  const ends pipe = ends::of_pipe();
  channel<int> numbers(1);
  auto body = [&](bool writes) -> task<std::size_t> {
    if (writes) testing::write_byte(pipe.second);
    auto any = when_any(readable(here.io(), pipe.first.number()), numbers.receive(), sleep_for(1h));
    const auto first = co_await std::move(any);
    co_return first.index;
  };
  CHECK(here.run(body(true)).take() == 0);
  testing::read_byte(pipe.first);
  CHECK(numbers.try_send(1).has_value());
  CHECK(here.run(body(false)).take() == 1);
  CHECK(numbers.try_send(7).has_value());
  CHECK(numbers.try_receive() == 7);
}

TEST_CASE("whatever is awaited can be given a time, and has left when that is over") {
  test_loop here;
  const ends pipe = ends::of_pipe();
  channel<int> numbers(1);
  async_mutex lock;
  async_event happened;
  event at_home;
  promise<int> never;
  auto later = never.get_future();
  int over = 0;
  auto body = [&]() -> task<void> {
    auto check = [&over](auto limited) -> task<void> {
      const auto late = co_await std::move(limited);
      if (!late && late.error() == errc::deadline_exceeded) ++over;
    };
    auto held = co_await lock.lock();
    co_await check(with_timeout(1ms, readable(here.io(), pipe.first.number())));
    co_await check(with_timeout(1ms, numbers.receive()));
    co_await check(with_timeout(1ms, lock.lock()));
    co_await check(with_timeout(1ms, happened));
    co_await check(with_timeout(1ms, at_home));
    co_await check(with_timeout(1ms, std::move(later)));
    co_await check(with_timeout(1ms, sleep_for(1h)));
    co_await check(with_deadline(here.now() + 1ms, [&] { return numbers.receive(); }));
  };
  static_cast<void>(here.run_through(body(), 100us).take());
  CHECK(over == 8);
}

TEST_CASE("an awaitable that is moved into a task lives there, also when it is awaited much later") {
  test_loop here;
  testing::manual_executor where;
  auto number = std::make_unique<int>(5);
  auto body = [&]() -> task<int> {
    task<int> held = as_task(offload(where, [n = std::move(number)] { return *n; }));
    task<void> slept = as_task(sleep_for(1ms));
    co_await std::move(slept);
    co_return co_await std::move(held);
  };
  outcome<int> ended;
  auto watched = [&]() -> task<void> { ended = co_await as_outcome(body()); };
  here.io().spawn(watched());
  here.advance(2ms);
  REQUIRE(where.pending() == 1);
  where.run();
  here.run_once();
  CHECK(ended.take() == 5);
}

TEST_CASE("what cannot be moved comes as a function that gives it") {
  test_loop here;
  auto body = [&]() -> task<std::size_t> {
    auto any = when_any([] { return yield(); }, sleep_for(1h));
    const auto first = co_await std::move(any);
    co_return first.index;
  };
  CHECK(here.run(body()).take() == 0);
}

TEST_CASE("a stop ends what was made a task as it ends a task") {
  test_loop here;
  channel<int> numbers(1);
  testing::deaths seen;
  auto body = [&]() -> task<void> {
    const testing::mortal local(seen);
    auto both = when_all(numbers.receive(), sleep_for(1h));
    co_await std::move(both);
  };
  here.io().spawn(body());
  here.run_once();
  here.io().root().request_stop();
  here.run_once();
  CHECK(seen.count == 1);
  CHECK(numbers.try_send(3).has_value());
}
