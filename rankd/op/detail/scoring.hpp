// rankd/op/detail/scoring.hpp: what a model is once its file was checked, and how it scores rows.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/rows/row_set.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/stop_flag.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace rankd {

/// What is done with the sum of a model.
enum class score_link : std::uint8_t { identity, sigmoid };

namespace detail {

/// One addend of a linear model.
struct model_weight {
  std::uint32_t key_id = 0;
  double weight = 0;
  std::optional<double> when_null;  ///< stands for a null; without it the score of the row is null
};

struct linear_model {
  std::vector<model_weight> weights;
};

/// A node of a tree. A row goes right where its value is at least the threshold, or where it is null and `null_right`.
/// The right child lies behind the left one. A leaf is its own left child, and nothing goes right there.
struct tree_node {
  double threshold = 0;
  std::uint32_t feature = 0;  ///< a position in tree_model::key_ids
  std::uint32_t left = 0;     ///< a position in tree_model::nodes
  std::uint32_t null_right = 0;
};

struct tree_shape {
  std::uint32_t root = 0;
  std::uint32_t levels = 0;  ///< steps from the root to the deepest leaf
};

struct tree_model {
  std::vector<std::uint32_t> key_ids;
  std::vector<tree_node> nodes;  ///< of all trees
  std::vector<double> values;    ///< of the leaves, by node
  std::vector<tree_shape> trees;
};

/// How `model::sums` runs: as evaluate_options::rows_of_part; `stop` is looked at between blocks of rows.
struct scoring_options {
  std::size_t rows_of_part;
  const braid::stop_flag* stop = nullptr;
};

}  // namespace detail

/// What a model made of rows, before its link.
struct model_sums {
  column values;
  std::span<double> writable;  ///< the same values

  /// Puts 1 / (1 + exp(-x)) in place of each x. Requires finite ones.
  void squeeze() noexcept;
};

class model {
 public:
  /// Rows are taken in blocks of so many.
  static constexpr std::size_t block_rows = 256;

  using parts = std::variant<detail::linear_model, detail::tree_model>;
  model(parts made, double intercept, score_link link) : parts_(std::move(made)), intercept_(intercept), link_(link) {}

  /// The sum for each active row as a column over the whole batch: intercept, then addends or leaves in the order of
  /// the file, whatever the blocks and parts. Null on inactive rows, and where a linear model knows nothing for a null.
  /// It may be infinite or no number. Nothing where it was stopped.
  [[nodiscard]] auto sums(const row_set& rows, braid::arena& memory, const detail::scoring_options& how) const
      -> std::optional<model_sums>;

  [[nodiscard]] auto link() const noexcept -> score_link { return link_; }

  /// About so many nanoseconds for each row.
  [[nodiscard]] auto row_ns() const noexcept -> double;

  /// Bytes for what lies beside the result, however many rows and for each part.
  [[nodiscard]] auto work_bytes() const noexcept -> std::size_t;

 private:
  parts parts_;
  double intercept_;
  score_link link_;
};

namespace detail {

inline constexpr std::size_t max_trees = 10'000;
inline constexpr std::size_t max_model_nodes = 1'000'000;
inline constexpr std::size_t max_model_keys = 10'000;
inline constexpr std::uint32_t max_tree_levels = 64;

/// The model of a text. Errors: see model_folder::find.
auto parse_model(std::string_view text, std::string_view source_name, const registries& declared)
    -> braid::checked<std::shared_ptr<const model>>;

}  // namespace detail
}  // namespace rankd
