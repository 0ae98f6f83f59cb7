// braid/task/spawn.hpp: runs a callable on an executor and gives a future of what it returns.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/spawned.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>

#include <concepts>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace braid {

/// What can be spawned: callable once with its arguments, all of them as rvalues of the job's own.
template <typename Fn, typename... Args>
concept spawnable =
    std::constructible_from<std::decay_t<Fn>, Fn> && (std::constructible_from<std::decay_t<Args>, Args> && ...) &&
    std::invocable<std::decay_t<Fn>, std::decay_t<Args>...>;

/// What can say that spawned work is no longer wanted: a std::stop_token, or a stop_flag that stays where it is.
template <typename Signal>
concept stop_signal = std::same_as<std::remove_cvref_t<Signal>, std::stop_token> ||
                      (std::same_as<std::remove_cvref_t<Signal>, stop_flag> && std::is_lvalue_reference_v<Signal>);

/// The future of what such a call returns; where that is a future, of its value.
template <typename Fn, typename... Args>
using spawned_future = future<detail::future_value<detail::call_result<Fn, Args...>>>;

/// Runs `fn(args...)` on `where`, with copies of both that are gone before the result is seen. What it throws arrives
/// in the future. Dropping the future detaches the work. Threads: any. Cost: one block of memory for jobs, for
/// everything together. Errors: in the future: errc::closed when `where` takes nothing more, errc::dropped when a
/// shutdown drops it.
template <typename Fn, typename... Args>
  requires spawnable<Fn, Args...>
auto spawn(executor& where, Fn&& fn, Args&&... args) -> spawned_future<Fn, Args...> {
  return detail::attempt_spawn(where, detail::never_stopped{}, std::forward<Fn>(fn), std::forward<Args>(args)...).work;
}

/// The same, except that the call is left out when a stop was requested before it began. Then the future fails with
/// errc::stopped, or with the reason of the flag. Lifetime: a stop_flag must live until the future is ready.
template <stop_signal Signal, typename Fn, typename... Args>
  requires spawnable<Fn, Args...>
auto spawn(executor& where, Signal&& stop, Fn&& fn, Args&&... args) -> spawned_future<Fn, Args...> {
  using stopped_by = typename detail::stopped_by<std::remove_cvref_t<Signal>>::type;
  return detail::attempt_spawn(where, stopped_by(stop), std::forward<Fn>(fn), std::forward<Args>(args)...).work;
}

/// As `spawn`, for callers who want to know at once. Errors: errc::closed, and then `fn` has been destroyed without
/// being called.
template <typename Fn, typename... Args>
  requires spawnable<Fn, Args...>
auto try_spawn(executor& where, Fn&& fn, Args&&... args) -> result<spawned_future<Fn, Args...>> {
  auto tried = detail::attempt_spawn(where, detail::never_stopped{}, std::forward<Fn>(fn), std::forward<Args>(args)...);
  if (!tried.accepted) return fail(errc::closed);
  return std::move(tried.work);
}

template <stop_signal Signal, typename Fn, typename... Args>
  requires spawnable<Fn, Args...>
auto try_spawn(executor& where, Signal&& stop, Fn&& fn, Args&&... args) -> result<spawned_future<Fn, Args...>> {
  using stopped_by = typename detail::stopped_by<std::remove_cvref_t<Signal>>::type;
  auto tried = detail::attempt_spawn(where, stopped_by(stop), std::forward<Fn>(fn), std::forward<Args>(args)...);
  if (!tried.accepted) return fail(errc::closed);
  return std::move(tried.work);
}

}  // namespace braid
