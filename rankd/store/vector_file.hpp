// rankd/store/vector_file.hpp: a file of vectors with their ids, mapped into memory and searched for the vectors
// nearest to a query.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/store/vector_graph.hpp>
#include <rankd/store/vector_kernels.hpp>

#include <braid/base/error.hpp>
#include <braid/sync/stop_flag.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// One of the vectors found by a search: its id and its score.
struct neighbour {
  double score = 0;  ///< greater means nearer: a dot product, a cosine, or the negative squared distance
  /// The id. If ids are strings, this is the position of the id among all ids, and vector_file::text returns the id.
  std::int64_t id = 0;

  auto operator==(const neighbour&) const -> bool = default;
};

class vector_file;

/// The vectors of a file that a search may return.
/// Threads: one thread while the filter is changed, and any thread afterwards. Lifetime: the file must outlive the
/// filter. Cost: 2 bytes for each 16 vectors of the file.
class vector_filter {
 public:
  /// Creates a filter that allows no vector. Call `allow` for each vector that may be found.
  static auto none(const vector_file& file) -> vector_filter;
  /// Creates a filter that allows every vector. Call `refuse` for each vector that must not be found.
  static auto all(const vector_file& file) -> vector_filter;

  /// Allows the vector with this id. Does nothing if the file has no such vector. Requires an id of the type that the
  /// file has.
  void allow(std::int64_t id);
  void allow(std::string_view id);
  /// Refuses the vector with this id. The requirements are those of `allow`.
  void refuse(std::int64_t id);
  void refuse(std::string_view id);

  /// Returns the number of vectors that are allowed.
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return size_; }
  /// Returns the allowed vectors of a block: a bit for each of its slots.
  [[nodiscard]] auto block(std::uint64_t block) const noexcept -> std::uint16_t { return blocks_[block]; }
  /// Returns whether the vector of a slot is allowed.
  [[nodiscard]] auto allows(std::uint64_t slot) const noexcept -> bool {
    return (blocks_[slot / vector_block] >> slot % vector_block & 1U) != 0;
  }

 private:
  vector_filter(const vector_file& file, std::vector<std::uint16_t> blocks, std::uint64_t size)
      : file_(&file), blocks_(std::move(blocks)), size_(size) {}
  void set(std::optional<std::uint64_t> slot, std::uint16_t allowed);

  const vector_file* file_;
  std::vector<std::uint16_t> blocks_;
  std::uint64_t size_ = 0;
};

struct nearest_options {
  vector_metric metric = vector_metric::dot;
  std::size_t count = 10;  ///< at least 1
  std::size_t lists = 0;   ///< the number of nearest lists to search; 0: all, so that the result is exact
  /// The width of a search in the graph: the number of nearest vectors whose links it follows, at least `count`. If it
  /// is 0, the search is exact. It has no effect in a file without a graph. The search is also exact if an exact search
  /// compares fewer vectors, because the file is small or few vectors are allowed.
  std::size_t ef_search = 0;
  /// The vectors that may be found. Null means all vectors. If a filter excludes vectors, a search of some lists
  /// continues in further lists. It ends when it has compared as many allowed vectors as the requested number of lists
  /// contains on average. So the search is exact if no more vectors than that are allowed.
  const vector_filter* allowed = nullptr;
  bool is_shared = false;  ///< whether workers of the pool may take parts of a large file
  /// A flag that is polled between parts. If the search is stopped, it returns the results that it has found so far.
  const braid::stop_flag* stop = nullptr;
};

/// The nearest vectors, nearest first. If scores are equal, the lower id is first.
struct nearest_found {
  std::vector<neighbour> all;
  std::uint64_t looked_at = 0;  ///< the number of vectors that were compared
};

/// Computes the score of each vector for a query. The scores are bit for bit those of a search in a file that contains
/// the vectors. Each vector must have as many numbers as the query, and `scores` must have as many items as `vectors`.
void score_vectors(std::string_view query, std::span<const std::string_view> vectors, vector_metric metric,
                   std::span<double> scores);

/// An open file of vectors of equal length. The vectors are either grouped into lists and stored in blocks of
/// `vector_block` vectors, or linked by a graph and stored one after the other. docs/vectors.md describes the format.
/// Immutable. Threads: any.
/// Lifetime: if the file is replaced by a rename, the open file keeps its contents. If the file is overwritten in
/// place, its contents change.
class vector_file {
 public:
  /// Maps a file and verifies all of its checksums.
  /// Blocks: on the disk. Errors: vectors_missing, vectors_foreign, vectors_newer, vectors_corrupt, with the path of
  /// the file.
  static auto open(const std::filesystem::path& file) -> braid::checked<std::shared_ptr<const vector_file>>;

  /// Checks the bytes of a file in memory, and returns them as a file. The bytes must outlive the result, and begin at
  /// a multiple of 64.
  static auto parse(std::span<const std::byte> bytes, const std::filesystem::path& name)
      -> braid::checked<std::shared_ptr<const vector_file>>;

  /// Returns the `digest` of a file by reading only its header. Blocks: on the disk. Errors: those of `open`, for the
  /// part of the file that is read.
  static auto make_digest(const std::filesystem::path& file) -> braid::checked<std::string>;

  vector_file(const vector_file&) = delete;
  auto operator=(const vector_file&) -> vector_file& = delete;
  ~vector_file();

  [[nodiscard]] auto dimensions() const noexcept -> std::uint32_t;
  [[nodiscard]] auto size() const noexcept -> std::uint64_t;
  /// Returns the number of lists, or 0 if the vectors are not in lists.
  [[nodiscard]] auto lists() const noexcept -> std::uint32_t;
  [[nodiscard]] auto seed() const noexcept -> std::uint64_t;
  /// Returns the settings of the graph, or nothing if the file has no graph.
  [[nodiscard]] auto graph() const noexcept -> std::optional<vector_graph>;
  /// Returns the type of the ids: integers or strings.
  [[nodiscard]] auto id_type() const noexcept -> value_type;
  /// Returns the string id of a `neighbour` in this file. Requires that the ids are strings. Lifetime: the file must
  /// outlive the result.
  [[nodiscard]] auto text(std::int64_t id) const noexcept -> std::string_view;
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return bytes_.size(); }
  /// Returns a digest of the contents, computed from the checksums: 64 hexadecimal digits.
  [[nodiscard]] auto digest() const -> std::string;

  /// Returns the slot of the vector with this id, or nothing if there is no such vector. Requires an id of the type
  /// that the file has. Cost: a binary search.
  [[nodiscard]] auto find_slot(std::int64_t id) const noexcept -> std::optional<std::uint64_t>;
  [[nodiscard]] auto find_slot(std::string_view id) const noexcept -> std::optional<std::uint64_t>;
  /// Returns the vector in a slot, as bytes. Requires a slot that contains a vector, such as the result of `find_slot`.
  [[nodiscard]] auto read_slot(std::uint64_t slot) const -> std::string;
  /// Returns the number of slots, which is a multiple of `vector_block`.
  [[nodiscard]] auto slots() const noexcept -> std::uint64_t { return ids_.size(); }

  /// Returns the number of vectors that a search examines. The number is approximate, unless the search covers all
  /// vectors.
  [[nodiscard]] auto looked_at(const nearest_options& options) const noexcept -> std::uint64_t;

  /// Returns the vectors nearest to a query vector, which is passed as bytes. For the same file, query and options, the
  /// result has the same bits on every machine, with one worker or several. Requires a query of `dimensions` finite
  /// numbers. Cost: a heap of `count` vectors, and about 0.1 ns for each number of the file, if memory is fast enough.
  [[nodiscard]] auto nearest(std::string_view vector, const nearest_options& options) const -> nearest_found;

  /// Calls `visit(id, vector)` for each vector, in the order of the file. The ids have the same form as in a
  /// `neighbour`.
  void for_each(const std::function<void(std::int64_t, std::string_view)>& visit) const;

 private:
  struct list_entry {
    std::uint64_t first = 0;  ///< the first slot, a multiple of vector_block
    std::uint64_t count = 0;
  };
  class search;
  class row_scorer;
  class graph_query;
  friend class vector_filter;

  explicit vector_file(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
  [[nodiscard]] auto complete(const std::filesystem::path& name) -> braid::diagnostics;
  [[nodiscard]] auto check_lists() const -> std::string;
  [[nodiscard]] auto check_links() const -> std::string;
  [[nodiscard]] auto search_graph(std::string_view vector, const nearest_options& options) const -> nearest_found;
  [[nodiscard]] auto is_graph_faster(const nearest_options& options) const noexcept -> bool;
  /// Returns whether the vectors are stored one after the other instead of in blocks.
  [[nodiscard]] auto has_rows() const noexcept -> bool { return !links_.empty(); }
  auto order_slots() -> std::string;
  [[nodiscard]] auto slot_of(std::uint64_t rank) const noexcept -> std::uint64_t {
    return slots_by_id_.empty() ? rank : slots_by_id_[rank];
  }
  [[nodiscard]] auto check_texts() const -> std::string;

  std::span<const std::byte> bytes_;
  bool is_mapped_ = false;
  std::span<const list_entry> lists_;
  const float* centroids_ = nullptr;  ///< stored in blocks
  std::span<const std::int64_t> ids_;
  std::span<const double> squares_;  ///< the dot product of each vector with itself
  const float* values_ = nullptr;    ///< stored in blocks, or as rows
  /// The links of the graph, in the order of graph_layers. Empty if there is no graph.
  std::span<const std::uint32_t> links_;
  std::span<const std::uint64_t> text_ends_;  ///< the end of each id's text; empty if ids are integers
  const char* texts_ = nullptr;               ///< the texts of the ids, one after the other
  std::vector<double> centroid_squares_;
  /// The slots in the order of their ids. Empty if the slots already have this order.
  std::vector<std::uint32_t> slots_by_id_;
};

}  // namespace rankd
