// bench/slab/basic_tbb.cpp: empty jobs in a task group of oneTBB; the thread that waits runs them, too.
#include <bench/slab/contenders.hpp>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <cstddef>
#include <vector>

auto bench::task_group_tbb(const batches& what, unsigned threads) -> sample {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(static_cast<int>(threads));
  std::vector<tally> tallies(threads);
  const auto run_batch = [&] {
    tbb::task_group group;
    for (unsigned job = 0; job < what.jobs; ++job)
      group.run([&tallies] { ++tallies[static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())].runs; });
    group.wait();
  };
  arena.execute(run_batch);  // starts the threads
  for (tally& each : tallies) each.runs = 0;
  return timed([&] {
    for (unsigned repeat = 0; repeat < what.repeats; ++repeat) arena.execute(run_batch);
    std::uint64_t total = 0;
    for (const tally& each : tallies) total += each.runs;
    return total;
  });
}
