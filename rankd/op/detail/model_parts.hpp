// rankd/op/detail/model_parts.hpp: the sums that models are made of: weights, and trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rankd {

/// How exactly a model computes: trees of XGBoost compare, add and link numbers as floats.
enum class number_width : std::uint8_t { doubles, floats };

namespace detail {

/// The number of rows that are scored in one block, with the values of each key side by side.
inline constexpr std::size_t rows_of_block = 256;

/// The number of rows that go down a tree together, so that the loads of one row do not wait for those of another.
inline constexpr std::size_t rows_abreast = 8;
static_assert(rows_of_block % rows_abreast == 0);

/// One addend of a linear model.
struct model_weight {
  std::uint32_t key_id = 0;
  double weight = 0;
  std::optional<double> when_null;  ///< replaces a null; without it the score of the row is null
};

struct linear_model {
  std::vector<model_weight> weights;
};

/// A node of a tree. A row goes right if its value is at least the threshold, or if it is null and `null_right`. The
/// right child follows the left one. A leaf is its own left child, and no row goes right there.
struct tree_node {
  double threshold = 0;
  std::uint32_t feature = 0;  ///< a position in tree_model::key_ids
  std::uint32_t left = 0;     ///< a position in tree_model::nodes
  std::uint32_t null_right = 0;
  std::uint32_t rule = 0;  ///< 0, or of a split that compares otherwise, 1 + a position in tree_model::rules
};

/// A split by a set of categories: a value goes right if it is at least the node's threshold and its whole part is in
/// the set. Without words: a split by a number that sends zeros the way of nulls.
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

}  // namespace detail
}  // namespace rankd
