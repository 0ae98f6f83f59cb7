// braid/task/driver.hpp: what a worker sleeps in.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/parker.hpp>

#include <cstdint>
#include <thread>

namespace braid {

/// Why a worker that has slept is awake.
enum class wake_reason : std::uint8_t {
  permit,    ///< a permit was handed out, and it was taken
  work,      ///< its driver has something to do
  deadline,  ///< neither, until then
};

/// Blocks one worker until a permit is handed out. A pool that only computes has parkers; a worker that also waits
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

  // --- drivers with work of their own, such as the tasks of an event loop ---

  /// Whether this is one of them. Then jobs of the worker must not block for what others do.
  [[nodiscard]] virtual auto has_own_work() const noexcept -> bool { return false; }

  /// As `park_until`, but returns as well when there is something for `work` to do. Does not do it: others still take
  /// the worker for one that sleeps.
  [[nodiscard]] virtual auto sleep_until(time_point deadline) noexcept -> wake_reason;

  /// Whether `work` would find something to do.
  [[nodiscard]] virtual auto is_ready() noexcept -> bool { return false; }

  /// Called by a worker that is busy, between two jobs: behind the first one after a call of `work`, then less and less
  /// often, and at least every eight jobs. Whether it is time to call `work`.
  [[nodiscard]] virtual auto is_due() noexcept -> bool { return false; }

  /// Does what there is to do, without blocking and for a bounded time. Called between two jobs, by a worker that
  /// counts as busy.
  virtual void work() noexcept {}
};

/// The driver of workers without I/O.
class parking_driver final : public driver {
 public:
  void park() noexcept override { parker_.park(); }
  [[nodiscard]] auto park_until(time_point deadline) noexcept -> bool override { return parker_.park_until(deadline); }
  void unpark() noexcept override { parker_.unpark(); }

 private:
  detail::parker parker_;
};

/// The busy-polling driver, for workers that never sleep: it polls for its permit, and yields the CPU in between.
/// A wake is one store, and reaches the worker within about a microsecond. Cost: a core for each worker.
class polling_driver final : public driver {
 public:
  void park() noexcept override { static_cast<void>(park_until(time_point::max())); }
  [[nodiscard]] auto park_until(time_point deadline) noexcept -> bool override {
    while (permit_.load(relaxed) == 0) {
      if (steady_time().now() >= deadline) return false;
      std::this_thread::yield();
    }
    return permit_.exchange(0, acquire) != 0;  // edge polling_driver.permit: observe; no other thread takes it
  }
  void unpark() noexcept override { permit_.store(1, release); }  // edge polling_driver.permit: publish the job

 private:
  atomic<std::uint32_t> permit_{0};  // 1 while there is one
};

}  // namespace braid
