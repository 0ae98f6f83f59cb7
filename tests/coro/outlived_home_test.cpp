// tests/coro/outlived_home_test.cpp: tasks whose pool has gone end, and so do futures of homes that have gone.
#include <braid/coro/serial_executor.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/io/loop.hpp>
#include <braid/task/detail/shared_timers.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/failures.hpp>

#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

using namespace braid;
using testing::deaths;
using testing::failure_code;
using testing::mortal;

namespace {

auto small_pool() -> std::unique_ptr<pool> {
  pool::options one;
  one.workers = 1;
  return std::make_unique<pool>(std::move(one));
}

auto wait_for(async_event& happened, mortal /*held*/) -> task<int> {
  co_await happened;
  co_await sleep_for(1h);
  co_return 7;
}

auto sleep_long(mortal /*held*/) -> task<void> { co_await sleep_for(1h); }

auto give(int value) -> task<int> { co_return value; }

}  // namespace

TEST_CASE("a task that waits when its pool goes is stopped once what it waits for happens") {
  auto workers = small_pool();
  async_event happened;
  deaths ended;
  auto ahead = spawn(*workers, wait_for(happened, mortal(ended)));
  workers.reset();  // which runs what it has accepted: the task waits
  CHECK_FALSE(ahead.is_ready());
  happened.set();
  CHECK(failure_code(ahead) == errc::stopped);
  CHECK(ended.count == 1);
}

TEST_CASE("the home of a task whose pool goes stops the task, and what waits in its root scope") {
  auto workers = small_pool();
  async_event happened;
  deaths ended;
  auto begins = [&]() -> task<void> {
    home& own = (co_await this_scope()).where();
    own.root().spawn(sleep_long(mortal(ended)));
    co_await happened;
    co_await sleep_for(1h);
  };
  auto ahead = spawn(*workers, begins());
  workers.reset();  // which runs what it has accepted: both wait
  CHECK_FALSE(ahead.is_ready());
  happened.set();
  CHECK(failure_code(ahead) == errc::stopped);
  CHECK(ended.count == 1);
}

TEST_CASE("a home whose pool has gone ends on the thread that ends it") {
  auto workers = small_pool();
  auto home = std::make_unique<serial_executor>(*workers);
  deaths ended;
  auto handle = spawn(*home, sleep_long(mortal(ended)));
  workers.reset();
  CHECK(ended.count == 0);
  home.reset();
  CHECK(ended.count == 1);
  CHECK(ended.last_on == std::this_thread::get_id());
  CHECK(handle.is_ready());
}

TEST_CASE("a handle stops a task whose pool has gone") {
  auto workers = small_pool();
  serial_executor home(*workers);
  deaths ended;
  auto handle = spawn(home, sleep_long(mortal(ended)));
  workers.reset();
  handle.request_stop();
  CHECK(ended.count == 1);
  CHECK(handle.is_ready());
}

TEST_CASE("an alarm that rings after the pool has gone ends the sleep, and stops the task") {
  manual_clock clock;
  braid::detail::shared_timers timers(clock);
  auto workers = small_pool();
  serial_executor home(*workers, timers);
  deaths ended;
  auto handle = spawn(home, sleep_long(mortal(ended)));
  workers.reset();
  clock.advance(2h);
  timers.run_once();
  CHECK(ended.count == 1);
  CHECK(handle.is_ready());
}

TEST_CASE("a future of a home that has ended goes on nowhere") {
  auto workers = small_pool();
  std::optional<future<int>> inner;
  auto family = [&](scope& all) { inner = spawn(all, give(3)); };
  auto outer = [&]() -> task<void> {
    family(co_await this_scope());
    co_return;
  };
  spawn(*workers, outer()).get();
  inner->wait();
  auto other = [&] { return failure_code(inner->then([](const int&) {})); };
  while (other() != errc::closed) std::this_thread::yield();  // the home goes soon after its last task
  workers.reset();
  CHECK(other() == errc::closed);
  CHECK(inner->get() == 3);
}

TEST_CASE("a future of a loop that has gone goes on nowhere") {
  auto io = loop::create().value();
  std::optional<future<int>> ready;
  io->run([&] {
    ready = spawn(*io, [] { return 4; });
    io->stop();
  });
  io.reset();
  CHECK(failure_code(ready->then([](const int&) {})) == errc::closed);
  CHECK(ready->get() == 4);
}
