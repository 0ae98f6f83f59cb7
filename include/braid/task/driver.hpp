// braid/task/driver.hpp: what a worker sleeps in.
#pragma once

#include <braid/base/clock.hpp>

#include <concepts>

namespace braid {

/// Blocks one thread until somebody hands out a permit: a parker for a pool that only computes, an event loop where
/// the worker also waits for I/O. `park` and `park_until` are the worker's, `unpark` anybody's.
template <typename D>
concept driver = requires(D& d, time_point when) {
  { d.park() } noexcept;
  { d.park_until(when) } noexcept -> std::same_as<bool>;
  { d.unpark() } noexcept;
};

}  // namespace braid
