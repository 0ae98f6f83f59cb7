// braid/coro/detail/sender_value.hpp: converts the values with which a sender completes to the result of a co_await.
#pragma once

#include <braid/task/senders.hpp>

#include <tuple>
#include <type_traits>

namespace braid::detail {

/// The types of the values with which a sender completes. A sender with two different value completions cannot be
/// awaited, because its result would not have one type.
template <typename... Signatures>
struct value_of_signatures {
  static constexpr int ways = 0;
  using type = void;
};
template <typename... Others, typename... Rest>
struct value_of_signatures<execution::set_value_t(Others...), Rest...> {
  static constexpr int ways = 1 + value_of_signatures<Rest...>::ways;
  using type = std::tuple<std::decay_t<Others>...>;
};
template <typename Only, typename... Rest>
struct value_of_signatures<execution::set_value_t(Only), Rest...> {
  static constexpr int ways = 1 + value_of_signatures<Rest...>::ways;
  using type = std::conditional_t<std::is_lvalue_reference_v<Only>, Only, std::decay_t<Only>>;
};
template <typename... Rest>
struct value_of_signatures<execution::set_value_t(), Rest...> {
  static constexpr int ways = 1 + value_of_signatures<Rest...>::ways;
  using type = void;
};
template <typename Other, typename... Rest>
struct value_of_signatures<Other, Rest...> : value_of_signatures<Rest...> {};

template <typename Completions>
struct value_of_completions;
template <typename... Signatures>
struct value_of_completions<execution::completion_signatures<Signatures...>> {
  static_assert(value_of_signatures<Signatures...>::ways < 2,
                "a task can only await a sender with a single value completion: adapt the sender with into_variant");
  using type = typename value_of_signatures<Signatures...>::type;
};

template <typename Sender, typename Env>
using sender_value_t = typename value_of_completions<execution::completion_signatures_of_t<Sender, Env>>::type;

}  // namespace braid::detail
