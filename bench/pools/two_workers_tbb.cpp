// bench/pools/two_workers_tbb.cpp: many small tasks in an arena of oneTBB: enqueued from outside, or run in a task
// group by a task, which is how oneTBB likes it best.
#include <bench/harness/work.hpp>
#include <bench/pools/contenders.hpp>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

struct alignas(64) tally {
  std::atomic<std::uint64_t> runs{0};  // written by the thread in this slot of the arena
};

void count(std::vector<tally>& tallies) {
  auto& own = tallies[static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())].runs;
  own.store(own.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

auto sum(const std::vector<tally>& tallies) -> std::uint64_t {
  std::uint64_t total = 0;
  for (const tally& each : tallies) total += each.runs.load(std::memory_order_relaxed);
  return total;
}

void await(const std::vector<tally>& tallies, unsigned tasks) {
  while (sum(tallies) != tasks) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace

auto bench::many_tasks_tbb(const many_tasks& what, unsigned workers) -> sample {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers + 1);
  tbb::task_arena arena(static_cast<int>(workers), 0);
  std::vector<tally> tallies(workers + 1);
  const auto one_task = [&tallies, steps = what.steps] {
    work_for(steps);
    count(tallies);
  };
  const auto run_all_in_a_group = [&one_task, tasks = what.tasks] {
    tbb::task_group group;
    for (unsigned i = 0; i < tasks; ++i) group.run(one_task);
    group.wait();
  };
  std::atomic<bool> ended = what.who == poster::outside;
  const sample measured = timed([&] {
    if (what.who == poster::outside)
      for (unsigned i = 0; i < what.tasks; ++i) arena.enqueue(one_task);
    else
      arena.enqueue([&] {
        run_all_in_a_group();
        ended.store(true);
      });
    await(tallies, what.tasks);
    return sum(tallies);
  });
  while (!ended.load()) std::this_thread::yield();
  return measured;
}
