// braid/coro/awaitable.hpp: the concept of what a task may await, and the conversion of an awaitable to a task.
#pragma once

#include <braid/coro/detail/awaiter_of.hpp>
#include <braid/coro/task.hpp>

#include <concepts>
#include <coroutine>
#include <functional>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

template <typename A>
using awaiter_t = decltype(awaiter_of(std::declval<A>()));

template <typename A>
concept awaiter = requires(A& by) {
  { by.await_ready() } -> std::convertible_to<bool>;
  by.await_resume();
};

template <typename A>
inline constexpr bool is_task = false;
template <typename T>
inline constexpr bool is_task<task<T>> = true;

}  // namespace detail

/// What a coroutine may await: a task, a sleep, a lock, a descriptor, a value of a channel.
template <typename A>
concept awaitable = requires { typename detail::awaiter_t<A>; } && detail::awaiter<detail::awaiter_t<A>>;

/// What awaiting it gives.
template <awaitable A>
using await_result_t = decltype(std::declval<detail::awaiter_t<A>&>().await_resume());

namespace detail {

/// Called without arguments it gives an awaitable.
template <typename Fn>
concept gives_awaitable = !awaitable<Fn> && std::invocable<Fn&> && awaitable<std::invoke_result_t<Fn&>>;

}  // namespace detail

/// A task, or what one can be made of: an awaitable that has not been awaited, or a function that gives one.
template <typename A>
concept awaitable_work =
    detail::gives_awaitable<A> ||
    (awaitable<A> && (std::is_lvalue_reference_v<A> || std::move_constructible<std::remove_cvref_t<A>>));

namespace detail {

template <typename A>
auto await_in_task(A work) -> task<await_result_t<A>> {
  co_return co_await static_cast<A&&>(work);
}

template <typename Fn>
auto call_in_task(Fn fn) -> task<await_result_t<std::invoke_result_t<Fn&>>> {
  co_return co_await std::invoke(fn);
}

}  // namespace detail

/// A task that awaits `work` and gives what that gives: the form in which `with_timeout`, `when_all` and `when_any`
/// take other things than tasks. An awaitable is moved into the task, an lvalue is referred to; what cannot be moved
/// comes as a function that gives it. A task stays what it is. Errors: std::bad_alloc.
template <awaitable_work A>
[[nodiscard]] auto as_task(A&& work) {
  using plain = std::remove_cvref_t<A>;
  if constexpr (detail::is_task<plain>)
    return plain(std::forward<A>(work));
  else if constexpr (detail::gives_awaitable<A>)
    return detail::call_in_task<plain>(std::forward<A>(work));
  else
    return detail::await_in_task<A>(std::forward<A>(work));
}

namespace detail {

template <typename A>
using task_value_t = typename decltype(as_task(std::declval<A>()))::value_type;

/// Work of which at least one part is not a task yet.
template <typename... A>
concept not_only_tasks = (awaitable_work<A> && ...) && !(is_task<std::remove_cvref_t<A>> && ...);

}  // namespace detail
}  // namespace braid
