// braid/graph/detail/flow_call.hpp: calls a node of a flow with the values of its arguments, and stores its result.
#pragma once

#include <braid/coro/detail/task_value.hpp>
#include <braid/coro/task.hpp>
#include <braid/graph/detail/flow_state.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/refused_call.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace braid {
template <typename T>
class flow_node;
}  // namespace braid

namespace braid::detail {

/// Converts one value to the arguments that a node gets for it: a reference to the value, or no argument if the value
/// is void.
template <typename T>
struct flow_argument {
  using types = std::tuple<const T&>;
  static auto of(flow_state& state, flow_value_index index) noexcept -> types { return types(state.value<T>(index)); }
};
template <>
struct flow_argument<void> {
  using types = std::tuple<>;
  static auto of(flow_state& /*state*/, flow_value_index /*index*/) noexcept -> types { return {}; }
};

template <typename... Values>
using flow_arguments = decltype(std::tuple_cat(std::declval<typename flow_argument<Values>::types>()...));

template <typename Fn, typename Arguments>
struct flow_invocation;
template <typename Fn, typename... Args>
struct flow_invocation<Fn, std::tuple<Args...>> {
  static constexpr bool plain = std::is_invocable_v<const Fn&, Args...>;
  static constexpr bool with_stop = !plain && std::is_invocable_v<const Fn&, Args..., const stop_flag&>;
  static constexpr bool is_noexcept = plain ? std::is_nothrow_invocable_v<const Fn&, Args...>
                                            : std::is_nothrow_invocable_v<const Fn&, Args..., const stop_flag&>;

  static auto result() {
    if constexpr (plain)
      return std::type_identity<std::invoke_result_t<const Fn&, Args...>>{};
    else if constexpr (with_stop)
      return std::type_identity<std::invoke_result_t<const Fn&, Args..., const stop_flag&>>{};
    else
      return std::type_identity<void>{};
  }
};

/// The types that result from a call of `Fn` with values of the types `Values`.
template <typename Fn, typename... Values>
struct flow_call_of {
  using invocation = flow_invocation<Fn, flow_arguments<Values...>>;
  using given = task_value<std::remove_cv_t<typename decltype(invocation::result())::type>>;
  using value = typename given::type;
};

/// True if a parameter of this type refers to the argument itself, and not to a converted object.
template <typename Parameter, typename Argument>
inline constexpr bool binds_directly =
    !std::is_reference_v<Parameter> ||
    std::is_convertible_v<std::remove_reference_t<Argument>*, std::remove_reference_t<Parameter>*>;

template <typename Parameters, typename Arguments>
inline constexpr bool all_bind_directly = true;
template <typename... P, typename... A>
  requires(sizeof...(P) == sizeof...(A))
inline constexpr bool all_bind_directly<std::tuple<P...>, std::tuple<A...>> = (binds_directly<P, A> && ...);

/// The parameters of a function or of an object with exactly one call operator. The parameters of other callables are
/// unknown, because they are deduced from the arguments.
template <typename Fn>
struct parameters_of {
  using type = void;
};
template <typename R, typename... P>
struct parameters_of<R (*)(P...)> {
  using type = std::tuple<P...>;
};
template <typename R, typename... P>
struct parameters_of<R (*)(P...) noexcept> : parameters_of<R (*)(P...)> {};
template <typename C, typename R, typename... P>
struct parameters_of<R (C::*)(P...) const> : parameters_of<R (*)(P...)> {};
template <typename C, typename R, typename... P>
struct parameters_of<R (C::*)(P...) const noexcept> : parameters_of<R (*)(P...)> {};
template <typename Fn>
  requires std::is_class_v<Fn> && requires { &Fn::operator(); }
struct parameters_of<Fn> : parameters_of<decltype(&Fn::operator())> {};

/// True for types of values that a run can store.
template <typename T>
concept flow_object = std::is_void_v<T> || (std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T> &&
                                            std::is_nothrow_destructible_v<T>);

template <typename Fn, typename... Values>
consteval auto is_flow_function() -> bool {
  using call = flow_call_of<Fn, Values...>;
  if constexpr (!std::is_object_v<Fn> || !(call::invocation::plain || call::invocation::with_stop))
    return false;
  else if constexpr (!flow_object<typename call::value>)
    return false;
  else if constexpr (call::given::is_task)
    return call::invocation::plain && all_bind_directly<typename parameters_of<Fn>::type, flow_arguments<Values...>>;
  else
    return true;
}

template <typename T>
inline constexpr bool is_flow_node = false;
template <typename T>
inline constexpr bool is_flow_node<flow_node<T>> = true;

template <typename Fn, typename... Values>
consteval auto accepts_values(const flow_node<Values>*... /*takes*/) -> bool {
  return is_flow_function<std::decay_t<Fn>, Values...>();
}

/// True if all values are handles of nodes, and the callable accepts the values of these nodes.
template <typename Fn, typename... Takes>
inline constexpr bool can_add_to_flow = false;
template <typename Fn, typename... Takes>
  requires(is_flow_node<std::remove_cvref_t<Takes>> && ...)
inline constexpr bool can_add_to_flow<Fn, Takes...> =
    accepts_values<Fn>(static_cast<std::remove_cvref_t<Takes>*>(nullptr)...);

/// Ends the compilation with a clear message for a callable that cannot be a node.
template <typename Fn, typename... Takes>
struct refused_flow_node {
  static constexpr bool takes_nodes = (is_flow_node<std::remove_cvref_t<Takes>> && ...);
  static_assert(has_call<std::decay_t<Fn>>, "expected a function, a lambda or another callable as the node of a flow");
  static_assert(takes_nodes || !has_call<std::decay_t<Fn>>,
                "expected nodes of this flow after the callable: pass what `add` or `input` returned");
  static_assert(!takes_nodes || !has_call<std::decay_t<Fn>>,
                "the callable cannot be called with the values of these nodes: it is copied into the flow, is called "
                "as const, receives each value as a const reference, and returns an object or nothing");
};

template <typename Fn, typename... Values>
class flow_caller {
  using call = flow_call_of<Fn, Values...>;
  using value = typename call::value;

 public:
  [[nodiscard]] static constexpr auto functions() noexcept -> flow_call {
    if constexpr (call::given::is_task)
      return {.run = nullptr, .start = &start, .may_fail = true};
    else
      return {.run = &run, .start = nullptr, .may_fail = !call::invocation::is_noexcept};
  }

 private:
  static auto arguments(flow_state& state, node_index node) noexcept -> flow_arguments<Values...> {
    const auto sources = state.plan().find_sources(node);
    return [&]<std::size_t... Index>(std::index_sequence<Index...> /*each*/) {
      return std::tuple_cat(flow_argument<Values>::of(state, sources[Index])...);
    }(std::index_sequence_for<Values...>());
  }

  static void run(const void* fn, flow_state& state, node_index node, const stop_flag& stop) {
    const auto& callable = *static_cast<const Fn*>(fn);
    auto make = [&]() -> value {
      if constexpr (call::invocation::plain)
        return std::apply(callable, arguments(state, node));
      else
        return std::apply(callable, std::tuple_cat(arguments(state, node), std::tuple<const stop_flag&>(stop)));
    };
    if constexpr (std::is_void_v<value>)
      make();
    else
      state.template emplace<value>(state.plan().value_of(node), make);
  }

  static auto start(const void* fn, flow_state& state, node_index node) -> task<node_status> {
    const flow_stamp around(state, node);
    auto inputs = arguments(state, node);
    task<value> work = std::apply(*static_cast<const Fn*>(fn), std::move(inputs));
    if constexpr (std::is_void_v<value>) {
      co_await std::move(work);
    } else {
      value given = co_await std::move(work);
      state.template emplace<value>(state.plan().value_of(node), [&given]() -> value { return std::move(given); });
    }
    co_return node_status::done;
  }
};

}  // namespace braid::detail
