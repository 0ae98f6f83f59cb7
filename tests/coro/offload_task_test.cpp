// tests/coro/offload_task_test.cpp: functions and tasks on another executor.
#include <braid/coro/offload.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

using namespace braid;
using testing::deaths;
using testing::manual_executor;
using testing::mortal;
using testing::test_loop;

namespace {

auto one_worker() -> pool::options {
  pool::options options;
  options.workers = 1;
  return options;
}

auto length(const std::string& text) -> task<std::size_t> {
  co_await sleep_for(1ms);
  co_return text.size();
}

}  // namespace

TEST_CASE("a function runs there with its arguments, and the caller goes on at home") {
  test_loop here;
  pool workers(one_worker());
  std::thread::id ran_on;
  std::thread::id went_on;
  auto body = [&]() -> task<int> {
    auto add = [&](int a, std::unique_ptr<int> b) {
      ran_on = std::this_thread::get_id();
      return a + *b;
    };
    const int sum = co_await offload(workers, std::ref(add), 1, std::make_unique<int>(2));
    went_on = std::this_thread::get_id();
    co_return sum;
  };
  outcome<int> ended = here.run(body());
  CHECK(ended.take() == 3);
  CHECK(ran_on != std::this_thread::get_id());
  CHECK(went_on == std::this_thread::get_id());
}

TEST_CASE("a coroutine begins there, and its arguments live as long as it does") {
  test_loop here;
  pool workers(one_worker());
  outcome<std::size_t> ended = here.run_through(offload(workers, length, std::string(100, 'x')), 1ms);
  CHECK(ended.take() == 100);
}

TEST_CASE("references come back as references, and nothing as nothing") {
  test_loop here;
  pool workers(one_worker());
  int object = 0;
  auto body = [&]() -> task<void> {
    auto refer = [&]() -> int& { return object; };
    int& found = co_await offload(workers, std::ref(refer));
    CHECK(&found == &object);
    auto assign = [&](int& to) { to = 5; };
    co_await offload(workers, std::ref(assign), std::ref(object));
    CHECK(object == 5);
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("what the function or the coroutine throws is rethrown at home") {
  test_loop here;
  pool workers(one_worker());
  std::thread::id caught_on;
  auto fail = [] { throw std::runtime_error("function"); };
  auto fail_later = []() -> task<int> {
    throw std::runtime_error("coroutine");
    co_return 0;
  };
  auto body = [&]() -> task<void> {
    try {
      co_await offload(workers, std::ref(fail));
    } catch (const std::runtime_error&) {
      caught_on = std::this_thread::get_id();
    }
    co_await offload(workers, std::ref(fail_later));
  };
  const outcome<void> ended = here.run(body());
  REQUIRE(ended.has_exception());
  CHECK_THROWS_WITH(std::rethrow_exception(ended.exception()), "coroutine");
  CHECK(caught_on == std::this_thread::get_id());
}

TEST_CASE("the callable is destroyed once, when the expression has ended") {
  test_loop here;
  manual_executor there;
  deaths seen;
  auto body = [&]() -> task<void> {
    auto keep = [held = mortal(seen)]() mutable { static_cast<void>(held); };
    task<void> away = as_task(offload(there, std::move(keep)));
    co_await std::move(away);
    CHECK(seen.count == 1);
  };
  here.io().spawn(body());
  there.run();
  here.run_once();
  CHECK(seen.count == 1);
  CHECK(here.io().root().tasks() == 0);
}

TEST_CASE("a coroutine that ends there as stopped stops the caller") {
  test_loop here;
  pool workers(one_worker());
  auto stops = []() -> task<void> { co_await stop_here(); };
  CHECK(here.run(offload(workers, stops)).is_stopped());
}

TEST_CASE("a stop takes back a call that has not begun: its arguments are destroyed at home, and it is never called") {
  test_loop here;
  manual_executor there;
  deaths seen;
  bool called = false;
  auto call = [&called](const mortal&) { called = true; };
  auto begin = [&called](const mortal&) -> task<void> {
    called = true;
    co_return;
  };
  here.io().spawn(offload(there, call, mortal(seen)));
  here.io().spawn(offload(there, begin, mortal(seen)));
  REQUIRE(there.pending() == 2);
  here.io().root().request_stop();
  here.run_once();
  CHECK(seen.count == 2);
  CHECK(seen.last_on == std::this_thread::get_id());
  CHECK(here.io().root().tasks() == 0);
  there.run_all();
  CHECK_FALSE(called);
}
