// rankd/cli/commands/check_command.hpp: rankd check: checks plans by the rules of the engine, for compilers and
// editors.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <functional>

namespace CLI {
class App;
}

namespace rankd {

/// Adds the subcommand `check`. If it is given on the command line, stores its function in `chosen`.
void add_check(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
