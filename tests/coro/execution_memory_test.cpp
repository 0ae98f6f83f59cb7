// tests/coro/execution_memory_test.cpp: operations of senders allocate nothing.
#include <braid/execution.hpp>

#include <braid/coro/serial_executor.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/eventually.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/receiver.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/scarce_memory.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <utility>

using namespace braid;
using testing::completion;
using testing::recorder;
using testing::scarce_memory;
using testing::scarcity;

namespace {

int unused = 0;

auto await_without_memory(executor& where, int rounds) -> task<int> {
  const scarce_memory scarce(0, scarcity::rest);
  for (int i = 0; i < rounds; ++i) co_await execution::schedule(scheduler_of(where));
  co_return rounds;
}

}  // namespace

TEST_CASE("a schedule and a future allocate nothing when they are connected, started, stopped and completed") {
  pool workers({.workers = 1});
  static_cast<void>(spawn(workers, [] { return 0; }).get());  // the first post makes this thread's part of the inbox
  completion scheduled;
  completion fulfilled;
  completion stopped;
  promise<int> made;
  promise<int> other;
  int value = 0;
  auto ahead = made.get_future();
  auto never = other.get_future();
  {
    const scarce_memory scarce(0, scarcity::rest);
    auto first = execution::connect(execution::schedule(scheduler_of(workers)), recorder<int>(scheduled, unused));
    execution::start(first);
    while (scheduled.count() == 0) std::this_thread::yield();
    auto second = execution::connect(as_sender(std::move(ahead)), recorder<int>(fulfilled, value));
    execution::start(second);
    static_cast<void>(made.set_value(3));
    execution::inplace_stop_source source;
    auto third = execution::connect(as_sender(std::move(never)), recorder<int>(stopped, value, source.get_token()));
    execution::start(third);
    source.request_stop();
    static_cast<void>(other.set_value(4));
  }
  CHECK(testing::failures() == 0);
  CHECK(scheduled.values == 1);
  CHECK(fulfilled.values == 1);
  CHECK(stopped.values == 1);
}

TEST_CASE("a task that awaits a schedule allocates nothing") {
  pool workers({.workers = 1});
  pool others({.workers = 1});
  // The first post of a thread to a pool makes its part of the inbox.
  spawn(others, [&] { static_cast<void>(post(workers, [] {})); }).get();
  spawn(workers, [&] { static_cast<void>(post(others, [] {})); }).get();
  CHECK(spawn(workers, await_without_memory(others, 100)).get() == 100);
  CHECK(testing::failures() == 0);
}
