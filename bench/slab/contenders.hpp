// bench/slab/contenders.hpp: who else runs many small jobs and waits for them. Each is compiled where its library is.
#pragma once

#include <bench/harness/rounds.hpp>

#include <cstdint>

namespace bench {

/// So many batches of so many empty jobs, each batch waited for.
struct batches {
  unsigned jobs;
  unsigned repeats;
};

/// Each thread counts what it has run, so that a run can check its result. A line of its own.
struct alignas(128) tally {
  std::uint64_t runs = 0;
};

auto task_group_tbb(const batches& what, unsigned threads) -> sample;

}  // namespace bench
