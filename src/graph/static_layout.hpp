// src/graph/static_layout.hpp: in which order the nodes of a static graph lie, and how many successors a wide node
// starts at a time.
#pragma once

#include <braid/graph/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace braid::detail {

/// The nodes of a graph, followed by hidden nodes that call nothing: relays, so that no node has more than
/// `max_successors`, and an entry, so that the run begins at one node. Nodes are stored in the order in which a single
/// worker runs them, so that it walks through memory.
class static_layout {
 public:
  static constexpr std::uint32_t max_successors = 16;

  /// Requires that edges name nodes below `nodes`, no edge twice.
  static_layout(std::size_t nodes, std::span<const graph_shape::edge> edges);

  /// Returns all nodes in the order in which they run. There are fewer nodes than in the graph if edges form a cycle.
  [[nodiscard]] auto order() const noexcept -> std::span<const node_index> { return order_; }
  [[nodiscard]] auto has_cycle() const noexcept -> bool { return order_.size() != lists_.size(); }
  /// Returns the nodes of a cycle, each before the next. Requires that there is one.
  [[nodiscard]] auto cycle() const -> std::vector<node_index>;

  [[nodiscard]] auto successors(node_index node) const noexcept -> std::span<const node_index> {
    return std::span(targets_).subspan(lists_[node].first, lists_[node].count);
  }
  [[nodiscard]] auto predecessors(node_index node) const noexcept -> std::uint32_t { return predecessors_[node]; }
  /// Returns whether it is one of the graph's own nodes.
  [[nodiscard]] auto is_given(node_index node) const noexcept -> bool { return node < given_; }

 private:
  struct list {
    std::uint32_t first;  // in targets_
    std::uint32_t count;
  };

  void collect(std::span<const graph_shape::edge> edges);
  auto add_hidden(list successors) -> node_index;
  auto narrowed(list wide) -> list;
  auto find_entry() -> node_index;
  void put_in_order(node_index entry);

  std::size_t given_;
  std::vector<list> lists_;  // of each node
  std::vector<node_index> targets_;
  std::vector<std::uint32_t> predecessors_;
  std::vector<node_index> order_;
};

/// The edges that were given before. Requires that they name nodes below `nodes`.
[[nodiscard]] auto repeated_edges(std::size_t nodes, std::span<const graph_shape::edge> edges)
    -> std::vector<graph_shape::edge>;

}  // namespace braid::detail
