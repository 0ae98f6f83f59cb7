// tests/task/timer_thread_test.cpp: a thread fires timers in time, is woken for earlier ones, and ends with the timers.
#include <braid/task/scheduled.hpp>

#include <braid/task/executor.hpp>
#include <braid/thread/registry.hpp>
#include <braid/thread/thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/probe_timer.hpp>
#include <tests/support/sleeper.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <latch>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

using braid::atomic;
using braid::errc;
using braid::relaxed;
using braid::time_point;
using braid::timer_thread;
using braid::testing::eventually;
using braid::testing::is_asleep;
using braid::testing::probe_timer;
using namespace std::chrono_literals;

static_assert(std::is_base_of_v<braid::timer_service, timer_thread>);
static_assert(braid::detail::thread_like<timer_thread>);

namespace {

/// Until the thread of the timers is blocked in the kernel.
auto falls_asleep(const timer_thread& timers) -> bool {
  return eventually([&] { return is_asleep(timers.info()->id()); });
}

}  // namespace

TEST_CASE("a timer fires on the thread of the timers, not before its time") {
  timer_thread timers;
  std::optional<time_point> fired_at;
  atomic<::pid_t> fired_on{0};
  probe_timer item([&] {
    fired_at = timers.now();
    fired_on.store(static_cast<::pid_t>(::syscall(SYS_gettid)), relaxed);
  });
  const time_point when = timers.now() + 2ms;
  timers.arm(item, when);
  CHECK(eventually([&] { return item.has_fired(); }));
  REQUIRE(fired_at.has_value());
  CHECK(*fired_at >= when);
  CHECK(fired_on == timers.info()->id());
}

TEST_CASE("the thread sleeps beside a timer that is far away, and an earlier one wakes it") {
  timer_thread timers;
  probe_timer next_hour;
  probe_timer end_of_time;
  timers.arm(end_of_time, time_point::max());
  timers.arm(next_hour, timers.now() + 1h);
  CHECK(falls_asleep(timers));
  probe_timer soon;
  timers.arm(soon, timers.now() + 1ms);
  CHECK(eventually([&] { return soon.has_fired(); }));
  CHECK(falls_asleep(timers));
  CHECK(next_hour.fired == 0);
  CHECK(end_of_time.fired == 0);
  timers.disarm(next_hour);
  CHECK(timers.close() == std::size_t{1});
  CHECK(end_of_time.dropped == 1);
}

TEST_CASE("each earlier timer wakes a thread that sleeps for a later one") {
  timer_thread timers;
  std::deque<probe_timer> items(6);
  CHECK(falls_asleep(timers));
  for (std::size_t i = 0; i + 1 < items.size(); ++i) timers.arm(items[i], timers.now() + 3600s / (i + 1));
  CHECK(falls_asleep(timers));
  timers.arm(items.back(), time_point::min());
  CHECK(eventually([&] { return items.back().has_fired(); }));
  CHECK(timers.close() == items.size() - 1);
}

TEST_CASE("many threads arm and disarm, and what is left fires once") {
  timer_thread timers;
  constexpr std::size_t threads = 4;
  constexpr std::size_t each = 500;
  std::deque<probe_timer> items(threads * each);
  {
    std::vector<std::jthread> armers;
    for (std::size_t t = 0; t < threads; ++t)
      armers.emplace_back([&, t] {
        for (std::size_t i = 0; i < each; ++i) {
          probe_timer& item = items[t * each + i];
          timers.arm(item, timers.now() + (i % 2 == 0 ? 3600s : 0s));
          if (i % 2 == 0) timers.disarm(item);
        }
      });
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i % 2 == 1) CHECK(eventually([&] { return items[i].has_fired(); }));
    CHECK(items[i].fired == (i % 2 == 1 ? 1 : 0));
    CHECK(items[i].dropped == 0);
  }
}

TEST_CASE("the end of the object drops what is pending, on the thread that ends it") {
  probe_timer item;
  std::thread::id dropped_on;
  item.drop_action = [&] { dropped_on = std::this_thread::get_id(); };
  {
    timer_thread timers;
    timers.arm(item, timers.now() + 1h);
  }
  CHECK(item.dropped == 1);
  CHECK(item.fired == 0);
  CHECK(dropped_on == std::this_thread::get_id());
}

TEST_CASE("a function of a timer cannot close the timers, and they go on") {
  timer_thread timers;
  atomic<bool> refused{false};
  probe_timer item([&] {
    const auto closed = timers.close();
    refused.store(!closed && closed.error() == errc::would_deadlock, relaxed);
  });
  timers.arm(item, time_point::min());
  CHECK(eventually([&] { return item.has_fired(); }));
  CHECK(refused);
  probe_timer second;
  timers.arm(second, time_point::min());
  CHECK(eventually([&] { return second.has_fired(); }));
}

TEST_CASE("several threads may close the timers: all return after the end, and one of them has dropped") {
  timer_thread timers;
  std::deque<probe_timer> items(100);
  for (probe_timer& item : items) timers.arm(item, timers.now() + 1h);
  atomic<std::size_t> dropped{0};
  {
    std::vector<std::jthread> closers;
    for (int i = 0; i < 3; ++i)
      closers.emplace_back([&] {
        dropped.fetch_add(timers.close().value(), relaxed);
        CHECK(items.back().dropped == 1);
      });
  }
  CHECK(dropped == items.size());
}

TEST_CASE("the thread has its name, can be given another, and is registered where that is wanted") {
  const timer_thread plain;
  CHECK(plain.name() == "braid-timer");
  CHECK(plain.report().all_applied());

  const braid::thread_registry registry;
  {
    const timer_thread timers(
        {.thread = {.name = "clockwork"}, .label = braid::thread_label{.tag = "timer"}, .registry = registry});
    CHECK(timers.name() == "clockwork");
    REQUIRE(registry.size() == 1);
    CHECK(registry.entries().front().tag == "timer");
    CHECK(registry.entries().front().name == "clockwork");
    CHECK(registry.entries().front().tid == timers.info()->id());
    CHECK(timers.set_name("sundial"));
    CHECK(timers.name() == "sundial");
  }
  CHECK(registry.size() == 0);
}

TEST_CASE("a setting that is refused keeps the timers from starting, or is reported") {
  const std::string too_long(40, 'x');
  CHECK_THROWS_AS(timer_thread({.thread = {.name = too_long}}), std::system_error);
  timer_thread timers({.thread = {.name = too_long, .on_refused = braid::refusal::ignore}});
  CHECK_FALSE(timers.report().all_applied());
  probe_timer item;
  timers.arm(item, time_point::min());
  CHECK(eventually([&] { return item.has_fired(); }));
}
