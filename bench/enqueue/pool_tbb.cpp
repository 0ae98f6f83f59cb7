// bench/enqueue/pool_tbb.cpp: empty tasks that are enqueued to a task arena of oneTBB.
#include <bench/enqueue/contenders.hpp>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

struct alignas(64) tally {
  std::atomic<std::uint64_t> runs{0};
};

auto sum(const std::vector<tally>& tallies) -> std::uint64_t {
  std::uint64_t total = 0;
  for (const tally& each : tallies) total += each.runs.load(std::memory_order_relaxed);
  return total;
}

}  // namespace

/// All slots of the arena belong to workers, so that as many threads run tasks as in the other contenders.
auto bench::enqueue_tbb(unsigned producers, unsigned tasks, unsigned workers) -> sample {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers + 1);
  tbb::task_arena arena(static_cast<int>(workers), 0);
  std::vector<tally> tallies(workers + 1);
  return timed([&] {
    from_threads(producers, tasks, [&] {
      arena.enqueue([&tallies] {
        auto& own = tallies[static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())].runs;
        own.store(own.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      });
    });
    while (sum(tallies) != tasks) std::this_thread::sleep_for(std::chrono::microseconds(50));
    return sum(tallies);
  });
}
