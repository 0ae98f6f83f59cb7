// braid/sync/detail/futex.hpp: blocks a thread until a 32-bit word changes.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <optional>

namespace braid::detail {

/// The reason why a wait has ended.
enum class futex_wait_status : std::uint8_t { woken, timed_out };

/// Blocks while `word` has the value `expected`, until the thread is woken or `deadline` passes. The largest time point
/// means no deadline. It may also return without any reason, so the caller must check its condition again. Threads:
/// any. Cost: 1.3 µs for the waking thread, and 5 µs until the sleeping thread runs.
BRAID_API auto futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                          std::optional<time_point> deadline = std::nullopt) noexcept -> futex_wait_status;

/// Wakes at most `count` threads that wait for `word`. Threads: any. Blocks: never.
BRAID_API void futex_wake(const atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace braid::detail
