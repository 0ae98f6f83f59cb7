// bench/harness/tally.hpp: counts what many threads have run, without any line that they share.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace bench {

/// One for the whole program: a task may capture nothing and still count.
class tally {
 public:
  static void count() {
    std::atomic<std::uint64_t>& mine = cells_[my_cell()].runs;
    mine.store(mine.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  static auto sum() -> std::uint64_t {
    std::uint64_t total = 0;
    for (const cell& each : cells_) total += each.runs.load(std::memory_order_acquire);
    return total;
  }

  /// Sleeps a little between two looks, so that nothing is taken from the workers. What is above `expected` shows.
  static auto wait_for(std::uint64_t expected) -> std::uint64_t {
    while (sum() < expected) std::this_thread::sleep_for(std::chrono::microseconds(50));
    return sum();
  }

 private:
  struct alignas(128) cell {
    std::atomic<std::uint64_t> runs;  // zero at first; written by the threads whose cell it is, of which one lives
  };
  static constexpr unsigned cells = 1'024;

  /// Threads that follow each other take the next ones; no case makes so many at a time.
  static auto my_cell() -> std::size_t {
    constinit static thread_local unsigned mine = 0;
    if (mine == 0) mine = ++taken_;
    return mine % cells;
  }

  static inline std::atomic<unsigned> taken_{0};
  static inline std::array<cell, cells> cells_;
};

}  // namespace bench
