// rankd/cli/detail/serve_arguments.hpp: the command-line options of serve and studio.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <functional>

namespace CLI {
class App;
}

namespace rankd::detail {

/// Adds the subcommand `serve`. If it is given on the command line, stores its function in `chosen`.
void add_serve(CLI::App& app, std::function<exit_status()>& chosen);

/// Adds the subcommand `studio`. If it is given on the command line, stores its function in `chosen`.
void add_studio(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd::detail
