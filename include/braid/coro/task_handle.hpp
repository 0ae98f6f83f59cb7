// braid/coro/task_handle.hpp: join handles: spawned tasks that any thread can name, stop and await.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/handled_task.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/outcome.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/task_info.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/executor.hpp>

#include <memory>
#include <string>
#include <utility>

namespace braid {

/// Join handle of a spawned task: asks it to stop, awaits it, knows its number and name. Dropping the handle detaches
/// the task: it goes on as long as its scope lets it, and what it throws then is reported at its home. Its scope joins
/// it either way, and what it throws does not stop the others there.
/// Threads: any, one at a time.
template <typename T = void>
class [[nodiscard]] task_handle {
 public:
  task_handle() = default;
  explicit task_handle(detail::handle_end<T> end) noexcept : end_(std::move(end)) {}

  [[nodiscard]] explicit operator bool() const noexcept { return end_.get() != nullptr; }

  /// Requires a task, as everything that follows.
  [[nodiscard]] auto id() const noexcept -> task_id { return state().info().id; }
  [[nodiscard]] auto name() const noexcept -> const std::string& { return state().info().name; }

  /// Stops the task at its next leaf, or before it begins. Repeated calls change nothing; what it gives in spite of it
  /// counts.
  void request_stop(errc reason = errc::stopped) noexcept { state().request_stop(reason); }

  /// Whether it has ended, and what it held is gone.
  [[nodiscard]] auto is_done() const noexcept -> bool { return state().is_done(); }

  /// `co_await std::move(handle)` waits for the end and gives the value; a stop of the awaiter detaches the task.
  /// Errors: rethrows what the task threw; std::system_error with errc::stopped where it ended as stopped, with
  /// errc::closed where its home did not take it.
  auto operator co_await() && noexcept {
    BRAID_EXPECTS(*this, "a handle without a task cannot be awaited");
    return detail::handled_awaiter<T, T>(std::move(end_));
  }

  /// The same for an outcome<T>: `co_await std::move(handle).ended()`.
  [[nodiscard]] auto ended() && noexcept {
    BRAID_EXPECTS(*this, "a handle without a task cannot be awaited");
    return detail::handled_awaiter<T, outcome<T>>(std::move(end_));
  }

 private:
  [[nodiscard]] auto state() const noexcept -> detail::handled_task<T>& {
    BRAID_EXPECTS(*this, "this handle has no task");
    return *end_.get();
  }

  detail::handle_end<T> end_;
};

/// Spawns `work` into `in`. Threads: the home's. Cost: a block of memory for both, and a scope.
template <typename T>
auto spawn(scope& in, task_options how, task<T> work) -> task_handle<T> {
  auto state = detail::make_handled<T>(std::move(how.name));
  task_handle<T> made{detail::handle_end<T>(state)};
  in.spawn(detail::run_handled<T>(detail::task_end<T>(std::move(state)), std::move(work)));
  return made;
}
template <typename T>
auto spawn(scope& in, task<T> work) -> task_handle<T> {
  return spawn(in, task_options(), std::move(work));
}

namespace detail {

/// Spawns a task by what `start` does with its handled_start: false where it refuses, and has destroyed it.
template <typename T, typename Start>
auto spawn_by(task_options how, task<T> work, Start start) -> task_handle<T> {
  auto state = make_handled<T>(std::move(how.name));
  task_handle<T> made{handle_end<T>(state)};
  if (!start(handled_start<T>(task_end<T>(state), std::move(work))))
    state->ended.set_exception(failure_of(errc::closed));
  return made;
}

}  // namespace detail

/// Spawns `work` into the root of a home. Threads: any. Errors: at the await, errc::closed where the home does not run;
/// errc::stopped where it has no memory to begin, which is reported there.
template <typename T>
auto spawn(home& where, task_options how, task<T> work) -> task_handle<T> {
  return detail::spawn_by(std::move(how), std::move(work), [&where](detail::handled_start<T> start) {
    auto begin = [&where, start = std::move(start)]() mutable { where.root().spawn(std::move(start)()); };
    return post(where, std::move(begin)).has_value();
  });
}
template <typename T>
auto spawn(home& where, task<T> work) -> task_handle<T> {
  return spawn(where, task_options(), std::move(work));
}

}  // namespace braid
