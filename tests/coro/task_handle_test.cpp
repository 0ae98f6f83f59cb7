// tests/coro/task_handle_test.cpp: a spawned task is awaited, stopped and forgotten by its handle.
#include <braid/coro/task_handle.hpp>

#include <braid/coro/event.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/looping_threads.hpp>
#include <tests/support/scripted_home.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::test_loop;

namespace {

auto give_after(duration span, int value) -> task<int> {
  co_await sleep_for(span);
  co_return value;
}

auto fail_after(duration span) -> task<int> {
  co_await sleep_for(span);
  throw std::runtime_error("thrown");
}

auto hold_for(duration span, mortal /*local*/) -> task<void> { co_await sleep_for(span); }

auto code_of(const outcome<int>& ended) -> std::error_code {
  try {
    std::rethrow_exception(ended.exception());
  } catch (const std::system_error& thrown) {
    return thrown.code();
  }
}

}  // namespace

TEST_CASE("a handle gives the value, what was thrown, or that it was stopped") {
  test_loop here;
  auto body = [&]() -> task<int> {
    scope& around = co_await this_scope();
    auto gives = spawn(around, give_after(1ms, 40));
    auto fails = spawn(around, fail_after(2ms));
    auto stops = spawn(around, give_after(1h, 0));
    CHECK_FALSE(stops.is_done());
    stops.request_stop();
    stops.request_stop();
    const outcome<int> stopped = co_await std::move(stops).ended();
    CHECK(stopped.is_stopped());
    const outcome<int> failed = co_await std::move(fails).ended();
    CHECK(failed.has_exception());
    CHECK(gives.is_done());
    const int value = co_await std::move(gives);
    auto ready = spawn(around, give_after(0s, 2));
    co_await sleep_for(1ms);
    CHECK(ready.is_done());
    co_return value + co_await std::move(ready);
  };
  CHECK(here.run_through(body(), 100us).take() == 42);
}

TEST_CASE("the value of a task that gives one in spite of its stop counts") {
  test_loop here;
  event asked;
  auto stubborn = [&]() -> task<int> {
    outcome<int> cut = co_await as_outcome(give_after(1h, 0));
    co_return cut.is_stopped() ? 7 : 0;
  };
  auto body = [&]() -> task<int> {
    scope& around = co_await this_scope();
    auto handle = spawn(around, stubborn());
    handle.request_stop();
    co_return co_await std::move(handle);
  };
  CHECK(here.run(body()).take() == 7);
}

TEST_CASE("a stop by the handle reaches what the task has spawned, and nobody else") {
  deaths stopped;
  deaths others;
  test_loop here;
  auto family = [&]() -> task<int> {
    scope& own = co_await this_scope();
    own.spawn(hold_for(1h, mortal(stopped)));
    auto limited = with_timeout(1h, hold_for(1h, mortal(stopped)));
    static_cast<void>(co_await std::move(limited));
    co_return 1;
  };
  auto body = [&]() -> task<void> {
    scope& around = co_await this_scope();
    around.spawn(hold_for(1h, mortal(others)));
    auto handle = spawn(around, family());
    handle.request_stop();
    const outcome<int> ended = co_await std::move(handle).ended();
    CHECK(ended.is_stopped());
    CHECK(stopped.count == 2);
    CHECK(others.count == 0);
    co_await stop_here();
  };
  static_cast<void>(here.run(body()));
}

TEST_CASE("a failure does not stop the others, and one that nobody waits for is reported") {
  std::vector<std::string> reported;
  test_loop here({.on_error = [&](std::exception_ptr error) {
    try {
      std::rethrow_exception(std::move(error));
    } catch (const std::exception& thrown) {
      reported.emplace_back(thrown.what());
    }
  }});
  auto body = [&]() -> task<int> {
    scope& around = co_await this_scope();
    { const auto dropped = spawn(around, fail_after(1ms)); }
    auto kept = spawn(around, fail_after(1ms));
    auto fine = spawn(around, give_after(2ms, 3));
    const int value = co_await std::move(fine);
    CHECK(kept.is_done());
    co_return value;
  };
  CHECK(here.run_through(body(), 100us).take() == 3);
  CHECK(reported == std::vector<std::string>{"thrown"});
}

TEST_CASE("a waiter that is stopped lets the task go on") {
  test_loop here;
  bool ran = false;
  auto worker = [&]() -> task<void> {
    co_await sleep_for(5ms);
    ran = true;
  };
  auto body = [&]() -> task<void> {
    scope& around = co_await this_scope();
    auto handle = spawn(around, worker());
    auto waits = [](task_handle<void> held) -> task<void> { co_await std::move(held); };
    auto limited = with_timeout(1ms, waits(std::move(handle)));
    const auto late = co_await std::move(limited);
    CHECK(late.error() == errc::deadline_exceeded);
    CHECK_FALSE(ran);
    co_await sleep_for(10ms);
    CHECK(ran);
  };
  static_cast<void>(here.run_through(body(), 100us).take());
}

TEST_CASE("in a stopped scope nothing begins, and the handle says so") {
  test_loop here;
  std::optional<task_handle<int>> handle;
  auto body = [&]() -> task<void> {
    scope& around = co_await this_scope();
    scope inside(around);
    inside.request_stop();
    handle.emplace(spawn(inside, give_after(1ms, 1)));
    co_await inside.join();
    CHECK(handle->is_done());
    const outcome<int> ended = co_await std::move(*handle).ended();
    CHECK(ended.is_stopped());
  };
  static_cast<void>(here.run(body()).take());
}

TEST_CASE("a stop that was asked for before the task could begin keeps it from going far") {
  testing::scripted_home home;
  deaths seen;
  std::optional<task_handle<void>> handle;
  home.elsewhere([&] {
    handle.emplace(spawn(static_cast<braid::home&>(home), hold_for(1h, mortal(seen))));
    handle->request_stop();
  });
  home.run_all();
  CHECK(handle->is_done());
  CHECK(seen.count == 1);
  home.closed = true;
  auto refused = spawn(static_cast<braid::home&>(home), give_after(1ms, 1));
  CHECK(refused.is_done());
  std::error_code why;
  auto asks = [&]() -> task<void> {
    const outcome<int> ended = co_await std::move(refused).ended();
    why = code_of(ended);
  };
  home.root().spawn(asks());
  home.run_all();
  CHECK(why == errc::closed);
}

TEST_CASE("a task on another thread is awaited and stopped from here") {
  testing::looping_threads loops(2);
  auto body = [&]() -> task<int> {
    auto far = spawn(loops[1], {.name = "far"}, give_after(1us, 5));
    auto stopped = spawn(loops[1], give_after(1h, 5));
    CHECK(far.name() == "far");
    stopped.request_stop();
    const outcome<int> ended = co_await std::move(stopped).ended();
    CHECK(ended.is_stopped());
    co_return co_await std::move(far);
  };
  CHECK(sync_wait(loops[0], body()) == 5);
}

TEST_CASE("handles move, and one that was moved from has no task") {
  test_loop here;
  auto body = [&]() -> task<int> {
    scope& around = co_await this_scope();
    auto first = spawn(around, give_after(1us, 1));
    auto second = std::move(first);
    CHECK_FALSE(first);
    CHECK(second);
    second = spawn(around, give_after(1us, 2));
    co_return co_await std::move(second);
  };
  CHECK(here.run_through(body(), 20us).take() == 2);
}

TEST_CASE("to use a handle without a task ends the program") {
  const auto ends = [](std::string_view sentence, auto use) {
    const testing::child_end end = testing::run_in_child([&] {
      task_handle<int> none;
      use(none);
    });
    CHECK(end.signal == SIGABRT);
    CHECK(end.errors.find(sentence) != std::string::npos);
  };
  ends("this handle has no task", [](task_handle<int>& none) { none.request_stop(); });
  ends("this handle has no task", [](task_handle<int>& none) { static_cast<void>(none.is_done()); });
  ends("this handle has no task", [](task_handle<int>& none) { static_cast<void>(none.name()); });
  ends("cannot be awaited", [](task_handle<int>& none) { static_cast<void>(std::move(none).ended()); });
}
