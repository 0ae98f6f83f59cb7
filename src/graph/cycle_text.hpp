// src/graph/cycle_text.hpp: formats the error message about a cycle, with the names of the nodes.
#pragma once

#include <braid/graph/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace braid::detail {

/// Returns "the edges form a cycle: a before b before a". For a long cycle, the text names only the first 20 nodes.
template <typename NameOf>
auto cycle_text(std::span<const node_index> cycle, NameOf name_of) -> std::string {
  constexpr std::size_t max_named = 20;
  std::string text = "the edges form a cycle: ";
  for (const node_index node : cycle.first(std::min(cycle.size(), max_named))) text += name_of(node) + " before ";
  if (cycle.size() > max_named) text += std::to_string(cycle.size() - max_named) + " more before ";
  return text + name_of(cycle.front());
}

}  // namespace braid::detail
