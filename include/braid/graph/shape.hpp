// braid/graph/shape.hpp: the shape of a graph, and its critical path.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace braid {

/// The index of a node in its graph.
using node_index = std::uint32_t;

/// The nodes and edges of a graph. It is built once and used by many runs.
/// Threads: any, once built.
class BRAID_API graph_shape {
 public:
  /// An edge: the node `to` cannot start before the node `from` has ended.
  struct edge {
    node_index from;
    node_index to;
  };

  graph_shape() = default;  ///< creates a shape without nodes

  /// Builds the shape. If an edge is listed twice, it counts as two edges.
  /// Errors: errc::invalid_argument for an edge to a node that does not exist, and for more than 2^32 - 1 nodes or
  /// edges; errc::cycle.
  [[nodiscard]] static auto make(std::size_t nodes, std::span<const edge> edges) -> result<graph_shape>;

  /// Builds the shape of a graph with named nodes, such as a graph that is described by data. Errors: diagnostics that
  /// name the nodes. Their codes are `unknown_node` for each edge to a node that does not exist, `too_large`, and
  /// `cycle`, with the nodes of one cycle in order.
  [[nodiscard]] static auto make(std::span<const std::string_view> names, std::span<const edge> edges)
      -> checked<graph_shape>;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return predecessors_.size(); }
  [[nodiscard]] auto successors(node_index node) const noexcept -> std::span<const node_index> {
    return std::span(targets_).subspan(first_[node], first_[node + 1] - first_[node]);
  }
  /// Returns, for each node, the number of edges that end in it.
  [[nodiscard]] auto predecessor_counts() const noexcept -> std::span<const std::uint32_t> { return predecessors_; }

  /// Returns all nodes in topological order. If several nodes could be next, the node with the smallest index is next.
  [[nodiscard]] auto order() const noexcept -> std::span<const node_index> { return order_; }
  /// Returns the position of a node in `order()`.
  [[nodiscard]] auto position(node_index node) const noexcept -> std::uint32_t { return position_[node]; }

 private:
  [[nodiscard]] auto sort() -> result<void>;

  std::vector<std::uint32_t>
      first_;                        // for each node, the index of its first edge in targets_; then the number of edges
  std::vector<node_index> targets_;  // successors of node 0, of node 1, …
  std::vector<std::uint32_t> predecessors_;
  std::vector<node_index> order_;
  std::vector<std::uint32_t> position_;
};

/// The times at which a node of a run became ready, started and ended. A node that did not start has no times.
struct node_times {
  static constexpr time_point never = time_point::min();

  time_point ready = never;    ///< when the last of its predecessors had ended
  time_point started = never;  ///< when it started, on any thread
  time_point ended = never;

  [[nodiscard]] auto has_run() const noexcept -> bool { return ended != never; }
  /// Returns how long the node waited for a thread after it was ready. Requires that the node has run.
  [[nodiscard]] auto queue() const noexcept -> duration { return started - ready; }
  [[nodiscard]] auto run() const noexcept -> duration { return ended - started; }

  auto operator==(const node_times&) const -> bool = default;
};

/// One node of a critical path.
struct critical_step {
  node_index node;
  duration queue;  ///< the time from the end of the previous step, or the beginning of the run, to its start
  duration run;

  auto operator==(const critical_step&) const -> bool = default;
};

/// Returns the nodes that determine the duration of the run, from first to last. The last step is the node that ended
/// last. The step before each node is the predecessor that ended last. The steps leave no gap: their times add up to
/// the time from `begin` to the last end. If several nodes ended at the same time, the first of them in `order()` is
/// used. Requires a time for each node.
/// Cost: one pass over all edges.
[[nodiscard]] BRAID_API auto critical_path(const graph_shape& shape, time_point begin,
                                           std::span<const node_times> times) -> std::vector<critical_step>;

/// Returns, for each node, the duration of the longest path from the start of the node to the end of the graph. The
/// argument `weights` contains the duration of each node. If you use the results as `priorities` of a run, the nodes of
/// the critical path start first. Requires a non-negative weight for each node. Cost: one pass over all edges; sums are
/// limited to duration::max().
[[nodiscard]] BRAID_API auto remaining_paths(const graph_shape& shape, std::span<const duration> weights)
    -> std::vector<duration>;
/// Returns the longest paths as the previous function does, but computes the weights from measured times, for example
/// those of an earlier run. The weight of a node that did not run is 0.
[[nodiscard]] BRAID_API auto remaining_paths(const graph_shape& shape, std::span<const node_times> times)
    -> std::vector<duration>;

}  // namespace braid
