// sim/search.hpp: declares the commands of braid-sim, which are called after the options were parsed.
#pragma once

#include <sim/process.hpp>

namespace sim {

/// Runs one seed. Returns the exit status of the command.
auto run_once(run_options options) -> int;

/// Runs one seed twice, and compares all switches of both runs. Returns the exit status of the command.
auto run_twice(run_options options) -> int;

/// A range of seeds that includes both ends.
struct seed_range {
  std::uint64_t first = 1;
  std::uint64_t last = 1000;
};

/// The options of a search, which runs seeds until one fails. If `is_twice` is set, each seed runs twice, and a seed
/// also fails if its two runs differ.
struct search_options {
  seed_range seeds;
  unsigned jobs = 1;
  bool is_twice = false;
};
auto search(run_options options, const search_options& wanted) -> int;

/// Returns command-line words for the options that differ from the defaults, and for the seed.
auto option_words(const run_options& options, std::uint64_t seed) -> std::vector<std::string>;

/// Prints that a seed of a program or a world fails, with the command that repeats it.
void print_failure(const run_options& options, std::uint64_t seed, bool is_twice, const std::string& subject);

}  // namespace sim
