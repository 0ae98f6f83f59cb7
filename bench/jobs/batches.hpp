// bench/jobs/batches.hpp: batches of empty jobs, each batch waited for.
#pragma once

#include <bench/harness/program.hpp>
#include <bench/harness/tally.hpp>

#include <cstdint>

namespace bench {

struct batches {
  explicit batches(const parameters& given)
      : jobs(given.number("jobs", 2'047)), repeats(given.number("repeats", 100)) {}

  std::uint64_t jobs;
  std::uint64_t repeats;
};

/// `run_batch(jobs)` runs one batch of jobs that count themselves with the tally; the first is a warm-up.
template <typename RunBatch>
auto timed_batches(const batches& what, RunBatch run_batch) -> sample {
  run_batch(what.jobs);
  const std::uint64_t before = tally::sum();
  return timed(static_cast<double>(what.jobs * what.repeats), what.jobs * what.repeats, [&] {
    for (std::uint64_t repeat = 0; repeat < what.repeats; ++repeat) run_batch(what.jobs);
    return tally::sum() - before;
  });
}

}  // namespace bench
