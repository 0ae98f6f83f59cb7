// braid/coro/detail/awaiter_of.hpp: the awaiter that `co_await` would use.
#pragma once

#include <utility>

namespace braid::detail {

template <typename A>
auto awaiter_of(A&& from) -> decltype(auto) {
  if constexpr (requires { std::forward<A>(from).operator co_await(); })
    return std::forward<A>(from).operator co_await();
  else if constexpr (requires { operator co_await(std::forward<A>(from)); })
    return operator co_await(std::forward<A>(from));
  else
    return std::forward<A>(from);
}

}  // namespace braid::detail
