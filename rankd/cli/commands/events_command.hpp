// rankd/cli/commands/events_command.hpp: the options and functions of rankd events.
#pragma once

#include <rankd/cli/commands/commands.hpp>
#include <rankd/registry/utc_time.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rankd {

class atomic_file;

/// States what to do with an exposure if later events may still change its labels.
enum class open_windows : std::uint8_t {
  wait,     ///< leave it out; a later run writes it
  include,  ///< write it with the labels that it has so far
};

struct join_options {
  std::filesystem::path exposures;  ///< a folder that `serve --exposures` has filled
  std::filesystem::path events;     ///< a folder that `serve --events` has filled
  /// A folder of files that `serve --captures` has written. Their rows provide more features. If the path is empty, no
  /// captures are used.
  std::filesystem::path captures = {};
  std::filesystem::path labels = {};  ///< a file of labels; empty: the events of each type are counted
  /// The time up to which the files contain all events. If it is not set, the current time is used.
  std::optional<utc_time> until = {};
  open_windows unfinished = open_windows::wait;  ///< applies to labels
  std::filesystem::path out = {};                ///< empty: standard output
};

using lines_by_file = std::map<std::filesystem::path, std::uint64_t>;

struct join_counts {
  std::uint64_t answers = 0;
  std::uint64_t rows = 0;
  std::uint64_t events = 0;   ///< each event counts once
  std::uint64_t matched = 0;  ///< events that belong to a row; with labels, events that count for a label
  lines_by_file broken = {};  ///< skipped lines: not a valid record, or a wrong checksum
  std::uint64_t open = 0;     ///< answers that were left out, because events may still count for them
  /// The types of events that a label names but that do not occur among the events.
  std::vector<std::string> unseen_types = {};
};

/// Writes a line of CSV for each row that an answer has shown. The line contains the request, the position and the
/// columns. The last cells of the line are the labels. Without a file of labels, they are the numbers of events of each
/// type that refer to this request and item. Keeps in memory all events that name a request, and all captured values of
/// shown rows.
/// Blocks: on the disk. Errors: unreadable_file, output_unwritable, unsupported_form if the captures are Arrow files,
/// and those of `load_labels`.
auto join_events(const join_options& options, atomic_file& out) -> braid::checked<join_counts>;

auto join_command(const join_options& options) -> exit_status;

/// Adds the subcommand `events`. If it is given on the command line, stores its function in `chosen`.
void add_events(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
