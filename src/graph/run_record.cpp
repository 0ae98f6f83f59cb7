// src/graph/run_record.cpp: stores the failures of a run, and finds the nodes that depend on a failed node.
#include <braid/graph/detail/run_record.hpp>

namespace braid::detail {

/// Reserves all memory at the start, so that recording the end of a node cannot fail.
run_record::run_record(const graph_shape& shape, const graph_run_options& options)
    : shape_(&shape),
      clock_(options.clock),
      priorities_(options.priorities),
      max_running_(options.max_running),
      keeps_going_(options.on_failure == after_failure::keep_going),
      times_(options.clock != nullptr ? shape.size() : 0, node_times(), options.memory),
      blocked_(keeps_going_ ? shape.size() : 0, false, options.memory),
      to_block_(options.memory),
      failures_(options.memory) {
  BRAID_EXPECTS(max_running_ > 0, "`max_running` of a graph run must be at least 1, got 0");
  BRAID_EXPECTS(priorities_.empty() || priorities_.size() == shape.size(),
                "`priorities` of a graph run must be empty or have one number for each node");
  if (!keeps_going_) return;
  to_block_.reserve(shape.size());
  failures_.reserve(shape.size());
}

void run_record::fail(const graph_failure& failure) noexcept {
  const auto position = [this](const graph_failure& each) { return shape_->position(each.node); };
  failures_.insert(std::ranges::upper_bound(failures_, position(failure), {}, position), failure);
  to_block_.push_back(failure.node);
  while (!to_block_.empty()) {  // each node at most once, because it is marked before it is pushed
    const node_index node = to_block_.back();
    to_block_.pop_back();
    for (const node_index next : shape_->successors(node)) {
      if (blocked_[next]) continue;
      blocked_[next] = true;
      to_block_.push_back(next);
    }
  }
}

}  // namespace braid::detail
