// bench/slab/basic.cpp: what an empty job of a slab costs: allocated, scheduled and waited for; or in a chain of jobs
// each of which continues the one before.
#include <bench/slab/contenders.hpp>

#include <braid/task/job_slab.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

using bench::batches;
using bench::sample;
using bench::tally;

/// The calling thread's, set by whoever begins to run jobs of a contender on it.
std::uint64_t serial_runs = 0;

[[gnu::noinline]] void call() { ++serial_runs; }

auto by_calls(const batches& what) -> sample {
  serial_runs = 0;
  return bench::timed([&] {
    for (unsigned repeat = 0; repeat < what.repeats; ++repeat)
      for (unsigned job = 0; job < what.jobs; ++job) call();
    return serial_runs;
  });
}

enum class order : std::uint8_t { any, chained };

/// The slab counts itself, so the jobs need not: they are as empty as they look.
auto begun_by_all(const braid::job_slab& slab) -> std::uint64_t {
  std::uint64_t total = 0;
  for (unsigned thread = 0; thread <= slab.threads(); ++thread) total += slab.jobs_begun_by(thread);
  return total;
}

void run_batch(braid::job_slab& slab, order how, std::vector<braid::job_handle>& jobs) {
  for (auto& job : jobs) job = slab.allocate([] {}).value();
  if (how == order::any) {
    for (const auto& job : jobs) static_cast<void>(slab.schedule(job));
    for (const auto& job : jobs) static_cast<void>(slab.wait(job));
    return;
  }
  for (std::size_t i = 1; i < jobs.size(); ++i) static_cast<void>(slab.continue_with(jobs[i - 1], jobs[i]));
  static_cast<void>(slab.schedule(jobs.front()));
  static_cast<void>(slab.wait(jobs.back()));
}

/// The share of each thread, in the last run.
struct shares {
  std::vector<std::uint64_t> by_thread;
};

auto by_slab(const batches& what, order how, unsigned threads, shares& last) -> sample {
  braid::job_slab slab({.jobs_per_thread = what.jobs + 1, .threads = threads - 1});
  static_cast<void>(slab.start());
  std::vector<braid::job_handle> jobs(what.jobs);
  run_batch(slab, how, jobs);
  const std::uint64_t before = begun_by_all(slab);
  const sample measured = bench::timed([&] {
    for (unsigned repeat = 0; repeat < what.repeats; ++repeat) run_batch(slab, how, jobs);
    return begun_by_all(slab) - before;
  });
  last.by_thread.clear();
  for (unsigned thread = 0; thread < threads; ++thread) last.by_thread.push_back(slab.jobs_begun_by(thread));
  return measured;
}

void print(const shares& last) {
  std::printf("  jobs by thread, the last is the maker:");
  for (const std::uint64_t count : last.by_thread) std::printf(" %llu", static_cast<unsigned long long>(count));
  std::printf("\n");
}

void measure(const char* name, order how, const batches& what, const bench::options& options) {
  shares last;
  std::vector<bench::contender> contenders{
      {"serial", [&](unsigned) { return by_calls(what); }},
      {"slab", [&](unsigned threads) { return by_slab(what, how, threads, last); }},
  };
#if defined(BENCH_TBB)
  if (how == order::any)
    contenders.push_back({"oneTBB", [&](unsigned threads) { return bench::task_group_tbb(what, threads); }});
#endif
  const std::uint64_t total = std::uint64_t{what.jobs} * what.repeats;
  for (const unsigned threads :
       options.workers == 0 ? std::vector<unsigned>{1, 2} : std::vector<unsigned>{options.workers}) {
    bench::compare({.name = name, .items = static_cast<double>(total), .expected = total}, threads, options.rounds,
                   contenders);
    print(last);
  }
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const auto how = bench::parse(count, arguments, {.size = 2047}, "how many jobs at a time");
  const batches what{.jobs = how.size, .repeats = 100};
  measure("slab/basic", order::any, what, how);
  measure("slab/basic_ordered", order::chained, what, how);
}
