// braid/coro/spawn.hpp: starting tasks on homes, scopes and executors, with a future or without.
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/awaitable.hpp>
#include <braid/coro/detail/task_state.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/task_id.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

/// Called once with its arguments it gives a task.
template <typename Fn, typename... Args>
concept task_function =
    std::constructible_from<std::decay_t<Fn>, Fn> && (std::constructible_from<std::decay_t<Args>, Args> && ...) &&
    std::invocable<std::decay_t<Fn>&, std::decay_t<Args>...> &&
    is_task<std::invoke_result_t<std::decay_t<Fn>&, std::decay_t<Args>...>>;

/// Keeps the callable and its arguments until the task that they give has ended.
template <typename Fn, typename... Args>
auto call_in_frame(Fn fn, Args... args) -> std::invoke_result_t<Fn&, Args...> {
  co_return co_await std::invoke(fn, std::move(args)...);
}

template <typename Fn, typename... Args>
auto task_of(Fn&& fn, Args&&... args) {
  return call_in_frame<std::decay_t<Fn>, std::decay_t<Args>...>(std::forward<Fn>(fn), std::forward<Args>(args)...);
}

/// How a task begins that is posted there.
template <typename T>
auto begin_on(const home& /*where*/) noexcept -> job::act_fn {
  return &task_state<T>::begin_at_home;
}
template <typename T>
auto begin_on(const executor& /*where*/) noexcept -> job::act_fn {
  return &task_state<T>::begin_alone;
}

template <typename Where>
concept task_place = std::derived_from<Where, executor> || std::same_as<Where, scope>;

}  // namespace detail

/// Starts `work` and gives a future of its value. It runs in a scope of its own, so that `future::request_stop` ends it
/// and what it has spawned, and nothing else; the future is ready when all of that has ended. Dropping the future
/// detaches the work. What it throws arrives in the future; where that was dropped before, at the error callback of the
/// home. It does not stop others in the scope around it.
///
/// `where` is a home (a loop, a strand_home), in whose root the task lives; another executor, such as a pool, where it
/// gets a home of its own, so that tasks run at the same time, and a worker that waits for one that has not begun runs
/// its beginning; or, on its own thread, a scope, which then joins the task: it begins at once, and the scope ends no
/// sooner.
///
/// Threads: any; for a scope, that of its home. Blocks: never.
/// Errors: in the future: what `work` throws; errc::closed where the executor takes nothing more, errc::stopped where
/// the task ended as stopped, or did not begin for a stop. std::bad_alloc.
/// Cost: one block of memory for jobs; without a home of its own, another one for that where it begins.
template <typename T>
auto spawn(home& where, spawn_options how, task<T> work) -> future<T> {
  return detail::task_state<T>::post(where, &detail::task_state<T>::begin_at_home, std::move(how), std::move(work))
      .ahead;
}
template <typename T>
auto spawn(executor& where, spawn_options how, task<T> work) -> future<T> {
  return detail::task_state<T>::post(where, &detail::task_state<T>::begin_alone, std::move(how), std::move(work)).ahead;
}
template <typename T>
auto spawn(scope& in, spawn_options how, task<T> work) -> future<T> {
  return detail::task_state<T>::spawn(in, std::move(how), std::move(work));
}
template <detail::task_place Where, typename T>
auto spawn(Where& where, task<T> work) -> future<T> {
  return spawn(where, spawn_options(), std::move(work));
}

/// The same for a callable that gives a task: `spawn(where, [text]() -> task<int> { … })`. It is moved into the frame
/// with its arguments and kept until the task has ended: captures may be used in all of it.
template <detail::task_place Where, typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(Where& where, Fn&& fn, Args&&... args) {
  return spawn(where, spawn_options(), detail::task_of(std::forward<Fn>(fn), std::forward<Args>(args)...));
}
template <detail::task_place Where, typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(Where& where, spawn_options how, Fn&& fn, Args&&... args) {
  return spawn(where, std::move(how), detail::task_of(std::forward<Fn>(fn), std::forward<Args>(args)...));
}

/// As `spawn`, but reports a refusal at once. Threads: any. Errors: errc::closed, and then `work` has been destroyed
/// without having begun.
template <std::derived_from<executor> Where, typename T>
[[nodiscard]] auto try_spawn(Where& where, task<T> work) -> result<future<T>> {
  auto tried = detail::task_state<T>::post(where, detail::begin_on<T>(where), spawn_options(), std::move(work));
  if (!tried.accepted) return fail(where.why_refused());
  return std::move(tried.ahead);
}

/// Starts `work` without a handle. What it throws goes to the error callback of its home; in a scope it stops the
/// others and is rethrown by the scope's `join`. Threads, cost: as `spawn`. Errors: errc::closed, or errc::stopped in a
/// scope that is stopped; then `work` has been destroyed without having begun.
template <std::derived_from<executor> Where>
[[nodiscard]] auto post(Where& where, task<void> work) -> result<void> {
  using state = detail::task_state<void>;
  const auto posted = state::post(where, detail::begin_on<void>(where), spawn_options(), std::move(work), true);
  if (!posted.accepted) return fail(where.why_refused());
  return {};
}
[[nodiscard]] inline auto post(scope& in, task<void> work) -> result<void> {
  if (in.stop().requested()) return fail(in.stop().reason());
  in.spawn(std::move(work));
  return {};
}
template <detail::task_place Where, detail::task_function Fn>
[[nodiscard]] auto post(Where& where, Fn&& fn) -> result<void> {
  return post(where, detail::task_of(std::forward<Fn>(fn)));
}

}  // namespace braid
