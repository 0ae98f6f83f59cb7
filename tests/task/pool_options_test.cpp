// tests/task/pool_options_test.cpp: each scheduler by its name, those without threads among them.
#include <braid/task/pool.hpp>

#include <braid/thread/cgroup.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/environment.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using braid::errc;
using braid::post;
using braid::relaxed;
using braid::scheduler;
using braid::shutdown_mode;
using braid::testing::eventually;
using braid::testing::sleeper;
using namespace std::chrono_literals;

namespace {

struct watched {
  braid::testing::watchdog dog{60s};
};

constexpr auto without_threads = {scheduler::current_thread, scheduler::run_inline};

auto make_message(std::exception_ptr error) -> std::string {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& known) {
    return known.what();
  }
}

}  // namespace

TEST_CASE_FIXTURE(watched, "the number of workers is that of the options, and one where no threads are needed") {
  for (const auto chosen : {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue})
    CHECK(braid::pool({.workers = 3, .scheduler = chosen}).size() == 3);
  for (const auto chosen : without_threads) {
    const braid::pool where({.workers = 3, .scheduler = chosen});
    CHECK(where.size() == 1);
    CHECK(where.settings_reports().empty());
  }
}

TEST_CASE_FIXTURE(watched, "the number of workers by default follows BRAID_WORKERS and the affinity of the process") {
  const auto is_default = [] { return braid::pool().size() == braid::default_worker_count().workers; };
  CHECK(is_default());
  {
    const braid::testing::environment three("BRAID_WORKERS", "3");
    CHECK(braid::pool().size() == 3);
  }
  {
    const braid::testing::environment ignored("BRAID_WORKERS", "none");
    CHECK(is_default());
  }
  const braid::testing::environment unset("BRAID_WORKERS", nullptr);
  const braid::cpu_set before = braid::this_thread::affinity().value();
  CHECK(is_default());
  CHECK(braid::this_thread::set_affinity({*before.first()}));
  CHECK(braid::pool().size() == 1);
  CHECK(braid::this_thread::set_affinity(before));
  CHECK(is_default());
}

TEST_CASE_FIXTURE(watched, "with current_thread, jobs run on the thread that waits for them, in their order") {
  braid::pool where({.scheduler = scheduler::current_thread});
  std::vector<int> order;
  std::thread::id ran_on;
  for (int i = 0; i < 3; ++i)
    REQUIRE(post(where, [&, i] {
      order.push_back(i);
      ran_on = std::this_thread::get_id();
      if (i == 0) CHECK(post(where, [&order] { order.push_back(3); }));
      CHECK(where.is_current());
      CHECK(braid::detail::current_worker()->pool == &where);
      CHECK(where.wait_idle().error() == errc::would_deadlock);
      CHECK(where.shutdown(shutdown_mode::drain).error() == errc::would_deadlock);
    }));
  CHECK(order.empty());
  CHECK(where.wait_idle());
  CHECK(order == std::vector{0, 1, 2, 3});
  CHECK(ran_on == std::this_thread::get_id());
  CHECK_FALSE(where.is_current());
}

TEST_CASE_FIXTURE(watched, "with current_thread, a program may run one job after the other itself") {
  braid::pool where({.scheduler = scheduler::current_thread});
  CHECK_FALSE(where.poll());
  std::string order;
  for (const char name : {'a', 'b', 'c'}) REQUIRE(post(where, [&order, name] { order += name; }));
  CHECK(where.poll());
  CHECK(order == "a");
  REQUIRE(post(where, [&] {
    order += 'd';
    CHECK_FALSE(where.poll());
  }));
  REQUIRE(post(where, braid::priority::high, [&] {
    order += '(';
    CHECK(where.poll());
    order += ')';
  }));
  CHECK(where.poll());
  CHECK(order == "a(b)");
  std::latch entered(1);
  std::latch opened(1);
  REQUIRE(post(where, braid::priority::high, [&] {
    entered.count_down();
    opened.wait();
  }));
  sleeper other([&] { CHECK(where.poll()); });
  entered.wait();
  CHECK_FALSE(where.poll());
  opened.count_down();
  CHECK(eventually([&] { return other.returned(); }));
  while (where.poll()) {}
  CHECK(order == "a(b)cd");
  for (const auto chosen : {scheduler::work_stealing, scheduler::run_inline})
    CHECK_FALSE(braid::pool({.scheduler = chosen}).poll());
}

TEST_CASE_FIXTURE(watched, "threads that wait at once take turns, and all jobs have run when they return") {
  braid::pool where({.scheduler = scheduler::current_thread});
  braid::atomic<int> ran{0};
  std::latch opened(1);
  REQUIRE(post(where, [&opened] { opened.wait(); }));
  for (int i = 0; i < 10; ++i) REQUIRE(post(where, [&ran] { ran.fetch_add(1, relaxed); }));
  std::vector<std::unique_ptr<sleeper>> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.push_back(std::make_unique<sleeper>([&] {
      CHECK(where.wait_idle());
      CHECK(ran.load(relaxed) == 10);
    }));
  for (const auto& each : waiting) CHECK(each->falls_asleep());
  opened.count_down();
  for (const auto& each : waiting) CHECK(eventually([&] { return each->returned(); }));
}

TEST_CASE_FIXTURE(watched, "with run_inline, a job has run when its post returns") {
  braid::pool where({.scheduler = scheduler::run_inline});
  bool ran = false;
  CHECK(post(where, [&] {
    ran = true;
    CHECK(where.is_current());
    CHECK(where.wait_idle().error() == errc::would_deadlock);
  }));
  CHECK(ran);
  CHECK_FALSE(where.is_current());
  CHECK(where.wait_idle());
}

TEST_CASE_FIXTURE(watched, "what such a job posts runs after it, a million deep, without using up the stack") {
  braid::pool where({.scheduler = scheduler::run_inline});
  struct {
    void step() {
      CHECK_FALSE(inside);
      inside = true;
      if (++steps < 1'000'000) static_cast<void>(post(*where, [this] { step(); }));
      inside = false;
    }
    braid::pool* where;
    int steps = 0;
    bool inside = false;
  } chain{.where = &where};
  CHECK(post(where, [&chain] { chain.step(); }));
  CHECK(chain.steps == 1'000'000);
}

TEST_CASE_FIXTURE(watched, "inline pools within each other keep their jobs apart") {
  braid::pool outer({.scheduler = scheduler::run_inline});
  braid::pool inner({.scheduler = scheduler::run_inline});
  std::string order;
  CHECK(post(outer, [&] {
    CHECK(post(inner, [&] {
      CHECK(post(outer, [&] { order += 'c'; }));
      order += 'a';
    }));
    order += 'b';
  }));
  CHECK(order == "abc");
}

TEST_CASE_FIXTURE(watched, "who waits for an inline pool waits for the jobs of other threads") {
  braid::pool where({.scheduler = scheduler::run_inline});
  std::latch entered(1);
  std::latch opened(1);
  sleeper poster([&] {
    static_cast<void>(post(where, [&] {
      entered.count_down();
      opened.wait();
    }));
  });
  entered.wait();
  sleeper waiter([&] { CHECK(where.wait_idle()); });
  sleeper stopper([&] { CHECK(where.shutdown(shutdown_mode::drain)); });
  CHECK(waiter.falls_asleep());
  CHECK(stopper.falls_asleep());
  CHECK(post(where, [] {}).error() == errc::closed);
  opened.count_down();
  CHECK(eventually([&] { return waiter.returned() && stopper.returned() && poster.returned(); }));
}

TEST_CASE_FIXTURE(watched, "pools without threads report what jobs throw, and deal with their jobs at a shutdown") {
  for (const auto chosen : without_threads) {
    std::vector<std::string> messages;
    const auto captured = std::make_shared<int>(0);
    {
      braid::pool where({.scheduler = chosen, .on_error = [&](std::exception_ptr error) {
                           messages.push_back(make_message(std::move(error)));
                         }});
      CHECK(post(where, [held = captured] { throw std::runtime_error("sour"); }));
    }
    CHECK(messages == std::vector<std::string>{"sour"});
    CHECK(captured.use_count() == 1);
    braid::pool where({.scheduler = chosen});
    int ran = 0;
    CHECK(post(where, [&ran, held = captured] { ++ran; }));
    CHECK(where.shutdown(shutdown_mode::drop_pending));
    CHECK(ran == (chosen == scheduler::run_inline ? 1 : 0));
    CHECK(captured.use_count() == 1);
    CHECK(post(where, [held = captured] {}).error() == errc::closed);
    CHECK(captured.use_count() == 1);
    CHECK(where.shutdown(shutdown_mode::drain));
  }
}

TEST_CASE_FIXTURE(watched, "a pool counts what its workers do") {
  braid::pool where({.workers = 2});
  for (int i = 0; i < 100; ++i) REQUIRE(post(where, [] {}));
  CHECK(where.wait_idle());
  CHECK(where.statistics().jobs == 100);
  CHECK(eventually([&] { return where.statistics().sleeps >= 2; }));
}
