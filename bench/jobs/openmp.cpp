// bench/jobs/openmp.cpp: empty tasks of OpenMP that one thread of a team makes and all run; in order by a dependence.
#include <bench/harness/openmp.hpp>
#include <bench/jobs/batches.hpp>

namespace {

void run_batch(std::uint64_t jobs) {
  for (std::uint64_t job = 0; job < jobs; ++job) {
#pragma omp task
    bench::tally::count();
  }
#pragma omp taskwait
}

void run_ordered_batch(std::uint64_t jobs) {
  int order = 0;
  for (std::uint64_t job = 0; job < jobs; ++job) {
#pragma omp task depend(inout : order)
    bench::tally::count();
  }
#pragma omp taskwait
  static_cast<void>(order);
}

auto measure(const bench::parameters& given, void (*run)(std::uint64_t)) -> bench::sample {
  const bench::batches what(given);
  return bench::in_team(given.workers(), [&] { return bench::timed_batches(what, run); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender openmp = bench::openmp_contender();
  return bench::run_program(
      count, arguments, "jobs",
      {{"basic", openmp, [](const bench::parameters& given) { return measure(given, run_batch); }},
       {"basic_ordered", openmp, [](const bench::parameters& given) { return measure(given, run_ordered_batch); }}});
}
