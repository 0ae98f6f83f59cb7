// rankd/op/detail/drawn_tree.hpp: a decision tree in the layout of its file, and its conversion to the layout that is
// used for scoring rows.
#pragma once

#include <rankd/op/detail/scoring.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::detail {

enum class split_kind : std::uint8_t {
  number,          ///< right if the value is at least the threshold
  number_or_zero,  ///< the same, but zero goes in the direction of nulls
  category,        ///< right if the value is in the set, and at least the threshold
};

struct drawn_node {
  static constexpr std::int64_t no_feature = -1;

  std::int64_t feature = no_feature;  ///< `no_feature` for a leaf
  std::int64_t left = -1;
  std::int64_t right = -1;
  double threshold = 0;
  double value = 0;  ///< the value of a leaf
  split_kind kind = split_kind::number;
  bool null_left = false;
  bool is_swapped = false;  ///< whether `left` is the right child in the file, and `right` the left child
  std::vector<std::uint32_t> categories = {};  ///< a bitmap of the set, 32 categories in each word
};

/// The names of a tree's lists in its file, for diagnostics. If the file lists leaves separately, the nodes from
/// `first_leaf` on are leaves.
struct drawn_lists {
  std::string_view feature = "feature";
  std::string_view left = "left";
  std::string_view right = "right";
  std::string_view leaf = "value";
  std::size_t first_leaf = std::numeric_limits<std::size_t>::max();
  std::size_t first_node = 0;  ///< the index of the root, if one list has the nodes of all trees
};

struct drawn_tree {
  std::string pointer;  ///< JSON pointer to the tree in its file
  drawn_lists lists;
  std::vector<drawn_node> nodes;  ///< the root is the first node

  /// Returns the JSON pointer to the item that describes a node in one of the lists.
  [[nodiscard]] auto place(std::string_view list, std::size_t node) const -> std::string;
};

/// The properties and limits that all trees of a file share.
struct drawing_rules {
  std::size_t features;
  std::uint32_t max_levels = max_tree_levels;
  std::size_t unreached = 0;  ///< the number of nodes to which no path leads, because they were pruned
};

/// Appends a tree to `out` and adds its leaves to the given output. Appends nothing if the tree has an error:
/// out_of_range, cycle, shared_node, unreached_node, tree_too_deep. Requires at least one node.
void add_tree(const drawn_tree& from, std::uint32_t output, const drawing_rules& rules, tree_model& out,
              braid::diagnostics& problems);

/// Converts the category sets of one file to bits. `take` reports out_of_range and too_many_items. A set with a single
/// large category could need megabytes, so the total number of words is limited.
class category_bits {
 public:
  auto take(std::span<const std::int64_t> categories, const std::string& pointer, braid::diagnostics& problems)
      -> std::vector<std::uint32_t>;

 private:
  std::size_t words_left_ = std::size_t{1} << 22U;
};

/// Reports too_many_items at `pointer` and returns true, if the trees read so far have too many nodes in total.
auto has_too_many_nodes(const tree_model& so_far, const std::string& pointer, braid::diagnostics& problems) -> bool;

}  // namespace rankd::detail
