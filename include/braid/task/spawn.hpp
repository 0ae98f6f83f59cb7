// braid/task/spawn.hpp: runs functions on an executor and returns futures of their results.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/refused_call.hpp>
#include <braid/task/detail/spawned.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>
#include <braid/task/job.hpp>

#include <concepts>
#include <ranges>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

namespace detail {

/// The stop source for work that is spawned without an explicit stop. If the work accepts a token, its future and its
/// executor can stop the work. Otherwise the work cannot be stopped.
template <typename Fn, typename... Args>
using own_stop = std::conditional_t<wants_stop<std::stop_token, Fn, Args...>, stopped_by_future, never_stopped>;

template <typename Fn, typename... Args>
auto make_own_stop(const executor& executor) -> own_stop<Fn, Args...> {
  if constexpr (wants_stop<std::stop_token, Fn, Args...>)
    return stopped_by_future(executor.stop_token());
  else
    return {};
}

template <typename Seen, typename Fn, typename... Args>
concept callable_once =
    std::constructible_from<std::decay_t<Fn>, Fn> && (std::constructible_from<std::decay_t<Args>, Args> && ...) &&
    (std::invocable<std::decay_t<Fn>, std::decay_t<Args>...> || wants_stop<Seen, Fn, Args...>) &&
    !is_lazy_work<typename call_of<Seen, Fn, Args...>::type>;

/// A callable that can be spawned: it can be called once with its arguments, which the job owns and passes as rvalues.
/// A std::stop_token may come before the arguments.
template <typename Fn, typename... Args>
concept spawnable = detail::callable_once<std::stop_token, Fn, Args...>;

/// A callable that can be spawned with a stop signal that the caller supplies. It may accept the std::stop_token, or
/// the flag as a const stop_flag&, before its arguments.
template <typename Signal, typename Fn, typename... Args>
concept stoppable = stop_signal<Signal> && callable_once<typename stopped_by_t<Signal>::seen, Fn, Args...>;

/// The future of the result of a spawned call. If the call itself returns a future, that future is unwrapped.
template <typename Fn, typename... Args>
using spawned_future = future<detail::future_value<detail::call_result<detail::own_stop<Fn, Args...>, Fn, Args...>>>;

/// The future of the result of a call with the caller's stop signal. If the call itself returns a future, that future
/// is unwrapped.
template <typename Signal, typename Fn, typename... Args>
using stoppable_future = future<detail::future_value<detail::call_result<detail::stopped_by_t<Signal>, Fn, Args...>>>;

}  // namespace detail

/// Runs `fn(args...)` on `executor`. The job owns copies of `fn` and its arguments, which are destroyed before the
/// result is visible. Exceptions are stored in the future. Dropping the future detaches the work. If `fn` can only be
/// called with a std::stop_token before its arguments, it gets a token. `future::request_stop` requests a stop of this
/// token, and so does a stop of `executor`. If the stop comes before the work begins, the work is skipped. Threads:
/// any. Cost: one block of memory for jobs; a second block if `fn` gets a token. Errors: the future fails with
/// errc::closed if `executor` accepts no more work, with errc::dropped if a shutdown drops the work, and with
/// errc::stopped if the work was skipped.
template <typename Fn, typename... Args>
  requires detail::spawnable<Fn, Args...>
auto spawn(executor& executor, Fn&& fn, Args&&... args) -> detail::spawned_future<Fn, Args...> {
  auto stop = detail::make_own_stop<Fn, Args...>(executor);
  return detail::attempt_spawn(executor, std::move(stop), std::forward<Fn>(fn), std::forward<Args>(args)...).work;
}

/// Works like `spawn` without a priority, but the job has a priority. Threads, errors: the same as for `spawn` without
/// a priority.
template <std::derived_from<executor> Executor, typename Fn, typename... Args>
  requires(detail::spawnable<Fn, Args...> && detail::takes_priorities<Executor>)
auto spawn(Executor& executor, priority level, Fn&& fn, Args&&... args) -> detail::spawned_future<Fn, Args...> {
  const auto try_post = [&executor, level](job& made) noexcept { return executor.try_post(made, level); };
  return detail::attempt_spawn_by(try_post, executor, detail::make_own_stop<Fn, Args...>(executor),
                                  std::forward<Fn>(fn), std::forward<Args>(args)...)
      .work;
}

/// Works like `spawn`, but skips the call if `stop` was requested before the call began; a stop of `executor` has no
/// effect. `fn` may accept the std::stop_token, or the flag as a const stop_flag&, before its arguments. If the call is
/// skipped, the future fails with errc::stopped, or with the reason of the stop request if it has a reason.
/// Lifetime: a stop_flag must live until the future is ready. In other respects, threads and errors are the same as for
/// `spawn` without a stop.
template <stop_signal Signal, typename Fn, typename... Args>
  requires detail::stoppable<Signal, Fn, Args...>
auto spawn(executor& executor, Signal&& stop, Fn&& fn, Args&&... args)
    -> detail::stoppable_future<Signal, Fn, Args...> {
  return detail::attempt_spawn(executor, detail::stopped_by_t<Signal>(stop), std::forward<Fn>(fn),
                               std::forward<Args>(args)...)
      .work;
}

/// Works like `spawn`, but returns an error at once if the executor refuses the work.
/// Threads: any. Errors: errc::closed; `fn` has then been destroyed without being called.
template <typename Fn, typename... Args>
  requires detail::spawnable<Fn, Args...>
[[nodiscard]] auto try_spawn(executor& executor, Fn&& fn, Args&&... args)
    -> result<detail::spawned_future<Fn, Args...>> {
  auto stop = detail::make_own_stop<Fn, Args...>(executor);
  auto tried = detail::attempt_spawn(executor, std::move(stop), std::forward<Fn>(fn), std::forward<Args>(args)...);
  if (!tried.accepted) return fail(executor.why_refused());
  return std::move(tried.work);
}

template <stop_signal Signal, typename Fn, typename... Args>
  requires detail::stoppable<Signal, Fn, Args...>
[[nodiscard]] auto try_spawn(executor& executor, Signal&& stop, Fn&& fn, Args&&... args)
    -> result<detail::stoppable_future<Signal, Fn, Args...>> {
  using stopped_by = detail::stopped_by_t<Signal>;
  auto tried = detail::attempt_spawn(executor, stopped_by(stop), std::forward<Fn>(fn), std::forward<Args>(args)...);
  if (!tried.accepted) return fail(executor.why_refused());
  return std::move(tried.work);
}

namespace detail {

/// Returns the element at an iterator. If the range is an rvalue container, the element is returned as an rvalue, so
/// that it is moved and not copied.
template <std::ranges::range R>
auto handed_over(std::ranges::iterator_t<R> position) -> decltype(auto) {
  if constexpr (!std::is_lvalue_reference_v<R> && !std::ranges::view<std::remove_cvref_t<R>>)
    return std::ranges::iter_move(position);
  else
    return *position;
}

template <typename R>
using element = decltype(handed_over<R>(std::declval<std::ranges::iterator_t<R>>()));

template <std::ranges::range R, typename T>
auto vector_for(R& range) -> std::vector<T> {
  std::vector<T> made;
  if constexpr (std::ranges::sized_range<R>) made.reserve(std::ranges::size(range));
  return made;
}

}  // namespace detail

/// Posts every callable of `range` to `executor`; their order is unspecified. The elements of an rvalue container are
/// moved; other elements are copied. Threads: any. Errors: errc::closed as soon as a callable is refused. The callables
/// before the refused one were accepted, and the callables after it are not called.
template <std::ranges::input_range R>
  requires detail::job_function<detail::element<R>>
[[nodiscard]] auto post_all(executor& executor, R&& range) -> result<void> {
  for (auto at = std::ranges::begin(range); at != std::ranges::end(range); ++at) {
    auto posted = post(executor, detail::handed_over<R>(at));
    if (!posted) return posted;
  }
  return {};
}

/// Spawns every callable of `range`. Returns one future for each callable, in the order of the range. Threads: any.
/// Errors: the errors of `spawn`, stored in each future.
template <std::ranges::input_range R>
  requires detail::spawnable<detail::element<R>>
auto spawn_all(executor& executor, R&& range) -> std::vector<detail::spawned_future<detail::element<R>>> {
  auto futures = detail::vector_for<R, detail::spawned_future<detail::element<R>>>(range);
  for (auto at = std::ranges::begin(range); at != std::ranges::end(range); ++at)
    futures.push_back(spawn(executor, detail::handed_over<R>(at)));
  return futures;
}

/// Spawns `fn(element)` for every element. Each job gets copies of `fn` and its element, so use pointers or spans if
/// elements are large. Returns one future for each element, in the order of the range. Threads: any. Errors: the errors
/// of `spawn`, stored in each future.
template <std::ranges::input_range R, typename Fn>
  requires detail::spawnable<const std::decay_t<Fn>&, detail::element<R>>
auto spawn_all(executor& executor, R&& range, const Fn& fn)
    -> std::vector<detail::spawned_future<const std::decay_t<Fn>&, detail::element<R>>> {
  auto futures = detail::vector_for<R, detail::spawned_future<const std::decay_t<Fn>&, detail::element<R>>>(range);
  for (auto at = std::ranges::begin(range); at != std::ranges::end(range); ++at)
    futures.push_back(spawn(executor, fn, detail::handed_over<R>(at)));
  return futures;
}

namespace detail {

/// True if an overload of `spawn` accepts the arguments. It is also true for tasks, whose overloads are in other
/// layers.
template <typename Where, typename... All>
inline constexpr bool can_spawn = false;
template <typename Where, typename Fn, typename... Args>
inline constexpr bool can_spawn<Where, Fn, Args...> =
    (is_lazy_argument<Fn> && (!computed_task<Fn> || takes_priorities<Where>)) || returns_lazy_work<Fn, Args...> ||
    (place_kind_of<Where> == place_kind::functions_and_tasks && spawnable<Fn, Args...>);
template <typename Where, typename Level, typename Fn, typename... Args>
  requires(std::same_as<std::remove_cvref_t<Level>, priority> && takes_priorities<Where>)
inline constexpr bool can_spawn<Where, Level, Fn, Args...> = spawnable<Fn, Args...>;
template <typename Where, typename Signal, typename Fn, typename... Args>
  requires(stop_signal<Signal> && std::derived_from<Where, executor>)
inline constexpr bool can_spawn<Where, Signal, Fn, Args...> =
    stoppable<Signal, Fn, Args...> || spawnable<Signal, Fn, Args...>;
template <typename Where, typename Options, typename... All>
  requires std::same_as<std::remove_cvref_t<Options>, spawn_options>
inline constexpr bool can_spawn<Where, Options, All...> = true;  // see the overload with options

/// True for arguments that run as a task with options: a task, or a callable that returns a task.
template <typename... All>
inline constexpr bool can_spawn_task = returns_lazy_work<All...>;
template <typename Work>
inline constexpr bool can_spawn_task<Work> = is_lazy_argument<Work> || returns_lazy_work<Work>;

/// True if an overload of `post` accepts the arguments. It is also true for tasks without a value.
template <typename Where, typename... All>
inline constexpr bool can_post = false;
template <typename Where, typename Fn>
inline constexpr bool can_post<Where, Fn> =
    is_valueless_task<Fn> || returns_lazy_work<Fn> ||
    (place_kind_of<Where> == place_kind::functions_and_tasks && job_function<Fn>);
template <typename Where, typename Level, typename Fn>
  requires(std::same_as<std::remove_cvref_t<Level>, priority> && takes_priorities<Where>)
inline constexpr bool can_post<Where, Level, Fn> = job_function<Fn>;

}  // namespace detail

/// Does not compile; its error message describes what is wrong with the arguments.
template <detail::work_place Where, typename... All>
  requires(!detail::can_spawn<Where, All...>)
auto spawn(Where& /*where*/, All&&... /*all*/) {
  static_cast<void>(detail::refused_spawn<detail::place_kind_of<Where>, All...>());
  return future<void>();
}
/// Does not compile; its error message describes what is wrong with the arguments.
template <detail::work_place Where, typename... All>
  requires(!detail::can_spawn_task<All...>)
auto spawn(Where& /*where*/, spawn_options /*how*/, All&&... /*all*/) {
  static_cast<void>(detail::refused_task<All...>());
  return future<void>();
}
/// Does not compile; its error message describes what is wrong with the arguments.
template <detail::work_place Where, typename... All>
  requires(!detail::can_spawn<Where, All...>)
auto try_spawn(Where& /*where*/, All&&... /*all*/) {
  static_cast<void>(detail::refused_spawn<detail::place_kind_of<Where>, All...>());
  return result<future<void>>();
}
/// Does not compile; its error message describes what is wrong with the arguments.
template <detail::work_place Where, typename... All>
  requires(!detail::can_post<Where, All...>)
auto post(Where& /*where*/, All&&... /*all*/) {
  static_cast<void>(detail::refused_post<detail::place_kind_of<Where>, All...>());
  return result<void>();
}

}  // namespace braid
