// braid/sync/detail/thread_end.hpp: a function that is called at the end of each thread that has asked for it.
#pragma once

#include <pthread.h>

namespace braid::detail {

/// What the destructor of a thread_local object is for, without its registration: glibc ends the process where it finds
/// no memory for that. A key of POSIX threads needs none, or says that there is none.
/// The function runs after the destructors of thread_local objects. For the thread that ends the process by `exit` or
/// by its return from `main` it does not run.
/// Lifetime: static; it is never destroyed, since threads may end after the static objects of the process.
class thread_end {
 public:
  explicit thread_end(void (*call)(void*)) noexcept : has_key_(::pthread_key_create(&key_, call) == 0) {}
  thread_end(const thread_end&) = delete;
  auto operator=(const thread_end&) -> thread_end& = delete;
  ~thread_end() = default;

  /// False where the process has too many keys, and before the object is made.
  [[nodiscard]] auto can_ask() const noexcept -> bool { return has_key_; }

  /// From now on the end of the calling thread calls the function with `context`, which is not null. False where that
  /// cannot be had: then nothing is called. Threads: any.
  [[nodiscard]] auto ask(void* context) const noexcept -> bool {
    return has_key_ && ::pthread_setspecific(key_, context) == 0;
  }

 private:
  ::pthread_key_t key_ = 0;
  bool has_key_;
};

}  // namespace braid::detail
