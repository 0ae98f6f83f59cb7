// braid/task/work_stealing.hpp: the scheduler with a seat for each worker, from which idle workers take.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/seats.hpp>
#include <braid/task/found_job.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

namespace braid {

/// A job that a worker posts lies at its own seat; one that comes from elsewhere at that of the worker that is being
/// kept busy. A second worker is woken when the backlog there, in time, exceeds about twice what a wake takes, so that
/// a stream of short jobs stays on one core. A worker that has nothing takes half of such a backlog. Whatever lies
/// behind a long job is taken by a worker that sleeps and watches, within about two of its intervals.
/// Jobs of one seat start in their order, those of several seats in none. A scheduling policy.
class BRAID_API work_stealing {
 public:
  static constexpr bool watches = true;

  explicit work_stealing(const worker_list& workers) : seats_(workers), kept_busy_(workers.front().get()) {}

  [[nodiscard]] auto seat_for(worker* poster) noexcept -> worker& {
    return poster != nullptr ? *poster : *kept_busy_.load(relaxed);
  }

  /// The seat of jobs from elsewhere.
  [[nodiscard]] auto busy_seat() const noexcept -> const atomic<worker*>& { return kept_busy_; }

  /// Where what a worker posts lies at its own seat, whatever the others do.
  [[nodiscard]] auto own_seats() noexcept -> detail::seats& { return seats_; }

  [[nodiscard]] auto place(job& work, worker* poster) noexcept -> placement {
    return seats_.place_at(seat_for(poster), work, poster);
  }

  [[nodiscard]] auto try_take(worker& self, const job& awaited) noexcept -> bool {
    return seats_.try_take(self, awaited);
  }
  [[nodiscard]] auto take_own(worker& self) noexcept -> found_job { return seats_.take_own(self); }
  [[nodiscard]] auto refill(worker& self, search why) noexcept -> found_job {
    if (found_job own = take_own(self)) return own;
    return steal(self, why);
  }
  [[nodiscard]] auto tick(worker& self) noexcept -> found_job { return seats_.take_posted(self); }

  [[nodiscard]] auto may_park(worker& self) noexcept -> bool { return seats_.may_park(self); }
  [[nodiscard]] auto empty() noexcept -> bool { return seats_.empty(); }
  [[nodiscard]] auto is_settled() noexcept -> bool { return seats_.is_settled(); }
  void close() noexcept { seats_.close(); }
  void drop_all() noexcept { seats_.drop_all(); }

 private:
  [[nodiscard]] auto steal(worker& self, search why) noexcept -> found_job;

  detail::seats seats_;
  alignas(cache_line) atomic<worker*> kept_busy_;  // target of remote jobs; written by a worker that takes work over
};

}  // namespace braid
