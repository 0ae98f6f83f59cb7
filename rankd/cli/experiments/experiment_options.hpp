// rankd/cli/experiments/experiment_options.hpp: the command-line options of rankd experiment.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <functional>

#include <CLI/CLI.hpp>

namespace rankd {

/// Adds the subcommands `experiment check` and `experiment simulate`. If one of them is given on the command line,
/// stores its function in `chosen`.
void add_experiment(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
