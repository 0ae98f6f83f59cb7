// tests/task/pool_shutdown_test.cpp: shutdowns that have a limit or request a stop, on every scheduler.
#include <braid/sync/atomic.hpp>
#include <braid/task/basic_pool.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <ostream>
#include <stop_token>
#include <thread>
#include <vector>

using braid::errc;
using braid::future;
using braid::pool;
using braid::post;
using braid::relaxed;
using braid::scheduler;
using braid::shutdown_mode;
using braid::spawn;
using braid::testing::eventually;
using braid::testing::failure_code;
using braid::testing::give_a_chance_to;
using braid::testing::sleeper;
using namespace std::chrono_literals;

namespace {

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{60s};
};

constexpr auto with_threads = {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue};

/// Runs until its token says that it is to end; then gives 1.
struct until_stopped {
  explicit until_stopped(pool& where)
      : ended(spawn(where, [begun = begun](std::stop_token stop) {
          begun->count_down();
          while (!stop.stop_requested()) std::this_thread::yield();
          return 1;
        })) {
    begun->wait();
  }
  std::shared_ptr<std::latch> begun = std::make_shared<std::latch>(1);
  future<int> ended;
};

/// Keeps a worker busy until it is opened, whatever stops are requested.
struct gate {
  explicit gate(pool& where)
      : ended(spawn(where, [shared = shared] {
          shared->begun.count_down();
          shared->opened.wait();
        })) {
    shared->begun.wait();
  }
  void open() const { shared->opened.count_down(); }

  struct state {
    std::latch begun{1};
    std::latch opened{1};
  };
  std::shared_ptr<state> shared = std::make_shared<state>();
  future<void> ended;
};

/// A scheduler that counts how often a worker looks for jobs. Nobody watches: all that look were woken, or run jobs.
template <typename Policy>
struct counting : Policy {
  static inline braid::atomic<std::uint64_t> looks{0};  // +1 by workers

  using Policy::Policy;
  auto has_monitor() const noexcept -> bool override { return false; }
  auto refill(braid::worker& self, braid::search why) noexcept -> braid::found_job override {
    looks.fetch_add(1, relaxed);
    return Policy::refill(self, why);
  }
};

/// A pool all of whose workers have looked for the last time, unless somebody wakes them: each has gone to sleep once.
template <typename Policy>
struct asleep {
  asleep() {
    REQUIRE(eventually([this] { return workers.statistics().sleeps == 16; }));
  }

  static auto looks() -> std::uint64_t { return counting<Policy>::looks.load(relaxed); }

  braid::basic_pool<counting<Policy>> workers{{.workers = 16}};
};

template <typename Policy>
void end_asleep() {
  asleep<Policy> idle;
  const std::uint64_t before = idle.looks();
  CHECK(idle.workers.shutdown(shutdown_mode::drain));
  CHECK(idle.looks() == before);
}

template <typename Policy>
void end_beside_a_job() {
  asleep<Policy> idle;
  const gate busy(idle.workers);
  const std::uint64_t before = idle.looks();
  CHECK(idle.workers.shutdown_for(0s).error() == errc::deadline_exceeded);
  busy.open();
  CHECK(idle.workers.shutdown(shutdown_mode::drain));
  CHECK(idle.looks() <= before + 1);  // of the worker that has run the job
}

}  // namespace

TEST_CASE_FIXTURE(watched, "a shutdown that has the time for it runs everything, and requests no stop") {
  for (const auto chosen : with_threads) {
    pool where({.workers = 2, .scheduler = chosen});
    std::vector<future<int>> all;
    for (int i = 0; i < 200; ++i) all.push_back(spawn(where, [] { return 1; }));
    CHECK(where.shutdown_for(1h));
    for (auto& one : all) {
      REQUIRE(one.is_ready());
      CHECK(one.get() == 1);
    }
    CHECK_FALSE(where.stop_token().stop_requested());
    CHECK(failure_code(spawn(where, [] {})) == errc::closed);
  }
}

TEST_CASE_FIXTURE(watched, "a shutdown that drops waits for the captures that another thread drops meanwhile") {
  pool where({.workers = 1});
  const gate busy(where);
  std::latch entered(1);
  std::latch opened(1);
  struct slow {
    std::latch& entered;
    std::latch& opened;
    ~slow() {
      entered.count_down();
      opened.wait();
    }
  };
  REQUIRE(post(where, [held = std::make_unique<slow>(entered, opened)] {}));
  const sleeper drops([&] { CHECK(where.shutdown(shutdown_mode::drop_pending)); });
  entered.wait();
  busy.open();
  const sleeper finds_nothing([&] { CHECK(where.shutdown(shutdown_mode::drop_pending)); });
  CHECK(finds_nothing.falls_asleep());
  opened.count_down();
}

TEST_CASE_FIXTURE(watched,
                  "when the time is over pending work has failed, its captures are gone, and a stop is requested") {
  for (const auto chosen : with_threads) {
    const auto captured = std::make_shared<int>(0);
    pool where({.workers = 2, .scheduler = chosen});
    until_stopped first(where);
    const gate second(where);  // both workers are busy now
    braid::atomic<int> ran{0};
    std::vector<future<void>> pending;
    for (int i = 0; i < 100; ++i) {
      pending.push_back(spawn(where, [&ran, held = captured] { ran.fetch_add(1, relaxed); }));
      REQUIRE(post(where, [&ran, held = captured] { ran.fetch_add(1, relaxed); }));
      REQUIRE(post(where, braid::priority::low, [&ran, held = captured] { ran.fetch_add(1, relaxed); }));
    }
    CHECK(where.shutdown_for(1ms).error() == errc::deadline_exceeded);  // while the gate is closed
    CHECK(captured.use_count() == 1);
    for (auto& one : pending) {
      REQUIRE(one.is_ready());
      CHECK(failure_code(one) == errc::dropped);
    }
    CHECK(first.ended.get() == 1);
    CHECK(where.shutdown_for(0s).error() == errc::deadline_exceeded);
    second.open();
    CHECK(where.shutdown_for(1h));
    CHECK(second.ended.is_ready());
    CHECK(ran.load(relaxed) == 0);
  }
}

TEST_CASE_FIXTURE(watched, "futures of dropped work fail at once, not when the last job has ended") {
  for (const auto chosen : with_threads) {
    pool where({.workers = 1, .scheduler = chosen});
    const gate busy(where);
    auto pending = spawn(where, [] { return 1; });
    auto after = spawn(where, [] { return 1; }).then([](int n) { return n; });
    sleeper stopper([&] { CHECK(where.shutdown(shutdown_mode::drop_pending)); });
    CHECK(failure_code(pending) == errc::dropped);  // while the gate is closed
    CHECK(failure_code(after) == errc::dropped);
    CHECK_FALSE(stopper.returned());
    busy.open();
  }
}

TEST_CASE_FIXTURE(watched, "a shutdown does not return while another one has a job in its hands to drop") {
  for (const scheduler chosen : with_threads) {
    pool where({.workers = 1, .scheduler = chosen});
    gate first(where);
    std::latch in_drop(1);
    std::latch may_end(1);
    braid::atomic<bool> dropped{false};
    struct slow_to_drop {
      explicit slow_to_drop(std::latch& begun, std::latch& end, braid::atomic<bool>& is_over)
          : held(&begun, [&end, &is_over](std::latch* entered) {
              entered->count_down();
              end.wait();
              is_over.store(true, relaxed);
            }) {}
      std::shared_ptr<std::latch> held;
    };
    REQUIRE(post(where, [capture = slow_to_drop(in_drop, may_end, dropped)] {}));
    std::thread dropper([&] { CHECK(where.shutdown(shutdown_mode::drop_pending)); });
    in_drop.wait();
    first.open();
    braid::atomic<bool> returned{false};
    std::thread other([&] {
      CHECK(where.shutdown(shutdown_mode::drain));
      CHECK(dropped.load(relaxed));
      returned.store(true, relaxed);
    });
    give_a_chance_to([&] { return returned.load(relaxed); });
    may_end.count_down();
    other.join();
    dropper.join();
  }
}

TEST_CASE_FIXTURE(watched, "the destructor waits for what a shutdown left running") {
  for (const auto chosen : with_threads) {
    future<void> ended;
    {
      pool where({.workers = 1, .scheduler = chosen});
      gate busy(where);
      CHECK_FALSE(where.shutdown_for(0s));
      busy.open();
      ended = std::move(busy.ended);
    }
    CHECK(ended.is_ready());
  }
}

TEST_CASE_FIXTURE(watched, "a stop now drops what is pending, ends what looks at its token, and waits for it") {
  for (const auto chosen : with_threads) {
    pool where({.workers = 1, .scheduler = chosen});
    until_stopped running(where);
    auto pending = spawn(where, [] { return 1; });
    auto asking = spawn(where, [](std::stop_token) { return 1; });
    CHECK(where.shutdown(shutdown_mode::stop_now));
    CHECK(running.ended.is_ready());
    CHECK(running.ended.get() == 1);
    CHECK(failure_code(pending) == errc::dropped);
    CHECK(failure_code(asking) == errc::dropped);
    CHECK(where.shutdown(shutdown_mode::stop_now));
  }
}

TEST_CASE_FIXTURE(watched,
                  "limited shutdowns at once, beside one that drains, end alike: after the workers or in time") {
  for (const auto chosen : with_threads) {
    pool where({.workers = 2, .scheduler = chosen});
    const gate busy(where);
    braid::atomic<int> too_early{0};
    const auto patiently = [&] {
      CHECK(where.shutdown_for(1h));
      if (!busy.ended.is_ready()) too_early.fetch_add(1, relaxed);
    };
    sleeper first(patiently);
    sleeper second(patiently);
    sleeper third([&] {
      CHECK(where.shutdown(shutdown_mode::drain));
      if (!busy.ended.is_ready()) too_early.fetch_add(1, relaxed);
    });
    CHECK(first.falls_asleep());
    CHECK(second.falls_asleep());
    CHECK(third.falls_asleep());
    CHECK(where.shutdown_for(1ms).error() == errc::deadline_exceeded);
    CHECK_FALSE(first.returned());
    busy.open();
    CHECK(eventually([&] { return first.returned() && second.returned() && third.returned(); }));
    CHECK(too_early.load(relaxed) == 0);
  }
}

TEST_CASE_FIXTURE(watched, "a worker that shuts its own pool down is told so, and the pool stays usable") {
  for (const auto chosen : {scheduler::work_stealing, scheduler::shared_queue}) {
    pool where({.workers = 1, .scheduler = chosen});
    std::error_code limited;
    std::error_code now;
    REQUIRE(post(where, [&] {
      limited = where.shutdown_for(1h).error();
      now = where.shutdown(shutdown_mode::stop_now).error();
    }));
    CHECK(where.wait_idle());
    CHECK(limited == errc::would_deadlock);
    CHECK(now == errc::would_deadlock);
    CHECK_FALSE(where.stop_token().stop_requested());
    auto usable = spawn(where, [] { return 1; });
    CHECK(where.wait_idle());
    CHECK(usable.get() == 1);
  }
}

TEST_CASE_FIXTURE(watched, "workers that sleep in a pool that ends leave without a look for jobs") {
  end_asleep<braid::work_stealing>();
  end_asleep<braid::least_loaded>();
  end_asleep<braid::shared_queue>();
}

TEST_CASE_FIXTURE(watched, "workers that sleep beside one that runs a job leave without a look for jobs") {
  end_beside_a_job<braid::work_stealing>();
  end_beside_a_job<braid::least_loaded>();
  end_beside_a_job<braid::shared_queue>();
}
