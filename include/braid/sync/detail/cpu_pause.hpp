// braid/sync/detail/cpu_pause.hpp: the hint to the processor that a loop waits.
#pragma once

namespace braid::detail {

/// Waits for some ten nanoseconds, and leaves the core's resources to others meanwhile.
inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

}  // namespace braid::detail
