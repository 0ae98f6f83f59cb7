// rankd/cli/commands/vectors_command.hpp: rankd vectors: files of vectors, made and looked at.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rankd {

struct vectors_build_options {
  std::vector<std::filesystem::path> data;  ///< files of NDJSON
  std::filesystem::path out;
  std::int64_t dimensions = 0;  ///< 0: as many as the first vector has
  std::int64_t lists = 0;       ///< 0: no lists
  std::int64_t seed = 1;
};

/// Reads vectors and writes a file of them, which replaces an earlier file in one step.
auto vectors_build_command(const vectors_build_options& options) -> exit_status;

struct vectors_show_options {
  std::filesystem::path file;
  output_form form = output_form::people;
};

/// Compares a file with its checksums, and prints its contents.
auto vectors_show_command(const vectors_show_options& options) -> exit_status;

struct vectors_search_options {
  std::filesystem::path file;
  std::filesystem::path queries;  ///< NDJSON, as for a build
  std::string metric = "dot";
  std::int64_t count = 10;
  std::int64_t probe = 0;   ///< 0: all lists
  bool has_recall = false;  ///< whether each search is compared with an exact one
};

/// Prints the nearest to each query as NDJSON, and on standard error how long that took, one query after the other on
/// this thread.
auto vectors_search_command(const vectors_search_options& options) -> exit_status;

/// Adds the subcommand; if it is given, its work is stored in `chosen`.
void add_vectors(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
