// braid/task/detail/local_queues.hpp: the worker contexts of a pool: for each worker, a local queue and an inbox for
// remote jobs.
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

/// The minimum backlog for which another worker is woken. It is about twice the time from a wake to the first job of
/// the woken worker. A shorter backlog would be finished before the woken worker could help.
/// docs/design/constants.md says what these values rest on.
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

/// The contexts of the workers of a pool. Jobs that a worker posts are queued in its local queue; jobs that other
/// threads post for the worker are queued in its inbox. Threads: any thread may post. The other functions are for the
/// worker that owns the context, or for a thief.
class BRAID_API local_queues {
 public:
  explicit local_queues(const worker_list& workers) : workers_(workers) {
    // The memory is allocated in the constructor, so that a std::bad_alloc reaches the caller.
    for (const auto& each : workers) each->idle.seen.resize(workers.size());
  }

  [[nodiscard]] auto place_at(worker& owner, job& work, const worker* poster) noexcept -> placement {
    return &owner == poster ? place_own(owner, work) : place_for(owner, work);
  }

  /// Places a job that a worker posts for itself.
  [[nodiscard]] auto place_own(worker& self, job& work) noexcept -> placement;

  /// Places a job that another thread posts for a worker.
  [[nodiscard]] auto place_for(worker& worker, job& work) noexcept -> placement;

  /// Returns one of the worker's own jobs. It tries the most recently posted job first, at most a few times in a row,
  /// then the queue, then the inbox.
  [[nodiscard]] auto take_own(worker& self) noexcept -> found_job {
    // docs/design/constants.md says what this value rests on.
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

  /// Removes `awaited` if it is the job that the worker has posted last, or if the queue is short and contains the job.
  /// The other jobs keep their order.
  [[nodiscard]] auto try_take(worker& self, const job& awaited) noexcept -> bool;

  /// Returns a remote job from the inbox, ahead of the worker's own jobs. Called from time to time, so that remote jobs
  /// do not starve.
  [[nodiscard]] auto take_posted(worker& self) noexcept -> found_job { return self.box.claim(); }

  /// Moves the older half of another worker's jobs to the thief's context, and returns the oldest moved job. Returns
  /// nothing once `drop_all` has begun.
  [[nodiscard]] auto take_half(worker& self, worker& victim) noexcept -> found_job;

  /// Returns whether the jobs of the victim will wait for a long time. This is true if the victim has begun no job
  /// since the thief last checked. It is also true if the number of waiting jobs is greater than the number of jobs
  /// that the victim has begun since then, or, if the victim's jobs are short, greater than ten times that number.
  [[nodiscard]] auto is_held_up(worker& self, const worker& victim) noexcept -> bool;

  [[nodiscard]] auto may_park(worker& self) noexcept -> bool { return self.queue.empty() && self.box.empty(); }
  [[nodiscard]] auto empty() noexcept -> bool;
  /// Returns whether this call or an earlier call has found all queues empty while no thread moved jobs between the
  /// queues. Requires that the queues are closed.
  [[nodiscard]] auto is_quiescent() noexcept -> bool;
  void close() noexcept;

  /// Drops the jobs that were accepted before the worker contexts were closed, except jobs that a worker is already
  /// running. Once this call has begun, no thief steals.
  void drop_all() noexcept;

  [[nodiscard]] auto is_closed() const noexcept -> bool { return closed_.load(relaxed); }
  /// Returns whether `is_quiescent` has returned true on any thread. If so, thieves find no jobs.
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
  atomic<bool> quiescent_{false};  // set by each thread that has found the queues quiescent
  /// The lower bits count the thieves that are moving jobs between worker contexts. A thread that polls one context
  /// after the other needs this count, because it could miss jobs that are being moved. The bit `dropping` stays set
  /// once `drop_all` has begun. The upper bits count all moves that ever began. Thieves, and the thread in `drop_all`,
  /// write this member.
  alignas(cache_line) atomic<std::uint64_t> moves_{0};
};

/// Returns whether a number of jobs (`jobs`) of this worker take so long that it is worth waking another worker. Jobs
/// that run faster than they can be moved stay with the worker, regardless of their number.
[[nodiscard]] inline auto is_worth_a_wake(const worker& owner, std::size_t jobs) noexcept -> bool {
  const duration each = owner.pace.average();
  return static_cast<duration::rep>(jobs) * each >= worth_a_wake && max_stolen * each >= worth_a_steal;
}

/// Returns what to do after a job was queued in this context. The decision depends only on the average length of jobs.
/// The number of jobs is not read, because another thread that reads it would take cache lines away from the worker.
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
