// rankd/cli/commands/events_command.hpp: the options and functions of rankd events.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>

namespace CLI {
class App;
}

namespace rankd {

class atomic_file;

struct join_options {
  std::filesystem::path exposures;  ///< a folder that `serve --exposures` has filled
  std::filesystem::path events;     ///< one of `serve --events`
  std::filesystem::path out;        ///< empty: standard output
};

struct join_counts {
  std::uint64_t answers = 0;
  std::uint64_t rows = 0;
  std::uint64_t events = 0;   ///< each once
  std::uint64_t matched = 0;  ///< of these, the events that belong to a row
  std::uint64_t broken = 0;   ///< skipped lines: no such record, or a wrong checksum
};

/// Writes a line of CSV for each row that an answer has shown. The line contains the request, the position, the
/// columns, and how many events of each type refer to this request and item. All events that name a request are kept in
/// memory.
/// Blocks: on the disk. Errors: unreadable_file, output_unwritable.
auto join_events(const join_options& options, atomic_file& out) -> braid::checked<join_counts>;

auto join_command(const join_options& options) -> exit_status;

/// Adds the subcommand `events`. If it is given on the command line, stores its function in `chosen`.
void add_events(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
