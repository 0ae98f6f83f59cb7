// bench/harness/openmp.hpp: what contenders of OpenMP share. They are compiled by g++, whose runtime it is.
#pragma once

#include <bench/harness/program.hpp>

#include <string>

#include <omp.h>

namespace bench {

inline auto openmp_contender() -> contender {
  return {.name = "OpenMP", .kind = kind::rival, .version = "libgomp of g++ " __VERSION__};
}

/// Runs `fn` on one thread of a team of so many; the others wait for its tasks.
template <typename Fn>
auto in_team(unsigned threads, Fn fn) -> sample {
  sample measured;
#pragma omp parallel num_threads(threads)
#pragma omp single
  measured = fn();
  return measured;
}

}  // namespace bench
