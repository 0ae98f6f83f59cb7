// braid/coro/bridge.hpp: where futures and tasks meet: awaiting a future, and a future of what a task gives.
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/detail/task_state.hpp>
#include <braid/coro/detail/waiter.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>
#include <braid/task/promise.hpp>  // code that awaits futures makes some

#include <exception>
#include <mutex>
#include <utility>

namespace braid {

namespace detail {

/// Stands between a future, whose consumer it is, and the task that waits: either may go first.
template <typename T>
class awaited_future final : public continuation {
 public:
  explicit awaited_future(future_state<T>& from) noexcept : continuation(nullptr), from_(&from) {}

  void fire(cascade& /*more*/) noexcept override {
    bool is_last = false;
    {
      wake_list woken;
      const std::lock_guard guard(lock);
      is_last = task_left_;
      settled = true;
      waiting.pop_all(woken);
    }
    if (is_last) destroy();
  }

  void leave() noexcept {
    bool is_last = false;
    {
      const std::lock_guard guard(lock);
      task_left_ = true;
      is_last = settled;
    }
    if (is_last) destroy();
  }

  /// Requires that it has settled.
  auto take() -> T {
    if (from_->how() == verdict::failure) std::rethrow_exception(from_->take_failure());
    return from_->take();
  }

  std::mutex lock;  // around `settled`, `waiting` and `task_left_`
  bool settled = false;
  wait_queue waiting;  // the task

 private:
  void destroy() noexcept {
    from_->drop_reference();
    destroy_state(*this);
  }

  future_state<T>* from_;
  bool task_left_ = false;
};

template <typename T>
class future_awaiter final : public queue_awaiter<future_awaiter<T>> {
 public:
  explicit future_awaiter(awaited_future<T>& of) noexcept : queue_awaiter<future_awaiter>(of.lock), of_(&of) {}
  ~future_awaiter() { of_->leave(); }

  auto await_resume() -> T { return of_->take(); }

  [[nodiscard]] auto try_take(wake_list& /*woken*/) const noexcept -> bool { return of_->settled; }
  [[nodiscard]] auto queue() const noexcept -> wait_queue& { return of_->waiting; }

 private:
  awaited_future<T>* of_;
};

}  // namespace detail

/// `co_await std::move(future)` waits for the value and takes it; the task goes on at home. A task that is stopped goes
/// without the result, as if the future had been dropped. Errors: rethrows what the future failed with, such as
/// errc::broken_promise. Cost: one block of memory for jobs.
template <typename T>
[[nodiscard]] auto operator co_await(future<T>&& from) {
  auto* const state = detail::future_access::state_of(from);
  BRAID_EXPECTS(state != nullptr, "this future has no state: it was default-made, moved from, or used up");
  auto& between = detail::make_state<detail::awaited_future<T>>(*state);
  const auto own = detail::future_access::consume(from);
  detail::cascade more;
  own.state->consume_by(between, own.others, more);
  more.run();
  return detail::future_awaiter<T>(between);
}

/// Runs `work` in the root of `where` and gives a future of its value. Dropping the future detaches the work.
/// Threads: any. Errors: in the future: what `work` throws; errc::closed where the home does not run, errc::stopped
/// where the task ended as stopped, or did not start for a stop. Cost: one block of memory for jobs.
template <typename T>
auto spawn_future(home& where, task<T> work) -> future<T> {
  return detail::task_state<T>::post(where, &detail::task_state<T>::begin_at_home, std::move(work));
}

/// Runs `work` in `all`, and gives a future of its value. What it throws goes there, and does not stop the others.
/// Threads: the home's. Errors, cost: as above.
template <typename T>
auto spawn_future(scope& all, task<T> work) -> future<T> {
  return detail::task_state<T>::spawn(all, std::move(work));
}

/// Runs `work` on the threads of an executor that is no home, in a home of its own there (see `strand_home`). Tasks
/// that are spawned like this run at the same time as others; a worker that waits for one that has not begun runs its
/// beginning. Threads: any. Errors: as above; std::bad_alloc where there is no memory for the home. Cost: as above; the
/// home is made on the thread where the task begins, from the memory for jobs there.
template <typename T>
auto spawn_future(executor& where, task<T> work) -> future<T> {
  return detail::task_state<T>::post(where, &detail::task_state<T>::begin_alone, std::move(work));
}

}  // namespace braid
