// tests/task/scheduled_future_test.cpp: the futures of work at a time: values, failures, stops, and when captures go.
#include <braid/task/scheduled.hpp>

#include <braid/base/clock.hpp>
#include <braid/task/detail/shared_timers.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/scheduled_scene.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

using braid::errc;
using braid::future;
using braid::spawn_after;
using braid::spawn_at;
using braid::time_point;
using braid::testing::beat;
using braid::testing::deaths;
using braid::testing::failure_code;
using braid::testing::mortal;
using braid::testing::scheduled_scene;
using namespace std::chrono_literals;

TEST_CASE("what is spawned at a time gives its value then, and its captures end before") {
  scheduled_scene s;
  deaths ended;
  auto add = [guard = mortal(ended)](int a, const std::string& b) { return a + static_cast<int>(b.size()); };
  auto sum = spawn_at(s.where, s.timers, s.start + 10 * beat, std::move(add), 5, std::string("four"));
  auto twice = sum.then_inline([&](int n) { return ended.count == 1 ? 2 * n : 0; });
  s.advance(9);
  CHECK_FALSE(sum.is_ready());
  CHECK(ended.count == 0);
  s.advance(1);
  REQUIRE(sum.is_ready());
  CHECK(twice.get() == 18);
  CHECK(sum.get() == 9);
}

TEST_CASE("a delay is counted from now, and one that cannot be is the failure of the future") {
  scheduled_scene s;
  s.advance(5);
  auto when = spawn_after(s.where, s.timers, 20 * beat, [&] { return s.elapsed(); });
  s.advance(40);
  CHECK(when.get() == 25);
  CHECK(failure_code(spawn_after(s.where, s.timers, -1ns, [] {})) == errc::invalid_argument);
  CHECK(failure_code(spawn_after(s.where, s.timers, std::chrono::hours::max(), [] {})) == errc::invalid_argument);
}

TEST_CASE("a stop before the time keeps the work from running, and its captures are gone at once") {
  scheduled_scene s;
  deaths ended;
  auto waits = spawn_after(s.where, s.timers, 1h, [guard = mortal(ended)] { FAIL("it must not run"); });
  waits.request_stop();
  CHECK(ended.count == 1);
  CHECK(failure_code(std::move(waits)) == errc::stopped);
  CHECK(s.timers.run_once() == std::nullopt);  // the timer is gone, too

  auto queued = spawn_after(s.where, s.timers, 0s, [guard = mortal(ended)] { FAIL("it must not run"); });
  s.timers.run_once();
  REQUIRE(s.where.pending() == 1);
  queued.request_stop();
  queued.request_stop();
  CHECK(ended.count == 2);
  CHECK(failure_code(std::move(queued)) == errc::stopped);
  s.where.run_all();  // what is left of it
}

TEST_CASE("a future among the captures may be the one that stops the work, and the last one") {
  scheduled_scene s;
  deaths ended;
  auto own = std::make_shared<future<void>>();
  // With the captures goes what the executor holds as well, so that nothing but the stop itself knows the work.
  std::shared_ptr<void> last(nullptr, [&](void*) { s.where.run_all(); });
  *own = spawn_after(s.where, s.timers, 0s, [own, last, guard = mortal(ended)] { FAIL("it must not run"); });
  s.timers.run_once();
  REQUIRE(s.where.pending() == 1);
  const std::weak_ptr<future<void>> watched = own;
  future<void>& waits = *own;
  own.reset();
  last.reset();
  REQUIRE_FALSE(watched.expired());
  waits.request_stop();
  CHECK(watched.expired());
  CHECK(s.where.pending() == 0);
  CHECK(ended.count == 1);
}

TEST_CASE("a stop that comes during the run, or after it, changes nothing") {
  scheduled_scene s;
  future<int> self;
  self = spawn_after(s.where, s.timers, 0s, [&] {
    self.request_stop();
    return 3;
  });
  s.settle();
  self.request_stop();
  CHECK(self.get() == 3);
}

TEST_CASE("an executor or timers that end say so in the future") {
  scheduled_scene s;
  deaths ended;
  const auto later = [&] { return spawn_after(s.where, s.timers, 5 * beat, [guard = mortal(ended)] {}); };
  auto dropped = later();
  s.advance(5, true);
  s.where.drop();
  CHECK(failure_code(std::move(dropped)) == errc::dropped);
  auto refused = later();
  s.where.close();
  s.advance(5);
  CHECK(failure_code(std::move(refused)) == errc::closed);
  auto pending = later();
  REQUIRE(s.timers.close().value() == 1);
  CHECK(failure_code(std::move(pending)) == errc::dropped);
  CHECK(failure_code(later()) == errc::closed);
  CHECK(ended.count == 4);
}

TEST_CASE("what it throws arrives, and a future that it gives is the one to wait for") {
  scheduled_scene s;
  auto sour = spawn_after(s.where, s.timers, 0s, []() -> int { throw std::runtime_error("sour"); });
  auto through = spawn_after(s.where, s.timers, 0s, [&] { return spawn(s.where, [] { return 7; }); });
  s.settle();
  CHECK_THROWS_WITH(sour.get(), "sour");
  CHECK(through.get() == 7);
}

TEST_CASE("dropping the future detaches, and leaves nothing behind") {
  scheduled_scene s;
  deaths ended;
  int ran = 0;
  spawn_after(s.where, s.timers, 5 * beat, [&ran, guard = mortal(ended)] { ++ran; }).detach();
  spawn_after(s.where, s.timers, 1h, [guard = mortal(ended)] {}).detach();
  s.advance(5);
  CHECK(ran == 1);
  CHECK(ended.count == 1);
  CHECK(s.timers.close().value() == 1);
  CHECK(ended.count == 2);
}

TEST_CASE("the future is waited for like any other, by the timers of the process as well") {
  braid::pool workers({.workers = 1});
  auto nested =
      spawn(workers, [&] { return spawn_after(workers, 1us, [] { return std::make_unique<int>(4); }).get(); });
  CHECK(*nested.get() == 4);
  CHECK(spawn_at(workers, time_point::min(), [] { return 5; }).get() == 5);
}
