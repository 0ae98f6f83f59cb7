// tests/runtime/merged_quiesce_test.cpp: quiesce beside workers that have loops of their own.
#include <braid/runtime/runtime.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/quiesce.hpp>

#include <doctest/doctest.h>

#include <tests/support/watchdog.hpp>

#include <latch>

using namespace braid;

TEST_CASE("quiesce waits for the tasks and jobs that workers with loops are in, and not for those that are suspended") {
  const testing::watchdog dog(std::chrono::seconds(100));
  const auto all = runtime::create({.workers = 2, .shape = runtime_shape::merged}).value();
  REQUIRE(all->post([]() -> task<void> { co_await sleep_for(1h); }()));
  CHECK(quiesce());
  std::latch task_begun(1);
  std::latch job_begun(1);
  std::latch released(1);
  const auto stay = [&](std::latch& begun) {
    begun.count_down();
    released.wait();
  };
  auto sleeper = [&]() -> task<void> {
    co_await sleep_for(1us);
    stay(task_begun);
  };
  REQUIRE(all->post(sleeper()));
  task_begun.wait();
  REQUIRE(post(all->workers(), [&] { stay(job_begun); }));  // the other worker is free
  job_begun.wait();
  CHECK(quiesce_for(1ms).error() == errc::deadline_exceeded);
  released.count_down();
  CHECK(quiesce());
  static_cast<void>(all->shutdown(shutdown_mode::stop_now));
}
