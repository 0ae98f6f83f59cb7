// rankd/cli/commands/replay_command.hpp: rankd replay: its options, and recorded traffic run again.
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
  std::vector<std::filesystem::path> plans;      ///< artifacts, or folders of artifacts; empty: the recorded ones
  std::vector<std::filesystem::path> operators;  ///< libraries that recorded plans use operators of
  std::string request_id;                        ///< empty: all requests
  output_form form = output_form::people;
  unsigned workers = 0;  ///< 0: as many as the machine grants
};

/// Returns `failed` if an answer differs, or if a request cannot be run because the record lacks something.
auto replay_command(const replay_options& options) -> exit_status;

/// Adds the subcommand; if it is given, its work is stored in `chosen`.
void add_replay(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
