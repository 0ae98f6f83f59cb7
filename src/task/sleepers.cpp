// src/task/sleepers.cpp: the protocol of docs/design/pool.md: announce, look again, sleep; place, look, wake.
#include <braid/task/detail/sleepers.hpp>

namespace braid::detail {

/// The worker whose context holds the job must not fall asleep. Another worker is woken if the job is urgent, or if no
/// thread would notice that another job holds that worker up.
void sleepers::wake_someone(const placement& placed) noexcept {
  if (placed.worker != placement::no_worker && idle_.try_claim(placed.worker)) return wake(*workers_[placed.worker]);
  if (placed.how == placement::verdict::can_wait && monitoring_.load(relaxed) != 0) return;
  if (!someone_searches()) wake_one();
}

/// The second check happens before the searching worker's `end_search`, if there is one.
auto sleepers::someone_searches() noexcept -> bool {
  if (searching_.load(relaxed) == 0) return false;
  // edge sleepers.searching: both, the searching worker's last poll sees the new job
  return searching_.fetch_add(0, acq_rel) != 0;
}

auto sleepers::wake_one() noexcept -> bool {
  const auto index = idle_.claim_any();
  if (index) wake(*workers_[*index]);
  return index.has_value();
}

void sleepers::wake(worker& claimed) noexcept {
  if (is_traced()) [[unlikely]]
    trace_note(trace_group::jobs, trace_kind::wakes, trace_number(&claimed));
  searching_.fetch_add(1, relaxed);  // on behalf of the woken worker, which undoes this after its first poll
  claimed.sleep->unpark();
}

void sleepers::call_others(worker& self, scheduler_base& jobs) noexcept {
  if (jobs.empty() || someone_searches()) return;
  if (wake_one()) count_one(self.counters.wakes_of_own);
}

/// Every unpark is for a claimed worker, and every claimed worker parks until it arrives: so no permit is left over.
auto sleepers::sleep(worker& self, scheduler_base& jobs) noexcept -> wake_cause {
  if (is_quiescent()) return leave(self);
  idle_.advertise(self.index);
  jobs.falls_asleep();
  barrier_.heavy();
  bool nothing_left = jobs.may_park(self);
  // edge sleepers.stopping: observe the queues as the closing thread left them
  const bool stopping = phase_.load(acquire) != phase::running;
  // the last job may have come after the poll above; none comes after this
  if (stopping) nothing_left = jobs.empty();
  if (!nothing_left && idle_.try_cancel(self.index)) return wake_cause::own;

  if (nothing_left && stopping) try_quiesce(jobs);
  const bool leaves = nothing_left && stopping && idle_.try_retire(self.index);
  became_idle();
  if (leaves) return wake_cause::stop;
  count_one(self.counters.sleeps);
  const wake_cause woken = park(self, jobs);
  if (woken != wake_cause::claimed || !is_quiescent()) return woken;
  end_search();
  return leave(self);
}

/// Called by a worker that has nothing to do in a settled pool and has not announced itself, so that it does not poll.
/// It sees everything before the stop, as a worker that leaves after a poll does.
auto sleepers::leave(worker& self) noexcept -> wake_cause {
  static_cast<void>(phase_.load(acquire));  // edge sleepers.stopping: observe what was before the stop
  for (idle_.advertise(self.index); !idle_.try_retire(self.index); idle_.advertise(self.index)) {
    self.sleep->park();  // the permit is on its way
    end_search();
  }
  became_idle();
  return wake_cause::stop;
}

/// The monitor (Go's sysmon): while others run, one sleeping worker wakes at intervals and checks whether a long job
/// delays the jobs queued after it. A pick does not put off when that is due, nor does the work of a driver.
auto sleepers::park(worker& self, scheduler_base& jobs) noexcept -> wake_cause {
  const bool has_monitor = try_monitor(jobs);
  if (has_monitor && self.idle.monitor_due == time_point())
    self.idle.monitor_due = steady_time().now() + monitor_interval;
  auto why = wake_reason::permit;
  {
    const trace_slice parked(trace_group::jobs, "parked");
    why = self.sleep->sleep_until(has_monitor ? self.idle.monitor_due : time_point::max());
  }
  if (why == wake_reason::deadline) self.idle.monitor_due = {};
  if (why != wake_reason::permit && !idle_.try_cancel(self.index)) {
    self.sleep->park();  // the permit is on its way
    why = wake_reason::permit;
  }
  if (is_traced() && why == wake_reason::permit) [[unlikely]]
    trace_note(trace_group::jobs, trace_kind::woken, trace_number(&self));
  if (has_monitor) end_monitoring(self, jobs, why);
  switch (why) {
    case wake_reason::permit: return wake_cause::claimed;
    case wake_reason::work: return wake_cause::called;
    case wake_reason::deadline: break;
  }
  return wake_cause::monitored;
}

/// This worker does not count as the monitor, and no worker relies on it: each worker that is awake for long checks by
/// itself.
auto sleepers::is_monitor_due(worker& self) noexcept -> bool {
  const time_point now = steady_time().now();
  if (self.idle.monitor_due == time_point()) self.idle.monitor_due = now + monitor_interval;
  if (now < self.idle.monitor_due) return false;
  self.idle.monitor_due = {};
  return true;
}

/// The next poll finds the jobs of threads that relied on this monitor: the poll of this worker or, if it has something
/// else to do first, the poll here on behalf of others.
void sleepers::end_monitoring(worker& self, scheduler_base& jobs, wake_reason why) noexcept {
  monitoring_.store(0, relaxed);
  barrier_.heavy();
  if (why == wake_reason::work && !idle_.none()) call_others(self, jobs);
}

/// Returns false if another worker monitors, or if every worker is asleep and no work is left: a worker that has
/// announced its sleep may be about to find a job in its own context.
auto sleepers::try_monitor(scheduler_base& jobs) noexcept -> bool {
  if (!jobs.has_monitor() || is_done(jobs)) return false;
  return monitoring_.exchange(1, relaxed) == 0;  // the barrier in `sleep` came before
}

/// Returns whether all workers have been idle from before the poll of the queues until after it: a worker that
/// announced its sleep may be about to find a job, take it before the poll reaches its context, and post another one
/// behind the poll.
auto sleepers::is_done(scheduler_base& jobs) noexcept -> bool {
  const auto idle = idle_.all_since();
  return idle && jobs.empty() && idle_.all_since() == idle;
}

void sleepers::wait_idle(scheduler_base& jobs) noexcept {
  while (true) {
    const auto key = became_idle_.prepare();
    const bool idle = is_done(jobs);
    if (idle) return became_idle_.cancel();
    became_idle_.wait(key);
  }
}

/// Polls once for all workers, because each poll is in the contexts of all of them. If all workers were idle during an
/// ordinary poll, no thread has moved jobs either. Requires that the pool stops.
void sleepers::try_quiesce(scheduler_base& jobs) noexcept {
  if (is_quiescent() || !(jobs.is_quiescent() || is_done(jobs))) return;
  // edge sleepers.stopping: publish what was before the stop, for workers that leave without a poll
  phase_.store(phase::quiescent, release);
}

void sleepers::stop(scheduler_base& jobs) noexcept {
  auto before = phase::running;
  // edge sleepers.stopping: publish the closed queues
  phase_.compare_exchange_strong(before, phase::stopping, release, relaxed);
  barrier_.heavy();  // a worker that reads the phase before this store has advertised itself, and is claimed below
  try_quiesce(jobs);
  for (const auto& self : workers_)
    if (idle_.try_claim(self->index)) wake(*self);
}

}  // namespace braid::detail
