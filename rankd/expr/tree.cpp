// rankd/expr/tree.cpp: computes the JSON pointer of a tree's node in its document.
#include <rankd/expr/detail/ops.hpp>
#include <rankd/expr/tree.hpp>

#include <braid/base/error.hpp>

#include <algorithm>
#include <ranges>
#include <vector>

namespace rankd {
namespace {

/// Returns the name of the field of `parent` that contains the child at `index`.
auto find_parent_field(const tree_node& parent, std::size_t index) -> std::string_view {
  const auto slot = std::ranges::find(parent.children, index) - parent.children.begin();
  auto children = detail::find_row(parent.op).fields |
                  std::views::filter([](const detail::op_field& field) { return detail::is_child(field.kind); });
  return std::ranges::next(children.begin(), slot)->name;
}

}  // namespace

auto syntax_tree::pointer_of(std::size_t index) const -> std::string {
  std::vector<std::string_view> path;
  while (nodes[index].parent != tree_node::none) {
    const std::size_t parent = nodes[index].parent;
    path.push_back(find_parent_field(nodes[parent], index));
    index = parent;
  }
  std::string pointer = origin;
  for (const std::string_view field : path | std::views::reverse) pointer = braid::json_pointer(pointer, field);
  return pointer;
}

auto syntax_tree::pointer_of(std::size_t index, std::string_view field) const -> std::string {
  return braid::json_pointer(pointer_of(index), field);
}

}  // namespace rankd
