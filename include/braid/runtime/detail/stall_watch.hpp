// braid/runtime/detail/stall_watch.hpp: the stall watchdog of a runtime: it compares progress counters at intervals.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace braid {

class loop;
class runtime;
struct worker;

namespace detail {

/// The progress of a loop or a worker. If two samples are equal and both show a running job, it was the same job during
/// the whole time between the samples.
struct stall_progress {
  std::uint64_t jobs = 0;
  std::uint64_t others = 0;  ///< stolen forks of a worker; iterations of a loop
  std::uint64_t batch = 0;   ///< when the worker's batch began; timers and I/O that were answered
  bool is_busy = false;

  auto operator==(const stall_progress&) const -> bool = default;
};

/// A loop or a worker that is watched, and the time for which it has made no progress.
struct stall_target {
  const loop* of_loop = nullptr;  ///< the loop that a worker of a merged runtime runs
  const worker* of_worker = nullptr;
  std::string thread;

  stall_progress last = {};
  duration seen = {};
  bool is_reported = false;
};

/// A stall watchdog. It checks each target at intervals of half the limit, but at most 20 times a second. It only reads
/// counters that workers and loops update anyway. Only a thread that has stalled gets a signal, which makes the thread
/// record its stack.
/// Threads: one thread at a time may call `look`; after `start`, only the watchdog's own thread calls it. Any thread
/// may call `count`.
class BRAID_API stall_watch {
 public:
  using report_fn = std::function<void(const runtime::stall&)>;

  /// Constructs the watchdog. If `report` is empty, stalls are written to stderr. Lifetime: the targets must outlive
  /// the watchdog.
  stall_watch(std::vector<stall_target> targets, duration limit, report_fn report, const clock_source& clock);
  stall_watch(const stall_watch&) = delete;
  auto operator=(const stall_watch&) -> stall_watch& = delete;
  ~stall_watch();

  /// Starts the watchdog's thread. Errors: std::system_error.
  void start();
  void look();

  /// Returns the number of stalls so far.
  [[nodiscard]] auto count() const noexcept -> std::uint64_t { return count_.load(relaxed); }
  [[nodiscard]] auto interval() const noexcept -> duration { return interval_; }

 private:
  void work();
  void report(const stall_target& target);

  std::vector<stall_target> targets_;
  const duration limit_;
  const duration interval_;
  report_fn report_;
  const clock_source* clock_;
  time_point looked_;
  atomic<std::uint64_t> count_{0};  // written by `look`
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;  // under the mutex
  std::thread thread_;
};

/// Returns the loops and the workers of a runtime. The targets are valid as long as the runtime exists.
[[nodiscard]] BRAID_API auto stall_targets_of(const runtime& runtime) -> std::vector<stall_target>;
/// Returns whether the target is running a job.
/// Threads: any.
[[nodiscard]] BRAID_API auto is_busy(const stall_target& target) noexcept -> bool;

/// Returns the limit that the variable BRAID_STALL contains, or nothing if the variable is not set. If the value is
/// invalid, prints a warning on stderr and returns nothing.
[[nodiscard]] auto stall_limit_of_environment() -> std::optional<duration>;

}  // namespace detail
}  // namespace braid
