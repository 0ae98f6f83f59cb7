// braid/task/fork_join.hpp: calls that may run at the same time, and all of their results.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/call_outcome.hpp>
#include <braid/task/detail/fork.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/stop_signal.hpp>
#include <braid/task/worker.hpp>

#include <concepts>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace braid {

/// What can be forked: callable without arguments.
template <typename Fn>
concept forkable = std::move_constructible<Fn> && std::invocable<Fn&>;

/// Calls all functions and gives all results as a tuple: nothing is a std::monostate there, an lvalue reference stays
/// one. Gives nothing where none of them gives anything. The first runs on this thread, the others perhaps on other
/// workers of its pool; from a thread that is no worker, everything runs in `default_pool`.
/// That they run at the same time is not promised: none may wait for what another one does, as for a promise that it
/// sets. With one worker, or where the other workers are busy, that wait never ends (docs/pools.md, "Waits in forks").
/// Blocks: until all have ended. While it waits for what a thief took, the worker runs forks of others, and no posted
/// jobs. Errors: what one of them throws, when those that had begun have ended; the others are not called then.
/// Cost: next to that of the calls, while no thief asks for work.
template <forkable First, forkable... Rest>
  requires(sizeof...(Rest) > 0)
[[gnu::always_inline]] inline auto fork_join(First first, Rest... rest) {
  if constexpr (detail::gives_nothing<First, Rest...>)
    static_cast<void>(detail::fork_several(first, rest...));
  else
    return detail::results_of<First, Rest...>(detail::fork_several(first, rest...));
}

/// What `combine` makes of both results, where neither is void. Where that is a sum or the like, the compiler may turn
/// the last call of a recursion into a loop. As `fork_join` in everything else.
template <forkable Left, forkable Right, typename Combine>
[[gnu::always_inline]] inline auto fork_combine(Left left, Right right, Combine combine)
    -> std::invoke_result_t<Combine&, detail::result_of<Left>, detail::result_of<Right>> {
  worker* const self = detail::worker_of_thread;
  if (self == nullptr || !self->has_enough_forks()) [[unlikely]]
    return detail::fork_two_and_combine(self, std::move(left), std::move(right), std::move(combine));
  decltype(auto) first = left();
  return std::invoke(combine, std::forward<decltype(first)>(first), right());
}

/// As `fork_join`, except that functions which have not begun when a stop is requested are left out, and then there are
/// no results. Errors: errc::stopped, or the reason of the flag.
template <stop_signal Signal, forkable First, forkable... Rest>
  requires(sizeof...(Rest) > 0)
auto fork_join(Signal&& stop, First first, Rest... rest) {
  static_assert(!(std::is_lvalue_reference_v<detail::result_of<First>> || ... ||
                  std::is_lvalue_reference_v<detail::result_of<Rest>>),
                "forks that may be stopped give values: return a pointer instead of a reference");
  constexpr bool nothing = detail::gives_nothing<First, Rest...>;
  using whole = result<std::conditional_t<nothing, void, detail::results_of<First, Rest...>>>;
  const detail::stopped_by_t<Signal> stopped(stop);
  auto all = fork_join([&] { return detail::call_unless(stopped, first); },
                       [&] { return detail::call_unless(stopped, rest); }...);
  return std::apply(
      [&](auto&... each) -> whole {
        if (!(each.has_value() && ...)) return fail(*stopped.reason());
        if constexpr (nothing)
          return {};
        else
          return detail::results_of<First, Rest...>(std::move(*each)...);
      },
      all);
}

}  // namespace braid
