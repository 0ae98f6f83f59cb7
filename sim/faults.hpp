// sim/faults.hpp: the faults that a seed chooses for a world within the budgets of its file, and the smallest list of
// them with which the seed still fails.
#pragma once

#include <sim/world_file.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sim {

/// Returns the plan with the faults that the seed chooses as events, and without budgets.
auto with_faults(const world_plan& plan, const run_options& options, std::uint64_t seed) -> world_plan;

/// Returns the plan without restarts that do nothing. Faults of a machine may overlap, and then only the first of their
/// restarts starts its program.
auto without_idle_restarts(world_plan plan) -> world_plan;

/// Removes faults of a world as long as the seed still fails. `fails` runs a world. Returns the world with the fewest
/// faults; its options contain the seed.
auto shrink(world_plan plan, run_options& options,
            const std::function<bool(const world_plan&, const run_options&)>& fails) -> world_plan;

/// Returns a world file with the content of a plan. `options` are words of the command line.
auto to_toml(const world_plan& plan, const std::vector<std::string>& options) -> std::string;

}  // namespace sim
