// braid/task/detail/outside_region.hpp: runs a loop on a thread that is not a worker, and shares it with a pool if it
// is long.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/pool.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace braid::detail {

/// Returns whether the calling thread runs the first part of a parallel algorithm itself. If it does, it shares the
/// rest with the default pool only if the algorithm takes a long time. Returns false within an iteration of an event
/// loop, and in a job of an executor without threads. Must not be called on a worker. Errors: the errors of
/// `default_pool`.
[[nodiscard]] BRAID_API auto begins_here() -> bool;

/// Returns true if parallel algorithms that the calling thread begins are not shared with a pool.
[[nodiscard]] BRAID_API auto is_alone() -> bool;

/// The time per element in the last run of a loop. The next run of the same loop is expected to be similar. Before the
/// first run, the time counts as long. Later it decreases only slowly, because treating a long loop as short costs more
/// than treating a short loop as long.
/// Threads: any. A lost update does no harm.
class region_pace {
 public:
  constexpr region_pace() noexcept = default;

  [[nodiscard]] auto exceeds(duration limit, std::size_t elements) const noexcept -> bool {
    const std::uint64_t known = ps_.load(relaxed);
    return known == unknown || static_cast<double>(known) * static_cast<double>(elements) >= 1e3 * in_ns(limit);
  }

  void note(duration elapsed, std::size_t elements) noexcept {
    const std::uint64_t known = ps_.load(relaxed);
    const auto seen = static_cast<std::uint64_t>(1e3 * in_ns(elapsed) / static_cast<double>(elements));
    const std::uint64_t now = known == unknown ? seen : std::max(seen, known / forgets);
    // Small changes are not stored, because each store moves the cache line.
    if (now < known / 2 || now / 2 > known) ps_.store(now, relaxed);
  }

 private:
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};
  static constexpr std::uint64_t forgets = 4;

  static auto in_ns(duration span) noexcept -> double { return static_cast<double>(span.count()); }

  atomic<std::uint64_t> ps_{unknown};  // picoseconds for each element; written by each thread that has run the loop
};

/// Selects how a part of a loop is run.
enum class region_part : std::uint8_t {
  whole,      ///< run only by this thread
  divisible,  ///< run on a worker, so that other workers can steal parts
};

/// The work of a loop over the numbers below `count`.
struct region_work {
  using run_fn = auto (*)(void* loop, std::size_t first, std::size_t last, region_part part) -> bool;

  run_fn run;  ///< returns false if the rest must be skipped
  void* loop;
  std::size_t count;
  std::size_t grain;
  std::size_t elements_of_each = 1;  ///< the number of elements that each index represents
};

/// A loop that begins outside of a pool. The calling thread begins, because passing the loop to the pool takes longer
/// than a short loop. If the last run of the loop, or the time of its first numbers, shows that the remaining part is
/// worth waking a worker, the thread offers that part to the pool. The thread itself continues until nothing is left,
/// so a worker that starts late does no harm. Threads: a thread that is not a worker. Blocks: until the loop has ended.
/// Protocol: docs/design/fork_join.md, "Loops that begin outside"
class BRAID_API outside_region {
 public:
  /// Constructs the loop. Errors: std::bad_alloc, at the first use of the pool.
  outside_region(pool& pool, const region_work& work, region_pace& pace, const clock_source& clock = steady_time())
      : pool_(pool), id_(pool.id()), work_(work), pace_(pace), clock_(clock) {}

  /// Runs the loop. Errors: one of the exceptions of the parts, rethrown when all parts that had begun have ended.
  void run();

 private:
  struct part {
    std::size_t first;
    std::size_t last;
  };
  class offered;
  class part_size;
  class shared_part_size;

  static constexpr duration worth_help = 20us;  // shorter work is not shared, because a worker takes that long to start
  static constexpr duration first_look = 2us;   // a shorter measurement mainly shows cache misses
  static constexpr duration usual_part = 2us;   // the time of a part while the thread is alone
  static constexpr duration min_shared_part = 2us;
  static constexpr duration max_shared_part = 100us;

  auto run_alone(time_point begin) -> bool;
  void run_without_help();
  void run_rest();
  void share();
  void run_on_workers();
  void help();
  [[nodiscard]] auto run_part(part range, region_part mode) const -> bool {
    return work_.run(work_.loop, range.first, range.last, mode);
  }
  [[nodiscard]] auto left() const noexcept -> std::size_t { return work_.count - next_.load(relaxed); }
  [[nodiscard]] auto take(std::size_t max_count) noexcept -> std::optional<part>;

  pool& pool_;            // may be destroyed while this thread works on its own part: see `id_`
  const executor_id id_;  // the id of the pool
  const region_work work_;
  region_pace& pace_;
  const clock_source& clock_;
  atomic<std::size_t> next_{0};  // the first number that no thread has taken; raised by the thread that takes it
};

/// The number of calls that this thread has passed to a pool and waited for.
extern constinit thread_local std::uint32_t calls_handed_over;

}  // namespace braid::detail
