// tests/runtime/start_stop_stress.cpp: pools, lanes and runtimes that come and go leave nothing behind.
#include <braid/runtime/runtime.hpp>
#include <braid/task/blocking_lane.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/strand.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>

#include <unistd.h>

using braid::scheduler;
using braid::shutdown_mode;
using braid::spawn;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

auto entries_of(const char* folder) -> std::ptrdiff_t {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

/// What this process holds of the system.
struct holdings {
  std::ptrdiff_t threads = entries_of("/proc/self/task");
  std::ptrdiff_t descriptors = entries_of("/proc/self/fd");
};

auto resident_bytes() -> std::size_t {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Runs so many rounds after some that warm up, and looks what they have left behind.
template <typename Round>
void check_growth(std::size_t rounds, Round round) {
  const braid::testing::watchdog dog(200s);
  for (std::size_t i = 0; i < 100; ++i) round(i);
  const holdings before;
  const std::size_t memory = resident_bytes();
  for (std::size_t i = 0; i < rounds; ++i) round(i);
  // A thread that was joined may be seen for a moment.
  CHECK(braid::testing::eventually([&] { return holdings().threads <= before.threads; }));
  CHECK(holdings().descriptors == before.descriptors);
  const std::size_t after = resident_bytes();
  const std::size_t grown = after > memory ? after - memory : 0;
  std::printf("%zu rounds: %zu KiB more\n", rounds, grown / 1024);
  // A page for each round would be the least that a forgotten thread or pool costs.
  if (!braid::testing::under_address_sanitizer && !braid::testing::under_thread_sanitizer)
    CHECK(grown < rounds * 2048 + (std::size_t{1} << 20));
}

}  // namespace

TEST_CASE("a thousand pools that start, work and stop in every way leave no thread, descriptor or memory behind") {
  constexpr scheduler schedulers[] = {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue,
                                      scheduler::current_thread, scheduler::run_inline};
  constexpr shutdown_mode modes[] = {shutdown_mode::drain, shutdown_mode::drop_pending, shutdown_mode::stop_now};
  check_growth(scaled(1'000), [&](std::size_t round) {
    braid::pool where({.workers = 2, .scheduler = schedulers[round % 5]});
    for (int i = 0; i < 20; ++i) spawn(where, [] { return 1; }).then([](int n) { return n; }).detach();
    if (round % 4 == 0)
      static_cast<void>(where.shutdown_for(0s));
    else if (round % 4 == 1)
      static_cast<void>(where.shutdown(modes[round % 3]));
  });
}

TEST_CASE("lanes and strands leave nothing behind") {
  check_growth(scaled(1'000), [](std::size_t) {
    braid::blocking_lane lane;
    braid::strand one(lane);
    for (int i = 0; i < 5; ++i) spawn(one, [] {}).detach();
    spawn(lane, [] {}).get();
  });
}

TEST_CASE("runtimes leave nothing behind") {
  check_growth(scaled(300), [](std::size_t) {
    const auto all = braid::runtime::create({.workers = 2}).value();
    spawn(all->workers(), [&] { return spawn(all->blocking(), [] { return 1; }).get(); }).get();
  });
}
