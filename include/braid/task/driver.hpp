// braid/task/driver.hpp: what a worker sleeps in.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/parker.hpp>

namespace braid {

/// Blocks one worker until somebody hands out a permit. A pool that only computes has parkers; a worker that also waits
/// for I/O sleeps in its event loop.
/// Threads: `unpark` from any, the rest from the worker. Permits do not add up.
class BRAID_API driver {
 public:
  driver() = default;
  driver(const driver&) = delete;
  auto operator=(const driver&) -> driver& = delete;
  virtual ~driver();

  /// Blocks until there is a permit, and takes it.
  virtual void park() noexcept = 0;

  /// As `park`, but gives up at `deadline`. True when a permit was taken.
  [[nodiscard]] virtual auto park_until(time_point deadline) noexcept -> bool = 0;

  /// Hands out a permit.
  virtual void unpark() noexcept = 0;

  /// Called by a worker that is busy, between two jobs, at least every 64 jobs, and after each job of more than ten
  /// microseconds: to look at what is ready without blocking.
  virtual void poll() noexcept {}
};

/// The driver of workers without I/O.
class parking_driver final : public driver {
 public:
  void park() noexcept override { parker_.park(); }
  [[nodiscard]] auto park_until(time_point deadline) noexcept -> bool override { return parker_.park_until(deadline); }
  void unpark() noexcept override { parker_.unpark(); }

 private:
  parker parker_;
};

}  // namespace braid
