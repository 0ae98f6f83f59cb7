// braid/coro/detail/fork_point.hpp: a point at which a coroutine forks: its entry in the deque, and the join of its
// children.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/fork_promise.hpp>
#include <braid/coro/detail/join_balance.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/worker.hpp>

#include <coroutine>
#include <exception>
#include <utility>

namespace braid::detail {

/// A fork with continuation stealing, in Cilk's order. It is part of the frame of a coroutine that awaits several
/// children. The eager child runs at once. The continuation (the next child or, after the last child, the coroutine
/// itself) is pushed to the worker's deque, from which other workers may steal it. The thread on which the child ends
/// runs the continuation, unless another worker has stolen it.
/// Threads: one at a time owns the continuation. Lifetime: must exist until all children have ended.
/// Protocol: docs/design/fork_task.md
class BRAID_API fork_point : public fork_record {
 public:
  using is_computed = void;

  /// Runs the continuation: starts the next child, or joins the children if there is no next child. Returns the
  /// coroutine to resume, or null.
  using next_fn = std::coroutine_handle<> (*)(fork_point& self) noexcept;

 protected:
  fork_point() noexcept : fork_record(&run_continuation) {}
  ~fork_point() = default;

  void come_from(std::coroutine_handle<> parent) noexcept { parent_ = parent; }

  /// Prepares a child to run before the continuation `Next`, and pushes the continuation to the deque. Another worker
  /// may already run the continuation when this returns.
  template <typename Fork, next_fn Next>
  void run_eager_child(fork_promise_base& child) noexcept {
    next_ = Next;
    child.attach(&eager_child_ended<Fork, Next>, this);
    worker* const self = worker_of_thread;
    if (self == nullptr || self->has_enough_forks() || !offer(*self)) child.attach(&ended_before<Fork, Next>, this);
  }

  /// Prepares the last child. Nothing is pushed, because no child remains that could run in parallel.
  template <typename Fork>
  void run_last(fork_promise_base& child) noexcept {
    child.attach(&ended_last<Fork>, this);
  }

  /// Called when the continuation has ended. Returns the parent if all children have ended.
  [[nodiscard]] auto join() noexcept -> std::coroutine_handle<> {
    if (balance_.is_one()) [[likely]]
      return parent_;
    return join_taken();
  }

  /// Records that a child threw an exception or could not be created. Children that have not begun will not start.
  void fail(const std::exception_ptr& thrown) noexcept;
  [[nodiscard]] auto has_failed() const noexcept -> bool { return failed_.load(relaxed); }

  /// Rethrows the first exception of a child. Called after the join.
  void rethrow() {
    if (thrown_ != nullptr) [[unlikely]]
      std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  static void run_continuation(fork_record& self) noexcept;

  /// Pushes the continuation to the deque. Returns false if the deque is full, or if the pool has only one worker.
  [[nodiscard]] auto offer(worker& self) noexcept -> bool { return self.exchange != nullptr && push_fork(self, *this); }

  // The functions that run at the end of a child. `Fork::close` checks how the child has ended, may free the child, and
  // returns the fork to which the child belongs.

  /// Ends a child whose continuation was never in the deque.
  template <typename Fork, next_fn Next>
  static auto ended_before(fork_promise_base& child) noexcept -> std::coroutine_handle<> {
    return Next(Fork::close(child));
  }
  template <typename Fork, next_fn Next>
  static auto eager_child_ended(fork_promise_base& child) noexcept -> std::coroutine_handle<> {
    fork_point& fork = Fork::close(child);
    worker& self = *worker_of_thread;
    fork_record* const newest = self.forks.pop();
    if (newest == &fork) [[likely]] {
      self.forking.pace.came_back();
      return Next(fork);
    }
    return fork.ended_alone(self, newest);
  }
  template <typename Fork>
  static auto ended_last(fork_promise_base& child) noexcept -> std::coroutine_handle<> {
    return Fork::close(child).join();
  }

  auto ended_alone(worker& self, fork_record* newest) noexcept -> std::coroutine_handle<>;
  auto join_taken() noexcept -> std::coroutine_handle<>;

  atomic<bool> failed_{false};  // set by the first child that fails, which writes `thrown_` before it ends
  next_fn next_ = nullptr;      // written by the thread that has the continuation, before it is in the deque
  std::coroutine_handle<> parent_;
  join_balance balance_;
  std::exception_ptr thrown_;
};

}  // namespace braid::detail
