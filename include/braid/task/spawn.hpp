// braid/task/spawn.hpp: runs a callable on an executor and gives a future of what it returns.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/spawned.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>
#include <braid/task/job.hpp>
#include <braid/task/priority.hpp>
#include <braid/task/stop_signal.hpp>

#include <concepts>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

/// What may keep work from beginning that was given no stop: its future or its executor, if it asks for a token.
template <typename Fn, typename... Args>
using own_stop = std::conditional_t<wants_stop<std::stop_token, Fn, Args...>, stopped_by_future, never_stopped>;

template <typename Fn, typename... Args>
auto own_stop_of(const executor& where) -> own_stop<Fn, Args...> {
  if constexpr (wants_stop<std::stop_token, Fn, Args...>)
    return stopped_by_future(where.stop_token());
  else
    return {};
}

template <typename Seen, typename Fn, typename... Args>
concept callable_once =
    std::constructible_from<std::decay_t<Fn>, Fn> && (std::constructible_from<std::decay_t<Args>, Args> && ...) &&
    (std::invocable<std::decay_t<Fn>, std::decay_t<Args>...> || wants_stop<Seen, Fn, Args...>) &&
    !is_lazy_work<typename call_of<Seen, Fn, Args...>::type>;

}  // namespace detail

/// What can be spawned: callable once with its arguments, all of them as rvalues of the job's own; or with a
/// std::stop_token ahead of them.
template <typename Fn, typename... Args>
concept spawnable = detail::callable_once<std::stop_token, Fn, Args...>;

/// The same with a stop of the caller's, which `fn` may take ahead of its arguments: the std::stop_token, or the flag
/// as a const stop_flag&.
template <typename Signal, typename Fn, typename... Args>
concept stoppable =
    stop_signal<Signal> && detail::callable_once<typename detail::stopped_by_t<Signal>::seen, Fn, Args...>;

/// The future of what such a call returns; where that is a future, of its value.
template <typename Fn, typename... Args>
using spawned_future = future<detail::future_value<detail::call_result<detail::own_stop<Fn, Args...>, Fn, Args...>>>;

/// The future of what a call with a stop of the caller returns; where that is a future, of its value.
template <typename Signal, typename Fn, typename... Args>
using stoppable_future = future<detail::future_value<detail::call_result<detail::stopped_by_t<Signal>, Fn, Args...>>>;

/// Runs `fn(args...)` on `where`, with copies of both that are gone before the result is seen. What it throws arrives
/// in the future. Dropping the future detaches the work. Work that can only be called with a std::stop_token first gets
/// one that a stop of `where` and `future::request_stop` set, and is left out when that was before it began.
/// Threads: any. Cost: one block of memory for jobs, for everything together; a token is another one.
/// Errors: in the future: errc::closed when `where` takes nothing more, errc::dropped when a shutdown drops it,
/// errc::stopped when it was left out.
template <typename Fn, typename... Args>
  requires spawnable<Fn, Args...>
auto spawn(executor& where, Fn&& fn, Args&&... args) -> spawned_future<Fn, Args...> {
  auto stop = detail::own_stop_of<Fn, Args...>(where);
  return detail::attempt_spawn(where, std::move(stop), std::forward<Fn>(fn), std::forward<Args>(args)...).work;
}

/// The same with a priority, on a pool. Threads, errors: as above.
template <std::derived_from<executor> Where, typename Fn, typename... Args>
  requires(spawnable<Fn, Args...> && requires(Where& pool, job& work, priority level) { pool.try_post(work, level); })
auto spawn(Where& where, priority level, Fn&& fn, Args&&... args) -> spawned_future<Fn, Args...> {
  const auto try_post = [&where, level](job& made) noexcept { return where.try_post(made, level); };
  return detail::attempt_spawn_by(try_post, where, detail::own_stop_of<Fn, Args...>(where), std::forward<Fn>(fn),
                                  std::forward<Args>(args)...)
      .work;
}

/// The same, except that the call is left out when a stop was requested by `stop` before it began; that of `where` does
/// not count. Then the future fails with errc::stopped, or with the reason of the flag.
/// Lifetime: a stop_flag must live until the future is ready. Threads, Errors: otherwise as above.
template <stop_signal Signal, typename Fn, typename... Args>
  requires stoppable<Signal, Fn, Args...>
auto spawn(executor& where, Signal&& stop, Fn&& fn, Args&&... args) -> stoppable_future<Signal, Fn, Args...> {
  return detail::attempt_spawn(where, detail::stopped_by_t<Signal>(stop), std::forward<Fn>(fn),
                               std::forward<Args>(args)...)
      .work;
}

/// As `spawn`, but reports a refusal at once. Threads: any. Errors: errc::closed, and then `fn` has been destroyed
/// without being called.
template <typename Fn, typename... Args>
  requires spawnable<Fn, Args...>
[[nodiscard]] auto try_spawn(executor& where, Fn&& fn, Args&&... args) -> result<spawned_future<Fn, Args...>> {
  auto stop = detail::own_stop_of<Fn, Args...>(where);
  auto tried = detail::attempt_spawn(where, std::move(stop), std::forward<Fn>(fn), std::forward<Args>(args)...);
  if (!tried.accepted) return fail(where.why_refused());
  return std::move(tried.work);
}

template <stop_signal Signal, typename Fn, typename... Args>
  requires stoppable<Signal, Fn, Args...>
[[nodiscard]] auto try_spawn(executor& where, Signal&& stop, Fn&& fn, Args&&... args)
    -> result<stoppable_future<Signal, Fn, Args...>> {
  using stopped_by = detail::stopped_by_t<Signal>;
  auto tried = detail::attempt_spawn(where, stopped_by(stop), std::forward<Fn>(fn), std::forward<Args>(args)...);
  if (!tried.accepted) return fail(where.why_refused());
  return std::move(tried.work);
}

}  // namespace braid
