// tests/coro/out_of_memory_test.cpp: a task whose sleep finds no memory is stopped, and nothing ends the program; a
// waiting task needs few bytes.
#include <braid/coro/scope.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/detail/shared_timers.hpp>

#include <doctest/doctest.h>

#include <tests/support/failures.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/scarce_memory.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <vector>

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

TEST_CASE("the scope of a task is the root scope of its home if there is no memory for another one") {
  if (under_thread_sanitizer) return;
  pool workers({.workers = 1});
  const auto body = []() -> task<bool> {
    scope& own = co_await this_scope();
    const scarce_memory scarce(0, scarcity::one);
    const bool is_own = &own.where().root() == &own;
    co_return is_own&& testing::failures() != 0 && &own.where().root() != &own;
  };
  CHECK(spawn(workers, body()).get());
}

TEST_CASE("a scope that finds no memory for its deadline is not made, and leaves nothing behind") {
  if (under_thread_sanitizer) return;
  pool workers({.workers = 1});
  const auto body = []() -> task<bool> {
    constexpr int max_scopes = 100'000;  // more than the blocks that earlier tasks may have freed
    scope& around = co_await this_scope();
    const time_point late = around.where().now() + 1h;
    const scope first(around, late);  // the home has its timers from now on
    std::vector<std::unique_ptr<std::optional<scope>>> made;
    bool has_failed = false;
    while (!has_failed && made.size() < max_scopes) {
      made.push_back(std::make_unique<std::optional<scope>>());
      const scarce_memory scarce(0, scarcity::one);
      try {
        made.back()->emplace(around, late);
      } catch (const std::bad_alloc&) {
        has_failed = true;
      }
    }
    co_return has_failed && !around.stop().requested();
  };
  CHECK(spawn(workers, body()).get());
}

namespace {

/// Frames have these sizes in optimised programs that were compiled by clang.
#if defined(__clang__) && defined(__OPTIMIZE__)
constexpr bool knows_frames = !testing::under_address_sanitizer;
#else
constexpr bool knows_frames = false;
#endif

constexpr long id_bytes = 16;  // the part of each executor in the table of ids

auto wait_for(async_event& go) -> task<void> { co_await go; }
auto sleep_long() -> task<void> { co_await sleep_for(1h); }

/// The memory that one more waiting task needs.
struct task_memory {
  long blocks = 0;
  long bytes = 0;
  auto operator==(const task_memory&) const -> bool = default;
};

/// Begins waiting tasks in batches, by `begin(count)`, until some batches have come from new blocks only, `blocks` for
/// each task. The first batches may get blocks that earlier tasks have freed, or make what all tasks share. Returns
/// what one task needs, from the batch that needed the fewest bytes.
template <typename Begin>
auto measure_task(long blocks, Begin begin) -> task_memory {
  constexpr long batch = 1'024;
  constexpr int max_batches = 200;
  constexpr int full_batches = 3;
  task_memory least;
  for (int i = 0, full = 0; i < max_batches && full < full_batches; ++i) {
    const task_memory before{.blocks = testing::blocks_alive(), .bytes = testing::bytes_requested()};
    begin(batch);
    const task_memory made{.blocks = (testing::blocks_alive() - before.blocks) / batch,
                           .bytes = (testing::bytes_requested() - before.bytes) / batch};
    if (made.blocks < blocks) continue;
    if (full++ == 0 || made.bytes < least.bytes) least = made;
  }
  return least;
}

/// A pool of one worker with a home, on which tasks wait until they are stopped.
struct waiting_world {
  waiting_world() { futures.reserve(std::size_t{1} << 18U); }
  ~waiting_world() {
    go.set();
    for (future<void>& each : futures) each.request_stop();
    for (future<void>& each : futures) each.wait();
  }

  /// Waits until the tasks that were posted before wait.
  void settle() {
    spawn(workers, [] {}).get();
  }

  template <typename Begin>
  auto measure(long blocks, Begin begin) -> task_memory {
    return measure_task(blocks, [&](long count) {
      for (long i = 0; i < count; ++i) begin();
      settle();
    });
  }
  template <typename Make>
  auto measure_in_scope(Make make) -> task_memory {
    return measure_task(1, [&](long count) {
      sync_wait(where, [&]() -> task<void> {
        for (long i = 0; i < count; ++i) where.root().spawn(make());
        co_return;
      });
    });
  }

  async_event go;
  std::vector<future<void>> futures;
  pool workers{pool::options{.workers = 1}};
  serial_executor where{workers};
};

}  // namespace

TEST_CASE("a task that waits in a scope needs one block, and little more than its wait") {
  if (under_thread_sanitizer) return;
  waiting_world all;
  const task_memory event = all.measure_in_scope([&] { return wait_for(all.go); });
  const task_memory sleep = all.measure_in_scope([] { return sleep_long(); });
  CHECK(event.blocks == 1);
  CHECK(sleep.blocks == 1);
  if constexpr (knows_frames) {
    CHECK(event.bytes <= 200);
    CHECK(sleep.bytes <= 200);  // a million sleeping tasks need less than 210 MB
  }
}

TEST_CASE("a task with a future needs two blocks, and a third one if it has a home of its own") {
  if (under_thread_sanitizer) return;
  waiting_world all;
  const task_memory at_home = all.measure(2, [&] { all.futures.push_back(spawn(all.where, wait_for(all.go))); });
  const task_memory alone = all.measure(3, [&] { all.futures.push_back(spawn(all.workers, wait_for(all.go))); });
  const task_memory asleep = all.measure(4, [&] { all.futures.push_back(spawn(all.workers, sleep_long())); });
  CHECK(at_home.blocks == 2);
  CHECK(alone.blocks == 3);
  CHECK(asleep.blocks == 4);
  if constexpr (knows_frames) {
    CHECK(at_home.bytes <= 200 + 264);
    CHECK(alone.bytes <= 200 + 104 + 296 + id_bytes);
    CHECK(asleep.bytes <= 200 + 104 + 296 + id_bytes + 160);
  }
}

TEST_CASE("a posted task needs as much as one with a future") {
  if (under_thread_sanitizer) return;
  waiting_world all;
  const task_memory at_home = all.measure(2, [&] { REQUIRE(post(all.where, wait_for(all.go)).has_value()); });
  const task_memory alone = all.measure(3, [&] { REQUIRE(post(all.workers, wait_for(all.go)).has_value()); });
  CHECK(at_home.blocks == 2);
  CHECK(alone.blocks == 3);
  if constexpr (knows_frames) {
    CHECK(at_home.bytes <= 200 + 264);
    CHECK(alone.bytes <= 200 + 104 + 296 + id_bytes);
  }
}
