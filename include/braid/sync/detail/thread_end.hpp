// braid/sync/detail/thread_end.hpp: a function that is called at the end of each thread that has registered for it.
#pragma once

#include <pthread.h>

namespace braid::detail {

/// A function that is called when a thread ends, like the destructor of a thread_local object. If glibc cannot allocate
/// memory to register such a destructor, glibc ends the process. Therefore, this class uses a POSIX key instead.
/// Setting a key needs no memory, or reports an error. The function runs after the destructors of thread_local objects.
/// It does not run for the thread that ends the process by `exit` or by returning from `main`.
/// Lifetime: static; it is never destroyed, because threads may end after the static objects of the process.
class thread_end {
 public:
  explicit thread_end(void (*call)(void*)) noexcept : has_key_(::pthread_key_create(&key_, call) == 0) {}
  thread_end(const thread_end&) = delete;
  auto operator=(const thread_end&) -> thread_end& = delete;
  ~thread_end() = default;

  /// Returns whether threads can register. Returns false if the process has too many keys, or if this object was not
  /// constructed yet.
  [[nodiscard]] auto can_ask() const noexcept -> bool { return has_key_; }

  /// Registers the calling thread: when it ends, the function is called with `context`, which must not be null. Returns
  /// false if the registration is not possible; the function is then not called.
  /// Threads: any.
  [[nodiscard]] auto ask(void* context) const noexcept -> bool {
    return has_key_ && ::pthread_setspecific(key_, context) == 0;
  }

 private:
  ::pthread_key_t key_ = 0;
  bool has_key_;
};

}  // namespace braid::detail
