// rankd/cli/commands/test_command.hpp: the options and functions of rankd test.
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
  std::vector<std::string> plans;  ///< names, or files NAME.tests.json; empty: all plans that have tests
  std::string only;                ///< a part of the names of the tests to run; empty: all tests
  output_form form = output_form::people;
};

/// Runs the tests of plans and prints their results. Returns `failed` if a test fails, or if there are no tests.
auto test_command(const test_options& options) -> exit_status;

/// Adds the subcommand `test`. If it is given on the command line, stores its function in `chosen`.
void add_test(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
