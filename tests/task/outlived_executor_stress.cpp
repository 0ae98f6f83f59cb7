// tests/task/outlived_executor_stress.cpp: pools, serial executors and homes end while other threads still send them
// work.
#include <braid/task/executor.hpp>

#include <braid/sync/atomic.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/scheduled.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using braid::errc;
using braid::pool;
using braid::testing::scaled;
using braid::testing::watchdog;
using namespace std::chrono_literals;

namespace {

/// Whether a continuation came to an end that it may have.
auto ended_well(braid::future<int> of) -> bool {
  try {
    return of.get() == 1;
  } catch (const std::system_error& refused) {
    return refused.code() == errc::closed || refused.code() == errc::dropped;
  }
}

auto small_pool() -> std::unique_ptr<pool> { return std::make_unique<pool>(braid::pool::options{.workers = 1}); }

}  // namespace

TEST_CASE("what is sent to a pool while it ends runs, or is refused") {
  const watchdog patience(300s);
  braid::timer_thread timers;
  for (std::size_t round = scaled(300); round > 0; --round) {
    auto workers = small_pool();
    auto serial = std::make_unique<braid::serial_executor>(*workers);
    std::vector<braid::promise<int>> given(20);
    std::vector<braid::future<int>> after;
    for (std::size_t i = 0; i < given.size(); ++i) {
      auto ahead = given[i].get_future();
      after.push_back(i % 2 == 0 ? std::move(ahead).then(*workers, [](int n) { return n; })
                                 : std::move(ahead).then(*serial, [](int n) { return n; }));
    }
    const auto timed = post_after(*workers, timers, 10us, [] {});
    std::jthread giving([&] {
      for (auto& each : given) static_cast<void>(each.set_value(1));
    });
    std::jthread ending([&] { workers.reset(); });
    giving.join();
    for (auto& each : after) CHECK(ended_well(std::move(each)));
    ending.join();
    serial.reset();
    CHECK(timed);
  }
}

TEST_CASE("pools that come and go in the same slots are not taken for each other") {
  const watchdog patience(300s);
  braid::atomic<bool> over{false};
  std::vector<std::jthread> threads;
  braid::atomic<std::size_t> wrong{0};
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      std::optional<braid::future<int>> old;
      while (!over.load(braid::relaxed)) {
        auto workers = small_pool();
        auto ready = spawn(*workers, [] { return 1; });
        ready.wait();
        if (old && !ended_well(old->then([](const int& n) { return n; }))) wrong.fetch_add(1, braid::relaxed);
        old = std::move(ready);
      }
    });
  for (std::size_t round = scaled(300); round > 0; --round) {
    auto mine = small_pool();
    CHECK(spawn(*mine, [] { return 1; }).then([](int n) { return n; }).get() == 1);
  }
  over.store(true, braid::relaxed);
  threads.clear();
  CHECK(wrong.load(braid::relaxed) == 0);
}
