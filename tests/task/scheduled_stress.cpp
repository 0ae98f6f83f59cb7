// tests/task/scheduled_stress.cpp: cancels, closes and shutdowns in the middle of runs lose no captures and add no run.
#include <braid/task/scheduled.hpp>

#include <braid/base/random.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

using braid::acquire;
using braid::atomic;
using braid::cancellation;
using braid::duration;
using braid::every_mode;
using braid::every_options;
using braid::missed_ticks;
using braid::random_source;
using braid::relaxed;
using braid::release;
using braid::scheduled_task;
using braid::time_point;
using braid::timer_thread;
using braid::testing::eventually;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

using braid::pool;

/// What is known of one series.
struct record {
  atomic<int> captures{0};         // alive
  atomic<int> running{0};          // runs that go on
  atomic<std::uint64_t> begun{0};  // runs
  atomic<int> faults{0};           // what must not be
  atomic<bool> over{false};        // a cancel has said that no run begins any more
};

/// Captures that count themselves.
class counted {
 public:
  explicit counted(record& in) : in_(&in) { in_->captures.fetch_add(1, relaxed); }
  counted(counted&& other) noexcept : in_(other.in_) { in_->captures.fetch_add(1, relaxed); }
  auto operator=(counted&&) -> counted& = delete;
  ~counted() { in_->captures.fetch_sub(1, release); }

  auto operator*() const -> record& { return *in_; }

 private:
  record* in_;
};

void dawdle(random_source& random, std::uint64_t max_count) {
  for (std::uint64_t step = random.below(max_count); step > 0; --step) static_cast<void>(random());
}

/// Until the series has begun a few runs, or has ended, or for some time; so that what follows meets it anywhere.
void let_run(const scheduled_task& task, random_source& random) {
  const std::uint64_t wanted = task.runs() + random.below(4);
  braid::testing::give_a_chance_to([&] { return task.runs() >= wanted || !task.is_active(); });
  dawdle(random, 3'000);
}

auto any_options(random_source& random) -> every_options {
  every_options how{.interval = duration(1 + random.below(60'000))};
  how.mode = random.below(3) == 0 ? every_mode::fixed_delay : every_mode::fixed_rate;
  how.missed = static_cast<missed_ticks>(random.below(3));
  return how;
}

/// Starts a series that now and then cancels itself or throws.
auto start(braid::executor& where, braid::detail::shared_timers& timers, record& book, random_source& random)
    -> braid::result<scheduled_task> {
  auto fn = [captures = counted(book), own = random_source(random())](const scheduled_task& self) mutable {
    record& in = *captures;
    if (in.over.load(acquire)) in.faults.fetch_add(1, relaxed);
    if (in.running.fetch_add(1, relaxed) != 0) in.faults.fetch_add(1, relaxed);
    in.begun.fetch_add(1, relaxed);
    dawdle(own, 2'000);
    in.running.fetch_sub(1, relaxed);
    if (own.below(64) == 0 && self.cancel() != cancellation::after_run) in.faults.fetch_add(1, relaxed);
    if (own.below(64) == 0) throw 1;
  };
  return post_every(where, timers, any_options(random), std::move(fn));
}

/// Cancels, and holds the cancel to what it says.
void cancel(const scheduled_task& task, record& book) {
  if (task.cancel() != cancellation::done) return;
  if (book.captures.load(acquire) != 0) book.faults.fetch_add(1, relaxed);
  book.over.store(true, release);
}

void check_ended(const scheduled_task& task, const record& book) {
  CHECK(eventually([&] { return !task.is_active(); }));
  CHECK(book.captures.load(acquire) == 0);
  CHECK(book.faults.load(relaxed) == 0);
  CHECK(book.begun.load(relaxed) == task.runs());
}

auto silent() -> braid::pool::options {
  return {.workers = 2, .on_error = [](std::exception_ptr) {}};
}

}  // namespace

TEST_CASE("two threads cancel hundreds of series at any moment of their runs") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  random_source random(seed);
  pool workers(silent());
  timer_thread timers;
  for (std::size_t round = scaled(100); round > 0; --round) {
    constexpr std::size_t count = 100;
    std::deque<record> books(count);
    std::vector<scheduled_task> tasks;
    for (record& book : books) tasks.push_back(start(workers, timers, book, random).value());
    {
      std::vector<std::jthread> cancellers;
      for (std::uint64_t who = 0; who < 2; ++who)
        cancellers.emplace_back([&, own = random_source(seed + round * 2 + who)]() mutable {
          for (std::size_t i = 0; i < count; ++i) {
            let_run(tasks[i], own);
            cancel(tasks[i], books[i]);
          }
        });
    }
    for (std::size_t i = 0; i < count; ++i) check_ended(tasks[i], books[i]);
  }
}

TEST_CASE("timers that are closed, and pools that shut down, in the middle of it end every series") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  random_source random(seed);
  for (std::size_t round = scaled(1'000); round > 0; --round) {
    constexpr std::size_t count = 20;
    std::deque<record> books(count);
    std::vector<scheduled_task> tasks;
    pool workers(silent());
    {
      timer_thread timers;
      for (std::size_t i = 0; i < count / 2; ++i) tasks.push_back(start(workers, timers, books[i], random).value());
      const std::jthread ender([&, watched = tasks[random.below(count / 2)], own = random_source(random())]() mutable {
        let_run(watched, own);
        switch (own.below(3)) {
          case 0: CHECK(timers.close()); break;
          case 1: CHECK(workers.shutdown(braid::shutdown_mode::drain)); break;
          default: CHECK(workers.shutdown(braid::shutdown_mode::drop_pending)); break;
        }
      });
      for (std::size_t i = count / 2; i < count; ++i) {
        dawdle(random, 2'000);
        const auto started = start(workers, timers, books[i], random);
        tasks.push_back(started.value_or(scheduled_task()));
        const std::size_t other = random.below(i);
        if (random.below(4) == 0) let_run(tasks[other], random);
        cancel(tasks[other], books[other]);
      }
    }
    for (std::size_t i = 0; i < count; ++i) check_ended(tasks[i], books[i]);
  }
}

namespace {

/// Goes up while somebody is inside of an object that may then not be destroyed.
class visit {
 public:
  explicit visit(atomic<int>& count) : count_(count) { count_.fetch_add(1, relaxed); }
  visit(const visit&) = delete;
  auto operator=(const visit&) -> visit& = delete;
  ~visit() { count_.fetch_sub(1, relaxed); }

 private:
  atomic<int>& count_;
};

/// A pool behind a door that is slow to close.
class slow_executor final : public braid::executor {
 public:
  explicit slow_executor(atomic<int>& faults) : faults_(faults), workers_(silent()) {}
  ~slow_executor() override { faults_.fetch_add(inside_.load(relaxed), relaxed); }

  [[nodiscard]] auto try_post(braid::job& work) noexcept -> bool override {
    const visit here(inside_);
    const bool taken = workers_.try_post(work);
    if (random_.below(4) == 0) std::this_thread::yield();
    dawdle(random_, 2'000);
    return taken;
  }
  [[nodiscard]] auto is_current() const noexcept -> bool override { return workers_.is_current(); }

 private:
  atomic<int>& faults_;
  random_source random_{1};  // of the thread of the timers
  atomic<int> inside_{0};
  pool workers_;
};

/// A timer that arms itself again and again, and is slow to do so.
struct beating final : braid::timer {
  beating(timer_thread& in, atomic<int>& wrong) : timer(&fire), service(in), faults(wrong) {}
  ~beating() { faults.fetch_add(inside.load(relaxed), relaxed); }

  static void fire(timer& self) noexcept {
    auto& mine = static_cast<beating&>(self);
    const visit here(mine.inside);
    mine.service.arm(mine, time_point::min());
    dawdle(mine.random, 1'000);
  }

  timer_thread& service;
  atomic<int>& faults;
  random_source random{1};
  atomic<int> inside{0};
};

}  // namespace

TEST_CASE("an executor may be destroyed once a cancel has come to its end, while its timers live on") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  random_source random(seed);
  atomic<int> faults{0};
  timer_thread timers;
  for (std::size_t round = scaled(1'000); round > 0; --round) {
    std::deque<record> books(4);
    std::vector<scheduled_task> tasks;
    auto workers = std::make_unique<slow_executor>(faults);
    for (record& book : books) tasks.push_back(start(*workers, timers, book, random).value());
    let_run(tasks[random.below(tasks.size())], random);
    for (const scheduled_task& task : tasks)
      while (task.cancel() == cancellation::after_run) std::this_thread::yield();
    workers.reset();
    for (std::size_t i = 0; i < books.size(); ++i) check_ended(tasks[i], books[i]);
  }
  CHECK(faults == 0);
}

TEST_CASE("timers of many threads may go once they are disarmed") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  atomic<int> faults{0};
  timer_thread timers;
  std::vector<std::jthread> owners;
  for (std::uint64_t who = 0; who < 4; ++who)
    owners.emplace_back([&, random = random_source(seed + who)]() mutable {
      for (std::size_t round = scaled(20'000); round > 0; --round) {
        const auto own = std::make_unique<beating>(timers, faults);
        timers.arm(*own, time_point::min());
        dawdle(random, 5'000);
        timers.disarm(*own);
      }
    });
  owners.clear();
  CHECK(faults == 0);
  CHECK(timers.close().value() == 0);
}
