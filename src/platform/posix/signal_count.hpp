// src/platform/posix/signal_count.hpp: counts signals that a thread waits for.
#pragma once

namespace braid::detail {

/// Prepares the count. Must be called before the functions below. Returns false if the system has no descriptors left.
auto begin_signal_count() noexcept -> bool;

/// Adds a signal to the count. Can be called by a signal handler; may change `errno`.
void count_signal() noexcept;

/// Blocks until a signal was counted, and then subtracts it from the count.
void wait_for_signal() noexcept;

}  // namespace braid::detail
