// rankd/op/detail/tree_descent.hpp: moves several rows down a tree at the same time.
#pragma once

#include <rankd/op/detail/model_parts.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace rankd::detail {

/// Finds the leaf of each of `rows_abreast` rows. `values` contains one block of numbers for each feature, stored one
/// after another.
inline auto find_leaves(const tree_shape& tree, const split_node* nodes, const double* values)
    -> std::array<std::uint32_t, rows_abreast> {
  std::array<std::uint32_t, rows_abreast> places;
  places.fill(tree.root);
  for (std::uint32_t level = 0; level < tree.levels; ++level) {
    for (std::size_t i = 0; i < rows_abreast; ++i) {
      const split_node& node = nodes[places[i]];
      const double value = values[node.feature * rows_of_block + i];
      const auto right = static_cast<std::uint32_t>(value >= node.threshold) |
                         (static_cast<std::uint32_t>(std::isnan(value)) & node.null_right);
      places[i] = node.left + right;
    }
  }
  return places;
}

}  // namespace rankd::detail
