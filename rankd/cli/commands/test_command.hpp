// rankd/cli/commands/test_command.hpp: rankd test: its options, and the tests of plans that it runs.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rankd {

struct test_options : project_options {
  std::vector<std::string> plans;  ///< names, or files NAME.tests.json; empty: all that have tests
  std::string only;                ///< a part of the names of the tests to run; empty: all
  output_form form = output_form::people;
};

/// Runs the tests of plans and prints what came of them. Gives `failed` where a test fails, or where nothing is tested.
auto test_command(const test_options& options) -> exit_status;

/// Adds the subcommand; when it is given, `chosen` becomes what it does.
void add_test(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
