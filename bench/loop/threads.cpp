// bench/loop/threads.cpp: eight threads that block, as a program has them that knows no loop: each sleeps for one timer
// after the other. What the timers of a loop are to be compared with, and no rival: others wait for so much less.
#include <bench/harness/moment.hpp>
#include <bench/loop/cases.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace {

constexpr unsigned threads = 8;

auto run_timers(std::size_t count) -> bench::timers_result {
  std::atomic<std::size_t> taken{0};
  std::atomic<std::uint64_t> fired{0};
  std::vector<std::jthread> pool;
  for (unsigned i = 0; i < threads; ++i)
    pool.emplace_back([&] {
      while (taken.fetch_add(1, std::memory_order_relaxed) < count) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        fired.fetch_add(1, std::memory_order_relaxed);
      }
    });
  pool.clear();
  return {.fired = fired.load(std::memory_order_relaxed)};
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender who = bench::reference("8 sleeping threads");
  return bench::run_program(
      count, arguments, "loop",
      {{"timers", who, [](const bench::parameters& given) { return bench::timed_timers(given, run_timers); }}});
}
