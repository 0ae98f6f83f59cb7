// braid/graph/flow_node.hpp: names what a node of a flow gives, by its type; what may be a node.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/graph/detail/flow_call.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace braid {

namespace detail {
class flow_draft;
struct flow_access;
}  // namespace detail

/// What a node gives, or what the flow is given as an input: something for later nodes to take. `flow_node<void>` is
/// only waited for.
template <typename T>
class flow_node {
 public:
  flow_node() = default;  ///< names none

  /// For nodes that depend on the end of this one and do not use its value.
  [[nodiscard]] auto done() const noexcept -> flow_node<void> { return {value_, builder_}; }

 private:
  template <typename>
  friend class flow_node;
  friend struct detail::flow_access;
  flow_node(detail::flow_value_index value, std::uint32_t builder) noexcept : value_(value), builder_(builder) {}

  detail::flow_value_index value_ = 0;
  std::uint32_t builder_ = 0;  // the number of the builder; 0: none
};

/// How much a function computes, which says where it is called.
enum class node_size : std::uint8_t {
  large,  ///< on the workers
  small,  ///< at once, on the home of the run, which it holds up as long as it takes: a microsecond or two
};

/// What a node of a flow is given beside its function.
struct flow_node_options {
  std::string_view name = {};          ///< by which errors and reports speak of the node; names need not differ
  node_size size = node_size::large;   ///< of functions; those that give a task start at the home of the run
  duration timeout = duration::max();  ///< from its start; not for small functions, which nothing can interrupt
};

/// A function that takes the values of nodes, by const reference or by value, and gives its own: directly, or as a
/// `task`. It is called through a const object, because runs of the flow share it, perhaps at the same time. Where it
/// can, it takes a `const stop_flag&` behind them, and ends early once that is set. It gives an object: a reference
/// would refer to what another run owns, or nothing does any more. What gives a task takes no reference to something
/// that an argument has to be converted to first, because that would be gone when the task runs.
template <typename Fn, typename... Values>
concept flow_function = detail::is_flow_function<std::decay_t<Fn>, Values...>();

}  // namespace braid
