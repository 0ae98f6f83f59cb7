// tests/coro/sleep_test.cpp: sleeping tasks, on a clock that the test turns.
#include <braid/coro/sleep.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::test_loop;

namespace {

constexpr duration tick{duration::rep{1} << timer_wheel::tick_bits};

}  // namespace

TEST_CASE("a sleep is never shorter than asked for, and at most one tick longer") {
  test_loop here;
  const auto begin = here.now();
  std::vector<duration> spans;
  for (const int step : {0, 1, 2, 63, 64, 65, 4096})
    for (const int more : {-1, 0, 1}) spans.push_back(tick * step + duration(more));

  std::size_t woken = 0;
  auto sleeper = [&](duration span) -> task<void> {
    co_await sleep_for(span);
    CHECK(here.now() - begin >= span);
    CHECK(here.now() - begin <= std::max(span, duration::zero()) + 2 * tick);
    ++woken;
  };
  for (const duration span : spans) here.io().spawn(sleeper(span));
  for (int i = 0; i < 4200; ++i) {
    here.run_once(1);
    here.advance(tick);
  }
  CHECK(woken == spans.size());
}

TEST_CASE("a sleeper does not wake while the clock stands still") {
  test_loop here;
  bool woken = false;
  auto sleeper = [&]() -> task<void> {
    co_await sleep_for(1ms);
    woken = true;
  };
  here.io().spawn(sleeper());
  here.run_once(100);
  CHECK_FALSE(woken);
  here.advance(1ms - 1ns);
  CHECK_FALSE(woken);
  here.advance(1ns + tick);
  CHECK(woken);
}

TEST_CASE("sleepers wake in the order of their times, whatever the order in which they began") {
  test_loop here;
  random_source random(1);
  std::vector<int> woken;
  auto sleeper = [&](int number) -> task<void> {
    co_await sleep_until(here.now() + number * 1ms);
    woken.push_back(number);
  };
  std::vector<int> numbers;
  for (int i = 1; i <= 200; ++i) numbers.push_back(i);
  for (std::size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
  for (const int number : numbers) here.io().spawn(sleeper(number));
  here.advance(1s);
  CHECK(woken.size() == 200);
  CHECK(std::is_sorted(woken.begin(), woken.end()));
}

TEST_CASE("a sleep is counted from where it is awaited") {
  test_loop here;
  bool woken = false;
  auto sleeper = [&]() -> task<void> {
    auto later = sleep_for(10ms);
    co_await sleep_for(5ms);
    co_await later;
    woken = true;
  };
  here.io().spawn(sleeper());
  here.advance(6ms);
  here.advance(5ms);
  CHECK_FALSE(woken);
  here.advance(6ms);
  CHECK(woken);
}

TEST_CASE("spans and times beyond the end of time never wake") {
  test_loop here;
  bool woken = false;
  auto forever = [&](auto pause) -> task<void> {
    co_await pause();
    woken = true;
  };
  here.io().spawn(forever([] { return sleep_until(time_point::max()); }));
  here.io().spawn(forever([] { return sleep_for(duration::max()); }));
  here.io().spawn(forever([] { return sleep_for(std::chrono::hours::max()); }));
  here.io().spawn(forever([] { return sleep_for(std::chrono::years(1'000'000)); }));
  here.io().spawn(forever([] { return sleep_for(std::chrono::duration<double>(1e300)); }));
  here.advance(std::chrono::years(80));
  CHECK_FALSE(woken);
  CHECK(here.io().root().tasks() == 5);
}

TEST_CASE("spans that are not positive and times that have passed let others go first, and wake without the clock") {
  test_loop here;
  std::vector<int> order;
  auto sleeper = [&](auto pause) -> task<void> {
    co_await pause();
    order.push_back(2);
  };
  here.io().spawn(sleeper([] { return sleep_for(0ns); }));
  here.io().spawn(sleeper([] { return sleep_for(-1h); }));
  here.io().spawn(sleeper([] { return sleep_for(duration::min()); }));
  here.io().spawn(sleeper([] { return sleep_until(time_point::min()); }));
  order.push_back(1);
  here.run_once();
  CHECK(order == std::vector{1, 2, 2, 2, 2});
}

TEST_CASE("fractions of a nanosecond are rounded up") {
  test_loop here;
  using picoseconds = std::chrono::duration<long, std::pico>;
  static_assert(detail::after(time_point{}, picoseconds(1)) == time_point(1ns));
  static_assert(detail::after(time_point{}, std::chrono::duration<double, std::nano>(1.5)) == time_point(2ns));
  static_assert(detail::after(time_point(5ns), picoseconds(-1)) == time_point(5ns));
}

TEST_CASE("a stop ends a sleep at once, and its timer with it") {
  test_loop here;
  deaths seen;
  bool woken = false;
  auto sleeper = [&]() -> task<void> {
    const mortal local(seen);
    co_await sleep_for(1h);
    woken = true;
  };
  here.io().spawn(sleeper());
  here.io().root().request_stop();
  CHECK(seen.count == 0);  // not inside of the call that asks for the stop
  here.run_once();
  CHECK(seen.count == 1);
  here.advance(2h);
  CHECK_FALSE(woken);
  CHECK(seen.count == 1);
}

TEST_CASE("a stop that comes with the timer already due wins only if it comes first") {
  test_loop here;
  bool first_woken = false;
  bool second_woken = false;
  auto first = [&]() -> task<void> {
    co_await sleep_for(1ms);
    first_woken = true;
    here.io().root().request_stop();
  };
  auto second = [&]() -> task<void> {
    co_await sleep_for(1ms);
    second_woken = true;
  };
  here.io().spawn(first());
  here.io().spawn(second());
  here.advance(1s);
  CHECK(first_woken);
  CHECK_FALSE(second_woken);
  CHECK(here.io().root().tasks() == 0);
}

TEST_CASE("in a stopped scope a sleep does not begin") {
  test_loop here;
  bool before = false;
  bool after = false;
  auto sleeper = [&]() -> task<void> {
    here.io().root().request_stop();
    before = true;
    co_await sleep_for(0ns);
    after = true;
  };
  here.io().spawn(sleeper());
  CHECK(before);
  CHECK(here.io().root().tasks() == 0);
  CHECK_FALSE(after);
}

namespace {

/// A loop whose tasks take time: they move its clock while they run.
struct slow_loop {
  slow_loop() { io->run_once(); }
  slow_loop(const slow_loop&) = delete;
  auto operator=(const slow_loop&) -> slow_loop& = delete;
  ~slow_loop() {
    io->stop();
    while (io->run_once()) {}
  }
  /// Turns with so much time between the turns until `holds()`.
  template <typename Fn>
  void run_until(duration pause, Fn&& holds) {
    while (!holds()) {
      io->run_once();
      clock.advance(pause);
    }
  }

  manual_clock clock;
  std::unique_ptr<loop> io = loop::create({.clock = &clock}).value();
};

}  // namespace

TEST_CASE("a sleep after long computing lasts its full length, and so does one of another task") {
  slow_loop here;
  int woken = 0;
  auto sleeper = [&](duration computing) -> task<void> {
    here.clock.advance(computing);
    const time_point begin = here.clock.now();
    co_await sleep_for(10ms);
    CHECK(here.clock.now() - begin >= 10ms);
    ++woken;
  };
  for (const duration computing : {duration(300ms), duration(0ms), duration(1ms)}) here.io->spawn(sleeper(computing));
  here.run_until(100us, [&] { return woken == 3; });
  CHECK(here.clock.now() - time_point() < 2s);
}

TEST_CASE("a timeout that begins after a long idleness does not pass early") {
  slow_loop here;
  here.clock.advance(1500ms);  // nobody has turned the loop meanwhile
  const time_point begin = here.clock.now();
  bool over = false;
  auto waits = [&]() -> task<void> {
    auto limited = with_timeout(10ms, sleep_for(1h));
    const auto late = co_await std::move(limited);
    CHECK(late.error() == errc::deadline_exceeded);
    CHECK(here.clock.now() - begin >= 10ms);
    over = true;
  };
  here.io->spawn(waits());
  here.run_until(100us, [&] { return over; });
  CHECK(here.clock.now() - begin < 11ms);
}

TEST_CASE("intervals that are counted from the one before do not drift, whatever the work in between takes") {
  slow_loop here;
  const time_point begin = here.clock.now();
  int rounds = 0;
  auto ticks = [&]() -> task<void> {
    for (time_point next = begin + 10ms; rounds < 1'000; next += 10ms) {
      co_await sleep_until(next);
      CHECK(here.clock.now() >= next);
      CHECK(here.clock.now() < next + 200us);
      here.clock.advance(7ms);
      ++rounds;
    }
  };
  here.io->spawn(ticks());
  here.run_until(100us, [&] { return rounds == 1'000; });
  CHECK(here.clock.now() - begin < 10ms * 1'000 + 8ms);
}

namespace {

using real_time = std::chrono::steady_clock;

/// How much earlier than asked for the waits of a home ended, by the system's clock; being late is not looked at.
struct waits_of_home {
  duration sleep = duration::max();
  duration timeout = duration::max();
};

/// Computes and then sleeps; begins with a timeout after the home has had nothing to do.
auto wait_at(home& where) -> waits_of_home {
  waits_of_home seen;
  auto computes = [&]() -> task<void> {
    for (const auto until = real_time::now() + 30ms; real_time::now() < until;) {}
    const auto begin = real_time::now();
    co_await sleep_for(20ms);
    seen.sleep = real_time::now() - begin - 20ms;
  };
  sync_wait(where, computes());
  std::this_thread::sleep_for(150ms);
  auto gives_up = [&]() -> task<void> {
    const auto begin = real_time::now();
    auto limited = with_timeout(50ms, sleep_for(1h));
    const auto late = co_await std::move(limited);
    if (late.error() == errc::deadline_exceeded) seen.timeout = real_time::now() - begin - 50ms;
  };
  sync_wait(where, gives_up());
  return seen;
}

}  // namespace

TEST_CASE("by the system's clock nothing wakes early after computing or idleness, on any backend and any home") {
  std::vector<std::unique_ptr<loop>> loops;
  for (const auto kind : {io_backend::kind::poll, io_backend::kind::epoll, io_backend::kind::uring})
    if (auto made = loop::create({.backend = kind})) loops.push_back(std::move(*made));
  CHECK(loops.size() >= 2);
  const auto merged = runtime::create({.workers = 2, .shape = runtime_shape::merged}).value();
  pool workers({.workers = 2});
  serial_executor strand(workers);
  std::vector<home*> homes{&strand};
  for (const auto& each : loops) homes.push_back(each.get());
  for (loop* const each : merged->loops()) homes.push_back(each);

  std::vector<std::thread> running;
  for (const auto& each : loops) running.emplace_back([&each] { each->run(); });
  for (const auto& each : loops)
    while (each->status() != loop::state::running) std::this_thread::yield();
  std::vector<waits_of_home> seen(homes.size());
  std::vector<std::thread> waiting;
  for (std::size_t i = 0; i < homes.size(); ++i) waiting.emplace_back([&, i] { seen[i] = wait_at(*homes[i]); });
  for (std::thread& each : waiting) each.join();
  for (const auto& each : loops) each->stop();
  for (std::thread& each : running) each.join();

  for (std::size_t i = 0; i < homes.size(); ++i) {
    CAPTURE(i);
    CHECK(seen[i].sleep >= 0ns);
    CHECK(seen[i].sleep < duration::max());
    CHECK(seen[i].timeout >= 0ns);
    CHECK(seen[i].timeout < duration::max());
  }
}
