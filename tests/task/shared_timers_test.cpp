// tests/task/shared_timers_test.cpp: timers fire in turns that somebody makes, are taken back by anybody, and are
// dropped at the end.
#include <braid/task/detail/shared_timers.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/probe_timer.hpp>
#include <tests/support/sleeper.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <deque>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using braid::acquire;
using braid::atomic;
using braid::duration;
using braid::errc;
using braid::release;
using braid::time_point;
using braid::detail::shared_timers;
using braid::testing::eventually;
using braid::testing::probe_timer;
using braid::testing::run_in_child;
using braid::testing::sleeper;
using namespace std::chrono_literals;

namespace {

constexpr duration tick{duration::rep{1} << braid::timer_wheel::tick_bits};

}  // namespace

TEST_CASE("a timer fires in the first turn that is not before its time, once") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  probe_timer item;
  timers.arm(item, clock.now() + 1s);
  clock.advance(1s - 1ns);
  timers.run_once();
  CHECK(item.fired == 0);
  CHECK(item.is_armed());
  clock.advance(tick);
  timers.run_once();
  timers.run_once();
  CHECK(item.fired == 1);
  CHECK(item.dropped == 0);
  CHECK_FALSE(item.is_armed());
}

TEST_CASE("a turn says when the next one is worth while") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  CHECK(timers.run_once() == std::nullopt);
  CHECK(timers.now() == clock.now());
  probe_timer item;
  const time_point when = clock.now() + 5s;
  timers.arm(item, when);
  int turns = 0;
  for (auto next = timers.run_once(); next; next = timers.run_once()) {
    REQUIRE(*next > clock.now());
    CHECK(*next < when + tick);
    clock.advance(*next - clock.now());
    REQUIRE(++turns < 20);
  }
  CHECK(item.fired == 1);
  CHECK(clock.now() >= when);
}

TEST_CASE("a timer that fires may arm itself, and take back others that are due in the same turn") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  probe_timer victim;
  probe_timer item([&] {
    timers.disarm(victim);
    timers.arm(item, clock.now() + 1s);
  });
  timers.arm(item, time_point::min());
  timers.arm(victim, time_point::min());
  timers.run_once();
  CHECK(item.fired == 1);
  CHECK(victim.fired == 0);
  clock.advance(2s);
  timers.run_once();
  CHECK(item.fired == 2);
  timers.disarm(item);
  clock.advance(1h);
  timers.run_once();
  CHECK(item.fired == 2);
}

TEST_CASE("a timer that always arms itself for now fires once a turn") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  probe_timer item([&] { timers.arm(item, time_point::min()); });
  timers.arm(item, time_point::min());
  for (int turns = 1; turns <= 3; ++turns) {
    const auto next = timers.run_once();
    CHECK(item.fired == turns);
    REQUIRE(next.has_value());
    CHECK(*next <= clock.now());
  }
  timers.disarm(item);
}

TEST_CASE("a timer that is moved fires at its new time only") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  probe_timer item;
  timers.arm(item, clock.now() + 1s);
  timers.arm(item, clock.now() + 3s);
  clock.advance(2s);
  timers.run_once();
  CHECK(item.fired == 0);
  timers.arm(item, clock.now());
  clock.advance(tick);
  timers.run_once();
  CHECK(item.fired == 1);
}

TEST_CASE("thousands of timers fire in the order of their times, none early") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  braid::random_source random(7);
  constexpr std::size_t count = 20'000;
  struct entry {
    time_point when;
    std::unique_ptr<probe_timer> item;
  };
  std::vector<entry> entries(count);
  std::vector<time_point> fired;
  bool early = false;
  for (entry& one : entries) {
    one.when = clock.now() + duration(static_cast<duration::rep>(random.below(60'000'000'000)));
    one.item = std::make_unique<probe_timer>([&] {
      early = early || clock.now() < one.when;
      fired.push_back(one.when);
    });
    timers.arm(*one.item, one.when);
  }
  for (std::size_t i = 0; i < count; i += 3) timers.disarm(*entries[i].item);
  while (timers.run_once()) clock.advance(100ms);
  CHECK(fired.size() == count - (count + 2) / 3);
  CHECK_FALSE(early);
  const auto before_by_a_tick = [](time_point a, time_point b) { return a + tick < b; };
  CHECK(std::is_sorted(fired.begin(), fired.end(), before_by_a_tick));
}

TEST_CASE("closing drops what is pending, however far away, and says how much that was") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  std::deque<probe_timer> items(5);
  timers.arm(items[0], time_point::min());
  timers.arm(items[1], clock.now() + 1us);
  timers.arm(items[2], clock.now() + 1h);
  timers.arm(items[3], time_point::max());
  timers.arm(items[4], clock.now() + 2h);
  timers.disarm(items[4]);
  CHECK(timers.close() == std::size_t{4});
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(items[i].dropped == (i == 4 ? 0 : 1));
    CHECK(items[i].fired == 0);
    CHECK_FALSE(items[i].is_armed());
  }
  CHECK(timers.close() == std::size_t{0});
  clock.advance(3h);
  CHECK(timers.run_once() == std::nullopt);
}

TEST_CASE("what is armed after the close is dropped at once") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  REQUIRE(timers.close());
  probe_timer item;
  timers.arm(item, clock.now() + 1s);
  CHECK(item.dropped == 1);
  CHECK_FALSE(item.is_armed());
  timers.disarm(item);
  CHECK(item.dropped == 1);
}

TEST_CASE("a timer that is dropped may take back another one, which is then not dropped, and cannot come back") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  probe_timer second;
  bool again = true;
  probe_timer first({}, [&] {
    timers.disarm(second);
    if (std::exchange(again, false)) timers.arm(first, clock.now() + 1s);  // which drops it once more
  });
  timers.arm(first, clock.now() + 1s);
  timers.arm(second, clock.now() + 1s);
  CHECK(timers.close() == std::size_t{1});
  CHECK(first.dropped == 2);
  CHECK(second.dropped == 0);
}

TEST_CASE("a function of a timer is refused to close the timers, which stay usable") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  braid::result<std::size_t> closed;
  probe_timer item([&] { closed = timers.close(); });
  timers.arm(item, time_point::min());
  timers.run_once();
  REQUIRE_FALSE(closed.has_value());
  CHECK(closed.error() == errc::would_deadlock);
  timers.arm(item, time_point::min());
  timers.run_once();
  CHECK(item.fired == 2);
}

TEST_CASE("a plain timer without a function for it is just forgotten at the close") {
  shared_timers timers;
  braid::timer item([](braid::timer&) noexcept {});
  timers.arm(item, timers.now() + 1h);
  CHECK(timers.close() == std::size_t{1});
  CHECK_FALSE(item.is_armed());
}

TEST_CASE("disarming waits until the timer has fired on the other thread, and so its owner may destroy it") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  std::latch entered(1);
  std::latch may_leave(1);
  auto item = std::make_unique<probe_timer>([&] {
    entered.count_down();
    may_leave.wait();
  });
  timers.arm(*item, time_point::min());
  std::jthread server([&] { timers.run_once(); });
  entered.wait();
  probe_timer other;
  timers.arm(other, time_point::max());
  timers.disarm(other);  // does not wait: it is another one
  sleeper owner([&] {
    timers.disarm(*item);
    CHECK(item->fired == 1);
    item.reset();
  });
  CHECK(owner.falls_asleep());
  may_leave.count_down();
}

TEST_CASE("disarming from another thread also ends a timer that arms itself") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  std::latch entered(1);
  std::latch may_leave(1);
  probe_timer item([&] {
    entered.count_down();
    may_leave.wait();
    timers.arm(item, time_point::min());
  });
  timers.arm(item, time_point::min());
  std::jthread server([&] { timers.run_once(); });
  entered.wait();
  {
    sleeper owner([&] { timers.disarm(item); });
    CHECK(owner.falls_asleep());
    may_leave.count_down();
  }
  CHECK_FALSE(item.is_armed());
  server.join();
  timers.run_once();
  CHECK(item.fired == 1);
}

TEST_CASE("who disarms a timer that fires waits for that one, not for those that fire after it") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  std::latch entered(1);
  std::latch may_leave(1);
  atomic<bool> disarmed{false};
  atomic<bool> in_time{false};
  probe_timer first([&] {
    entered.count_down();
    may_leave.wait();
  });
  probe_timer second([&] { in_time.store(eventually([&] { return disarmed.load(acquire); }), release); });
  timers.arm(first, time_point::min());
  timers.arm(second, time_point::min());
  {
    const std::jthread server([&] { timers.run_once(); });
    entered.wait();
    const sleeper owner([&] {
      timers.disarm(first);
      disarmed.store(true, release);
    });
    CHECK(owner.falls_asleep());
    may_leave.count_down();
  }
  CHECK(in_time.load(acquire));
}

TEST_CASE("closing waits for the timer that fires on another thread, and nothing fires afterwards") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  std::latch entered(1);
  std::latch may_leave(1);
  probe_timer item([&] {
    entered.count_down();
    may_leave.wait();
  });
  probe_timer behind;
  timers.arm(item, time_point::min());
  timers.arm(behind, time_point::min());
  std::jthread server([&] { timers.run_once(); });
  entered.wait();
  atomic<std::size_t> dropped{0};
  {
    sleeper closer([&] { dropped.store(timers.close().value(), braid::relaxed); });
    CHECK(closer.falls_asleep());
    CHECK(item.fired == 0);
    may_leave.count_down();
  }
  CHECK(dropped == 1);
  CHECK(item.fired == 1);
  CHECK(behind.fired == 0);
  CHECK(behind.dropped == 1);
}

TEST_CASE("a server sleeps for a timer in the far future, and is woken for an earlier one, and for the close") {
  shared_timers timers;
  probe_timer far;
  timers.arm(far, time_point::max());
  sleeper server([&] { timers.run(); });
  CHECK(server.falls_asleep());
  probe_timer near;
  timers.arm(near, timers.now());
  CHECK(eventually([&] { return near.has_fired(); }));
  CHECK(server.falls_asleep());
  CHECK(timers.close() == std::size_t{1});
  CHECK(eventually([&] { return server.returned(); }));
  CHECK(far.dropped == 1);
}

TEST_CASE("only the system's clock can be slept by, and a timer does not serve the timers") {
  const auto sleeping = run_in_child([] {
    const braid::manual_clock clock;
    shared_timers timers(clock);
    timers.run();
  });
  CHECK(sleeping.signal == SIGABRT);
  const auto nested = run_in_child([] {
    shared_timers timers;
    probe_timer item([&] { timers.run_once(); });
    timers.arm(item, time_point::min());
    timers.run_once();
  });
  CHECK(nested.signal == SIGABRT);
}
