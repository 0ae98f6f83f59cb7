// src/sync/fork_safe_mutex.cpp: the list of locks that pthread_atfork locks before a fork and releases on both sides.
#include <braid/sync/detail/fork_safe_mutex.hpp>

#include <braid/base/detail/never_destroyed.hpp>

#include <functional>
#include <mutex>

#include <pthread.h>

namespace braid::detail {
namespace {

/// The lock around the list is held from before the fork until after it, too: so no thread begins to use a lock
/// meanwhile that the fork has not taken.
struct known_locks {
  std::mutex mutex;
  fork_safe_mutex* first = nullptr;  // under it
};

constinit never_destroyed<known_locks> locks;

}  // namespace

struct fork_handlers {
  static void before() noexcept {
    locks.value.mutex.lock();
    for (fork_safe_mutex* each = locks.value.first; each != nullptr; each = each->next_) each->mutex_.lock();
  }
  /// Called on both sides; in the child, by the thread that has locked them in the parent.
  static void after() noexcept {
    for (fork_safe_mutex* each = locks.value.first; each != nullptr; each = each->next_) each->mutex_.unlock();
    locks.value.mutex.unlock();
  }
};

namespace {

/// When the library is loaded: a thread may take its first lock while another one forks.
[[maybe_unused]] const int lock_fork_handlers =
    ::pthread_atfork(&fork_handlers::before, &fork_handlers::after, &fork_handlers::after);

}  // namespace

/// A thread that has not seen the end of this call may call it again, so the list is searched for the lock first.
void fork_safe_mutex::enter_list() {
  {
    const std::lock_guard guard(locks.value.mutex);
    fork_safe_mutex** place = &locks.value.first;  // by address: two locks are always taken in the same order
    while (*place != nullptr && std::less<>()(*place, this)) place = &(*place)->next_;
    if (*place != this) {
      next_ = *place;
      *place = this;
    }
  }
  // edge fork_safe_mutex.listed: publish, a thread that sees it sees the lock in the list
  is_listed_.store(true, release);
}

void fork_safe_mutex::leave_list() noexcept {
  const std::lock_guard guard(locks.value.mutex);
  fork_safe_mutex** place = &locks.value.first;
  while (*place != this) place = &(*place)->next_;
  *place = next_;
}

}  // namespace braid::detail
