// src/coro/waiter.cpp: stops and wakes coroutines that wait in a queue.
#include <braid/coro/detail/waiter.hpp>

#include <braid/coro/synchronization.hpp>

#include <cstddef>
#include <mutex>

namespace braid {
namespace detail {

auto waiter::withdraw(awaiter_base& self) noexcept -> withdrawal {
  auto& waiting = static_cast<waiter&>(self);
  const std::lock_guard guard(waiting.lock());
  if (!waiting.queued_) return withdrawal::too_late;
  waiting.queued_ = false;
  static_cast<waiter_hook&>(waiting).unlink();
  return withdrawal::done;
}

void wake_list::wake() noexcept {
  while (waiter* const granted = list_.pop_front()) granted->complete_from_elsewhere();
}

}  // namespace detail

/// Grants permits to the oldest waiting tasks. If no task waits, the remaining permits become available.
void async_semaphore::hand_over(std::size_t count) noexcept {
  detail::wake_list woken;
  const std::lock_guard guard(lock_);
  for (; count > 0; --count) {
    detail::waiter* const oldest = waiting_.pop();
    if (oldest == nullptr) break;
    record(oldest->task());
    woken.add(*oldest);
  }
  if (waiting_.empty()) permits_.add_to_rest(count);
}

}  // namespace braid
