// tests/coro/spawn_test.cpp: a spawned task is awaited, stopped and forgotten by its future.
#include <braid/coro/bridge.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/looping_threads.hpp>
#include <tests/support/scripted_home.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
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

TEST_CASE("the future of a task gives the value, what was thrown, or that it was stopped") {
  test_loop here;
  auto body = [&]() -> task<int> {
    scope& around = co_await this_scope();
    auto gives = spawn(around, give_after(1ms, 40));
    auto fails = spawn(around, fail_after(2ms));
    auto stops = spawn(around, give_after(1h, 0));
    CHECK_FALSE(stops.is_ready());
    stops.request_stop();
    stops.request_stop();
    const outcome<int> stopped = co_await as_outcome(std::move(stops));
    CHECK(stopped.is_stopped());
    const outcome<int> failed = co_await as_outcome(std::move(fails));
    CHECK(failed.has_exception());
    CHECK(gives.is_ready());
    const int value = co_await std::move(gives);
    auto ready = spawn(around, give_after(0s, 2));
    co_await sleep_for(1ms);
    CHECK(ready.is_ready());
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

TEST_CASE("a stop by the future reaches what the task has spawned, and nobody else") {
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
    const outcome<int> ended = co_await as_outcome(std::move(handle));
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
    CHECK(kept.is_ready());
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
    auto waits = [](future<void> held) -> task<void> { co_await std::move(held); };
    auto limited = with_timeout(1ms, waits(std::move(handle)));
    const auto late = co_await std::move(limited);
    CHECK(late.error() == errc::deadline_exceeded);
    CHECK_FALSE(ran);
    co_await sleep_for(10ms);
    CHECK(ran);
  };
  static_cast<void>(here.run_through(body(), 100us).take());
}

TEST_CASE("in a stopped scope nothing begins, and the future says so") {
  test_loop here;
  std::optional<future<int>> handle;
  auto body = [&]() -> task<void> {
    scope& around = co_await this_scope();
    scope inside(around);
    inside.request_stop();
    handle.emplace(spawn(inside, give_after(1ms, 1)));
    co_await inside.join();
    CHECK(handle->is_ready());
    const outcome<int> ended = co_await as_outcome(std::move(*handle));
    CHECK(ended.is_stopped());
  };
  static_cast<void>(here.run(body()).take());
}

TEST_CASE("a stop that was asked for before the task could begin keeps it from going far") {
  testing::scripted_home home;
  deaths seen;
  std::optional<future<void>> handle;
  home.elsewhere([&] {
    handle.emplace(spawn(static_cast<braid::home&>(home), hold_for(1h, mortal(seen))));
    handle->request_stop();
  });
  home.run_all();
  CHECK(handle->is_ready());
  CHECK(seen.count == 1);
  home.closed = true;
  auto refused = spawn(static_cast<braid::home&>(home), give_after(1ms, 1));
  CHECK(refused.is_ready());
  std::error_code why;
  auto asks = [&]() -> task<void> {
    const outcome<int> ended = co_await as_outcome(std::move(refused));
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
    const outcome<int> ended = co_await as_outcome(std::move(stopped));
    CHECK(ended.is_stopped());
    co_return co_await std::move(far);
  };
  CHECK(sync_wait(loops[0], body()) == 5);
}

TEST_CASE("futures of tasks move, and one that was moved from has no state") {
  test_loop here;
  auto body = [&]() -> task<int> {
    scope& around = co_await this_scope();
    auto first = spawn(around, give_after(1us, 1));
    auto second = std::move(first);
    CHECK_FALSE(first.valid());
    CHECK(second.valid());
    second = spawn(around, give_after(1us, 2));
    co_return co_await std::move(second);
  };
  CHECK(here.run_through(body(), 20us).take() == 2);
}

TEST_CASE("to use a future without a state ends the program") {
  const auto ends = [](std::string_view sentence, auto use) {
    const testing::child_end end = testing::run_in_child([&] {
      future<int> none;
      use(none);
    });
    CHECK(end.signal == SIGABRT);
    CHECK(end.errors.find(sentence) != std::string::npos);
  };
  ends("this future has no state", [](future<int>& none) { none.request_stop(); });
  ends("this future has no state", [](future<int>& none) { static_cast<void>(none.is_ready()); });
  ends("this future has no state", [](future<int>& none) { static_cast<void>(none.name()); });
}

TEST_CASE("a callable that gives a task is kept until the task has ended") {
  test_loop here;
  deaths seen;
  auto body = [&]() -> task<std::string> {
    scope& around = co_await this_scope();
    auto kept = spawn(
        around,
        [text = std::string("a text that is too long for its object"),
         last = mortal(seen)](int times) -> task<std::string> {
          std::string all;
          for (int i = 0; i < times; ++i) {
            co_await sleep_for(1ms);
            all += text.substr(0, 1);
          }
          co_return all;
        },
        3);
    co_await sleep_for(1ms);
    CHECK(seen.count == 0);
    std::string all = co_await std::move(kept);
    CHECK(seen.count == 1);
    co_return all;
  };
  CHECK(here.run_through(body(), 100us).take() == "aaa");
}

TEST_CASE("a scope takes callables that give tasks as well, and post takes both") {
  test_loop here;
  std::vector<std::string> said;
  auto say = [&](std::string text) -> task<void> {
    co_await sleep_for(1ms);
    said.push_back(std::move(text));
  };
  auto body = [&]() -> task<void> {
    scope inside(co_await this_scope());
    inside.spawn([&said, text = std::string("by a callable")]() -> task<void> {
      co_await sleep_for(1ms);
      said.push_back(text);
    });
    CHECK(post(inside, say("a task")).has_value());
    CHECK(post(inside, [&said, text = std::string("posted")]() -> task<void> {
            co_await sleep_for(1ms);
            said.push_back(text);
          }).has_value());
    co_await inside.join();
    inside.request_stop();
    CHECK(post(inside, say("too late")).error() == errc::stopped);
    CHECK(post((co_await this_scope()).where(), say("at home")).has_value());
    co_await sleep_for(5ms);
  };
  static_cast<void>(here.run_through(body(), 100us).take());
  CHECK(said == std::vector<std::string>{"by a callable", "a task", "posted", "at home"});
}

TEST_CASE("a plain thread gets the value of a task, and goes on with it by then") {
  testing::looping_threads loops(1);
  auto ahead = spawn(loops[0], {.name = "sum"}, give_after(1ms, 40));
  CHECK(ahead.name() == "sum");
  CHECK(ahead.id() != task_id());
  CHECK(ahead.id() != spawn(loops[0], give_after(0s, 1)).id());
  CHECK(std::move(ahead).then_inline([](int value) { return value + 2; }).get() == 42);
}

TEST_CASE("a future is ready when all that its task has spawned has ended, and fails with the failure of that") {
  test_loop here;
  auto body = [&]() -> task<void> {
    scope& around = co_await this_scope();
    bool ended = false;
    auto late = [&]() -> task<void> {
      co_await sleep_for(5ms);
      ended = true;
    };
    auto leaves = [&]() -> task<int> {
      (co_await this_scope()).spawn(late());
      co_return 7;
    };
    const int value = co_await spawn(around, leaves);
    CHECK(value == 7);
    CHECK(ended);
    auto fails = [&]() -> task<void> { static_cast<void>(co_await fail_after(1ms)); };
    auto leaves_failure = [&]() -> task<std::string> {
      (co_await this_scope()).spawn(fails());
      co_return std::string("a value that is thrown away, and destroyed with it");
    };
    outcome<std::string> failed = co_await as_outcome(spawn(around, leaves_failure));
    CHECK(failed.has_exception());
    CHECK_FALSE(around.stop().requested());
  };
  static_cast<void>(here.run_through(body(), 100us).take());
}

TEST_CASE("chains of tasks that wait for those that they spawned do not use up the stack at their ends") {
  test_loop here;
  struct nest {
    static auto deeper(int left) -> task<void> {
      if (left == 0) {
        co_await sleep_for(1ms);
        co_return;
      }
      static_cast<void>(spawn(co_await this_scope(), deeper(left - 1)));
    }
  };
  static_cast<void>(here.run_through(nest::deeper(100'000), 1ms).take());
}

TEST_CASE("a function that takes a token is stopped by its future") {
  testing::looping_threads loops(1);
  std::atomic<bool> begun = false;
  auto polls = spawn(loops[0], [&begun](std::stop_token stop) {
    begun = true;
    while (!stop.stop_requested()) std::this_thread::yield();
    return 3;
  });
  CHECK(polls.id() == task_id());
  CHECK(polls.name().empty());
  while (!begun) std::this_thread::yield();
  polls.request_stop();
  CHECK(polls.get() == 3);
}

TEST_CASE("a function that takes a token and was stopped before it began is left out") {
  testing::scripted_home home;
  bool ran = false;
  std::optional<future<void>> left_out;
  home.elsewhere([&] {
    left_out.emplace(spawn(static_cast<executor&>(home), [&ran](std::stop_token) { ran = true; }));
    left_out->request_stop();
  });
  home.run_all();
  CHECK_FALSE(ran);
  CHECK(left_out->is_ready());
}

TEST_CASE("what a posted task throws is reported at its home, also when it ends before the post returns") {
  std::vector<std::string> reported;
  const auto on_error = [&](std::exception_ptr error) {
    try {
      std::rethrow_exception(std::move(error));
    } catch (const std::exception& thrown) {
      reported.emplace_back(thrown.what());
    }
  };
  inline_executor here(on_error);
  CHECK(post(here, []() -> task<void> {
          throw std::runtime_error("before its first wait");
          co_return;
        }).has_value());
  CHECK(reported == std::vector<std::string>{"before its first wait"});
}

TEST_CASE("a task on a pool may begin another one at its own home, and end first") {
  std::atomic<bool> ended = false;
  auto sleeps = [&]() -> task<void> {
    co_await sleep_for(2ms);
    ended = true;
    ended.notify_all();
  };
  auto begins = [&]() -> task<void> {
    scope& own = co_await this_scope();
    CHECK(post(own.where(), sleeps()).has_value());
  };
  pool workers(pool::options{.workers = 2});
  spawn(workers, begins()).get();
  ended.wait(false);
}

TEST_CASE("a task in the root scope of a task's own home is not stopped with the task, and not awaited by its future") {
  async_event go;
  std::atomic<bool> ended = false;
  auto waits = [&]() -> task<void> {
    co_await go;
    ended = true;
    ended.notify_all();
  };
  auto begins = [&]() -> task<void> {
    scope& mine = co_await this_scope();
    home& own = mine.where();
    CHECK(&own.root() != &mine);
    CHECK(&own.root() == &own.root());
    own.root().spawn(waits());
    co_await sleep_for(1h);
  };
  pool workers(pool::options{.workers = 1});
  auto ahead = spawn(workers, begins());
  spawn(workers, [] {}).get();  // it sleeps now
  ahead.request_stop();
  ahead.wait();
  CHECK_FALSE(ended);
  go.set();
  ended.wait(false);
}
