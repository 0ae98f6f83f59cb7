// tests/task/scheduled_test.cpp: scheduled functions run at their times, once or again and again, and end as they say.
#include <braid/task/scheduled.hpp>

#include <braid/base/clock.hpp>
#include <braid/task/detail/shared_timers.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/running_clock.hpp>
#include <tests/support/scheduled_scene.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <latch>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using braid::cancellation;
using braid::duration;
using braid::errc;
using braid::every_mode;
using braid::every_options;
using braid::missed_ticks;
using braid::post_after;
using braid::post_at;
using braid::post_every;
using braid::schedule_status;
using braid::scheduled_task;
using braid::time_point;
using braid::detail::shared_timers;
using braid::testing::beat;
using braid::testing::deaths;
using braid::testing::eventually;
using braid::testing::manual_executor;
using braid::testing::mortal;
using braid::testing::scheduled_scene;
using namespace std::chrono_literals;

static_assert(braid::detail::scheduled_function<void (*)()>);
static_assert(braid::detail::scheduled_function<void (*)(const scheduled_task&)>);
static_assert(!braid::detail::scheduled_function<void (*)(int)>);
static_assert(!braid::detail::periodic_function<decltype([](int) {})>);

namespace {

using times = std::vector<int>;  // in beats

/// Runs on the caller, in the middle of the post. Keeps the last thing that was thrown.
class inline_executor final : public braid::executor {
 public:
  [[nodiscard]] auto try_post(braid::job& work) noexcept -> bool override {
    try {
      work.run();
    } catch (const std::exception& thrown) {
      reported = thrown.what();
    }
    return true;
  }
  [[nodiscard]] auto is_current() const noexcept -> bool override { return false; }

  std::string reported;
};

/// The beats at which the runs of a series begin that has its first tick at 100, where each takes as long as it says.
auto begins(every_options how, std::vector<int> lengths) -> times {
  scheduled_scene s;
  times all;
  how.first = s.start + 100 * beat;
  const auto task = post_every(s.where, s.timers, how, [&] {
    all.push_back(s.elapsed());
    s.clock.advance(lengths.at(all.size() - 1) * beat);
  });
  while (all.size() < lengths.size()) s.advance(1);
  CHECK(task->cancel() == cancellation::done);
  return all;
}

}  // namespace

TEST_CASE("a function that is posted at a time runs then, once, and its captures end with the run") {
  scheduled_scene s;
  deaths ended;
  int calls = 0;
  const auto task = post_at(s.where, s.timers, s.start + 10 * beat, [&calls, guard = mortal(ended)] { ++calls; });
  REQUIRE(task);
  s.advance(9);
  CHECK(calls == 0);
  CHECK(task->is_active());
  CHECK(task->runs() == 0);
  CHECK(ended.count == 0);
  s.advance(1);
  CHECK(calls == 1);
  CHECK(ended.count == 1);
  CHECK(task->status() == schedule_status::done);
  CHECK(task->runs() == 1);
  s.advance(100);
  CHECK(calls == 1);
}

TEST_CASE("a time that has passed means at once, and so does no delay") {
  scheduled_scene s;
  int calls = 0;
  REQUIRE(post_at(s.where, s.timers, time_point::min(), [&] { ++calls; }));
  REQUIRE(post_at(s.where, s.timers, s.clock.now(), [&] { ++calls; }));
  REQUIRE(post_after(s.where, s.timers, 0s, [&] { ++calls; }));
  CHECK(calls == 0);
  s.settle();
  CHECK(calls == 3);
}

TEST_CASE("a delay is counted from now, in any unit") {
  scheduled_scene s;
  times all;
  const auto note = [&] { all.push_back(s.elapsed()); };
  using beats = std::chrono::duration<double, std::ratio<beat.count(), 1'000'000'000>>;
  s.advance(5);
  REQUIRE(post_after(s.where, s.timers, beats(20), note));
  REQUIRE(post_after(s.where, s.timers, std::chrono::seconds(1), note));
  REQUIRE(post_after(s.where, s.timers, 2 * beat, note));
  s.advance(2'000);
  CHECK(all == times{7, 25, 5 + static_cast<int>(1s / beat) + 1});
}

TEST_CASE(
    "delays that are negative or lead beyond the end of time are refused, and the function stays with the caller") {
  scheduled_scene s;
  const auto error_of = [&](auto delay) {
    const auto refused = post_after(s.where, s.timers, delay, [] {});
    return refused ? std::error_code() : refused.error();
  };
  CHECK(error_of(-1ns) == errc::invalid_argument);
  CHECK(error_of(std::chrono::hours::min()) == errc::invalid_argument);
  CHECK(error_of(duration::max()) == errc::invalid_argument);
  CHECK(error_of(std::chrono::hours::max()) == errc::invalid_argument);
  CHECK(error_of(std::chrono::duration<double>(std::numeric_limits<double>::infinity())) == errc::invalid_argument);
  deaths ended;
  {
    auto fn = [guard = mortal(ended)] {};
    CHECK_FALSE(post_after(s.where, s.timers, -1s, std::move(fn)));
    CHECK(ended.count == 0);
  }
  CHECK(ended.count == 1);
}

TEST_CASE("intervals that are not positive or lead beyond the end of time are refused") {
  scheduled_scene s;
  const auto error_of = [&](every_options how) {
    const auto refused = post_every(s.where, s.timers, how, [] {});
    return refused ? std::error_code() : refused.error();
  };
  CHECK(error_of({}) == errc::bad_interval);
  CHECK(error_of({.interval = 0s}) == errc::bad_interval);
  CHECK(error_of({.interval = -1ms, .mode = every_mode::fixed_delay}) == errc::bad_interval);
  CHECK(error_of({.interval = std::chrono::hours::min()}) == errc::bad_interval);
  CHECK(error_of({.interval = std::chrono::hours::max()}) == errc::bad_interval);
  CHECK(error_of({.interval = duration::max()}) == errc::bad_interval);
  CHECK_FALSE(error_of({.interval = 1ns}));
}

TEST_CASE("a series begins at once where no first tick is given, and goes on at its rate") {
  scheduled_scene s;
  times all;
  const auto task = post_every(s.where, s.timers, {.interval = 10 * beat}, [&] { all.push_back(s.elapsed()); });
  s.settle();
  s.advance(35);
  CHECK(all == times{0, 10, 20, 30});
  CHECK(task->runs() == 4);
  CHECK(task->is_active());
}

TEST_CASE("a first tick is not missed by the time that goes by while a series is started") {
  for (const auto missed : {missed_ticks::burst, missed_ticks::skip, missed_ticks::delay})
    for (const auto mode : {every_mode::fixed_rate, every_mode::fixed_delay}) {
      braid::testing::running_clock clock;
      shared_timers timers(clock);
      manual_executor where;
      const auto start = [&](std::optional<time_point> first) {
        return post_every(where, timers, {.interval = 5s, .mode = mode, .missed = missed, .first = first}, [] {});
      };
      const auto now = start(std::nullopt);
      const auto named = start(timers.now());
      timers.run_once();
      where.run_all();
      CHECK(now->runs() == 1);
      CHECK(named->runs() == 1);
      clock.advance(4s);
      timers.run_once();
      CHECK(where.pending() == 0);
      clock.advance(1s + 1ms);
      timers.run_once();
      where.run_all();
      CHECK(now->runs() == 2);
      CHECK(named->runs() == 2);
    }
}

TEST_CASE("on the clock of the system a series begins at once, too") {
  braid::pool workers({.workers = 1});
  braid::timer_thread timers;
  const auto now = post_every(workers, timers, {.interval = 1h}, [] {});
  const auto named = post_every(workers, timers, {.interval = 1h, .first = timers.now()}, [] {});
  CHECK(eventually([&] { return now->runs() == 1 && named->runs() == 1; }));
}

TEST_CASE("at a fixed rate the length of a run does not move the ticks") {
  CHECK(begins({.interval = 10 * beat}, {1, 9, 4, 0}) == times{100, 110, 120, 130});
}

TEST_CASE("with a fixed delay every run is that long after the end of the one before") {
  CHECK(begins({.interval = 10 * beat, .mode = every_mode::fixed_delay}, {1, 25, 4, 0}) == times{100, 111, 146, 160});
}

TEST_CASE("ticks that a long run misses are made up for, left out, or summed up, as the series says") {
  // What is made up for begins at the next beat, because a turn of the timers queues it.
  const auto with = [](missed_ticks missed) {
    return begins({.interval = 10 * beat, .missed = missed}, {35, 0, 0, 0, 0, 0});
  };
  CHECK(with(missed_ticks::burst) == times{100, 136, 137, 138, 140, 150});
  CHECK(with(missed_ticks::skip) == times{100, 140, 150, 160, 170, 180});
  CHECK(with(missed_ticks::delay) == times{100, 136, 145, 155, 165, 175});
}

TEST_CASE("a first tick that has passed is a missed tick") {
  const auto with = [](missed_ticks missed) {
    scheduled_scene s;
    times all;
    s.advance(25);
    const every_options how{.interval = 10 * beat, .missed = missed, .first = s.start + 3 * beat};
    REQUIRE(post_every(s.where, s.timers, how, [&] { all.push_back(s.elapsed()); }));
    for (int i = 0; i < 3; ++i) s.settle();
    s.advance(20);
    return all;
  };
  CHECK(with(missed_ticks::burst) == times{25, 25, 25, 33, 43});
  CHECK(with(missed_ticks::skip) == times{33, 43});
  CHECK(with(missed_ticks::delay) == times{25, 35, 45});
}

TEST_CASE("while a run waits for a worker no other is queued, and its ticks are missed ticks") {
  scheduled_scene s;
  times all;
  const auto task = post_every(s.where, s.timers, {.interval = 10 * beat}, [&] { all.push_back(s.elapsed()); });
  s.advance(45, true);
  CHECK(s.where.pending() == 1);
  s.advance(20);
  CHECK(all == times{46, 50, 60});
  CHECK(task->runs() == 3);
}

TEST_CASE("what a run throws goes to the executor, and the series goes on") {
  scheduled_scene s;
  const auto task =
      post_every(s.where, s.timers, {.interval = 10 * beat}, [] { throw std::runtime_error("no more rows"); });
  for (int runs = 1; runs <= 3; ++runs) {
    s.advance(10, true);
    REQUIRE(s.where.pending() == 1);
    CHECK_THROWS_WITH(s.where.run(), "no more rows");
  }
  CHECK(task->is_active());
  CHECK(task->runs() == 3);
}

TEST_CASE("what a single run throws goes to the executor, and its captures have been destroyed by then") {
  scheduled_scene s;
  deaths ended;
  const auto task = post_after(s.where, s.timers, 0s, [guard = mortal(ended)] { throw std::runtime_error("late"); });
  s.timers.run_once();
  try {
    s.where.run();
    FAIL("it throws");
  } catch (const std::runtime_error&) {
    CHECK(ended.count == 1);
    CHECK(task->status() == schedule_status::done);
  }
}

TEST_CASE("an executor that is closed when a run is due ends the series, and the handle says so") {
  scheduled_scene s;
  deaths ended;
  const auto task = post_every(s.where, s.timers, {.interval = 10 * beat}, [guard = mortal(ended)] {});
  s.advance(25);
  CHECK(task->runs() == 3);
  s.where.close();
  s.advance(10);
  CHECK(task->status() == schedule_status::refused);
  CHECK(ended.count == 1);
  CHECK(task->cancel() == cancellation::too_late);
  CHECK(s.timers.run_once() == std::nullopt);
}

TEST_CASE("an executor that drops a run ends the series, and the handle says so") {
  scheduled_scene s;
  deaths ended;
  const auto task = post_every(s.where, s.timers, {.interval = 10 * beat}, [guard = mortal(ended)] {});
  s.timers.run_once();
  s.where.drop();
  CHECK(task->status() == schedule_status::dropped);
  CHECK(task->runs() == 0);
  CHECK(ended.count == 1);
  CHECK(s.timers.run_once() == std::nullopt);
}

TEST_CASE("the end of the timers drops what is pending; what is queued still runs, for the last time") {
  scheduled_scene s;
  deaths ended;
  int calls = 0;
  const auto pending = post_after(s.where, s.timers, 1h, [guard = mortal(ended)] {});
  const auto queued =
      post_every(s.where, s.timers, {.interval = 10 * beat}, [&calls, guard = mortal(ended)] { ++calls; });
  s.timers.run_once();
  CHECK(s.timers.close().value() == 1);
  CHECK(pending->status() == schedule_status::dropped);
  CHECK(queued->is_active());
  CHECK(ended.count == 1);
  s.where.run_all();
  CHECK(calls == 1);
  CHECK(queued->status() == schedule_status::dropped);
  CHECK(ended.count == 2);
}

TEST_CASE("closed timers take no new work") {
  scheduled_scene s;
  deaths ended;
  REQUIRE(s.timers.close());
  const auto once = post_after(s.where, s.timers, 1s, [guard = mortal(ended)] {});
  const auto often = post_every(s.where, s.timers, {.interval = 1s}, [guard = mortal(ended)] {});
  REQUIRE_FALSE(once);
  REQUIRE_FALSE(often);
  CHECK(once.error() == errc::closed);
  CHECK(often.error() == errc::closed);
  CHECK(ended.count == 2);
}

TEST_CASE("a run that is still going on when the timers are destroyed is the last one") {
  manual_executor where;
  braid::manual_clock clock;
  auto timers = std::make_unique<shared_timers>(clock);
  const auto task = post_every(where, *timers, {.interval = 1ms}, [&] { timers.reset(); });
  timers->run_once();
  where.run();
  CHECK(task->status() == schedule_status::dropped);
  CHECK(task->runs() == 1);
}

TEST_CASE("an executor that runs in the middle of the post runs on the thread of the timers") {
  braid::manual_clock clock;
  shared_timers timers(clock);
  inline_executor where;
  int calls = 0;
  const auto task = post_every(where, timers, {.interval = 10 * beat, .missed = missed_ticks::burst},
                               [&](const scheduled_task& self) {
                                 ++calls;
                                 if (calls == 1) clock.advance(1'000 * beat);  // which misses a hundred ticks
                                 if (calls == 101) self.cancel();
                                 if (calls == 7) throw std::runtime_error("seventh");
                               });
  while (timers.run_once()) {}
  CHECK(calls == 101);
  CHECK(where.reported == "seventh");
  CHECK(task->status() == schedule_status::cancelled);
}

TEST_CASE("functions may be move-only, are called as what they are, and big ones are kept whole") {
  struct picky {
    std::unique_ptr<int> held = std::make_unique<int>(5);
    std::vector<std::string>* calls;
    explicit picky(std::vector<std::string>* list) : calls(list) {}
    void operator()() & { calls->push_back("lvalue"); }
    void operator()() && { calls->push_back("rvalue"); }
  };
  scheduled_scene s;
  std::vector<std::string> calls;
  REQUIRE(post_after(s.where, s.timers, 0s, picky(&calls)));
  s.settle();
  REQUIRE(post_every(s.where, s.timers, {.interval = 1h}, picky(&calls)));
  s.settle();
  std::array<int, 1'000> big{};
  big.back() = 7;
  REQUIRE(post_after(s.where, s.timers, 0s, [&calls, big] { calls.push_back(std::to_string(big.back())); }));
  s.settle();
  CHECK(calls == std::vector<std::string>{"rvalue", "lvalue", "7"});
}

TEST_CASE("a function whose copy throws leaves nothing behind") {
  struct unlucky {
    unlucky() = default;
    unlucky(const unlucky&) { throw std::runtime_error("no copy"); }
    void operator()() const {}
  };
  scheduled_scene s;
  const unlucky fn;
  CHECK_THROWS_WITH(static_cast<void>(post_after(s.where, s.timers, 1s, fn)), "no copy");
  CHECK(s.timers.run_once() == std::nullopt);
}

TEST_CASE("a pool and a thread of timers run thousands of tasks, each once and none early") {
  braid::pool workers({.workers = 2});
  braid::timer_thread timers;
  constexpr int count = 5'000;
  std::latch all(count);
  braid::atomic<int> early{0};
  for (int i = 0; i < count; ++i) {
    const time_point when = timers.now() + duration(i * 1'000);
    REQUIRE(post_at(workers, timers, when, [&, when] {
      if (timers.now() < when) early.fetch_add(1, braid::relaxed);
      all.count_down();
    }));
  }
  all.wait();
  CHECK(early == 0);
}

TEST_CASE("an error of a periodic run on a pool is reported there each time") {
  braid::atomic<int> reports{0};
  braid::pool workers({.workers = 1, .on_error = [&](std::exception_ptr) { reports.fetch_add(1, braid::relaxed); }});
  braid::timer_thread timers;
  const auto task = post_every(workers, timers, {.interval = 1ms}, [] { throw std::runtime_error("again"); });
  CHECK(eventually([&] { return reports.load(braid::relaxed) >= 3; }));
  CHECK(task->is_active());
}

TEST_CASE("a pool that shuts down ends the series that use it") {
  braid::pool workers({.workers = 1});
  braid::timer_thread timers;
  deaths ended;
  const auto task = post_every(workers, timers, {.interval = 1ms}, [guard = mortal(ended)] {});
  CHECK(eventually([&] { return task->runs() != 0; }));
  REQUIRE(workers.shutdown(braid::shutdown_mode::drain));
  CHECK(eventually([&] { return !task->is_active(); }));
  CHECK(task->status() == schedule_status::refused);
  CHECK(ended.count == 1);
}

TEST_CASE("without timers of their own, works are done at their times by those of the process") {
  braid::pool workers({.workers = 1});
  std::latch all(3);
  const auto once = post_after(workers, 1ms, [&] { all.count_down(); });
  const auto now = post_at(workers, braid::steady_time().now(), [&] { all.count_down(); });
  const auto again = post_every(workers, {.interval = 1ms}, [&](const scheduled_task& self) {
    self.cancel();
    all.count_down();
  });
  REQUIRE(once);
  REQUIRE(now);
  REQUIRE(again);
  all.wait();
  CHECK(post_after(workers, -1ms, [] {}).error() == errc::invalid_argument);
  CHECK(post_every(workers, {.interval = 0s}, [] {}).error() == errc::bad_interval);
}

TEST_CASE("a pool that has gone ends what the timers of the process have for it") {
  scheduled_task late;
  {
    braid::pool workers({.workers = 1});
    late = post_after(workers, 1ms, [] {}).value();
  }
  CHECK(eventually([&] { return !late.is_active(); }));
}
