// braid/graph/detail/flow_state.hpp: the values and times of one run of a flow, in one block of memory.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/coro/task.hpp>
#include <braid/graph/detail/flow_plan.hpp>
#include <braid/graph/run.hpp>
#include <braid/graph/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <utility>

namespace braid::detail {

/// The state of a run: values, times, and memory for the arrays of the `graph_run`. A node may run on any thread. It
/// writes its own value and its own times, and reads the values of nodes that have ended.
/// Protocol: docs/design/flow.md Lifetime: must outlive the run and all its nodes; the values are destroyed together
/// with the state.
class BRAID_API flow_state {
 public:
  /// Constructs the state. If `clock` is not null, times are recorded. Errors: std::bad_alloc.
  flow_state(std::shared_ptr<const flow_plan> plan, const clock_source* clock);
  flow_state(const flow_state&) = delete;
  auto operator=(const flow_state&) -> flow_state& = delete;
  ~flow_state();

  /// Constructs the value with the index `index` from the result of `make()`. Called once per value.
  template <typename T, typename Make>
  void emplace(flow_value_index index, Make&& make) {
    ::new (at(index)) T(std::forward<Make>(make)());
    present_[index] = true;
  }
  /// Returns a value. Requires that it was constructed.
  template <typename T>
  [[nodiscard]] auto value(flow_value_index index) noexcept -> T& {
    return *std::launder(static_cast<T*>(at(index)));
  }

  [[nodiscard]] auto plan() const noexcept -> const flow_plan& { return *plan_; }
  [[nodiscard]] auto shared_plan() const noexcept -> const std::shared_ptr<const flow_plan>& { return plan_; }
  [[nodiscard]] auto memory() noexcept -> std::pmr::memory_resource* { return &rest_; }
  [[nodiscard]] auto records_times() const noexcept -> bool { return clock_ != nullptr; }
  /// Returns the times of the nodes. The result is empty if times are not recorded.
  [[nodiscard]] auto times() const noexcept -> std::span<const node_times> { return times_; }
  [[nodiscard]] auto begin() const noexcept -> time_point { return begin_; }

  // The following functions are called by graph_run.
  auto mode(node_index node) noexcept -> node_mode;
  auto timeout(node_index node) const noexcept -> duration { return plan_->nodes[node].timeout; }
  auto may_fail(node_index node) const noexcept -> bool {
    return plan_->nodes[node].call.may_fail || timeout(node) != duration::max();
  }
  auto run(node_index node, const stop_flag& stop) -> node_status;
  BRAID_COROUTINE_WRAPPER auto start(node_index node) -> task<node_status> {
    const flow_node_plan& what = plan_->nodes[node];
    return what.call.start(what.fn.get(), *this, node);
  }

  void note_start(node_index node) noexcept {
    if (clock_ != nullptr) times_[node].started = clock_->now();
  }
  void note_end(node_index node) noexcept {
    if (clock_ != nullptr) times_[node].ended = clock_->now();
  }

 private:
  struct free_block {
    std::size_t alignment;
    void operator()(std::byte* block) const noexcept { ::operator delete(block, std::align_val_t{alignment}); }
  };
  using block = std::unique_ptr<std::byte[], free_block>;

  static auto make_block(const flow_plan& plan, const clock_source* clock) -> block;

  [[nodiscard]] auto at(flow_value_index index) const noexcept -> void* {
    return block_.get() + plan_->values[index].offset;
  }

  std::shared_ptr<const flow_plan> plan_;
  const clock_source* clock_;
  time_point begin_;
  block block_;
  std::span<bool> present_;      // whether each value was constructed; written by its node
  std::span<node_times> times_;  // the times of each node
  std::pmr::monotonic_buffer_resource rest_;
};

/// A guard that records when a node begins and when it ends, even if it ends with an exception.
class flow_stamp {
 public:
  flow_stamp(flow_state& state, node_index node) noexcept : state_(&state), node_(node) { state.note_start(node); }
  flow_stamp(const flow_stamp&) = delete;
  auto operator=(const flow_stamp&) -> flow_stamp& = delete;
  ~flow_stamp() { state_->note_end(node_); }

 private:
  flow_state* state_;
  node_index node_;
};

}  // namespace braid::detail
