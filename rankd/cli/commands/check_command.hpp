// rankd/cli/commands/check_command.hpp: rankd check: checks plans by the rules of the engine, for compilers and
// editors.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <functional>

namespace CLI {
class App;
}

namespace rankd {

/// Adds the subcommand; if it is given, its work is stored in `chosen`.
void add_check(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
