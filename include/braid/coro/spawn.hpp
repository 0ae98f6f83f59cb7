// braid/coro/spawn.hpp: tasks begun at a home, and waited for by a plain thread.
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

/// Something that a coroutine may await: a task, a sleep, a lock, a descriptor, a value of a channel.
template <typename A>
concept awaitable = requires { typename detail::awaiter_t<A>; } && detail::awaiter<detail::awaiter_t<A>>;

namespace detail {

/// The result of awaiting it.
template <awaitable A>
using await_result_t = decltype(std::declval<detail::awaiter_t<A>&>().await_resume());

/// A callable that returns an awaitable if it is called without arguments.
template <typename Fn>
concept gives_awaitable = !awaitable<Fn> && std::invocable<Fn&> && awaitable<std::invoke_result_t<Fn&>>;

/// A task, or something that can be turned into one: an awaitable that has not been awaited, or a function that returns
/// one.
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

/// Returns a task that awaits `work` and returns its result: the form in which `with_timeout`, `when_all` and
/// `when_any` accept awaitables other than tasks. An awaitable is moved into the task, or referred to if it is an
/// lvalue; pass a function that returns the awaitable if it cannot be moved. A task is returned unchanged.
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

/// Work of which at least one part is not a task yet.
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

/// Keeps the callable and its arguments until their task has ended.
template <typename Fn, typename... Args>
auto call_in_frame(Fn fn, Args... args) -> std::invoke_result_t<Fn&, Args...> {
  co_return co_await std::invoke(fn, std::move(args)...);
}

template <typename Fn, typename... Args>
BRAID_COROUTINE_WRAPPER auto make_task(Fn&& fn, Args&&... args) {
  return call_in_frame<std::decay_t<Fn>, std::decay_t<Args>...>(std::forward<Fn>(fn), std::forward<Args>(args)...);
}

/// How a task that is posted there begins.
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

/// Starts `work` and returns a future of its value. The task runs in a scope of its own, so that `future::request_stop`
/// ends it and everything that it has spawned, and nothing else; the future is ready when all of that has ended.
/// Dropping the future detaches the work. An exception arrives in the future or, if that was dropped before, at the
/// error callback of the home. It does not stop other tasks of the surrounding scope.
///
/// `home` is one of three things. A home (a loop, a serial_executor): the task lives in its root. Another executor,
/// such as a pool: the task gets a home of its own, so that tasks run at the same time, and a worker that waits for a
/// task that has not begun runs its beginning. On its own thread, a scope: the scope joins the task, which begins at
/// once, and the scope does not end before it.
///
/// Threads: any; for a scope, that of its home.
/// Blocks: never. Errors: in the future: what `work` throws; errc::closed if the executor accepts no more work,
/// errc::stopped if the task ended as stopped, or did not begin because of a stop. std::bad_alloc. Cost: one block of
/// memory for jobs; if the task gets a home of its own, another one for that.
template <typename T>
auto spawn(home& home, spawn_options options, task<T> work) -> future<T> {
  return detail::task_state<T>::post(home, &detail::task_state<T>::begin_at_home, std::move(options), std::move(work))
      .ahead;
}
template <typename T>
auto spawn(executor& executor, spawn_options options, task<T> work) -> future<T> {
  return detail::task_state<T>::post(executor, &detail::task_state<T>::begin_alone, std::move(options), std::move(work))
      .ahead;
}
template <typename T>
auto spawn(scope& scope, spawn_options options, task<T> work) -> future<T> {
  return detail::task_state<T>::spawn(scope, std::move(options), std::move(work));
}
template <detail::task_place Where, typename T>
auto spawn(Where& where, task<T> work) -> future<T> {
  return spawn(where, spawn_options(), std::move(work));
}

/// Does the same for a callable that returns a task: `spawn(where, [text]() -> task<int> { … })`. It is moved into the
/// frame with its arguments and kept until the task has ended, so the task may use its captures.
template <detail::task_place Where, typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(Where& where, Fn&& fn, Args&&... args) {
  return spawn(where, spawn_options(), detail::make_task(std::forward<Fn>(fn), std::forward<Args>(args)...));
}
template <detail::task_place Where, typename Fn, typename... Args>
  requires detail::task_function<Fn, Args...>
auto spawn(Where& where, spawn_options options, Fn&& fn, Args&&... args) {
  return spawn(where, std::move(options), detail::make_task(std::forward<Fn>(fn), std::forward<Args>(args)...));
}

/// Spawns as `spawn` does, but reports a refusal at once.
/// Threads: any. Errors: errc::closed, and then `work` has been destroyed without having begun.
template <std::derived_from<executor> Where, typename T>
[[nodiscard]] auto try_spawn(Where& where, task<T> work) -> result<future<T>> {
  auto tried = detail::task_state<T>::post(where, detail::begin_on<T>(where), spawn_options(), std::move(work));
  if (!tried.accepted) return fail(where.why_refused());
  return std::move(tried.ahead);
}

/// Starts `work` without a handle. An exception goes to the error callback of its home; in a scope it stops the other
/// tasks and is rethrown by the scope's `join`.
/// Threads, cost: as `spawn`. Errors: errc::closed, or errc::stopped in a scope that is stopped; then `work` has been
/// destroyed without having begun.
template <std::derived_from<executor> Where>
[[nodiscard]] auto post(Where& where, task<void> work) -> result<void> {
  using state = detail::task_state<void>;
  const auto posted = state::post(where, detail::begin_on<void>(where), spawn_options(), std::move(work), true);
  if (!posted.accepted) return fail(where.why_refused());
  return {};
}
[[nodiscard]] inline auto post(scope& scope, task<void> work) -> result<void> {
  if (scope.stop().requested()) return fail(scope.stop().reason());
  scope.spawn(std::move(work));
  return {};
}
template <detail::task_place Where, detail::task_function Fn>
[[nodiscard]] auto post(Where& where, Fn&& fn) -> result<void> {
  return post(where, detail::make_task(std::forward<Fn>(fn)));
}

namespace detail {

/// Lives on the stack of the waiting thread; everything but `done` belongs to the home meanwhile.
template <typename T>
struct sync_waiter : job {
  sync_waiter(home& h, task<T> w) : job(&act), where(h), work(std::move(w)), delivery(deliver(*this)) {}

  static void act(job& self, action what) {
    auto& waiter = static_cast<sync_waiter&>(self);
    if (what == action::run && !waiter.where.root().stop().requested()) {
      waiter.where.root().spawn(std::move(waiter.delivery));
    } else {
      waiter.work = {};  // dropped, or too late: it counts as stopped
      waiter.done.set();
    }
  }

  /// The frame of the work is destroyed before the waiting thread continues.
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
    "this thread waits for I/O as well: co_await the task, or sync_wait on the blocking pool";

}  // namespace detail

/// Runs `work` on `home` and blocks until it has ended. A worker continues with other work of its pool meanwhile. If
/// `home` is a loop that does not run yet, this waits until another thread runs it.
/// Threads: any that may block. Errors: what it throws; std::system_error with errc::closed if the home has stopped,
/// errc::would_deadlock on the home's own thread (await the task there), in an iteration of any event loop and on
/// workers that have one, errc::stopped if the task ended as stopped.
template <typename T>
auto sync_wait(home& home, task<T> work) -> T {
  if (home.is_current())
    throw std::system_error(make_error_code(errc::would_deadlock),
                            "sync_wait on its own home: co_await the task there");
  detail::expect_to_block(detail::instead_of_sync_wait);
  detail::sync_waiter<T> waiter(home, std::move(work));
  if (!home.try_post(waiter)) throw std::system_error(make_error_code(errc::closed), "sync_wait on a closed home");
  detail::block_until_set(waiter.done, home.id());
  return waiter.ended.take();
}

/// Runs `work`, which waits for nothing that needs a home, on the calling thread, and blocks until it has ended, as
/// above. Threads: any that may block. Errors: what it throws; std::system_error with errc::would_deadlock in an
/// iteration of an event loop and on workers that have one.
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

/// Does the same for callables that return tasks; a callable lives until its task has ended.
/// Threads, blocks, errors: as above.
template <detail::task_function Fn>
auto sync_wait(home& home, Fn&& fn) {
  return sync_wait(home, detail::make_task(std::forward<Fn>(fn)));
}
template <detail::task_function Fn>
auto sync_wait(Fn&& fn) {
  return sync_wait(detail::make_task(std::forward<Fn>(fn)));
}

}  // namespace braid
