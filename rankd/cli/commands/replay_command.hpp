// rankd/cli/commands/replay_command.hpp: the options and functions of rankd replay.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rankd {

struct replay_options {
  std::filesystem::path file;
  /// Artifacts, or folders of artifacts, that replace recorded plans. If the list is empty, the recorded plans run.
  std::vector<std::filesystem::path> plans;
  std::vector<std::filesystem::path> operators;  ///< libraries of operators that recorded plans use
  std::filesystem::path vectors;  ///< the root folder of the project with the files of vectors; empty: none
  std::string request_id;         ///< empty: all requests
  output_form form = output_form::people;
  unsigned workers = 0;  ///< 0: as many as the machine grants
};

/// Runs recorded requests again. Returns `failed` if an answer differs, or if a request cannot run because its record
/// is incomplete.
auto replay_command(const replay_options& options) -> exit_status;

/// Adds the subcommand `replay`. If it is given on the command line, stores its function in `chosen`.
void add_replay(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
