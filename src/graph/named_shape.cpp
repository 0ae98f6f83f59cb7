// src/graph/named_shape.cpp: builds the shape of a graph of named nodes; its errors name the nodes.
#include "cycle_text.hpp"
#include "static_layout.hpp"

#include <braid/graph/shape.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace braid {
namespace {

using edge = graph_shape::edge;

/// Returns the nodes of a cycle, beginning with the smallest number. Requires that the edges form a cycle.
auto find_cycle(std::size_t nodes, std::span<const edge> edges) -> std::vector<node_index> {
  const auto ends = [](const edge& each) { return std::tuple(each.from, each.to); };
  std::vector<edge> distinct(edges.begin(), edges.end());
  std::ranges::sort(distinct, {}, ends);
  const auto repeated = std::ranges::unique(distinct, {}, ends);
  distinct.erase(repeated.begin(), repeated.end());
  std::vector<node_index> cycle = detail::static_layout(nodes, distinct).cycle();
  std::ranges::rotate(cycle, std::ranges::min_element(cycle));
  return cycle;
}

auto node_diagnostic(std::string_view code, std::string_view node, std::string message) -> diagnostic {
  return {.code = std::string(code),
          .pointer = {},
          .message = std::move(message),
          .hint = {},
          .node = std::string(node),
          .source = {}};
}

/// Reports an edge that begins or ends at a node that does not exist.
void check_edge(std::span<const std::string_view> names, const edge& each, diagnostics& found) {
  const std::size_t count = names.size();
  if (each.from < count && each.to < count) return;
  const auto name_of = [&](node_index node) {
    return node < count ? "`" + std::string(names[node]) + "`" : "node " + std::to_string(node);
  };
  const node_index unknown = each.from < count ? each.to : each.from;
  found.add(node_diagnostic("unknown_node", {},
                            "the edge from " + name_of(each.from) + " to " + name_of(each.to) + " names node " +
                                std::to_string(unknown) + ", but the graph has " + std::to_string(count) + " nodes"));
}

}  // namespace

auto graph_shape::make(std::span<const std::string_view> names, std::span<const edge> edges) -> checked<graph_shape> {
  diagnostics found;
  for (const edge& each : edges) check_edge(names, each, found);
  if (!found.empty()) return std::unexpected(std::move(found));
  auto made = make(names.size(), edges);
  if (made) return std::move(*made);
  if (made.error() == errc::cycle) {
    const std::vector<node_index> cycle = find_cycle(names.size(), edges);
    const auto name_of = [names](node_index node) { return "`" + std::string(names[node]) + "`"; };
    found.add(node_diagnostic("cycle", names[cycle.front()], detail::cycle_text(cycle, name_of)));
  } else {
    found.add(node_diagnostic("too_large", {}, "a graph may have at most 2^32 - 1 nodes and 2^32 - 1 edges"));
  }
  return std::unexpected(std::move(found));
}

}  // namespace braid
