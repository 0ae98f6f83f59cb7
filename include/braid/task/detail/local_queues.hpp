// braid/task/detail/local_queues.hpp: the local and remote queues of the workers, for the schedulers that have one of
// each.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/inbox.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <cstddef>
#include <cstdint>

namespace braid::detail {

/// About twice the time from a wake to the first job of the woken worker. A shorter backlog is done before help comes.
inline constexpr duration worth_a_wake = 20us;

/// The approximate time of moving a batch of jobs from one worker context to another.
inline constexpr duration worth_a_steal = 5us;
inline constexpr auto max_stolen = static_cast<duration::rep>(inbox<>::producer::max_moved);

/// A job that is stored in an inbox by its address.
struct posted_job {
  job* item;
  void operator()() && { run_job(*item); }
  void drop() noexcept { item->drop(); }
};

/// The contexts of the workers of a pool: what a worker posts goes to its queue, what others post for it to its inbox.
/// Threads: any for placing; the worker whose context it is, or the thief, for the rest.
class BRAID_API local_queues {
 public:
  explicit local_queues(const worker_list& workers) : workers_(workers) {
    // here, because a bad_alloc reaches the caller
    for (const auto& each : workers) each->idle.seen.resize(workers.size());
  }

  [[nodiscard]] auto place_at(worker& at, job& work, const worker* poster) noexcept -> placement {
    return &at == poster ? place_own(at, work) : place_for(at, work);
  }

  /// Places a job that a worker posts for itself.
  [[nodiscard]] auto place_own(worker& self, job& work) noexcept -> placement;

  /// Places a job that another thread posts for a worker.
  [[nodiscard]] auto place_for(worker& worker, job& work) noexcept -> placement;

  /// Returns one of the worker's own jobs: the next to run, a few times in a row at most; its queue; its inbox.
  [[nodiscard]] auto take_own(worker& self) noexcept -> found_job {
    constexpr std::uint32_t max_consecutive = 3;
    if (self.fairness.consecutive_next < max_consecutive) {
      if (job* const next = self.queue.pop_next(); next != nullptr) {
        ++self.fairness.consecutive_next;
        return next;
      }
    }
    self.fairness.consecutive_next = 0;
    if (job* const oldest = self.queue.pop(); oldest != nullptr) return oldest;
    return self.box.claim();
  }

  /// Takes this job out if it is the next that the worker has posted, or among them when they are few. The others stay
  /// in their order.
  [[nodiscard]] auto try_take(worker& self, const job& awaited) noexcept -> bool;

  /// Returns a remote job if it is their turn, ahead of the worker's own jobs; the next time it is the other way round.
  [[nodiscard]] auto take_posted(worker& self) noexcept -> found_job { return self.box.claim(); }

  /// Returns the oldest job of another worker, after the thief has moved the older half of that worker's jobs to its
  /// own context. Returns nothing once everything is being dropped.
  [[nodiscard]] auto take_half(worker& self, worker& victim) noexcept -> found_job;

  /// Returns whether the jobs of the victim have to wait for long: it has begun none since the thief watched it last,
  /// or it has more jobs than it has begun since then; if its jobs are still short, ten times as many.
  [[nodiscard]] auto is_held_up(worker& self, const worker& victim) noexcept -> bool;

  [[nodiscard]] auto may_park(worker& self) noexcept -> bool { return self.queue.empty() && self.box.empty(); }
  [[nodiscard]] auto empty() noexcept -> bool;
  /// Returns whether all queues were found empty, now or before, while no thread moved jobs between them. Requires that
  /// they are closed.
  [[nodiscard]] auto is_quiescent() noexcept -> bool;
  void close() noexcept;

  /// When this returns, jobs that were accepted before the worker contexts were closed have been dropped, or taken by a
  /// worker that runs them now. From its begin on no thief steals.
  void drop_all() noexcept;

  [[nodiscard]] auto is_closed() const noexcept -> bool { return closed_.load(relaxed); }
  /// Returns whether a thread has found them settled: a thief has nothing to take.
  [[nodiscard]] auto is_known_quiescent() const noexcept -> bool { return quiescent_.load(relaxed); }
  [[nodiscard]] auto workers() const noexcept -> const worker_list& { return workers_; }

 private:
  class moving;
  static constexpr std::uint64_t dropping = std::uint64_t{1} << 31U;
  static constexpr std::uint64_t one_begin = std::uint64_t{1} << 32U;

  static constexpr auto moving_in(std::uint64_t moves) noexcept -> std::uint64_t { return moves % dropping; }

  [[nodiscard]] auto move_half(worker& self, worker& victim) noexcept -> found_job;

  const worker_list& workers_;
  atomic<bool> closed_{false};     // written once
  atomic<bool> quiescent_{false};  // true: written by each thread that has found that
  /// The number of thieves that are moving jobs between worker contexts, during which a poll of one context after the
  /// other could miss them; the bit `dropping`, which stays set; and in the upper bits the number of such moves ever
  /// begun. Written by thieves, and by the thread in `drop_all`.
  alignas(cache_line) atomic<std::uint64_t> moves_{0};
};

/// Returns whether `count` jobs of this worker take so long that it is worth waking another one. However many there
/// are, jobs that run faster than they can be moved should stay.
[[nodiscard]] inline auto is_worth_a_wake(const worker& of, std::size_t jobs) noexcept -> bool {
  const duration each = of.pace.average();
  return static_cast<duration::rep>(jobs) * each >= worth_a_wake && max_stolen * each >= worth_a_steal;
}

/// Returns what to do after a job was placed in this context. The length of the jobs is enough to decide; only the
/// worker itself counts them, because another thread would take its cache lines away.
[[nodiscard]] inline auto placed_at(const worker& worker) noexcept -> placement {
  using enum placement::verdict;
  return {.how = is_worth_a_wake(worker, 1) ? urgent : can_wait, .worker = worker.index};
}

inline auto local_queues::place_own(worker& self, job& work) noexcept -> placement {
  if (is_closed()) return {};
  self.queue.push(work);
  return placed_at(self);
}

}  // namespace braid::detail
