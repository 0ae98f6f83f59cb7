// braid/coro/detail/fork_point.hpp: a point in a coroutine at which it forks: the entry in the deque, and the join.
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
/// children. The eager child runs at once, and its continuation (the next child or, after the last one, the coroutine)
/// is in the worker's deque meanwhile, where thieves may take it. The thread that ends the child continues with the
/// continuation, unless a thief has taken it.
/// Threads: one at a time has the continuation. Lifetime: until all children have ended.
/// Protocol: docs/design/fork_task.md
class BRAID_API fork_point : public fork_record {
 public:
  using is_computed = void;

  /// Does the rest: starts the next child or joins. Returns the coroutine to resume, or null.
  using next_fn = std::coroutine_handle<> (*)(fork_point& self) noexcept;

 protected:
  fork_point() noexcept : fork_record(&run_continuation) {}
  ~fork_point() = default;

  void come_from(std::coroutine_handle<> parent) noexcept { parent_ = parent; }

  /// Gets a child ready to run ahead of the rest, which is `Next`. The rest may be with others when this returns.
  template <typename Fork, next_fn Next>
  void run_eager_child(fork_promise_base& child) noexcept {
    next_ = Next;
    child.attach(&eager_child_ended<Fork, Next>, this);
    worker* const self = worker_of_thread;
    if (self == nullptr || self->has_enough_forks() || !offer(*self)) child.attach(&ended_before<Fork, Next>, this);
  }

  /// Does the same for the last child, which is itself the rest.
  template <typename Fork>
  void run_last(fork_promise_base& child) noexcept {
    child.attach(&ended_last<Fork>, this);
  }

  /// Called when the rest is done. Returns the parent if all children have ended.
  [[nodiscard]] auto join() noexcept -> std::coroutine_handle<> {
    if (balance_.is_one()) [[likely]]
      return parent_;
    return join_taken();
  }

  /// A child, or the making of one, has failed; those that have not begun will not.
  void fail(const std::exception_ptr& thrown) noexcept;
  [[nodiscard]] auto has_failed() const noexcept -> bool { return failed_.load(relaxed); }

  /// Errors: what a child threw, the first that did. After the join.
  void rethrow() {
    if (thrown_ != nullptr) [[unlikely]]
      std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  static void run_continuation(fork_record& self) noexcept;

  /// Returns false if the worker has no room, or if it is the only worker.
  [[nodiscard]] auto offer(worker& self) noexcept -> bool { return self.exchange != nullptr && push_fork(self, *this); }

  // The ends of children. `Fork::close` checks how a child has ended, may free it, and returns its fork.

  /// The rest was never in the deque.
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
