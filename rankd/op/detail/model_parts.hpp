// rankd/op/detail/model_parts.hpp: the two kinds of sums in models: weights of a linear model, and decision trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rankd {

/// The floating-point type that a model computes with. XGBoost's trees use floats to compare, to add and to compute
/// scores.
enum class number_width : std::uint8_t { doubles, floats };

namespace detail {

/// The number of rows in one block. A block stores the values of each key contiguously.
inline constexpr std::size_t rows_of_block = 256;

/// The number of rows that descend a tree together. While the CPU loads the node for one row from memory, it can
/// process the other rows.
inline constexpr std::size_t rows_abreast = 8;
static_assert(rows_of_block % rows_abreast == 0);

/// One term of a linear model.
struct model_weight {
  std::uint32_t key_id = 0;
  double weight = 0;
  /// The value that replaces a null. If it is not set, a null makes the score of the row null.
  std::optional<double> when_null;
};

struct linear_model {
  std::vector<model_weight> weights;
};

/// A node of a decision tree. A row goes right if its value is at least the threshold, or if the value is null and
/// `null_right` is set. The right child is stored after the left child. A leaf is its own left child, and every row at
/// a leaf goes left.
struct split_node {
  double threshold = 0;
  std::uint32_t feature = 0;  ///< a position in tree_model::key_ids
  std::uint32_t left = 0;     ///< a position in tree_model::nodes
  std::uint32_t null_right = 0;
  /// One plus the index of the split's rule in tree_model::rules. Zero if the split has no rule and only compares with
  /// the threshold.
  std::uint32_t rule = 0;
};

/// A split by a set of categories. A value goes right if it is at least the node's threshold and its integer part is in
/// the set. A rule with an empty set is a numeric split that treats zero as null.
struct split_rule {
  std::uint32_t first_word = 0;  ///< a position in tree_model::bits
  std::uint32_t words = 0;       ///< the number of words, each for 32 categories
};

struct tree_shape {
  std::uint32_t root = 0;
  std::uint32_t levels = 0;  ///< the number of steps from the root to the deepest leaf
  std::uint32_t output = 0;  ///< the output to whose sum the leaves are added
  bool has_rules = false;
};

struct tree_model {
  std::vector<std::uint32_t> key_ids;
  std::vector<split_node> nodes;  ///< the nodes of all trees
  std::vector<double> values;     ///< the values of the leaves, by node
  std::vector<tree_shape> trees;
  std::vector<split_rule> rules;
  std::vector<std::uint32_t> bits;
  number_width width = number_width::doubles;
};

}  // namespace detail
}  // namespace rankd
