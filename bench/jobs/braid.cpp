// bench/jobs/braid.cpp: empty jobs of a slab: allocated, scheduled and waited for; or in a chain of jobs each of which
// continues the one before.
#include <bench/jobs/batches.hpp>

#include <braid/task/job_slab.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace {

using bench::batches;
using bench::parameters;
using bench::sample;

using handles = std::vector<braid::job_slab::handle>;

/// When the last job of a chain has ended, the slots of others may still be on their way back from another thread.
auto allocated(braid::job_slab& slab) -> braid::job_slab::handle {
  for (int patience = 1'000'000; patience > 0; --patience) {
    if (const auto job = slab.allocate([] {})) return *job;
    std::this_thread::yield();
  }
  return slab.allocate([] {}).value();
}

void run_batch(braid::job_slab& slab, handles& jobs) {
  for (auto& job : jobs) job = allocated(slab);
  for (const auto& job : jobs) static_cast<void>(slab.schedule(job));
  for (const auto& job : jobs) static_cast<void>(slab.wait(job));
}

void run_ordered_batch(braid::job_slab& slab, handles& jobs) {
  for (auto& job : jobs) job = allocated(slab);
  for (std::size_t i = 1; i < jobs.size(); ++i) static_cast<void>(slab.continue_with(jobs[i - 1], jobs[i]));
  static_cast<void>(slab.schedule(jobs.front()));
  static_cast<void>(slab.wait(jobs.back()));
}

/// The slab counts itself, so the jobs need not: they are as empty as they look.
auto begun_by_all(const braid::job_slab& slab) -> std::uint64_t {
  std::uint64_t total = 0;
  for (unsigned thread = 0; thread <= slab.threads(); ++thread) total += slab.jobs_begun_by(thread);
  return total;
}

/// The share of each thread is told, too; the last one is the maker.
auto measure(const parameters& given, void (*run)(braid::job_slab&, handles&)) -> sample {
  const batches what(given);
  braid::job_slab slab({.jobs_per_thread = static_cast<unsigned>(what.jobs + 1), .threads = given.workers() - 1});
  static_cast<void>(slab.start());
  handles jobs(what.jobs);
  run(slab, jobs);
  const std::uint64_t before = begun_by_all(slab);
  const double total = static_cast<double>(what.jobs * what.repeats);
  sample measured = bench::timed(total, what.jobs * what.repeats, [&] {
    for (std::uint64_t repeat = 0; repeat < what.repeats; ++repeat) run(slab, jobs);
    return begun_by_all(slab) - before;
  });
  for (unsigned thread = 0; thread <= slab.threads(); ++thread)
    measured.extra["begun_by_thread_" + std::to_string(thread)] = static_cast<double>(slab.jobs_begun_by(thread));
  return measured;
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender braid = bench::braid_contender();
  return bench::run_program(
      count, arguments, "jobs",
      {{"basic", braid, [](const parameters& given) { return measure(given, run_batch); }},
       {"basic_ordered", braid, [](const parameters& given) { return measure(given, run_ordered_batch); }}});
}
