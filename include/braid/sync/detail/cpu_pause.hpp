// braid/sync/detail/cpu_pause.hpp: the processor hint for a loop that waits.
#pragma once

namespace braid::detail {

/// Pauses for some ten nanoseconds, during which other threads may use the core's resources.
inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

}  // namespace braid::detail
