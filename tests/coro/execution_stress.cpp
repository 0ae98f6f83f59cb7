// tests/coro/execution_stress.cpp: senders against stops, from several threads: each operation completes once, and a
// task that awaits one ends at home.
#include <braid/execution.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/receiver.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

using namespace braid;

namespace {

void pause(std::uint64_t steps) {
  for (; steps != 0; --steps) asm volatile("");
}

/// Ends the program if its task ends on a thread that is not its home.
struct resident {
  ~resident() {
    if (!home->is_current()) std::abort();
  }
  serial_executor* home;
};

auto hop(serial_executor& home, pool& other, int hops) -> task<int> {
  const resident here{&home};
  for (int i = 0; i < hops; ++i) {
    co_await execution::schedule(scheduler_of(other));
    if (!home.is_current()) std::abort();
  }
  co_return hops;
}

}  // namespace

TEST_CASE("tasks that hop by senders are stopped at any moment, and end at home") {
  const testing::watchdog guard(std::chrono::seconds(280));
  random_source random(testing::printed_seed());
  pool workers({.workers = 2});
  pool others({.workers = 2});
  serial_executor home(workers);
  std::size_t values = 0;
  std::size_t stops = 0;
  const std::size_t races = testing::scaled(2'000);
  for (std::size_t i = 0; i < races; ++i) {
    auto handle = spawn(home, hop(home, others, 5));
    pause(random.below(20'000));
    handle.request_stop();
    try {
      static_cast<void>(handle.get());
      ++values;
    } catch (const std::system_error& error) {
      REQUIRE(error.code() == errc::stopped);
      ++stops;
    }
  }
  CHECK(values + stops == races);
}

TEST_CASE("the sender of a task completes once, whenever it is stopped") {
  const testing::watchdog guard(std::chrono::seconds(280));
  random_source random(testing::printed_seed());
  pool workers({.workers = 2});
  pool others({.workers = 1});
  serial_executor home(workers);
  const std::size_t races = testing::scaled(2'000);
  for (std::size_t i = 0; i < races; ++i) {
    testing::completion ended;
    int value = 0;
    execution::inplace_stop_source source;
    auto work = execution::connect(as_sender(home, hop(home, others, 2)),
                                   testing::recorder<int>(ended, value, source.get_token()));
    execution::start(work);
    pause(random.below(10'000));
    source.request_stop();
    while (ended.count() == 0) std::this_thread::yield();
    REQUIRE(ended.count() == 1);
    REQUIRE((ended.stops == 1 || value == 2));
  }
}
