// rankd/cli/experiments/experiment_options.hpp: the part of the command line that is about experiments.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <functional>

#include <CLI/CLI.hpp>

namespace rankd {

/// Adds `experiment check` and `experiment simulate`; the work of the given one is stored in `chosen`.
void add_experiment(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
