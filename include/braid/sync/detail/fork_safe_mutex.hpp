// braid/sync/detail/fork_safe_mutex.hpp: a mutex that is always free in the child process after a fork.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/small_mutex.hpp>

#include <mutex>
#include <type_traits>

namespace braid::detail {

/// A mutex type that can be constructed at compile time.
using constant_mutex = std::conditional_t<has_constant_mutex, std::mutex, small_mutex>;

/// A mutex for state of the whole process. A fork waits until no thread holds the mutex. So the mutex is free and the
/// guarded state is consistent in the child process, which has only the forking thread. Lock it with std::lock_guard.
/// It may be used before the constructors of static objects have run. Requires that a thread that holds it locks no
/// other fork_safe_mutex and does not fork. Threads: any. Blocks: while another thread holds it, and during a fork.
/// Cost: the same as for a std::mutex, and a load.
class BRAID_API fork_safe_mutex {
 public:
  constexpr fork_safe_mutex() noexcept = default;
  fork_safe_mutex(const fork_safe_mutex&) = delete;
  auto operator=(const fork_safe_mutex&) -> fork_safe_mutex& = delete;
  ~fork_safe_mutex() {
    if (is_listed_.load(relaxed)) leave_list();
  }

  void lock() {
    // edge fork_safe_mutex.listed: observe this mutex in the list of mutexes that a fork locks
    if (!is_listed_.load(acquire)) [[unlikely]]
      enter_list();
    mutex_.lock();
  }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  friend struct fork_handlers;

  void enter_list();
  void leave_list() noexcept;

  constant_mutex mutex_;
  atomic<bool> is_listed_{false};    // set by each thread that has found it in the list, or put it there
  fork_safe_mutex* next_ = nullptr;  // the next mutex in the list; under its lock
};

}  // namespace braid::detail
