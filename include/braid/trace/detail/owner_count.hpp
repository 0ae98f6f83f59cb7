// braid/trace/detail/owner_count.hpp: counters that one thread writes and others read, as plain numbers in a struct.
#pragma once

#include <braid/sync/atomic.hpp>

#include <atomic>
#include <concepts>

namespace braid::detail {

/// Adds to a counter without an atomic read-modify-write. Only one thread at a time may write the counter; any thread
/// may read it with `read_count`.
template <std::unsigned_integral Count>
void add_to_count(Count& count, Count amount = 1) noexcept {
  const std::atomic_ref<Count> shared(count);
  shared.store(shared.load(relaxed) + amount, relaxed);
}
template <std::unsigned_integral Count>
void take_from_count(Count& count) noexcept {
  const std::atomic_ref<Count> shared(count);
  shared.store(shared.load(relaxed) - 1, relaxed);
}
template <std::unsigned_integral Count>
[[nodiscard]] auto read_count(const Count& count) noexcept -> Count {
  return std::atomic_ref<Count>(const_cast<Count&>(count)).load(relaxed);
}

}  // namespace braid::detail
