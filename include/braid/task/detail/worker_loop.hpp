// braid/task/detail/worker_loop.hpp: the loop of a worker, compiled with its scheduling policy.
#pragma once

#include <braid/sync/detail/user_code.hpp>
#include <braid/task/detail/report_exception.hpp>
#include <braid/task/detail/scheduler_for.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/detail/spare_threads.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/worker.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <exception>
#include <utility>

namespace braid::detail {

/// Runs the loop of a worker. In each iteration, the worker first passes its context to another thread if that thread
/// waits for the context, and runs its driver if the driver is due. Then the worker searches for a job or a fork, and
/// runs it. If there is no work, the worker waits.
template <scheduling_policy Policy>
void scheduler_for<Policy>::work(worker& self) noexcept {
  code_marker* const marker = outermost_code_marker();
  for (auto woken = wake_cause::own; woken != wake_cause::stop;) {
    if (marker != nullptr) marker->pass();
    return_context(self, marker);
    run_driver_if_next(self, woken);
    found_job job = next(self, why_after(self, woken));
    fork_record* const stolen = job ? nullptr : forks_.steal(self);
    end_search(self, woken);
    if (!job && stolen == nullptr) {
      woken = wait_for_work(self, marker);
      continue;
    }
    woken = wake_cause::own;
    begin_work(self);
    if (stolen != nullptr)
      forks_.run_stolen(self, *stolen);
    else
      run_batch(self, job);
  }
}

/// Passes the worker context to a thread that needs the context to continue its own job. Returns when the caller owns
/// the context again.
template <scheduling_policy Policy>
void scheduler_for<Policy>::return_context(worker& self, code_marker* marker) noexcept {
  if (self.absent != 0) [[unlikely]]
    owner_.spare_threads_->yield_context(self, marker);
}

/// Runs the driver if it is due. A worker that was woken for jobs must poll for jobs first, because posts rely on this.
template <scheduling_policy Policy>
void scheduler_for<Policy>::run_driver_if_next(worker& self, wake_cause woken) noexcept {
  if (!self.has_own_work) return;
  if (woken != wake_cause::called && (woken != wake_cause::own || !self.sleep->is_due())) return;
  if (std::exchange(self.idle.is_relied_on, false)) owner_.sleepers_->pass_on(self, *this);
  work_beside_jobs(self);
}

/// Returns the reason for the worker's search. The reason decides from which other workers this worker may take jobs.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::why_after(worker& self, wake_cause woken) noexcept -> search {
  switch (woken) {
    case wake_cause::claimed: return search::woken;
    case wake_cause::monitored: return search::monitor;
    case wake_cause::called:
      return policy_.has_monitor() && sleepers::is_monitor_due(self) ? search::monitor : search::routine;
    default: return search::routine;
  }
}

/// Ends the search that began with a wake, and records whether posts may have relied on this search.
template <scheduling_policy Policy>
void scheduler_for<Policy>::end_search(worker& self, wake_cause woken) noexcept {
  if (woken == wake_cause::claimed) owner_.sleepers_->end_search();
  if (std::exchange(self.idle.should_wake_peer, false) || is_relied_on(woken)) self.idle.is_relied_on = true;
}

/// Polls for a while and then sleeps until there is work. Returns the cause of the wake.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::wait_for_work(worker& self, code_marker* marker) noexcept -> wake_cause {
  const user_code_pause idle(marker);
  self.pace.paused();
  self.between_own_work = 1;
  if (self.absent != 0) {
    owner_.spare_threads_->pause(self);
    return wake_cause::monitored;  // no worker relies on this context to monitor: it never announces its sleep
  }
  if (has_own_work(self)) return wake_cause::called;
  return lingers(self) ? wake_cause::own : owner_.sleepers_->sleep(self, *this);
}

/// Wakes another worker if there is more work than this worker has found. At the start of a batch of jobs, also runs
/// the regular checks.
template <scheduling_policy Policy>
void scheduler_for<Policy>::begin_work(worker& self) noexcept {
  if (std::exchange(self.idle.is_relied_on, false)) {
    forks_.ask_for_sleepers();
    owner_.sleepers_->pass_on(self, *this);
  }
  if (self.pace.job_begins()) look_up(self);
}

/// Runs a job. A policy with contexts then continues with the jobs of the worker's context until the batch ends. If a
/// time slice for remote jobs is due, remote jobs run before the worker's own jobs. If the worker finds nothing, it
/// backs off before the next poll, because a producer may be writing to its inbox.
template <scheduling_policy Policy>
void scheduler_for<Policy>::run_batch(worker& self, found_job& first) noexcept {
  run(self, first);
  if constexpr (has_contexts) {
    if (self.fairness.remote_slice_due) [[unlikely]]
      run_posted(self);
    if (!run_own(self) && owner_.looks_before_sleep_ != 0) back_off_after_jobs(self);
  }
}

/// Runs remote jobs for one time slice, because the worker's own jobs have just had a slice. Each job counts as a poll,
/// so that jobs of priority `low` are still served.
template <scheduling_policy Policy>
void scheduler_for<Policy>::run_posted(worker& self) noexcept {
  self.fairness.remote_slice_due = false;
  if (self.queue.seems_empty()) return;  // then the inbox is next anyway
  self.fairness.remote_slice_ended = self.pace.beside_jobs([&] {
    std::uint32_t since_look = worth_a_look;
    for (std::uint32_t ran = 0; !is_slice_over(self, ran); ++ran) {
      const bool is_fair_look = --self.fairness.until_fair == 0;
      if (!run_if_any(self, is_fair_look ? next_in_fairness(self) : next_posted(self, since_look))) return;
    }
  });
}

/// Returns whether the time slice has ended. The clock is read after the first, second and fourth job, because jobs may
/// be long, and then every eight jobs.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::is_slice_over(worker& self, std::uint32_t ran) noexcept -> bool {
  if (ran == max_jobs_per_slice || self.absent != 0 || !high_.empty()) return true;
  if (ran == 0 || (!std::has_single_bit(ran) && ran % max_between_driver_polls != 0)) return false;
  return self.pace.elapsed() >= (self.has_own_work ? quantum_beside_driver : quantum);
}

/// Returns the next job among those that the last poll found. Polls again only if that poll found many jobs, because
/// each poll takes cache lines away from a producer that is writing to the inbox.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::next_posted(worker& self, std::uint32_t& since_look) noexcept -> found_job {
  if (found_job seen = self.box.claim_seen()) {
    ++since_look;
    return seen;
  }
  if (since_look < worth_a_look) return {};
  since_look = 1;
  return policy_.tick(self);
}

/// Runs the jobs in the worker's own context until other queues must be polled. The function `next` would return the
/// same jobs, but this function avoids the overhead of `next`. Returns false when no job is left in the context.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::run_own(worker& self) noexcept -> bool {
  std::uint32_t max_count = std::min(self.pace.left_in_batch(), self.fairness.until_fair - 1);
  if (self.has_own_work) {
    max_count = std::min(max_count, self.between_own_work - 1);
    self.between_own_work = std::min(2 * self.between_own_work, max_between_driver_polls);
  }
  std::uint32_t begun = 0;
  bool more = true;
  while (more && begun < max_count && self.absent == 0 && high_.empty()) {
    more = self.queue.seems_empty() ? run_if_any(self, self.box.claim_seen()) || run_fresh(self)
                                    : run_if_any(self, policy_.take_own(self));
    if (more) ++begun;
  }
  self.fairness.until_fair -= std::min(begun, self.fairness.until_fair - 1);
  self.pace.have_begun(begun);
  self.idle.since_look += begun;
  return more;
}

/// Polls the inbox for newly posted jobs. If the previous poll found almost no job, the worker has caught up with a
/// producer, and backs off first. Without this pause, the poll would take cache lines away from the producer, and find
/// only one or two jobs.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::run_fresh(worker& self) noexcept -> bool {
  if (owner_.looks_before_sleep_ != 0 && self.idle.since_look * self.pace.average() < worth_a_backoff)
    self.pace.back_off_in([] { back_off(worker_idle::max_backoff); });
  self.idle.since_look = 0;
  return run_if_any(self, self.box.claim());
}

template <scheduling_policy Policy>
template <typename Item>
auto scheduler_for<Policy>::run_if_any(worker& self, Item item) noexcept -> bool {
  if (!item) return false;
  run(self, item);
  return true;
}

template <scheduling_policy Policy>
auto scheduler_for<Policy>::next(worker& self, search reason) noexcept -> found_job {
  if (!high_.empty() && self.fairness.consecutive_high < max_consecutive_high) {
    ++self.fairness.consecutive_high;
    if (job* const urgent = high_.pop(); urgent != nullptr) return urgent;
  }
  self.fairness.consecutive_high = 0;
  if (--self.fairness.until_fair == 0)
    if (found_job fair = next_in_fairness(self)) return fair;
  if (found_job usual = policy_.refill(self, reason)) return usual;
  if (job* const urgent = high_.pop(); urgent != nullptr) return urgent;
  return low_.pop();
}

template <scheduling_policy Policy>
auto scheduler_for<Policy>::next_in_fairness(worker& self) noexcept -> found_job {
  self.fairness.until_fair = polls_between_fair;
  if (--self.fairness.until_low == 0) {
    self.fairness.until_low = polls_between_low / polls_between_fair;
    if (job* const patient = low_.pop(); patient != nullptr) return patient;
  }
  return policy_.tick(self);
}

template <scheduling_policy Policy>
auto scheduler_for<Policy>::run_one(worker& self, search reason) noexcept -> bool {
  found_job item = next(self, reason);
  if (!item) return help_with_forks(self);
  if (std::exchange(self.idle.should_wake_peer, false)) owner_.sleepers_->pass_on(self, *this);
  if (self.pace.job_begins()) look_up(self);
  run(self, item);
  return true;
}

template <scheduling_policy Policy>
auto scheduler_for<Policy>::run_awaited(worker& self, job& awaited) noexcept -> bool {
  const bool found = policy_.try_take(self, awaited);
  if (std::exchange(self.idle.should_wake_peer, false)) owner_.sleepers_->pass_on(self, *this);
  if (!found) return false;
  if (self.pace.job_begins()) look_up(self);
  found_job item(&awaited);
  run(self, item);
  return true;
}

/// Runs a fork on a worker while the worker's job waits for something other than a fork. Other workers may run the
/// forks of that job in the meantime. The worker runs forks of other workers only if it has no forks of its own, so
/// that a thief's deque contains only work of the stolen fork. A spare thread also runs forks of the waiting job.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::help_with_forks(worker& self) noexcept -> bool {
  if (self.forks.private_size() != 0 && self.forks.wanted()) forks_.answer(self);
  return (self.absent != 0 || fork_exchange::has_none(self)) && forks_.help(self);
}

/// Runs the regular checks at the start of a batch of jobs: at most about every ten microseconds, and at least every 64
/// jobs.
template <scheduling_policy Policy>
void scheduler_for<Policy>::look_up(worker& self) noexcept {
  self.sleep->poll();
  if constexpr (has_contexts) {
    const time_point behind_next_job = self.pace.batch_began() + self.pace.average();
    self.fairness.remote_slice_due = behind_next_job - self.fairness.remote_slice_ended >= quantum;
    if (owner_.sleepers_->anybody_sleeps() && is_worth_a_wake(self, self.backlog()))
      owner_.sleepers_->pass_on(self, *this);
  }
}

/// Backs off after the worker has run out of jobs. If a producer has posted several jobs since the last back-off, it
/// probably continues to write, so the worker polls late. If a producer posts a single job and waits for it, the worker
/// polls early.
template <scheduling_policy Policy>
void scheduler_for<Policy>::back_off_after_jobs(worker& self) noexcept {
  const std::uint64_t begun = self.counters.jobs.load(relaxed);
  const bool was_alone = begun - std::exchange(self.idle.begun_before_backoff, begun) <= 1;
  self.idle.backoff = was_alone ? std::max(self.idle.backoff / 2, min_backoff) : worker_idle::max_backoff;
  back_off(self.idle.backoff);
}

/// Polls for jobs before the worker sleeps. It polls only about once in a microsecond, because each poll takes cache
/// lines away from a producer that is writing. After jobs that came one at a time, it polls more often at first. It
/// does not poll before the worker's first job, because a large pool may still be starting. Returns true if there is a
/// job again.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::lingers(worker& self) noexcept -> bool {
  if (self.counters.jobs.load(relaxed) == 0 && self.counters.forks_stolen.load(relaxed) == 0) return false;
  std::uint32_t backoff = self.idle.backoff;
  for (auto left = owner_.looks_before_sleep_ * worker_idle::max_backoff; left > 0; left -= std::min(left, backoff)) {
    back_off(backoff);
    if (owner_.sleepers_->is_quiescent()) return false;
    if (!may_park(self) || has_own_work(self)) return true;
    backoff = std::min(2 * backoff, worker_idle::max_backoff);
  }
  return false;
}

/// Runs the driver, and then the forks that the driver has left, as the loop does after a job. After the next job, the
/// worker checks whether the driver has more work, because jobs may be long. If jobs are short, the worker checks this
/// less and less often.
template <scheduling_policy Policy>
void scheduler_for<Policy>::work_beside_jobs(worker& self) noexcept {
  const std::uint32_t position = self.forks.position();
  self.pace.beside_jobs([&self] { self.sleep->work(); });
  self.between_own_work = 1;
  if (self.forking.leaves_forks) [[unlikely]]
    run_left_forks(self, position);
}

template <scheduling_policy Policy>
template <typename Item>
void scheduler_for<Policy>::run(worker& self, Item& item) noexcept {
  const std::uint64_t number = count_one(self.counters.jobs);
  const std::uint32_t position = self.forks.position();
  try {
    item.run();
  } catch (...) {
    report_job_exception(owner_.options_.on_error, std::current_exception(), {.worker = self.index, .job = number});
  }
  if (self.forking.leaves_forks) [[unlikely]]
    run_left_forks(self, position);
}

}  // namespace braid::detail
