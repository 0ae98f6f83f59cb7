// braid/task/least_loaded.hpp: the scheduler that sends each job to the worker that has least to do.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/local_queues.hpp>
#include <braid/task/found_job.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <cstddef>
#include <cstdint>

namespace braid {

/// Join the shortest queue: a job goes to the context of the worker with the fewest jobs, counting the one that runs; a
/// worker whose job has run for more than a tenth of a millisecond counts as heavily loaded. With more than eight
/// workers it is the power of two choices: the better of two that are chosen at random. Of those that have nothing to
/// do, the one that was chosen last is chosen again, so that one worker is kept alone while it suffices. What a worker
/// posts stays in its context unless another one has at least two jobs less. Workers do not steal, except jobs that
/// wait behind a long one: the monitor takes half of them, within about two of its intervals, and the workers that it
/// wakes halve the rest at once. Jobs of one worker context start in their order; there is no order between contexts. A
/// scheduling policy (`scheduling_policy.hpp`, which states the threads of each member).
class BRAID_API least_loaded {
 public:
  static constexpr bool has_monitor = true;

  explicit least_loaded(const worker_list& workers) : local_queues_(workers) {}

  [[nodiscard]] auto worker_for(worker* poster) noexcept -> worker&;
  [[nodiscard]] auto place(job& work, worker* poster) noexcept -> placement {
    return local_queues_.place_at(worker_for(poster), work, poster);
  }

  [[nodiscard]] auto try_take(worker& self, const job& awaited) noexcept -> bool {
    return local_queues_.try_take(self, awaited);
  }
  [[nodiscard]] auto take_own(worker& self) noexcept -> found_job { return local_queues_.take_own(self); }
  [[nodiscard]] auto refill(worker& self, search why) noexcept -> found_job {
    if (found_job own = take_own(self)) return own;
    return why != search::routine || local_queues_.is_closed() ? rescue(self, why) : found_job();
  }
  [[nodiscard]] auto tick(worker& self) noexcept -> found_job { return local_queues_.take_posted(self); }

  [[nodiscard]] auto may_park(worker& self) noexcept -> bool { return local_queues_.may_park(self); }
  [[nodiscard]] auto empty() noexcept -> bool { return local_queues_.empty(); }
  [[nodiscard]] auto is_quiescent() noexcept -> bool { return local_queues_.is_quiescent(); }
  void close() noexcept { local_queues_.close(); }
  void drop_all() noexcept { local_queues_.drop_all(); }

 private:
  static auto load_of(const worker& at) noexcept -> std::size_t;
  [[nodiscard]] auto min_of_all() noexcept -> worker&;
  [[nodiscard]] auto better_of_two() noexcept -> worker&;
  [[nodiscard]] auto waits_for_long(worker& self, const worker& victim, search why) noexcept -> bool;
  [[nodiscard]] auto rescue(worker& self, search why) noexcept -> found_job;

  detail::local_queues local_queues_;
  atomic<std::size_t> last_{0};     // the worker that was chosen last; written by posting threads
  atomic<std::uint64_t> draws_{0};  // the seed of the next random choice
};

}  // namespace braid
