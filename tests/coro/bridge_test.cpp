// tests/coro/bridge_test.cpp: tasks that await futures, and futures of tasks.
#include <braid/coro/bridge.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/sync_wait.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/turned_loop.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::turned_loop;

namespace {

auto with_workers(unsigned count) -> pool_options {
  pool_options options;
  options.workers = count;
  return options;
}

template <typename T>
auto wait_for(future<T> ahead) -> task<T> {
  co_return co_await std::move(ahead);
}

template <typename T>
auto failure_code(future<T>& ahead) -> std::error_code {
  try {
    static_cast<void>(ahead.get());
  } catch (const std::system_error& thrown) {
    return thrown.code();
  }
  return {};
}

auto give_after(duration span, int value) -> task<int> {
  co_await sleep_for(span);
  co_return value;
}

auto stop_at_once() -> task<int> {
  co_await stop_here();
  co_return 0;
}

}  // namespace

TEST_CASE("a task awaits a future, ready or not, and goes on at home") {
  turned_loop here;
  pool workers(with_workers(1));
  promise<std::unique_ptr<int>> later;
  auto ahead = later.get_future();
  std::thread::id went_on;
  auto body = [&]() -> task<int> {
    const int ready = co_await ready_future<int>(1);
    const auto pointer = co_await std::move(ahead);
    went_on = std::this_thread::get_id();
    co_return ready + *pointer;
  };
  std::thread other([&] { static_cast<void>(later.set_value(std::make_unique<int>(2))); });
  outcome<int> ended = here.run(body());
  other.join();
  CHECK(ended.take() == 3);
  CHECK(went_on == std::this_thread::get_id());
}

TEST_CASE("nothing and references arrive, and so do failures and broken promises") {
  turned_loop here;
  int object = 0;
  promise<void> nothing;
  promise<int&> reference;
  static_cast<void>(nothing.set_value());
  static_cast<void>(reference.set_value(object));
  CHECK(here.run(wait_for(nothing.get_future())).has_value());
  outcome<int&> referred = here.run(wait_for(reference.get_future()));
  CHECK(&referred.take() == &object);

  promise<int> failing;
  static_cast<void>(failing.set_exception(std::make_exception_ptr(std::runtime_error("future"))));
  outcome<int> failed = here.run(wait_for(failing.get_future()));
  CHECK_THROWS_WITH(static_cast<void>(failed.take()), "future");

  std::optional<promise<int>> dropped(std::in_place);
  auto ahead = dropped->get_future();
  dropped.reset();
  outcome<int> broken = here.run(wait_for(std::move(ahead)));
  std::error_code code;
  try {
    static_cast<void>(broken.take());
  } catch (const std::system_error& thrown) {
    code = thrown.code();
  }
  CHECK(code == errc::broken_promise);
}

TEST_CASE("continuations that only read come first, then the task takes the value") {
  turned_loop here;
  promise<std::string> later;
  auto ahead = later.get_future();
  std::string read;
  auto reader = ahead.then_inline([&](const std::string& value) { read = value; });
  static_cast<void>(later.set_value("text"));
  outcome<std::string> ended = here.run(wait_for(std::move(ahead)));
  CHECK(ended.take() == "text");
  CHECK(read == "text");
  reader.wait();
}

TEST_CASE("a stopped task goes without the result, which dies with the future") {
  turned_loop here;
  deaths seen;
  promise<std::unique_ptr<mortal>> later;
  bool went_on = false;
  auto body = [&](future<std::unique_ptr<mortal>> ahead) -> task<void> {
    static_cast<void>(co_await std::move(ahead));
    went_on = true;
  };
  here.io().spawn(body(later.get_future()));
  here.turn();
  here.io().root().request_stop();
  here.turn();
  CHECK(here.io().root().tasks() == 0);
  static_cast<void>(later.set_value(std::make_unique<mortal>(seen)));
  CHECK(seen.count == 1);
  CHECK_FALSE(went_on);
}

TEST_CASE("spawn_future on a home gives what the task gives, throws or that it was stopped") {
  turned_loop here;
  auto fails = []() -> task<int> {
    throw std::runtime_error("task");
    co_return 0;
  };
  auto value = spawn_future(here.io(), give_after(1ms, 5));
  auto thrown = spawn_future(here.io(), fails());
  auto stopped = spawn_future(here.io(), stop_at_once());
  here.turn();
  CHECK_FALSE(value.is_ready());
  here.advance(2ms);
  CHECK(value.get() == 5);
  CHECK_THROWS_WITH(static_cast<void>(thrown.get()), "task");
  CHECK(failure_code(stopped) == errc::stopped);
}

TEST_CASE("a stop ends the task and the future, and a home that does not run refuses both") {
  turned_loop here;
  auto sleeping = spawn_future(here.io(), give_after(1h, 5));
  here.turn();
  here.stop();
  CHECK(failure_code(sleeping) == errc::stopped);
  auto refused = spawn_future(here.io(), give_after(1ms, 5));
  CHECK(failure_code(refused) == errc::closed);
}

TEST_CASE("a task that is spawned into a scope for a future does not stop the others") {
  turned_loop here;
  auto fails = []() -> task<int> {
    throw std::runtime_error("task");
    co_return 0;
  };
  future<int> failed;
  future<int> given;
  auto family = [&](scope& children) -> task<void> {
    failed = spawn_future(children, fails());
    given = spawn_future(children, give_after(1ms, 4));
    co_return;
  };
  CHECK(here.run_through(with_scope(family), 1ms).has_value());
  CHECK(given.get() == 4);
  CHECK_THROWS(static_cast<void>(failed.get()));
  auto stopped_family = [&](scope& children) -> task<void> {
    children.request_stop();
    failed = spawn_future(children, give_after(1ms, 4));
    co_return;
  };
  CHECK(here.run(with_scope(stopped_family)).has_value());
  CHECK(failure_code(failed) == errc::stopped);
}

TEST_CASE("tasks on a pool run at the same time, wait for futures and sleep there") {
  pool workers(with_workers(2));
  auto compute = [&](int number) -> task<int> {
    const int half = co_await spawn(workers, [number] { return number / 2; });
    co_await sleep_for(1us);
    co_return half + (number - half);
  };
  std::vector<future<int>> all;
  for (int i = 0; i < 200; ++i) all.push_back(spawn_future(workers, compute(i)));
  int sum = 0;
  for (auto& one : all) sum += one.get();
  CHECK(sum == 19'900);
  REQUIRE(workers.shutdown(shutdown_mode::drain));
  auto refused = spawn_future(workers, compute(1));
  CHECK(failure_code(refused) == errc::closed);
}

TEST_CASE("a value given by a task is taken by a task elsewhere") {
  turned_loop here;
  pool workers(with_workers(1));
  auto body = [&]() -> task<int> { co_return co_await spawn_future(workers, give_after(1us, 9)); };
  outcome<int> ended = here.run(body());
  CHECK(ended.take() == 9);
}
