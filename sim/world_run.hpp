// sim/world_run.hpp: declares the commands of braid-sim for worlds.
#pragma once

#include <sim/search.hpp>
#include <sim/world_file.hpp>

namespace sim {

/// Runs a world with one seed, once or twice. Returns the exit status of the command.
auto run_world(const world_plan& plan, const run_options& options, bool is_twice) -> int;

/// Runs a world with one seed after the other until a seed fails.
auto search_world(const world_plan& plan, const run_options& options, const search_options& wanted) -> int;

}  // namespace sim
