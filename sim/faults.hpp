// sim/faults.hpp: chooses the faults of a world by a seed within the budgets of the world's file, and finds the
// shortest list of these faults with which the seed still fails.
#pragma once

#include <sim/world_file.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sim {

/// Returns the plan with the faults that the seed chooses as events, in place of the budgets.
auto with_faults(const world_plan& plan, const run_options& options, std::uint64_t seed) -> world_plan;

/// Returns the plan without restarts that do nothing. If two faults of a machine overlap, only the first restart after
/// them starts the machine's program; later restarts do nothing.
auto without_idle_restarts(world_plan plan) -> world_plan;

/// Removes faults of a world as long as the world still fails. `fails` runs a world and returns whether it fails.
/// `options` contains the seed, and receives the smaller budgets. Returns the world with the fewest faults.
auto shrink(world_plan plan, run_options& options,
            const std::function<bool(const world_plan&, const run_options&)>& fails) -> world_plan;

/// Returns the text of a world file with the content of a plan. `options` are options of the command line.
auto to_toml(const world_plan& plan, const std::vector<std::string>& options) -> std::string;

}  // namespace sim
