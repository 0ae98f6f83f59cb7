// rankd/cli/detail/serve_arguments.hpp: the part of the command line that is about serving.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <functional>

namespace CLI {
class App;
}

namespace rankd::detail {

/// Adds `serve`; if it is given, its work is stored in `chosen`.
void add_serve(CLI::App& app, std::function<exit_status()>& chosen);

/// Does the same for `studio`.
void add_studio(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd::detail
