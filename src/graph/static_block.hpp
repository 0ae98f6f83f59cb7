// src/graph/static_block.hpp: stores the nodes of a static graph in one block of memory.
#pragma once

#include "static_layout.hpp"

#include <braid/base/config.hpp>
#include <braid/graph/detail/countdown.hpp>
#include <braid/graph/detail/node_call.hpp>
#include <braid/graph/shape.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/fork_record.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace braid::detail {

class static_run;

/// A node of a static graph, which is also an entry of a worker's deque. After construction, only the countdown and the
/// fields that thieves write change.
struct alignas(64) static_node final : fork_record {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t many = std::uint32_t{1} << 31U;

  static_node(node_index node, std::uint32_t before, const node_call& function) noexcept
      : fork_record(&run_it), predecessors(before), place(node), what(function) {
    waiting_for.set(before);
  }

  /// Starts to walk through the graph at this node. Called by a thief.
  static void run_it(fork_record& self) noexcept;

  countdown waiting_for;             // used if the node has several predecessors
  const std::uint32_t predecessors;  // the initial value of the countdown
  const node_index place;            // the index in the block
  // The successors of the node. If there are at most two, `first` and `second` are their indexes in the block, or
  // `none`. If there are more, `first` is the index at which the list of successors begins, and `second` is `many` plus
  // the length of the list.
  std::uint32_t first = none;
  std::uint32_t second = none;
  node_call what;
};
#if !defined(BRAID_MODEL)
static_assert(sizeof(static_node) == 64);
#endif

/// A block of memory with a pointer to the current run, followed by all nodes of a graph in the order of its layout.
class static_block {
 public:
  /// Constructs the nodes. `calls` contains the functions of the graph's own nodes. `boxes` stores the callables that
  /// do not fit into a `node_call`.
  static_block(const static_layout& layout, std::span<const node_call> calls, std::vector<boxed_call> boxes);
  static_block(const static_block&) = delete;
  auto operator=(const static_block&) -> static_block& = delete;
  ~static_block();

  /// Returns the number of the graph's own nodes, without the hidden nodes.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return given_; }
  [[nodiscard]] auto entry() noexcept -> static_node& { return nodes_[0]; }
  [[nodiscard]] auto nodes() noexcept -> static_node* { return nodes_; }
  [[nodiscard]] auto contains(const fork_record& record) const noexcept -> bool {
    const auto at = reinterpret_cast<std::uintptr_t>(&record);
    return at - reinterpret_cast<std::uintptr_t>(nodes_) < count_ * sizeof(static_node);
  }
  [[nodiscard]] auto successors(const static_node& node) const noexcept -> std::span<const node_index> {
    return {targets_.data() + node.first, node.second - static_node::many};
  }

  /// Returns the current run of the graph that contains the node.
  [[nodiscard]] static auto find_run(static_node& node) noexcept -> static_run& {
    return **reinterpret_cast<static_run**>(reinterpret_cast<std::byte*>(&node - node.place) - sizeof(static_node));
  }

  /// Assigns the nodes to `run`. Requires that no other run uses the graph.
  void take(static_run& run) noexcept {
    // edge static_graph.run: observe the state of the nodes at the end of the previous run
    const bool is_taken = taken_.exchange(true, acquire);
    BRAID_EXPECTS(!is_taken, "a graph must not be run while it is running, for instance by one of its own nodes");
    *reinterpret_cast<static_run**>(memory_) = &run;
  }
  // edge static_graph.run: publish the restored countdowns to the next run
  void give_back() noexcept { taken_.store(false, release); }

  /// Restores all countdowns after a run that skipped nodes.
  void fill() noexcept;

 private:
  std::size_t given_;
  std::size_t count_ = 0;         // the number of nodes, including hidden nodes
  std::byte* memory_ = nullptr;   // one place for the run, then the nodes
  static_node* nodes_ = nullptr;  // the nodes in memory_
  std::vector<node_index> targets_;
  std::vector<boxed_call> boxes_;
  atomic<bool> taken_{false};  // whether a run is in progress; written by the running thread
};

}  // namespace braid::detail
