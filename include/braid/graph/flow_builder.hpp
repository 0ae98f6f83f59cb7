// braid/graph/flow_builder.hpp: collects the nodes of a flow, each with what it takes.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/diagnostics.hpp>
#include <braid/graph/detail/flow_call.hpp>
#include <braid/graph/detail/flow_plan.hpp>
#include <braid/graph/detail/node_call.hpp>
#include <braid/graph/flow.hpp>
#include <braid/graph/flow_node.hpp>
#include <braid/graph/shape.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

namespace detail {

/// The number of a value, and that of the builder that has given it.
struct flow_source {
  flow_value_index value = 0;
  std::uint32_t builder = 0;
};

struct flow_access {
  template <typename T>
  [[nodiscard]] static auto source_of(flow_node<T> node) noexcept -> flow_source {
    return {node.value_, node.builder_};
  }
  template <typename T>
  [[nodiscard]] static auto node_of(flow_source source) noexcept -> flow_node<T> {
    return {source.value, source.builder};
  }
};

/// What the builders of all types share. Threads: one at a time.
class BRAID_API flow_draft {
 public:
  explicit flow_draft(std::span<const flow_value_kind> inputs);

  auto add(const flow_node_options& how, flow_call call, boxed_call fn, flow_value_kind gives,
           std::span<const flow_source> takes) -> flow_source;
  [[nodiscard]] auto input(std::size_t index) const noexcept -> flow_source {
    return {static_cast<flow_value_index>(index), number_};
  }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return plan_.nodes.size(); }

  /// A result of builder 0 is none.
  auto build(flow_source result) -> checked<std::shared_ptr<const flow_plan>>;

 private:
  [[nodiscard]] auto is_known(flow_source source) const noexcept -> bool {
    return source.builder == number_ && source.value < plan_.values.size();
  }
  void add_diagnostic(std::string_view code, std::string_view node, std::string message);

  std::uint32_t number_;  // of this builder, in the process
  flow_plan plan_;
  std::vector<graph_edge> edges_;
  diagnostics diagnostics_;
};

/// A value that only points to what it stands for.
template <typename T>
inline constexpr bool borrows = std::is_pointer_v<T> || std::ranges::borrowed_range<T>;
template <typename T>
inline constexpr bool borrows<std::reference_wrapper<T>> = true;

}  // namespace detail

/// Collects nodes. Each names what it takes, and so comes after it: there are no cycles. Give it the types of what a
/// run is given: `flow_builder<request>`.
/// Threads: one at a time.
template <typename... In>
class flow_builder {
  static_assert(((detail::flow_object<In> && !std::is_void_v<In>) && ...), "a flow is given objects, and keeps them");

 public:
  flow_builder() : draft_(std::array<detail::flow_value_kind, sizeof...(In)>{detail::kind_of_value<In>()...}) {}

  /// What a run is given as argument number `Index`.
  template <std::size_t Index = 0>
  [[nodiscard]] auto input() const noexcept {
    return detail::flow_access::node_of<std::tuple_element_t<Index, std::tuple<In...>>>(draft_.input(Index));
  }

  /// A node that calls `fn` with the values of `takes`, and gives what it returns, or what the task that it returns
  /// gives. `fn` is called by several runs at a time; values live until the end of their run, and are destroyed at its
  /// home. Cost: boxes `fn`.
  template <typename Fn, typename... Values>
    requires flow_function<Fn, Values...>
  auto add(const flow_node_options& how, Fn&& fn, flow_node<Values>... takes) {
    using callable = std::decay_t<Fn>;
    using value = typename detail::flow_call_of<callable, Values...>::value;
    const std::array<detail::flow_source, sizeof...(Values)> sources{detail::flow_access::source_of(takes)...};
    return detail::flow_access::node_of<value>(draft_.add(how, detail::flow_caller<callable, Values...>::functions(),
                                                          detail::box_of(std::forward<Fn>(fn)),
                                                          detail::kind_of_value<value>(), sources));
  }
  template <typename Fn, typename... Values>
    requires flow_function<Fn, Values...>
  auto add(std::string_view name, Fn&& fn, flow_node<Values>... takes) {
    return add({.name = name}, std::forward<Fn>(fn), takes...);
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return draft_.size(); }

  /// The flow, whose runs give what `result` gives; all nodes run, those too that it does not need. The builder is used
  /// up. Errors: the codes unknown_node, timeout_of_small_node, too_large; the sentences name the nodes.
  template <typename T>
  [[nodiscard]] auto build(flow_node<T> result) && -> checked<flow<T(In...)>> {
    static_assert(!detail::borrows<T>, "what a flow gives outlives its run, and all that it could point to does not");
    static_assert(std::is_void_v<T> || std::move_constructible<T>, "what a flow gives is moved out of its run");
    const detail::flow_source from = detail::flow_access::source_of(result);
    return made<T>(draft_.build(from), from.value);
  }
  /// The same for nodes that give nothing together.
  [[nodiscard]] auto build() && -> checked<flow<void(In...)>> { return made<void>(draft_.build({}), 0); }

 private:
  template <typename T>
  static auto made(checked<std::shared_ptr<const detail::flow_plan>> plan, detail::flow_value_index result)
      -> checked<flow<T(In...)>> {
    if (!plan) return std::unexpected(std::move(plan.error()));
    return flow<T(In...)>(std::move(*plan), result);
  }

  detail::flow_draft draft_;
};

}  // namespace braid
