// src/graph/flow_state.cpp: lays out the memory of one run of a flow: its values, its times, and the arrays of the
// graph runner.
#include <braid/graph/detail/flow_state.hpp>

#include <algorithm>

namespace braid::detail {
namespace {

/// The offsets of the arrays that follow the values in the memory of a run.
struct block_layout {
  block_layout(const flow_plan& plan, const clock_source* clock) noexcept
      : present(plan.values_end), times(up_to(present + plan.values.size(), alignof(node_times))) {
    // An estimate of the size of the arrays of a `graph_run`, including alignment. If the estimate is too small, the
    // arena allocates more memory.
    constexpr std::size_t bytes_each = 24;
    constexpr std::size_t alignments = 64;
    rest = times + (clock != nullptr ? plan.nodes.size() * sizeof(node_times) : 0);
    end = rest + plan.nodes.size() * bytes_each + alignments;
  }

  static auto up_to(std::size_t size, std::size_t alignment) noexcept -> std::size_t {
    return (size + alignment - 1) / alignment * alignment;
  }

  std::size_t present, times, rest, end;
};

template <typename T>
auto array_at(std::byte* address, std::size_t count) -> std::span<T> {
  T* const first = reinterpret_cast<T*>(address);
  std::uninitialized_value_construct_n(first, count);
  return {first, count};
}

}  // namespace

auto flow_state::make_block(const flow_plan& plan, const clock_source* clock) -> block {
  const std::size_t alignment = std::max(plan.alignment, alignof(std::max_align_t));
  void* const memory = ::operator new(block_layout(plan, clock).end, std::align_val_t{alignment});
  return {static_cast<std::byte*>(memory), free_block{alignment}};
}

flow_state::flow_state(std::shared_ptr<const flow_plan> plan, const clock_source* clock)
    : plan_(std::move(plan)),
      clock_(clock),
      begin_(clock != nullptr ? clock->now() : time_point{}),
      block_(make_block(*plan_, clock)),
      present_(array_at<bool>(block_.get() + block_layout(*plan_, clock).present, plan_->values.size())),
      times_(array_at<node_times>(block_.get() + block_layout(*plan_, clock).times,
                                  clock != nullptr ? plan_->nodes.size() : 0)),
      rest_(block_.get() + block_layout(*plan_, clock).rest,
            block_layout(*plan_, clock).end - block_layout(*plan_, clock).rest) {}

/// Destroys the values in reverse order, because a value may point into values from which it was computed.
flow_state::~flow_state() {
  for (std::size_t index = plan_->values.size(); index-- > 0;) {
    const flow_value_slot& each = plan_->values[index];
    if (present_[index] && each.kind.destroy != nullptr) each.kind.destroy(block_.get() + each.offset);
  }
}

/// Returns the function or task that runs a node. Called on the home executor when all inputs of the node are
/// available.
auto flow_state::mode(node_index node) noexcept -> node_mode {
  if (clock_ != nullptr) {
    time_point ready = begin_;
    for (const flow_value_index source : plan_->find_sources(node))
      if (source >= plan_->inputs) ready = std::max(ready, times_[source - plan_->inputs].ended);
    times_[node].ready = ready;
  }
  return plan_->nodes[node].mode;
}

auto flow_state::run(node_index node, const stop_flag& stop) -> node_status {
  if (stop.requested()) return node_status::skipped;
  const flow_node_plan& what = plan_->nodes[node];
  const flow_stamp around(*this, node);
  what.call.run(what.fn.get(), *this, node, stop);
  return node_status::done;
}

}  // namespace braid::detail
