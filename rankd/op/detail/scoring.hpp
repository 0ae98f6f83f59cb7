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
#include <utility>
#include <variant>
#include <vector>

namespace rankd {

/// What makes scores of the sums of a model. A softmax is over all outputs of a row.
enum class score_link : std::uint8_t { identity, sigmoid, exponential, log1p_exp, signed_square, softmax };

/// How exactly a model computes: trees of XGBoost compare, add and link numbers as floats.
enum class number_width : std::uint8_t { doubles, floats };

/// From the sum to the score: the link of sum / divisor, where a sigmoid steepens its operand by a factor.
struct score_rule {
  score_link link = score_link::identity;
  double steepness = 1;
  double divisor = 1;
};

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
  std::uint32_t rule = 0;  ///< 0, or of a split that compares otherwise, 1 + a position in tree_model::rules
};

/// A split by a set of categories: a value goes right where it is at least the node's threshold and its whole part is
/// in the set. Without words, one by a number where zero goes the way of nulls.
struct split_rule {
  std::uint32_t first_word = 0;  ///< a position in tree_model::bits
  std::uint32_t words = 0;       ///< of 32 categories each
};

struct tree_shape {
  std::uint32_t root = 0;
  std::uint32_t levels = 0;  ///< steps from the root to the deepest leaf
  std::uint32_t output = 0;  ///< the sum that its leaves are added to
  bool has_rules = false;
};

struct tree_model {
  std::vector<std::uint32_t> key_ids;
  std::vector<tree_node> nodes;  ///< of all trees
  std::vector<double> values;    ///< of the leaves, by node
  std::vector<tree_shape> trees;
  std::vector<split_rule> rules;
  std::vector<std::uint32_t> bits;
  number_width width = number_width::doubles;
};

/// How `model::sums` runs: as evaluate_options::rows_of_part; `stop` is looked at between blocks of rows.
struct scoring_options {
  std::size_t rows_of_part;
  const braid::stop_flag* stop = nullptr;
};

}  // namespace detail

/// What a model made of rows for one of its outputs, before its link.
struct model_sums {
  column values;
  std::span<double> writable;  ///< the same values
};

class model {
 public:
  /// Rows are taken in blocks of so many.
  static constexpr std::size_t block_rows = 256;

  using parts = std::variant<detail::linear_model, detail::tree_model>;
  /// One output for each intercept; a linear model has one.
  model(parts made, std::vector<double> intercepts, score_rule rule)
      : parts_(std::move(made)), intercepts_(std::move(intercepts)), rule_(rule) {}

  /// How many scores it gives for each row.
  [[nodiscard]] auto outputs() const noexcept -> std::size_t { return intercepts_.size(); }

  /// The sums for each active row as columns over the whole batch, one for each output: intercept, then addends or
  /// leaves in the order of the file, whatever the blocks and parts. Null on inactive rows, and where a linear model
  /// knows nothing for a null. They may be infinite or no numbers. Nothing where it was stopped.
  [[nodiscard]] auto sums(const row_set& rows, braid::arena& memory, const detail::scoring_options& how) const
      -> std::optional<std::span<model_sums>>;

  /// Puts scores in place of the sums of all outputs. False where they are the same. Requires finite sums.
  [[nodiscard]] auto link(std::span<model_sums> sums) const noexcept -> bool;

  /// About so many nanoseconds for each row.
  [[nodiscard]] auto row_ns() const noexcept -> double;

  /// Bytes for what lies beside the result, however many rows and for each part.
  [[nodiscard]] auto work_bytes() const noexcept -> std::size_t;

 private:
  parts parts_;
  std::vector<double> intercepts_;
  score_rule rule_;
};

namespace detail {

inline constexpr std::size_t max_trees = 10'000;
inline constexpr std::size_t max_model_nodes = 1'000'000;
inline constexpr std::size_t max_model_keys = 10'000;
inline constexpr std::size_t max_outputs = 1'000;
inline constexpr std::uint32_t max_tree_levels = 64;
inline constexpr std::uint32_t max_trained_levels = 1'000;  ///< trainers that grow leaf by leaf make deep ones

/// The model of a text. Errors: see model_folder::find.
auto parse_model(std::string_view text, std::string_view source_name, const registries& declared)
    -> braid::checked<std::shared_ptr<const model>>;

}  // namespace detail
}  // namespace rankd
