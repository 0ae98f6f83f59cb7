// tests/task/outside_region_test.cpp: loops that begin on a thread that is no worker: where they run, and how they end.
#include <braid/task/detail/outside_region.hpp>

#include <braid/base/clock.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/default_pool.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/parallel_algorithms.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/worker.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

using braid::relaxed;
using braid::detail::outside_region;
using braid::detail::region_part;
using namespace std::chrono_literals;

namespace {

/// The pool of threads that are no workers, for the length of a test.
class default_pool_of {
 public:
  explicit default_pool_of(unsigned workers) : pool({.workers = workers}) {
    chosen = &pool;
    before_ = braid::detail::set_default_pool([]() -> braid::pool& { return *chosen; });
  }
  default_pool_of(const default_pool_of&) = delete;
  auto operator=(const default_pool_of&) -> default_pool_of& = delete;
  ~default_pool_of() { braid::detail::set_default_pool(before_); }

  braid::pool pool;

 private:
  static inline braid::pool* chosen = nullptr;
  braid::detail::default_pool_source before_ = nullptr;
};

struct watched {
  braid::testing::watchdog dog{100s};
  const std::thread::id caller = std::this_thread::get_id();

  [[nodiscard]] auto is_caller() const -> bool { return std::this_thread::get_id() == caller; }
};

/// A clock that several threads read.
class shared_clock final : public braid::clock_source {
 public:
  [[nodiscard]] auto now() const noexcept -> braid::time_point override {
    return braid::time_point(braid::duration(ns_.load(relaxed)));
  }
  void advance(braid::duration by) noexcept { ns_.fetch_add(by.count(), relaxed); }

 private:
  braid::atomic<std::int64_t> ns_{1'000'000'000};
};

/// A loop whose numbers each take so long by a clock that only they turn, those of the caller.
struct timed_loop {
  /// `before`: how long a number took the last time, where there was one.
  timed_loop(braid::pool& where, std::size_t count, braid::duration each, std::optional<braid::duration> before = 0ns)
      : met(count), length(each), region(where, {&run, this, count, 1}, pace, clock) {
    if (before)
      for (int i = 0; i < 60; ++i) pace.note(*before, 1);
  }

  [[nodiscard]] auto met_all_once() const -> bool {
    return std::ranges::all_of(met, [](const auto& each) { return each.load(relaxed) == 1; });
  }

  const std::thread::id caller = std::this_thread::get_id();
  std::vector<braid::atomic<int>> met;
  std::function<void(std::size_t)> on_each = [](std::size_t) {};
  braid::duration length;
  shared_clock clock;
  braid::detail::region_pace pace;
  outside_region region;

 private:
  static auto run(void* loop, std::size_t first, std::size_t last, region_part /*how*/) -> bool {
    auto& mine = *static_cast<timed_loop*>(loop);
    for (std::size_t i = first; i != last; ++i) {
      mine.met[i].fetch_add(1, relaxed);
      if (std::this_thread::get_id() == mine.caller) mine.clock.advance(mine.length);
      mine.on_each(i);
    }
    return true;
  }
};

/// Keeps all workers of a pool from doing anything else. What they wait for is theirs too: one may still look at it
/// when this has gone.
class busy_workers {
 public:
  explicit busy_workers(braid::pool& where) : held_(std::make_shared<held>(static_cast<std::ptrdiff_t>(where.size()))) {
    for (std::size_t i = 0; i < where.size(); ++i)
      braid::or_throw(braid::post(where, [mine = held_] {
        mine->begun.count_down();
        mine->end.wait();
      }));
    held_->begun.wait();
  }
  busy_workers(const busy_workers&) = delete;
  auto operator=(const busy_workers&) -> busy_workers& = delete;
  ~busy_workers() { held_->end.count_down(); }

 private:
  struct held {
    explicit held(std::ptrdiff_t workers) : begun(workers) {}
    std::latch begun;
    std::latch end{1};
  };
  std::shared_ptr<held> held_;
};

}  // namespace

TEST_CASE_FIXTURE(watched, "a short loop is the caller's alone, and wakes no worker") {
  default_pool_of all(2);
  for (const std::size_t count : {0, 1, 2, 3, 100, 10'000}) {
    timed_loop loop(all.pool, count, 1ns);
    loop.on_each = [&](std::size_t) { CHECK(is_caller()); };
    loop.region.run();
    CHECK(loop.met_all_once());
  }
  CHECK(all.pool.wait_idle().has_value());
  CHECK(all.pool.statistics().jobs == 0);
}

TEST_CASE_FIXTURE(watched, "a loop that lasts is shared with a worker") {
  for (const unsigned workers : {2U, 3U, 4U}) {
    default_pool_of all(workers);
    timed_loop loop(all.pool, 1'000, 1us);
    braid::atomic<int> elsewhere{0};
    loop.on_each = [&](std::size_t i) {
      if (!is_caller())
        elsewhere.fetch_add(1, relaxed);
      else if (i > 100)  // by then there is an offer, and enough left for the one that takes it
        CHECK(braid::testing::eventually([&] { return elsewhere.load(relaxed) != 0; }));
    };
    loop.region.run();
    CHECK(loop.met_all_once());
  }
}

TEST_CASE_FIXTURE(watched, "a loop that was long the last time, or is new, is offered before it begins") {
  default_pool_of all(2);
  for (const std::optional<braid::duration> before : {std::optional<braid::duration>(), {10ms}}) {
    timed_loop loop(all.pool, 2, 1ns, before);
    braid::atomic<int> begun{0};
    loop.on_each = [&](std::size_t) {
      begun.fetch_add(1, relaxed);
      CHECK(braid::testing::eventually([&] { return begun.load(relaxed) == 2; }));
    };
    loop.region.run();
  }
}

TEST_CASE("the pace of a loop is long until it is known, and forgets slowly") {
  braid::detail::region_pace pace;
  CHECK(pace.exceeds(1s, 1));
  for (int i = 0; i < 30; ++i) pace.note(100ns, 10);
  CHECK(pace.exceeds(10ns, 1));
  CHECK(!pace.exceeds(100ns, 1));
  pace.note(1s, 10);
  CHECK(pace.exceeds(100ms, 1));
  pace.note(100ns, 10);
  CHECK(pace.exceeds(20ms, 1));
  CHECK(!pace.exceeds(50ms, 1));
}

TEST_CASE_FIXTURE(watched, "with one worker the caller does all of it") {
  default_pool_of all(1);
  timed_loop loop(all.pool, 1'000, 1ms);
  loop.on_each = [&](std::size_t) { CHECK(is_caller()); };
  loop.region.run();
  CHECK(loop.met_all_once());
  std::vector<int> numbers(20'000, 1);
  braid::parallel_for_each(numbers, [&](int& each) { each += is_caller() ? 1 : 0; });
  CHECK(braid::parallel_reduce(numbers, 0, [&](int a, int b) { return is_caller() ? a + b : 0; }) == 40'000);
  CHECK(braid::parallel_count_if(numbers, [&](int each) { return each == 2 && is_caller(); }) == 20'000);
  std::vector<int> totals(numbers.size());
  braid::parallel_inclusive_scan(numbers, totals.begin());
  CHECK(totals.back() == 40'000);
  CHECK(all.pool.statistics().jobs == 0);
}

TEST_CASE_FIXTURE(watched, "a caller that has done all of it does not wait for workers that are busy") {
  default_pool_of all(2);
  const busy_workers busy(all.pool);
  timed_loop loop(all.pool, 1'000, 1us);
  loop.region.run();
  CHECK(loop.met_all_once());
}

TEST_CASE_FIXTURE(watched, "callers whose workers are busy leave no more offers than there are workers") {
  default_pool_of all(2);
  {
    const busy_workers busy(all.pool);
    for (int i = 0; i < 50; ++i) {
      timed_loop loop(all.pool, 1'000, 1us);
      loop.region.run();
      CHECK(loop.met_all_once());
    }
  }
  CHECK(all.pool.wait_idle().has_value());
  CHECK(all.pool.statistics().jobs <= 4);  // those that kept the workers busy, and two offers
  timed_loop loop(all.pool, 1'000, 1us);
  loop.region.run();
  CHECK(braid::testing::eventually([&] { return all.pool.statistics().jobs >= 5; }));  // there are offers again
}

TEST_CASE_FIXTURE(watched, "a loop whose pool goes meanwhile is ended by its caller") {
  auto pool = std::make_unique<braid::pool>(braid::pool::options{.workers = 2});
  timed_loop loop(*pool, 1'000, 100us);
  loop.on_each = [&](std::size_t) { pool.reset(); };
  loop.region.run();
  CHECK(loop.met_all_once());
}

TEST_CASE_FIXTURE(watched, "a caller that holds what the workers wait for ends its loop") {
  default_pool_of all(2);
  std::mutex mutex;
  std::latch begun(2);
  std::unique_lock lock(mutex);
  for (int i = 0; i < 2; ++i)
    braid::or_throw(braid::post(all.pool, [&] {
      begun.count_down();
      const std::lock_guard mine(mutex);
    }));
  begun.wait();
  timed_loop loop(all.pool, 1'000, 1us);
  loop.region.run();
  CHECK(loop.met_all_once());
  lock.unlock();
  CHECK(all.pool.wait_idle().has_value());
}

TEST_CASE_FIXTURE(watched, "a pool that takes nothing more leaves the loop to its caller") {
  default_pool_of all(2);
  CHECK(all.pool.shutdown(braid::shutdown_mode::drain).has_value());
  timed_loop loop(all.pool, 1'000, 1us);
  loop.region.run();
  CHECK(loop.met_all_once());
}

TEST_CASE_FIXTURE(watched, "what a part throws is rethrown when the others have ended, wherever it ran") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    default_pool_of all(workers);
    for (const bool on_caller : {true, false}) {
      if (workers == (on_caller ? 3 : 1)) continue;  // a worker may take all that is left; or none is there
      timed_loop loop(all.pool, 1'000, 1us);
      braid::atomic<bool> thrown{false};
      braid::atomic<int> inside{0};
      loop.on_each = [&](std::size_t i) {
        if (thrown.load(relaxed) || i < 100) return;
        if (is_caller() == on_caller) {
          if (!thrown.exchange(true, relaxed)) throw std::runtime_error("thrown");
        } else {
          inside.fetch_add(1, relaxed);
          CHECK(braid::testing::eventually([&] { return thrown.load(relaxed); }));
          inside.fetch_sub(1, relaxed);
        }
      };
      CHECK_THROWS_AS(loop.region.run(), std::runtime_error);
      CHECK(inside.load(relaxed) == 0);
    }
  }
}

TEST_CASE_FIXTURE(watched, "what cannot be divided runs on the caller, as itself") {
  default_pool_of all(2);
  braid::parallel_for(0, 100, [&](int) { CHECK((is_caller() && braid::detail::current_worker() == nullptr)); },
                      {.grain = 100});
  std::vector<int> numbers(500);
  std::iota(numbers.rbegin(), numbers.rend(), 0);
  braid::parallel_sort(numbers, [&](int a, int b) { return CHECK(is_caller()), a < b; });
  CHECK(std::ranges::is_sorted(numbers));
  CHECK_THROWS_AS(braid::parallel_for(0, 1, [](int) { throw std::runtime_error("thrown"); }), std::runtime_error);
  CHECK(all.pool.statistics().jobs == 0);
}

TEST_CASE_FIXTURE(watched, "a stop leaves out what has not begun") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    default_pool_of all(workers);
    braid::stop_flag stop;
    std::vector<braid::atomic<int>> met(10'000);
    const auto done = braid::parallel_for(stop, std::size_t{0}, met.size(), [&](std::size_t i) {
      met[i].fetch_add(1, relaxed);
      stop.request(braid::errc::stopped);
    });
    CHECK((!done && done.error() == make_error_code(braid::errc::stopped)));
    CHECK(std::ranges::count_if(met, [](const auto& each) { return each.load(relaxed) != 0; }) < 5'000);
    braid::stop_flag unused;
    CHECK(braid::parallel_for(unused, 0, 10'000, [](int) {}).has_value());
  }
}

TEST_CASE_FIXTURE(watched, "a loop whose calls are handed over is left to the workers") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    default_pool_of all(workers);
    std::vector<braid::atomic<int>> met(1'000);
    braid::atomic<int> on_caller{0};
    braid::parallel_for(std::size_t{0}, met.size(), [&](std::size_t i) {
      braid::fork_join([&] { met[i].fetch_add(1, relaxed); }, [&] { met[i].fetch_add(1, relaxed); });
      if (is_caller()) on_caller.fetch_add(1, relaxed);
    });
    CHECK(on_caller.load(relaxed) <= 1);  // until it knows
    CHECK(std::ranges::all_of(met, [](const auto& each) { return each.load(relaxed) == 2; }));
  }
}

TEST_CASE_FIXTURE(watched, "loops, reductions and scans inside of loops are right") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    default_pool_of all(workers);
    std::vector<braid::atomic<int>> met(2'000);
    braid::parallel_for(0, 50, [&](int row) {
      braid::parallel_for(0, 40, [&](int column) {
        met[static_cast<std::size_t>(row * 40 + column)].fetch_add(1, relaxed);
        std::this_thread::sleep_for(1us);
      });
      const std::vector<int> ones(1'000, 1);
      CHECK(braid::parallel_reduce(ones, 0, std::plus()) == 1'000);
      std::vector<int> totals(ones.size());
      braid::parallel_inclusive_scan(ones, totals.begin(), {}, {.grain = 10});
      CHECK(totals.back() == 1'000);
    });
    CHECK(std::ranges::all_of(met, [](const auto& each) { return each.load(relaxed) == 1; }));
  }
}

TEST_CASE_FIXTURE(watched, "a sum of floating-point numbers does not depend on where it begins") {
  std::vector<double> numbers(100'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 1.0 / static_cast<double>(i + 1);
  braid::pool other({.workers = 2});
  const double expected = braid::run_in(other, [&] { return braid::parallel_reduce(numbers, 0.0, std::plus()); });
  for (const unsigned workers : {1U, 2U, 3U}) {
    default_pool_of all(workers);
    CHECK(braid::parallel_reduce(numbers, 0.0, std::plus()) == expected);
  }
}

TEST_CASE_FIXTURE(watched, "run_in and iterations of an event loop leave nothing to the caller") {
  default_pool_of all(2);
  braid::run_in(all.pool, [&] { braid::parallel_for(0, 100, [&](int) { CHECK(!is_caller()); }); });
  const braid::detail::loop_iteration inside;
  braid::parallel_for(0, 1, [&](int) { CHECK(!is_caller()); });
  const std::vector<int> ones(1'000, 1);
  const auto elsewhere = [&](int each) { return is_caller() ? 0 : each; };
  CHECK(braid::parallel_reduce(ones, 0, std::plus(), elsewhere) == 1'000);
}
