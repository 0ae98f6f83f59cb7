// src/coro/waiter.cpp: stops and wakes of coroutines that wait in a queue.
#include <braid/coro/detail/waiter.hpp>

namespace braid::detail {

auto waiter::withdraw(awaiter_base& self) noexcept -> withdrawal {
  auto& waiting = static_cast<waiter&>(self);
  const std::lock_guard guard(waiting.lock());
  if (!waiting.queued_) return withdrawal::too_late;
  waiting.queued_ = false;
  static_cast<waiter_hook&>(waiting).unlink();
  return withdrawal::done;
}

wake_list::~wake_list() {
  while (waiter* const granted = list_.pop_front()) granted->complete_from_elsewhere();
}

}  // namespace braid::detail
