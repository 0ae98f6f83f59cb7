// bench/harness/counter.hpp: a task that may be posted any number of times, and counts how often it has run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace bench {

class counter {
 public:
  [[nodiscard]] auto as_task() {
    return [this] { count(); };
  }

  /// Sleeps until it has run so many times. Ends the program when that takes longer than some seconds, or when it has
  /// run more often.
  void await(std::uint64_t expected) const {
    for (int patience = 5'000; runs() < expected && patience > 0; --patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (runs() == expected) return;
    std::fprintf(stderr, "wrong result: %llu tasks were posted and %llu have run\n",
                 static_cast<unsigned long long>(expected), static_cast<unsigned long long>(runs()));
    std::exit(1);
  }

 private:
  void count() { runs_.fetch_add(1, std::memory_order_release); }  // edge counter.runs: publish
  [[nodiscard]] auto runs() const -> std::uint64_t {
    return runs_.load(std::memory_order_acquire);
  }  // edge counter.runs: observe

  std::atomic<std::uint64_t> runs_{0};  // written by the tasks
};

}  // namespace bench
