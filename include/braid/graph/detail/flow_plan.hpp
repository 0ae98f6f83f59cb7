// braid/graph/detail/flow_plan.hpp: the immutable plan of a flow, which all runs share: nodes, edges, and offsets of
// values.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/coro/task.hpp>
#include <braid/graph/detail/node_call.hpp>
#include <braid/graph/run.hpp>
#include <braid/graph/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace braid::detail {

class flow_state;

/// The index of a value of a flow. The inputs have the first indices; the results of the nodes follow.
using flow_value_index = std::uint32_t;

/// The space that one value needs in the memory block of a run. A void value has size 0.
struct flow_value_kind {
  std::size_t size = 0;
  std::size_t alignment = 1;
  void (*destroy)(void*) noexcept = nullptr;  // null if the destructor is trivial
};

template <typename T>
[[nodiscard]] constexpr auto kind_of_value() noexcept -> flow_value_kind {
  if constexpr (std::is_void_v<T>)
    return {};
  else if constexpr (std::is_trivially_destructible_v<T>)
    return {.size = sizeof(T), .alignment = alignof(T), .destroy = nullptr};
  else
    return {.size = sizeof(T), .alignment = alignof(T), .destroy = [](void* address) noexcept {
              std::destroy_at(static_cast<T*>(address));
            }};
}

struct flow_value_slot {
  flow_value_kind kind;
  std::size_t offset = 0;  // the offset in the block of a run
};

/// The function of a node: either a plain function, or a function that returns a task. There is a pointer for each
/// kind, and one of the two is null.
struct flow_call {
  void (*run)(const void* fn, flow_state& state, node_index node, const stop_flag& stop) = nullptr;
  auto (*start)(const void* fn, flow_state& state, node_index node) -> task<node_status> = nullptr;
  bool may_fail = true;  // false for a function that is noexcept
};

struct flow_node_plan {
  std::string name;
  node_mode mode = node_mode::worker;
  duration timeout = duration::max();
  flow_call call;
  boxed_call fn;
  std::uint32_t first_source = 0;  // the index in flow_plan::sources
  std::uint32_t sources = 0;
};

struct flow_plan {
  std::vector<flow_value_slot> values;    // a slot for each input and each node
  std::vector<flow_node_plan> nodes;      // the nodes in the order in which they were added, as in the shape
  std::vector<flow_value_index> sources;  // the values that the nodes wait for, node by node
  std::size_t inputs = 0;
  graph_shape shape;
  std::size_t values_end = 0;  // the offset after all values
  std::size_t alignment = 1;   // the alignment of the block

  [[nodiscard]] auto find_sources(node_index node) const noexcept -> std::span<const flow_value_index> {
    return std::span(sources).subspan(nodes[node].first_source, nodes[node].sources);
  }
  [[nodiscard]] auto value_of(node_index node) const noexcept -> flow_value_index {
    return static_cast<flow_value_index>(inputs + node);
  }
};

}  // namespace braid::detail
