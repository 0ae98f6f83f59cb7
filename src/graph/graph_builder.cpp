// src/graph/graph_builder.cpp: checks the edges of a graph, and builds the graph if its edges are valid.
#include "cycle_text.hpp"
#include "static_block.hpp"
#include "static_layout.hpp"

#include <braid/graph/static_graph.hpp>
#include <braid/sync/atomic.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace braid {
namespace {

constinit atomic<std::uint32_t> builders{0};  // the number of builders so far

constexpr std::size_t max_graph_size = std::size_t{1} << 30U;  // the maximum number of nodes, and of edges

}  // namespace

graph_builder::graph_builder() : number_(builders.fetch_add(1, relaxed) + 1) {}

void graph_builder::add_edge(graph_node from, graph_node to) {
  for (const graph_node each : {from, to})
    if (!is_known(each))
      diagnostics_.add({.code = "unknown_node",
                        .pointer = {},
                        .message = "an edge " +
                                   (is_known(from) ? "from " + name_of(from.number_) + " " : std::string()) +
                                   (is_known(to) ? "to " + name_of(to.number_) + " " : std::string()) +
                                   "refers to a node that this builder has not created",
                        .hint = {},
                        .node = {},
                        .source = {}});
  if (is_known(from) && is_known(to)) edges_.push_back({from.number_, to.number_});
}

auto graph_builder::name_of(node_index node) const -> std::string {
  const auto named = std::ranges::lower_bound(names_, node, {}, &named_node::node);
  const std::string number = "node " + std::to_string(node);
  return named == names_.end() || named->node != node ? number : number + " (" + named->name + ")";
}

void graph_builder::add_diagnostic(std::string_view code, node_index about, std::string message) {
  diagnostics_.add({.code = std::string(code),
                    .pointer = {},
                    .message = std::move(message),
                    .hint = {},
                    .node = std::to_string(about),
                    .source = {}});
}

void graph_builder::report_cycle(const std::vector<node_index>& cycle) {
  add_diagnostic("cycle", cycle.front(), detail::cycle_text(cycle, [this](node_index node) { return name_of(node); }));
}

auto graph_builder::build() && -> checked<static_graph> {
  if (calls_.size() > max_graph_size || edges_.size() > max_graph_size) {
    add_diagnostic("too_large", 0, "a graph may have at most 2^30 nodes and 2^30 edges");
    return std::unexpected(std::move(diagnostics_));
  }
  for (const auto [from, to] : edges_)
    if (from == to) add_diagnostic("self_edge", from, name_of(from) + " cannot be its own predecessor");
  for (const auto [from, to] : detail::repeated_edges(size(), edges_))
    add_diagnostic("duplicate_edge", from,
                   "the edge from " + name_of(from) + " to " + name_of(to) + " was given before");
  if (!diagnostics_.empty()) return std::unexpected(std::move(diagnostics_));

  const detail::static_layout layout(size(), edges_);
  if (layout.has_cycle()) {
    report_cycle(layout.cycle());
    return std::unexpected(std::move(diagnostics_));
  }
  static_graph made(std::make_unique<detail::static_block>(layout, calls_, std::move(boxes_)));
  *this = graph_builder();
  return made;
}

}  // namespace braid
