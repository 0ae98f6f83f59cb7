// tests/task/run_in_test.cpp: a function runs on a worker, and the caller gets what it gives, throws or misses.
#include <braid/task/pool.hpp>

#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/worker.hpp>

#include <doctest/doctest.h>

#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

using braid::errc;
using braid::pool;
using braid::run_in;
using namespace std::chrono_literals;

namespace {

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{60s};
};

}  // namespace

TEST_CASE_FIXTURE(watched, "the function runs on a worker of the pool, and its result comes back") {
  pool where({.workers = 2});
  const auto seen = run_in(where, [&] { return std::pair(std::this_thread::get_id(), where.is_current()); });
  CHECK(seen.first != std::this_thread::get_id());
  CHECK(seen.second);
  int target = 0;
  int& reference = run_in(where, [&target]() -> int& { return target; });
  CHECK(&reference == &target);
  CHECK(*run_in(where, [] { return std::make_unique<int>(3); }) == 3);
}

TEST_CASE_FIXTURE(watched, "what the function throws arrives") {
  pool where({.workers = 1});
  CHECK_THROWS_WITH_AS(run_in(where, [] { throw std::runtime_error("inside"); }), "inside", std::runtime_error);
}

TEST_CASE_FIXTURE(watched, "on a worker of the pool it is a plain call") {
  pool where({.workers = 1});
  CHECK(run_in(where, [&] { return run_in(where, [] { return 4; }); }) == 4);
}

TEST_CASE_FIXTURE(watched, "a parallel algorithm inside of it runs on the workers of that pool alone") {
  pool where({.workers = 2});
  std::vector<char> ran_there(1000, 0);
  run_in(where, [&] { braid::parallel_for_each(ran_there, [&](char& each) { each = where.is_current() ? 1 : 0; }); });
  CHECK(std::ranges::count(ran_there, 1) == 1000);
}

TEST_CASE_FIXTURE(watched, "one pool may ask another one") {
  pool outer({.workers = 1});
  pool inner({.workers = 1});
  const bool there = run_in(outer, [&] { return run_in(inner, [&] { return inner.is_current(); }); });
  CHECK(there);
}

TEST_CASE_FIXTURE(watched, "two pools of one worker may ask each other") {
  pool one({.workers = 1});
  pool other({.workers = 1});
  const int there = run_in(one, [&] { return run_in(other, [&] { return run_in(one, [] { return 5; }); }); });
  CHECK(there == 5);
}

TEST_CASE_FIXTURE(watched, "executors without threads run it on the caller's") {
  const auto run_on = [](braid::executor& where) {
    CHECK(run_in(where, [] { return std::this_thread::get_id(); }) == std::this_thread::get_id());
    const bool nested = run_in(where, [&] { return run_in(where, [&] { return where.is_current(); }); });
    CHECK(nested);
  };
  braid::manual_executor waits;
  run_on(waits);
  braid::inline_executor posts;
  run_on(posts);
}

TEST_CASE_FIXTURE(watched, "a pool that is closed refuses") {
  pool where({.workers = 1});
  REQUIRE(where.shutdown(braid::shutdown_mode::drain));
  try {
    run_in(where, [] {});
    FAIL("it was accepted");
  } catch (const std::system_error& refused) {
    CHECK(refused.code() == errc::closed);
  }
}

TEST_CASE_FIXTURE(watched, "a shutdown that drops the call says so") {
  pool where({.workers = 1});
  std::latch entered(1);
  std::latch opened(1);
  REQUIRE(braid::post(where, [&] {
    entered.count_down();
    opened.wait();
  }));
  entered.wait();
  std::optional<std::error_code> why;
  {
    const braid::testing::sleeper caller([&] {
      try {
        run_in(where, [] {});
      } catch (const std::system_error& refused) {
        why = refused.code();
      }
    });
    REQUIRE(caller.falls_asleep());
    const braid::testing::sleeper ends([&] { REQUIRE(where.shutdown(braid::shutdown_mode::drop_pending)); });
    REQUIRE(ends.falls_asleep());
    opened.count_down();
  }
  REQUIRE(why);
  CHECK(*why == errc::dropped);
}
