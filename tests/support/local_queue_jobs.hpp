// tests/support/local_queue_jobs.hpp: a scheduler with seats, its workers, and jobs that say that they ran.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/task/job.hpp>
#include <braid/task/detail/context_hooks.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <tests/support/bare_workers.hpp>

#include <array>
#include <cstddef>
#include <functional>

namespace braid::testing {

/// Threads: one, which plays all workers.
template <braid::detail::context_policy Policy, std::size_t Workers = 3>
struct local_queue_jobs {
  struct named_job final : job {
    named_job() : job(&act) {}
    static void act(job& self, action what) {
      auto& mine = static_cast<named_job&>(self);
      if (what == action::run) {
        mine.owner->ran = mine.name;
        return;
      }
      ++mine.owner->dropped;
      if (mine.owner->when_dropped) mine.owner->when_dropped();
    }
    local_queue_jobs* owner = nullptr;
    std::ptrdiff_t name = -1;
  };

  local_queue_jobs() {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].owner = this;
      jobs[i].name = static_cast<std::ptrdiff_t>(i);
    }
  }

  auto place(std::size_t index, worker* poster = nullptr) -> placement { return policy.place(jobs[index], poster); }

  /// The number of the job that is run by this, or -1.
  auto run(found_job found) -> std::ptrdiff_t {
    ran = -1;
    if (found) found.run();
    return ran;
  }

  /// The number of the job that a worker finds and runs, or -1.
  auto run_next(std::size_t index, search why) -> std::ptrdiff_t {
    return run(policy.refill(scheduler_base[index], why));
  }

  /// Runs jobs of a worker's own, of this length each, until that is what its jobs are known to take.
  void run_jobs_of(duration length, std::size_t index) {
    for (int i = 0; i < 1'000; ++i) {
      static_cast<void>(scheduler_base[index].pace.job_begins());
      scheduler_base[index].counters.jobs.store(scheduler_base[index].counters.jobs.load(relaxed) + 1, relaxed);
      clock.advance(length);
    }
  }

  manual_clock clock;
  bare_workers scheduler_base{Workers, clock};
  Policy policy{scheduler_base.list};
  std::array<named_job, 12> jobs;
  std::ptrdiff_t ran = -1;
  int dropped = 0;
  std::function<void()> when_dropped;  ///< called with each
};

}  // namespace braid::testing
