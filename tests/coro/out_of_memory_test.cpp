// tests/coro/out_of_memory_test.cpp: a task whose sleep finds no memory is stopped, and nothing ends the program.
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/detail/shared_timers.hpp>

#include <doctest/doctest.h>

#include <tests/support/failures.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/scarce_memory.hpp>

using namespace braid;
using testing::failure_code;
using testing::scarce_memory;
using testing::scarcity;
using testing::under_thread_sanitizer;

namespace {

/// Sleeps, for the first time at its home, while there is memory for `succeed` more allocations.
auto sleep_short_of_memory(long succeed, scarcity then) -> task<void> {
  const scarce_memory scarce(succeed, then);
  co_await sleep_for(1us);
}

auto sleep_and_add(int& count) -> task<void> {
  co_await sleep_for(1us);
  ++count;
}

}  // namespace

TEST_CASE("a sleep that finds no memory stops its task, whatever is missing") {
  pool workers({.workers = 1});
  // The timers of the home first, then those of the process with their thread, which are made once.
  for (const scarcity then : {scarcity::one, scarcity::rest})
    for (long n = 0; n < 4; ++n) {
      CAPTURE(n);
      auto ended = spawn(workers, sleep_short_of_memory(n, then));
      ended.wait();
      const bool failed = testing::failures() != 0;
      CHECK(failed == (failure_code(ended) == errc::stopped));
      if (n == 0) CHECK((failed || under_thread_sanitizer));
    }
  int count = 0;
  spawn(workers, sleep_and_add(count)).get();  // later homes sleep as ever
  CHECK(count == 1);
}

TEST_CASE("a home that has found no memory for its timers stops all that lives there, and takes nothing more") {
  if (under_thread_sanitizer) return;
  pool workers({.workers = 1});
  serial_executor where(workers);
  int count = 0;
  auto ended = spawn(where, sleep_short_of_memory(0, scarcity::one));
  CHECK(failure_code(ended) == errc::stopped);
  CHECK(failure_code(spawn(where, sleep_and_add(count))) != std::error_code());
  CHECK(count == 0);
}
