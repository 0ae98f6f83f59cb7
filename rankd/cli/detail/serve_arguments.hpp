// rankd/cli/detail/serve_arguments.hpp: the command-line options of serve and studio.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <functional>
#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace rankd::detail {

/// Adds the option `--listen`. `check` returns an error message for addresses that are not allowed.
void add_listen(CLI::App& command, const std::shared_ptr<serve_command_options>& options,
                std::string (*check)(const std::string&));

/// Adds the subcommand `serve`. If it is given on the command line, stores its function in `chosen`.
void add_serve(CLI::App& app, std::function<exit_status()>& chosen);

/// Adds the subcommand `studio`. If it is given on the command line, stores its function in `chosen`.
void add_studio(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd::detail
