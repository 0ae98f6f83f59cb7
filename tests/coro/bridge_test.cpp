// tests/coro/bridge_test.cpp: tasks that await futures, and futures of tasks.
#include <braid/coro/bridge.hpp>

#include <braid/coro/schedule_on.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>

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
using testing::manual_executor;
using testing::mortal;
using testing::test_loop;

namespace {

auto with_workers(unsigned count) -> pool::options {
  pool::options options;
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

auto keep(mortal /*local*/) -> task<void> { co_return; }

/// Can be moved so many times less one.
struct fragile {
  explicit fragile(int count) noexcept : left(count) {}
  fragile(fragile&& other) : left(other.left - 1) {
    if (left == 0) throw std::runtime_error("moved");
  }
  auto operator=(fragile&&) -> fragile& = delete;
  ~fragile() = default;
  int left;
};

auto stop_at_once() -> task<int> {
  co_await stop_here();
  co_return 0;
}

}  // namespace

TEST_CASE("a task awaits a future, ready or not, and goes on at home") {
  test_loop here;
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
  test_loop here;
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
  test_loop here;
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
  test_loop here;
  deaths seen;
  promise<std::unique_ptr<mortal>> later;
  bool went_on = false;
  auto body = [&](future<std::unique_ptr<mortal>> ahead) -> task<void> {
    static_cast<void>(co_await std::move(ahead));
    went_on = true;
  };
  here.io().spawn(body(later.get_future()));
  here.run_once();
  here.io().root().request_stop();
  here.run_once();
  CHECK(here.io().root().tasks() == 0);
  static_cast<void>(later.set_value(std::make_unique<mortal>(seen)));
  CHECK(seen.count == 1);
  CHECK_FALSE(went_on);
}

TEST_CASE("spawn on a home gives what the task gives, throws or that it was stopped") {
  test_loop here;
  auto fails = []() -> task<int> {
    throw std::runtime_error("task");
    co_return 0;
  };
  auto value = spawn(here.io(), give_after(1ms, 5));
  auto thrown = spawn(here.io(), fails());
  auto stopped = spawn(here.io(), stop_at_once());
  here.run_once();
  CHECK_FALSE(value.is_ready());
  here.advance(2ms);
  CHECK(value.get() == 5);
  CHECK_THROWS_WITH(static_cast<void>(thrown.get()), "task");
  CHECK(failure_code(stopped) == errc::stopped);
}

TEST_CASE("a stop ends the task and the future, and a home that does not run refuses both") {
  test_loop here;
  auto sleeping = spawn(here.io(), give_after(1h, 5));
  here.run_once();
  here.stop();
  CHECK(failure_code(sleeping) == errc::stopped);
  auto refused = spawn(here.io(), give_after(1ms, 5));
  CHECK(failure_code(refused) == errc::closed);
}

TEST_CASE("a task that is spawned into a scope for a future does not stop the others") {
  test_loop here;
  auto fails = []() -> task<int> {
    throw std::runtime_error("task");
    co_return 0;
  };
  future<int> failed;
  future<int> given;
  auto family = [&](scope& children) -> task<void> {
    failed = spawn(children, fails());
    given = spawn(children, give_after(1ms, 4));
    co_return;
  };
  CHECK(here.run_through(with_scope(family), 1ms).has_value());
  CHECK(given.get() == 4);
  CHECK_THROWS(static_cast<void>(failed.get()));
  auto stopped_family = [&](scope& children) -> task<void> {
    children.request_stop();
    failed = spawn(children, give_after(1ms, 4));
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
  for (int i = 0; i < 200; ++i) all.push_back(spawn(workers, compute(i)));
  int sum = 0;
  for (auto& one : all) sum += one.get();
  CHECK(sum == 19'900);
  REQUIRE(workers.shutdown(shutdown_mode::drain));
  auto refused = spawn(workers, compute(1));
  CHECK(failure_code(refused) == errc::closed);
}

TEST_CASE("a value given by a task is taken by a task elsewhere") {
  test_loop here;
  pool workers(with_workers(1));
  auto body = [&]() -> task<int> { co_return co_await spawn(workers, give_after(1us, 9)); };
  outcome<int> ended = here.run(body());
  CHECK(ended.take() == 9);
}

TEST_CASE(
    "nothing, references and what can only be moved come from tasks on an executor, and so does what these throw") {
  manual_executor there;
  int object = 0;
  auto refers = [&]() -> task<int&> { co_return object; };
  auto makes = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  auto breaks = []() -> task<fragile> { co_return fragile(2); };
  deaths seen;
  auto nothing = spawn(there, keep(mortal(seen)));
  auto reference = spawn(there, refers());
  auto pointer = spawn(there, makes());
  auto broken = spawn(there, breaks());
  there.run_all();
  CHECK(seen.count == 1);
  nothing.get();
  CHECK(&reference.get() == &object);
  CHECK(*pointer.get() == 3);
  CHECK_THROWS_WITH(static_cast<void>(broken.get()), "moved");
}

TEST_CASE("a task that its executor refuses or drops does not begin, and its future says why") {
  manual_executor there;
  deaths seen;
  auto dropped = spawn(there, keep(mortal(seen)));
  there.drop();
  CHECK(seen.count == 1);
  CHECK(failure_code(dropped) == errc::stopped);
  there.close();
  auto refused = spawn(there, keep(mortal(seen)));
  CHECK(seen.count == 2);
  CHECK(failure_code(refused) == errc::closed);
}

TEST_CASE("a task gives its value at its end, whatever else lives in its home") {
  manual_executor there;
  deaths seen;
  promise<void> later;
  auto waits = [](future<void> ahead, mortal /*local*/) -> task<void> { co_await std::move(ahead); };
  auto body = [&]() -> task<int> {
    scope& own = co_await this_scope();
    own.where().root().spawn(waits(later.get_future(), mortal(seen)));
    co_return 1;
  };
  auto ahead = spawn(there, body());
  there.run_all();
  CHECK(ahead.get() == 1);
  CHECK(seen.count == 0);
  static_cast<void>(later.set_value());
  there.run_all();
  CHECK(seen.count == 1);
}

TEST_CASE("a task that ends away from its home settles its future there") {
  manual_executor there;
  manual_executor away;
  deaths seen;
  auto body = [&](mortal /*local*/) -> task<int> {
    co_await schedule_on(away);
    co_return 7;
  };
  auto ahead = spawn(there, body(mortal(seen)));
  there.run_all();
  away.run_all();
  CHECK(seen.count == 0);
  CHECK_FALSE(ahead.is_ready());
  there.run_all();
  CHECK(seen.count == 1);
  CHECK(ahead.get() == 7);
}

TEST_CASE("what a task held is gone when its result is seen") {
  manual_executor there;
  deaths seen;
  int gone = 0;
  auto held = [](mortal /*local*/) -> task<void> { co_return; };
  auto after = spawn(there, held(mortal(seen))).then_inline([&] { gone = seen.count; });
  there.run_all();
  after.get();
  CHECK(gone == 1);
}

TEST_CASE("a future that is dropped lets its task go on, to its end") {
  manual_executor there;
  deaths seen;
  spawn(there, keep(mortal(seen))).detach();
  CHECK(seen.count == 0);
  there.run_all();
  CHECK(seen.count == 1);
}

TEST_CASE("a worker that waits for a task that has not begun begins it") {
  pool workers(with_workers(1));
  auto here = []() -> task<std::thread::id> { co_return std::this_thread::get_id(); };
  auto waits = [&] { return spawn(workers, here()).get() == std::this_thread::get_id(); };
  CHECK(spawn(workers, waits).get());
}

TEST_CASE("any number of tasks await a shared future, each sees the one value, and a failure reaches all") {
  test_loop here;
  promise<std::string> later;
  const shared_future<std::string> shared = later.get_future().share();
  std::vector<const std::string*> seen;
  auto reader = [&]() -> task<void> { seen.push_back(&co_await shared); };
  auto all = [&]() -> task<void> {
    co_await with_scope([&](scope& in) -> task<void> {
      in.spawn(reader);
      in.spawn(reader);
      const auto gone = co_await with_timeout(1us, reader);  // goes without it
      CHECK(gone.error() == errc::deadline_exceeded);
      CHECK(later.set_value("here").has_value());
    });
    co_await reader();  // of one that is ready
  };
  CHECK(here.run_through(all(), 1us).has_value());
  REQUIRE(seen.size() == 3);
  CHECK(*seen[0] == "here");
  CHECK(seen[0] == seen[1]);
  CHECK(seen[0] == seen[2]);

  promise<void> broken;
  const shared_future<void> none = broken.get_future().share();
  CHECK(broken.set_exception(std::make_exception_ptr(std::runtime_error("broken"))).has_value());
  auto waits = [&]() -> task<void> { co_await none; };
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(here.run(waits()).take(), std::runtime_error);
}
