// src/coro/fork_point.cpp: implements the slow paths of coroutines that fork: stolen continuations, failures, and
// starting on a pool.
#include <braid/coro/detail/fork_point.hpp>

#include <braid/coro/detail/fork_root.hpp>
#include <braid/task/detail/failure_of.hpp>

#include <cstdint>

namespace braid::detail {

/// Runs the parent's continuation after a fork. Called by a thief, or by another frame of the same worker that empties
/// the worker's deque.
void fork_point::run_continuation(fork_record& self) noexcept {
  auto& fork = static_cast<fork_point&>(self);
  fork.balance_.took();
  resume(fork.next_(fork));
}

/// Ends a child whose parent's continuation is not the newest entry of the deque, because a thief has taken it or will
/// take it. If another entry was popped instead, pushes that entry back.
auto fork_point::ended_alone(worker& self, fork_record* newest) noexcept -> std::coroutine_handle<> {
  if (newest != nullptr) {
    static_cast<void>(self.forks.try_push_privately(*newest));  // there is room: it was popped just now
    self.forking.leaves_forks = true;
  }
  return balance_.child_ended() ? parent_ : std::coroutine_handle<>{};
}

auto fork_point::join_taken() noexcept -> std::coroutine_handle<> {
  const std::coroutine_handle<> parent = parent_;  // the fork may be destroyed as soon as the continuation has ended
  return balance_.continuation_ended() ? parent : std::coroutine_handle<>{};
}

void fork_point::fail(const std::exception_ptr& thrown) noexcept {
  if (!failed_.exchange(true, relaxed)) thrown_ = thrown;
}

void fork_root::run_here() noexcept {
  worker* const self = worker_of_thread;
  if (self == nullptr || self->exchange == nullptr) return resume(frame_);  // nothing is left to others
  const std::uint32_t position = self->forks.position();
  resume(frame_);
  run_forks_since(*self, position);
  if (!ended.is_set()) self->exchange->wait_for(*self, *this);
}

void fork_root::act(job& self, action requested) {
  auto& root = static_cast<fork_root&>(self);
  if (requested == action::run) return resume(root.frame_);
  root.promise_.fail(failure_of(errc::dropped));
  root.end_(root);
}

auto fork_root::has_ended(fork_promise_base& promise) noexcept -> std::coroutine_handle<> {
  auto& root = *static_cast<fork_root*>(promise.context());
  root.end_(root);
  return {};
}

}  // namespace braid::detail
