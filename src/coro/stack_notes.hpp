// src/coro/stack_notes.hpp: tells the sanitizers when a thread switches to another stack.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define BRAID_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define BRAID_THREAD_SANITIZER 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BRAID_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define BRAID_THREAD_SANITIZER 1
#endif
#endif

#if defined(BRAID_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(BRAID_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace braid::detail {

/// The data that the address sanitizer needs about a stack: the stack's address range, and the sanitizer's saved state.
struct stack_note {
  const void* lowest = nullptr;
  std::size_t bytes = 0;
  void* put_aside = nullptr;
};

/// Announces a switch from one stack to another. Called directly before the switch. `from` is null if no thread will
/// return to the old stack.
inline void note_departure([[maybe_unused]] stack_note* from, [[maybe_unused]] const stack_note& to) noexcept {
#if defined(BRAID_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(from != nullptr ? &from->put_aside : nullptr, to.lowest, to.bytes);
#endif
}

/// Reports that the switch is done. Called directly after the switch, on the new stack. Stores the address range of the
/// previous stack.
inline void note_arrival([[maybe_unused]] const stack_note& here, [[maybe_unused]] stack_note& left) noexcept {
#if defined(BRAID_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(here.put_aside, &left.lowest, &left.bytes);
#endif
}

/// Tells the address sanitizer that a stack's memory holds no frames any more, although its functions did not return.
inline void forget_frames([[maybe_unused]] const void* lowest, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(BRAID_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(lowest, bytes);
#endif
}

/// The thread sanitizer's data about a fiber. The sanitizer treats each fiber as a separate thread.
class fiber_note {
 public:
#if defined(BRAID_THREAD_SANITIZER)
  fiber_note() noexcept : own_(__tsan_create_fiber(0)) {}
  ~fiber_note() { __tsan_destroy_fiber(own_); }
  void enter() noexcept {
    outer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own_, 0);
  }
  void leave() const noexcept { __tsan_switch_to_fiber(outer_, 0); }

 private:
  void* own_;
  void* outer_ = nullptr;

 public:
#else
  fiber_note() = default;
  void enter() noexcept {}
  void leave() const noexcept {}
#endif
  fiber_note(const fiber_note&) = delete;
  auto operator=(const fiber_note&) -> fiber_note& = delete;
};

}  // namespace braid::detail
