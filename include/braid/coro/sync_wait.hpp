// braid/coro/sync_wait.hpp: waiting for a task from a plain thread.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/detail/end_signal.hpp>
#include <braid/task/detail/executor_id.hpp>

#include <coroutine>
#include <system_error>
#include <utility>

namespace braid {

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

  /// The frame of the work is gone before the waiting thread goes on.
  static auto deliver(sync_waiter& waiter) -> task<void> {
    waiter.ended = co_await as_outcome(std::move(waiter.work));
    waiter.done.set();
  }

  home& where;
  task<T> work;
  task<void> delivery;  // made before anything is posted: nothing can fail from then on
  outcome<T> ended;
  end_signal done;
};

inline constexpr const char* instead_of_sync_wait =
    "this thread waits for I/O as well: co_await the task, or sync_wait on the blocking pool";

/// As `sync_wait`. `needs`: an executor without threads whose jobs the task may wait for, or `where`.
template <typename T>
auto sync_wait_with(home& where, executor_id needs, task<T> work) -> T {
  if (where.is_current())
    throw std::system_error(make_error_code(errc::would_deadlock),
                            "sync_wait on its own home: co_await the task there");
  expect_to_block(instead_of_sync_wait);
  sync_waiter<T> waiter(where, std::move(work));
  if (!where.try_post(waiter)) throw std::system_error(make_error_code(errc::closed), "sync_wait on a closed home");
  block_until_set(waiter.done, needs);
  return waiter.ended.take();
}

}  // namespace detail

/// Runs `work` on `where` and blocks until it has ended; on a worker the other work of its pool goes on meanwhile.
/// Threads: any that may block.
/// Errors: what it throws; std::system_error with errc::closed where the home does not run, errc::would_deadlock on
/// the home's own thread (await the task there), in an iteration of any event loop and on workers that have one,
/// errc::stopped where the task ended as stopped.
template <typename T>
auto sync_wait(home& where, task<T> work) -> T {
  return detail::sync_wait_with(where, where.id(), std::move(work));
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

/// The same for callables that give tasks; a callable lives until its task has ended. Threads, blocks, errors: as
/// above.
template <detail::task_function Fn>
auto sync_wait(home& where, Fn&& fn) {
  return sync_wait(where, detail::task_of(std::forward<Fn>(fn)));
}
template <detail::task_function Fn>
auto sync_wait(Fn&& fn) {
  return sync_wait(detail::task_of(std::forward<Fn>(fn)));
}

}  // namespace braid
