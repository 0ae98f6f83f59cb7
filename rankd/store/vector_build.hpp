// rankd/store/vector_build.hpp: builds files of vectors from lines of NDJSON. The vectors can be clustered into lists
// or linked by a graph.
#pragma once

#include <rankd/registry/row_id.hpp>
#include <rankd/store/vector_graph.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace rankd {

class vector_file;

/// A table of vectors of the same length, stored one after the other, each with its id.
struct vector_table {
  std::uint32_t dimensions = 0;
  std::vector<std::int64_t> ids;        ///< the ids of the rows; if ids are strings, the positions of the rows
  std::vector<std::string> texts = {};  ///< the ids of the rows if ids are strings; empty if they are integers
  std::vector<float> numbers;           ///< `dimensions` numbers for each id

  [[nodiscard]] auto size() const noexcept -> std::size_t { return ids.size(); }
  [[nodiscard]] auto at(std::size_t row) const noexcept -> std::span<const float> {
    return std::span(numbers).subspan(row * dimensions, dimensions);
  }
};

/// Reports the progress of reading or building. The total does not change between calls.
using vector_progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// After this number of diagnostics about lines, reading stops.
inline constexpr std::size_t max_vector_diagnostics = 100;

/// Reads `{"id": 7, "vector": [0.1, …]}` lines. If `dimensions` is 0, the length of the first vector is used. The first
/// id decides whether ids are integers or strings.
/// Blocks: on the disk. Errors: diagnostics about lines (bad_json, missing_member, unknown_member, duplicate_member,
/// wrong_type, wrong_length, out_of_range, too_many_items, bad_id, duplicate_id, line_too_long and others of
/// record_parser), too_many_diagnostics, data_unreadable, no_vectors.
auto read_vectors(std::span<const std::filesystem::path> files, std::uint32_t dimensions,
                  const vector_progress& progress = {}) -> braid::checked<vector_table>;

/// Changes to the vectors of a file.
struct vector_changes {
  vector_table changed;         ///< vectors that are added, or that replace those with the same id
  std::vector<row_id> deleted;  ///< ids whose vectors are removed
};

/// Reads the lines of `read_vectors`, and `{"delete": 7}` lines. Each id may occur once.
/// Blocks: on the disk. Errors: those of `read_vectors` without no_vectors.
auto read_vector_changes(std::span<const std::filesystem::path> files, const vector_file& base,
                         const vector_progress& progress = {}) -> braid::checked<vector_changes>;

/// Returns the vectors of a file after the changes were applied. The changes must have been read for this file. An id
/// that the changes delete need not be in the file.
auto apply_changes(const vector_file& base, vector_changes changes) -> vector_table;

struct vector_lists {
  std::uint32_t count = 0;  ///< 0: the vectors are not in lists
  std::uint64_t seed = 1;   ///< another seed produces other lists
};

/// The index of a file: a number of lists, which may be 0, or a graph.
using vector_index = std::variant<vector_lists, vector_graph>;

/// Returns the index that a file has.
auto find_index(const vector_file& file) -> vector_index;

/// Returns the bytes of a file with these vectors. Requires that all vectors have distinct ids. The same vectors in any
/// order produce the same bytes on every machine. The lists are determined by k-means with squared distances, from a
/// sample of some hundred vectors for each list. There must not be more lists than vectors. Cost: with lists, a few
/// times the computation of the distances from each vector to all lists. All workers take part.
auto vector_file_bytes(vector_table table, const vector_lists& lists, const vector_progress& progress = {})
    -> std::string;

/// Returns the bytes of a file with these vectors and a graph that links near vectors. Requires that all vectors have
/// distinct ids, and at least one vector. The same vectors in any order produce the same bytes on every machine. Cost:
/// a search of width `ef_construction` for each vector; all workers take part. The function needs twice the memory of
/// the vectors, and the memory of the file.
auto vector_file_bytes(vector_table table, const vector_graph& graph, const vector_progress& progress = {})
    -> std::string;

/// A file of vectors that was built.
struct built_vectors {
  std::string bytes;
  std::uint64_t vectors = 0;
  vector_index index;
};

/// Builds a file with these vectors and this index. The requirements and the cost are those of `vector_file_bytes`.
/// Errors: too_many_vectors.
auto build_vectors(vector_table table, const vector_index& index, const vector_progress& progress = {})
    -> braid::checked<built_vectors>;

}  // namespace rankd
