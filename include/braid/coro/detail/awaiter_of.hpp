// braid/coro/detail/awaiter_of.hpp: returns the awaiter that `co_await` uses for an awaitable.
#pragma once

#include <type_traits>
#include <utility>

namespace braid::detail {

/// True for types that can have a free operator co_await: classes, unions and enumerations. Other types must not be
/// checked for the operator, because clang 19 then reports an error.
template <typename A>
concept may_have_co_await = std::is_class_v<std::remove_cvref_t<A>> || std::is_union_v<std::remove_cvref_t<A>> ||
                            std::is_enum_v<std::remove_cvref_t<A>>;

template <typename A>
concept has_free_co_await = may_have_co_await<A> && requires(A&& from) { operator co_await(std::forward<A>(from)); };

template <typename A>
auto awaiter_of(A&& from) -> decltype(auto) {
  if constexpr (requires { std::forward<A>(from).operator co_await(); })
    return std::forward<A>(from).operator co_await();
  else if constexpr (has_free_co_await<A>)
    return operator co_await(std::forward<A>(from));
  else
    return std::forward<A>(from);
}

}  // namespace braid::detail
