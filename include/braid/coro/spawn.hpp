// braid/coro/spawn.hpp: starts tasks on a home or an executor (`spawn`), and runs a task while a plain thread waits
// (`sync_wait`).
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/awaiter_of.hpp>
#include <braid/coro/detail/task_state.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/detail/end_signal.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>
#include <braid/task/spawn.hpp>

#include <concepts>
#include <coroutine>
#include <functional>
#include <system_error>
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

/// A type that a coroutine can await, such as a task, a sleep, the acquisition of a lock, or the receipt of a value
/// from a channel.
template <typename A>
concept awaitable = requires { typename detail::awaiter_t<A>; } && detail::awaiter<detail::awaiter_t<A>>;

namespace detail {

/// The result type of awaiting an `A`.
template <awaitable A>
using await_result_t = decltype(std::declval<detail::awaiter_t<A>&>().await_resume());

/// A callable that returns an awaitable if it is called without arguments.
template <typename Fn>
concept gives_awaitable = !awaitable<Fn> && std::invocable<Fn&> && awaitable<std::invoke_result_t<Fn&>>;

/// A task, or something that can be converted to a task: an awaitable that has not been awaited, or a function that
/// returns an awaitable.
template <typename A>
concept awaitable_work =
    detail::gives_awaitable<A> ||
    (awaitable<A> && (std::is_lvalue_reference_v<A> || std::move_constructible<std::remove_cvref_t<A>>));

template <typename A>
auto await_in_task(A work) -> task<await_result_t<A>> {
  co_return co_await static_cast<A&&>(work);
}

template <typename Fn>
auto call_in_task(Fn fn) -> task<await_result_t<std::invoke_result_t<Fn&>>> {
  co_return co_await std::invoke(fn);
}

}  // namespace detail

/// Returns a task that awaits `work` and returns its result. `with_timeout`, `when_all` and `when_any` use it to accept
/// awaitables other than tasks. An rvalue awaitable is moved into the task; an lvalue awaitable is stored by reference.
/// If the awaitable cannot be moved, pass a function that returns it. A task is returned unchanged.
/// Errors: std::bad_alloc.
template <detail::awaitable_work A>
BRAID_COROUTINE_WRAPPER [[nodiscard]] auto as_task(A&& work) {
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

/// True if `as_task` must convert at least one of the arguments to a task.
template <typename... A>
concept not_only_tasks = (awaitable_work<A> && ...) && !(is_task<std::remove_cvref_t<A>> && ...);

}  // namespace detail
namespace detail {

/// A callable that returns a task if it is called once with its arguments.
template <typename Fn, typename... Args>
concept task_function =
    std::constructible_from<std::decay_t<Fn>, Fn> && (std::constructible_from<std::decay_t<Args>, Args> && ...) &&
    std::invocable<std::decay_t<Fn>&, std::decay_t<Args>...> &&
    is_task<std::invoke_result_t<std::decay_t<Fn>&, std::decay_t<Args>...>>;

/// Calls `fn` with its arguments and awaits the task that it returns. The frame keeps the callable and the arguments
/// until the task has ended.
template <typename Fn, typename... Args>
auto call_in_frame(Fn fn, Args... args) -> std::invoke_result_t<Fn&, Args...> {
  co_return co_await std::invoke(fn, std::move(args)...);
}

template <typename Fn, typename... Args>
BRAID_COROUTINE_WRAPPER auto make_task(Fn&& fn, Args&&... args) {
  return call_in_frame<std::decay_t<Fn>, std::decay_t<Args>...>(std::forward<Fn>(fn), std::forward<Args>(args)...);
}

/// The type of the state of a task that is posted to a `Where`, which is a home or another executor.
template <typename Where, typename T>
using posted_state = std::conditional_t<std::derived_from<Where, home>, inner_task<T>, lone_task<T>>;

template <typename Where>
concept task_place = std::derived_from<Where, executor> || std::same_as<Where, scope>;

}  // namespace detail

/// Starts `work` and returns a future of its value. The task runs in a new scope. `future::request_stop` stops the task
/// and everything that it has spawned, and nothing else. The future is ready when the task and everything that it has
/// spawned have ended. Dropping the future detaches the work. An exception is stored in the future. If the future was
/// dropped before, the exception goes to the error callback of the home, the serial executor that the task is bound to.
/// An exception does not stop other tasks of the surrounding scope.
///
/// The first argument is a home, another executor or a scope. On a home (a loop, a serial_executor), the task belongs
/// to the root scope of that home. On another executor, such as a pool, each task gets its own home, so that tasks run
/// at the same time. If a worker waits for such a task that has not begun, the worker itself runs the beginning of the
/// task. In a scope of the calling thread, the task begins at once, and the scope does not end before the task.
///
/// Threads: any; but if the first argument is a scope, only the thread of the scope's home.
/// Blocks: never. Errors: std::bad_alloc. The future gets what `work` throws, errc::closed if the executor accepts no
/// more work, or errc::stopped if the task ended as stopped or did not begin because of a stop.
/// Cost: one block of memory for jobs, and a second block if the task gets its own home.
template <typename T>
auto spawn(home& home, spawn_options options, task<T> work) -> future<T> {
  return detail::inner_task<T>::post(home, std::move(options), std::move(work)).ahead;
}
template <typename T>
auto spawn(executor& executor, spawn_options options, task<T> work) -> future<T> {
  return detail::lone_task<T>::post(executor, std::move(options), std::move(work)).ahead;
}
template <typename T>
auto spawn(scope& scope, spawn_options options, task<T> work) -> future<T> {
  return detail::inner_task<T>::spawn(scope, std::move(options), std::move(work));
}
template <detail::task_place Where, typename T>
auto spawn(Where& place, task<T> work) -> future<T> {
  return spawn(place, spawn_options(), std::move(work));
}

/// Spawns the task that a callable returns: `spawn(place, [text]() -> task<int> { … })`. The callable and its arguments
/// are moved into the frame and kept until the task has ended, so the task may use its captures.
template <detail::task_place Where, typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(Where& place, Fn&& fn, Args&&... args) {
  return spawn(place, spawn_options(), detail::make_task(std::forward<Fn>(fn), std::forward<Args>(args)...));
}
template <detail::task_place Where, typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(Where& place, spawn_options options, Fn&& fn, Args&&... args) {
  return spawn(place, std::move(options), detail::make_task(std::forward<Fn>(fn), std::forward<Args>(args)...));
}

/// Works like `spawn`, but returns an error at once if the executor refuses the task.
/// Threads: any. Errors: errc::closed; `work` has then been destroyed without having begun.
template <std::derived_from<executor> Where, typename T>
[[nodiscard]] auto try_spawn(Where& place, task<T> work) -> result<future<T>> {
  auto tried = detail::posted_state<Where, T>::post(place, spawn_options(), std::move(work));
  if (!tried.accepted) return fail(place.why_refused());
  return std::move(tried.ahead);
}

/// Starts `work` without returning a handle. An exception goes to the error callback of the task's home. In a scope, an
/// exception stops the other tasks and is rethrown by the scope's `join`.
/// Threads, cost: the same as for `spawn`. Errors: errc::closed, or errc::stopped in a stopped scope; `work` has then
/// been destroyed without having begun.
template <std::derived_from<executor> Where>
[[nodiscard]] auto post(Where& place, task<void> work) -> result<void> {
  const auto posted = detail::posted_state<Where, void>::post(place, spawn_options(), std::move(work), true);
  if (!posted.accepted) return fail(place.why_refused());
  return {};
}
[[nodiscard]] inline auto post(scope& scope, task<void> work) -> result<void> {
  if (scope.stop().requested()) return fail(scope.stop().reason());
  scope.spawn(std::move(work));
  return {};
}
template <detail::task_place Where, detail::task_function Fn>
[[nodiscard]] auto post(Where& place, Fn&& fn) -> result<void> {
  return post(place, detail::make_task(std::forward<Fn>(fn)));
}

namespace detail {

/// The state of a `sync_wait` on the stack of the waiting thread. During the wait the home uses all members, and the
/// thread only waits for `done`.
template <typename T>
struct sync_waiter : job {
  sync_waiter(home& h, task<T> w) : job(&act), where(h), work(std::move(w)), delivery(deliver(*this)) {}

  static void act(job& self, action requested) {
    auto& waiter = static_cast<sync_waiter&>(self);
    if (requested == action::run && !waiter.where.root().stop().requested()) {
      waiter.where.root().spawn(std::move(waiter.delivery));
    } else {
      waiter.work = {};  // dropped, or too late: it counts as stopped
      waiter.done.set();
    }
  }

  /// Awaits the work, then signals `done`. The frame of the work is destroyed before the waiting thread continues.
  static auto deliver(sync_waiter& waiter) -> task<void> {
    waiter.ended = co_await as_outcome(std::move(waiter.work));
    waiter.done.set();
  }

  home& where;
  task<T> work;
  task<void> delivery;  // created before anything is posted: nothing can fail from then on
  outcome<T> ended;
  end_signal done;
};

inline constexpr const char* instead_of_sync_wait =
    "this thread also waits for I/O and must not block: co_await the task, or call sync_wait on the blocking pool";

}  // namespace detail

/// Runs `work` on `home` and blocks until the work has ended. A worker runs other work of its pool during the wait. If
/// `home` is a loop that is not running yet, this call also waits until another thread runs the loop.
/// Threads: any that may block. Errors: rethrows exceptions of the work; std::system_error with one of three codes. The
/// code is errc::closed if the home has stopped, and errc::stopped if the task ended as stopped. It is
/// errc::would_deadlock on the home's own thread (await the task there instead), in an iteration of any event loop, and
/// on workers that have an event loop.
template <typename T>
auto sync_wait(home& home, task<T> work) -> T {
  if (home.is_current())
    throw std::system_error(make_error_code(errc::would_deadlock),
                            "sync_wait would block the executor on which the task must run: use co_await here");
  detail::expect_to_block(detail::instead_of_sync_wait);
  detail::sync_waiter<T> waiter(home, std::move(work));
  if (!home.try_post(waiter)) throw std::system_error(make_error_code(errc::closed), "sync_wait on a closed home");
  detail::block_until_set(waiter.done, home.id());
  return waiter.ended.take();
}

/// Runs `work` on the calling thread and blocks until it has ended. `work` must not wait for anything that needs a
/// home. Threads: any that may block. Errors: rethrows exceptions of the work; std::system_error with
/// errc::would_deadlock in an iteration of an event loop and on workers that have an event loop.
template <typename T>
auto sync_wait(task<T> work) -> T {
  detail::expect_to_block(detail::instead_of_sync_wait);
  const auto frame = work.release();
  BRAID_EXPECTS(frame, "only a task that has not been awaited yet can be waited for");
  struct owner {
    std::coroutine_handle<detail::task_promise<T>> frame;
    ~owner() { frame.destroy(); }
  } const owned{frame};
  detail::end_signal done;
  frame.promise().attach_root(
      nullptr,
      [](detail::promise_base& self, detail::ending) noexcept -> std::coroutine_handle<> {
        static_cast<detail::end_signal*>(self.context())->set();
        return {};
      },
      &done);
  detail::resume(frame);
  detail::block_until_set(done);
  return frame.promise().result().take();
}

/// Runs the task that a callable returns, as `sync_wait` of a task does. The callable lives until its task has ended.
/// Threads, blocks, errors: the same as for `sync_wait` of a task.
template <detail::task_function Fn>
auto sync_wait(home& home, Fn&& fn) {
  return sync_wait(home, detail::make_task(std::forward<Fn>(fn)));
}
template <detail::task_function Fn>
auto sync_wait(Fn&& fn) {
  return sync_wait(detail::make_task(std::forward<Fn>(fn)));
}

}  // namespace braid
