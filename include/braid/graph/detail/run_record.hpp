// braid/graph/detail/run_record.hpp: the optional data of a graph run: failures, times, priorities.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/graph/run_options.hpp>
#include <braid/graph/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

namespace braid::detail {

/// The data of a run that only some options need. If no option needs an array, the array is empty. Threads: only the
/// thread of the run's home, but the thread that runs a node may also call `note_start` and `note_end`.
class BRAID_API run_record {
 public:
  run_record(const graph_shape& shape, const graph_run_options& options);

  [[nodiscard]] auto keeps_going() const noexcept -> bool { return keeps_going_; }
  [[nodiscard]] auto max_running() const noexcept -> std::size_t { return max_running_; }
  [[nodiscard]] auto has_times() const noexcept -> bool { return clock_ != nullptr; }
  [[nodiscard]] auto times() const noexcept -> std::span<const node_times> { return times_; }
  [[nodiscard]] auto begin_time() const noexcept -> time_point { return begin_; }
  [[nodiscard]] auto failures() const noexcept -> std::span<const graph_failure> { return failures_; }

  /// Returns whether the node depends on a failed node. Requires that `keeps_going` is true.
  [[nodiscard]] auto is_blocked(node_index node) const noexcept -> bool { return blocked_[node]; }
  /// Inserts the failure in the order of the shape, and blocks all nodes that depend on the failed node. Requires that
  /// `keeps_going` is true.
  void fail(const graph_failure& failure) noexcept;

  void note_begin() noexcept {
    if (clock_ != nullptr) begin_ = clock_->now();
  }
  void note_ready(node_index node) noexcept {
    if (clock_ != nullptr) times_[node].ready = clock_->now();
  }
  void note_start(node_index node) noexcept {
    if (clock_ != nullptr) times_[node].started = clock_->now();
  }
  void note_end(node_index node) noexcept {
    if (clock_ != nullptr) times_[node].ended = clock_->now();
  }

  /// Adds a ready node to `ready`, which is a heap if the nodes have priorities, and otherwise a stack.
  template <typename Ready>
  void push(std::pmr::vector<Ready>& ready, Ready node) {
    ready.push_back(node);
    if (!priorities_.empty()) std::ranges::push_heap(ready, starts_later{this});
  }
  /// Removes and returns the ready node that starts next. Requires that a node is ready.
  template <typename Ready>
  auto pop(std::pmr::vector<Ready>& ready) -> Ready {
    if (!priorities_.empty()) std::ranges::pop_heap(ready, starts_later{this});
    const Ready next = ready.back();
    ready.pop_back();
    return next;
  }

 private:
  /// The order of ready nodes in the heap. The largest element of the heap starts first.
  struct starts_later {
    const run_record* record;

    static auto index(node_index node) noexcept -> node_index { return node; }
    static auto index(const auto& ready) noexcept -> node_index { return ready.node; }
    auto operator()(const auto& a, const auto& b) const noexcept -> bool {
      const duration of_a = record->priorities_[index(a)];
      const duration of_b = record->priorities_[index(b)];
      if (of_a != of_b) return of_a < of_b;
      return record->shape_->position(index(a)) > record->shape_->position(index(b));
    }
  };

  const graph_shape* shape_;
  const clock_source* clock_;
  std::span<const duration> priorities_;
  std::size_t max_running_;
  bool keeps_going_;
  time_point begin_ = node_times::never;
  std::pmr::vector<node_times> times_;        // the times of each node
  std::pmr::vector<bool> blocked_;            // whether each node is blocked
  std::pmr::vector<node_index> to_block_;     // the stack of `fail`
  std::pmr::vector<graph_failure> failures_;  // the failures in the order of the shape
};

/// A guard that records when a node starts and when it ends, even if it ends with an exception.
class run_stamp {
 public:
  run_stamp(run_record& record, node_index node) noexcept : record_(&record), node_(node) { record.note_start(node); }
  run_stamp(const run_stamp&) = delete;
  auto operator=(const run_stamp&) -> run_stamp& = delete;
  ~run_stamp() { record_->note_end(node_); }

 private:
  run_record* record_;
  node_index node_;
};

}  // namespace braid::detail
