// braid/graph/shape.hpp: the nodes and edges of a directed graph without cycles, as arrays of numbers.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace braid {

/// Names a node of a graph by its position.
using node_index = std::uint32_t;

/// `to` cannot start before `from` has ended.
struct graph_edge {
  node_index from;
  node_index to;
};

/// Made once, run many times. Threads: any, once made.
class BRAID_API graph_shape {
 public:
  graph_shape() = default;  ///< without nodes

  /// Errors: errc::invalid_argument for an edge to a node that is not there, and for more than 2^32 - 1 nodes or edges;
  /// errc::cycle. The same edge given twice
  /// counts twice, on both sides.
  [[nodiscard]] static auto make(std::size_t nodes, std::span<const graph_edge> edges) -> result<graph_shape>;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return predecessors_.size(); }
  [[nodiscard]] auto successors(node_index node) const noexcept -> std::span<const node_index> {
    return std::span(targets_).subspan(first_[node], first_[node + 1] - first_[node]);
  }
  /// How many edges end in each node.
  [[nodiscard]] auto predecessor_counts() const noexcept -> std::span<const std::uint32_t> { return predecessors_; }

  /// All nodes, each behind its predecessors; among those that could stand next, the one with the smallest number.
  [[nodiscard]] auto order() const noexcept -> std::span<const node_index> { return order_; }
  /// Where a node stands in `order()`.
  [[nodiscard]] auto position(node_index node) const noexcept -> std::uint32_t { return position_[node]; }

 private:
  [[nodiscard]] auto sort() -> result<void>;

  std::vector<std::uint32_t> first_;  // of node i in targets_; one more than there are nodes
  std::vector<node_index> targets_;   // successors of node 0, of node 1, …
  std::vector<std::uint32_t> predecessors_;
  std::vector<node_index> order_;
  std::vector<std::uint32_t> position_;
};

}  // namespace braid
