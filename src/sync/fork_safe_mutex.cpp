// src/sync/fork_safe_mutex.cpp: keeps the list of mutexes that a fork handler locks before a fork and unlocks after it.
#include <braid/sync/detail/fork_safe_mutex.hpp>

#include "../platform/system.hpp"

#include <braid/base/detail/never_destroyed.hpp>

#include <functional>
#include <mutex>

namespace braid::detail {
namespace {

/// The list of all fork-safe mutexes. The list's own mutex is also held during a fork, so that no thread can add a
/// mutex that the fork handler has not locked.
struct known_locks {
  constant_mutex mutex;
  fork_safe_mutex* first = nullptr;  // the first mutex of the list; under its lock
};

constinit never_destroyed<known_locks> locks;

}  // namespace

struct fork_handlers {
  static void before() noexcept {
    locks.value.mutex.lock();
    for (fork_safe_mutex* each = locks.value.first; each != nullptr; each = each->next_) each->mutex_.lock();
  }
  /// Unlocks all mutexes after a fork, in the parent and in the child. The child's only thread is the thread that has
  /// locked these mutexes.
  static void after() noexcept {
    for (fork_safe_mutex* each = locks.value.first; each != nullptr; each = each->next_) each->mutex_.unlock();
    locks.value.mutex.unlock();
  }
};

namespace {

/// The handlers are registered when the library is loaded, because a thread may lock its first mutex while another
/// thread forks.
[[maybe_unused]] const int lock_fork_handlers =
    call_at_fork(&fork_handlers::before, &fork_handlers::after, &fork_handlers::after);

}  // namespace

/// Adds the mutex to the list if it is not in the list yet. A thread that has not seen the result of an earlier call
/// may call this function again.
void fork_safe_mutex::enter_list() {
  {
    const std::lock_guard guard(locks.value.mutex);
    fork_safe_mutex** place = &locks.value.first;  // sorted by address: locks are always acquired in the same order
    while (*place != nullptr && std::less<>()(*place, this)) place = &(*place)->next_;
    if (*place != this) {
      next_ = *place;
      *place = this;
    }
  }
  // edge fork_safe_mutex.listed: publish the list entry, so that a thread that sees the flag sees the mutex in the list
  is_listed_.store(true, release);
}

void fork_safe_mutex::leave_list() noexcept {
  const std::lock_guard guard(locks.value.mutex);
  fork_safe_mutex** place = &locks.value.first;
  while (*place != this) place = &(*place)->next_;
  *place = next_;
}

}  // namespace braid::detail
