// src/graph/static_layout.hpp: declares the order of a static graph's nodes in memory, and splits nodes with many
// successors.
#pragma once

#include <braid/graph/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace braid::detail {

/// The layout of a graph: its nodes, followed by hidden nodes that call nothing. Hidden relay nodes ensure that no node
/// has more than `max_successors` successors. A hidden entry node ensures that each run begins at a single node. Nodes
/// are stored in the order in which a single worker runs them, so that a worker reads memory sequentially.
class static_layout {
 public:
  // docs/design/constants.md explains how this value was chosen.
  static constexpr std::uint32_t max_successors = 16;

  /// Requires that every edge refers to nodes below `nodes`, and that no edge is repeated.
  static_layout(std::size_t nodes, std::span<const graph_shape::edge> edges);

  /// Returns all nodes in the order in which a single worker runs them. If edges form a cycle, some nodes are missing.
  [[nodiscard]] auto order() const noexcept -> std::span<const node_index> { return order_; }
  [[nodiscard]] auto has_cycle() const noexcept -> bool { return order_.size() != lists_.size(); }
  /// Returns the nodes of a cycle, each before its successor. Requires that the graph has a cycle.
  [[nodiscard]] auto cycle() const -> std::vector<node_index>;

  [[nodiscard]] auto successors(node_index node) const noexcept -> std::span<const node_index> {
    return std::span(targets_).subspan(lists_[node].first, lists_[node].count);
  }
  [[nodiscard]] auto predecessors(node_index node) const noexcept -> std::uint32_t { return predecessors_[node]; }
  /// Returns whether the node is one of the graph's own nodes, not a hidden node.
  [[nodiscard]] auto is_given(node_index node) const noexcept -> bool { return node < given_; }

 private:
  struct list {
    std::uint32_t first;  // the index of the first successor in targets_
    std::uint32_t count;
  };

  void collect(std::span<const graph_shape::edge> edges);
  auto add_hidden(list successors) -> node_index;
  auto narrowed(list wide) -> list;
  auto find_entry() -> node_index;
  void put_in_order(node_index entry);

  std::size_t given_;
  std::vector<list> lists_;  // the list of each node
  std::vector<node_index> targets_;
  std::vector<std::uint32_t> predecessors_;
  std::vector<node_index> order_;
};

/// Returns the edges that repeat an earlier edge. Requires that every edge refers to nodes below `nodes`.
[[nodiscard]] auto repeated_edges(std::size_t nodes, std::span<const graph_shape::edge> edges)
    -> std::vector<graph_shape::edge>;

}  // namespace braid::detail
