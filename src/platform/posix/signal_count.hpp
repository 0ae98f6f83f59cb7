// src/platform/posix/signal_count.hpp: counts signals that a thread waits for.
#pragma once

namespace braid::detail {

/// Prepares the count, before it is used. Returns false if the system has no descriptors left.
auto begin_signal_count() noexcept -> bool;

/// Counts a signal. Can be called by a handler of signals; changes `errno`.
void count_signal() noexcept;

/// Blocks until a signal was counted, and takes it from the count.
void wait_for_signal() noexcept;

}  // namespace braid::detail
