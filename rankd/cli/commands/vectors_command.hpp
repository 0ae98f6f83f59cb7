// rankd/cli/commands/vectors_command.hpp: the options and functions of rankd vectors.
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
  std::int64_t dimensions = 0;  ///< 0: the length of the first vector
  std::int64_t lists = 0;       ///< 0: no lists
  std::string index;            ///< hnsw; empty: lists, or no index
  std::int64_t m = 16;          ///< this and the next two members are settings of the graph
  std::int64_t ef_construction = 200;
  std::string metric = "dot";
  std::int64_t seed = 1;
};

/// Reads vectors, and writes them to a file, which replaces an earlier file atomically.
auto vectors_build_command(const vectors_build_options& options) -> exit_status;

struct vectors_merge_options {
  std::filesystem::path file;
  std::vector<std::filesystem::path> data;  ///< files of NDJSON
  std::filesystem::path out;                ///< empty: `file`
};

/// Applies changes to a file of vectors. The resulting file equals the file that `vectors build` would write for the
/// resulting vectors.
auto vectors_merge_command(const vectors_merge_options& options) -> exit_status;

struct vectors_show_options {
  std::filesystem::path file;
  output_form form = output_form::people;
};

/// Verifies the checksums of a file, and describes its contents.
auto vectors_show_command(const vectors_show_options& options) -> exit_status;

struct vectors_search_options {
  std::filesystem::path file;
  std::filesystem::path queries;  ///< a file of NDJSON in the same format as for a build
  std::string metric = "dot";
  std::int64_t count = 10;
  std::int64_t probe = 0;      ///< 0: all lists
  std::int64_t ef_search = 0;  ///< 0: exact
  bool has_recall = false;     ///< whether each search is compared with an exact search
};

/// Prints the vectors nearest to each query as NDJSON. Runs the queries one after the other on this thread, and prints
/// their times to standard error.
auto vectors_search_command(const vectors_search_options& options) -> exit_status;

/// Adds the subcommand `vectors`. If it is given on the command line, stores its function in `chosen`.
void add_vectors(CLI::App& app, std::function<exit_status()>& chosen);

}  // namespace rankd
