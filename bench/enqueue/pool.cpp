// bench/enqueue/pool.cpp: what an empty task costs that threads outside of a pool post to it.
#include <bench/enqueue/contenders.hpp>

#include <braid/task/pool.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

/// Each worker counts what it has run, so that a run can check its result.
struct alignas(braid::cache_line) tally {
  std::uint64_t runs = 0;
};

auto on_pool(braid::scheduler chosen, unsigned producers, unsigned tasks, unsigned workers) -> bench::sample {
  braid::pool where({.workers = workers, .scheduler = chosen});
  std::vector<tally> tallies(workers);
  return bench::timed([&] {
    bench::from_threads(producers, tasks, [&] {
      static_cast<void>(braid::post(where, [&tallies] { ++tallies[braid::current_worker()->index].runs; }));
    });
    static_cast<void>(where.wait_idle());
    std::uint64_t total = 0;
    for (const tally& each : tallies) total += each.runs;
    return total;
  });
}

auto with(std::string name, braid::scheduler chosen, unsigned producers, unsigned tasks) -> bench::contender {
  return {std::move(name), [=](unsigned workers) { return on_pool(chosen, producers, tasks, workers); }};
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const auto how = bench::parse(count, arguments, {.size = 1'000'000}, "how many tasks");
  for (const unsigned producers : {1U, 2U, 4U}) {
    const unsigned tasks = how.size / producers * producers;
    std::vector<bench::contender> contenders{
        with("stealing", braid::scheduler::work_stealing, producers, tasks),
        with("least_loaded", braid::scheduler::least_loaded, producers, tasks),
        with("shared_queue", braid::scheduler::shared_queue, producers, tasks),
    };
#if defined(BENCH_TBB)
    contenders.push_back({"oneTBB", [=](unsigned workers) { return bench::enqueue_tbb(producers, tasks, workers); }});
#endif
    const std::string name = "enqueue/pool/producers:" + std::to_string(producers);
    bench::compare_all({.name = name, .items = static_cast<double>(tasks), .expected = tasks}, how, contenders);
  }
}
