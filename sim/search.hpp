// sim/search.hpp: the commands of braid-sim, after their options were read.
#pragma once

#include <sim/process.hpp>

namespace sim {

/// Runs one seed. Returns the exit status of the command.
auto run_once(const run_options& options) -> int;

/// Runs one seed twice and compares all switches.
auto run_twice(run_options options) -> int;

/// The seeds of a search, both included.
struct seed_range {
  std::uint64_t first = 1;
  std::uint64_t last = 1000;
};

/// Runs seeds until one fails. Each seed runs twice if `twice` is set, and fails as well if both runs differ.
struct search_options {
  seed_range seeds;
  unsigned jobs = 1;
  bool is_twice = false;
};
auto search(run_options options, const search_options& wanted) -> int;

}  // namespace sim
