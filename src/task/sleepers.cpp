// src/task/sleepers.cpp: lets workers sleep and wakes them, so that no job is missed (docs/design/pool.md).
#include <braid/task/detail/sleepers.hpp>

namespace braid::detail {

/// Wakes a worker for a new job if necessary. The worker whose queue holds the job is woken if it is about to fall
/// asleep. Otherwise another worker is woken if the job is urgent, or if there is no monitor, which would notice if a
/// long job delayed the new job.
void sleepers::wake_someone(const placement& placed) noexcept {
  if (placed.worker != placement::no_worker && idle_.try_claim(placed.worker)) return wake(*workers_[placed.worker]);
  if (placed.how == placement::verdict::can_wait && monitoring_.load(relaxed) != 0) return;
  if (!someone_searches()) wake_one();
}

/// Returns whether a worker is searching for jobs. If the result is true, that search had not ended when the caller
/// read the count, so the last poll of the search finds the caller's new job.
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
  searching_.fetch_add(1, relaxed);  // counts the woken worker, which decrements the count after its first poll
  claimed.sleep->unpark();
}

void sleepers::call_others(worker& self, scheduler_base& jobs) noexcept {
  if (jobs.empty() || someone_searches()) return;
  if (wake_one()) count_one(self.counters.wakes_of_own);
}

/// Puts a worker to sleep if there are no jobs. A worker is unparked only if it was claimed, and a claimed worker stays
/// parked until it receives the permit. So no permit is left over.
auto sleepers::sleep(worker& self, scheduler_base& jobs) noexcept -> wake_cause {
  if (is_quiescent()) return leave(self);
  idle_.advertise(self.index);
  jobs.falls_asleep();
  barrier_.heavy();
  bool nothing_left = jobs.may_park(self);
  // edge sleepers.stopping: observe the closed queues
  const bool stopping = phase_.load(acquire) != phase::running;
  // The last job may have been posted after the poll above. The queues of a stopping pool are closed, so no job is
  // posted after the second poll.
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

/// Ends a worker of a quiescent pool. The queues are known to be empty, so they are not polled again. Even without a
/// poll, the worker sees all writes that precede the stop.
auto sleepers::leave(worker& self) noexcept -> wake_cause {
  static_cast<void>(phase_.load(acquire));  // edge sleepers.stopping: observe what was before the stop
  for (idle_.advertise(self.index); !idle_.try_retire(self.index); idle_.advertise(self.index)) {
    self.sleep->park();  // a waking thread will grant the permit
    end_search();
  }
  became_idle();
  return wake_cause::stop;
}

/// Sleeps until the worker is claimed or has work. One sleeping worker is the monitor (Go's sysmon): it wakes at
/// intervals and checks whether a long job delays the jobs queued after it. If the monitor is claimed, or if its driver
/// has work, the time of the next check stays the same.
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
    self.sleep->park();  // a waking thread will grant the permit
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

/// Returns whether an awake worker must check for long jobs. A worker that stays awake for a long time makes this check
/// itself, even if it is not the monitor.
auto sleepers::is_monitor_due(worker& self) noexcept -> bool {
  const time_point now = steady_time().now();
  if (self.idle.monitor_due == time_point()) self.idle.monitor_due = now + monitor_interval;
  if (now < self.idle.monitor_due) return false;
  self.idle.monitor_due = {};
  return true;
}

/// Ends the role of the monitor. Other threads may have relied on this monitor to find their jobs. This worker's next
/// poll finds those jobs. If this worker must run its driver first, the code below polls for those jobs and wakes other
/// workers.
void sleepers::end_monitoring(worker& self, scheduler_base& jobs, wake_reason reason) noexcept {
  monitoring_.store(0, relaxed);
  barrier_.heavy();
  if (reason == wake_reason::work && !idle_.none()) call_others(self, jobs);
}

/// Makes the calling worker the monitor. Returns false if another worker is the monitor, or if all workers are asleep
/// and no job is queued. The queues must also be checked, because there may be jobs although all workers have announced
/// that they will sleep: each worker polls once more after that.
auto sleepers::try_monitor(scheduler_base& jobs) noexcept -> bool {
  if (!jobs.has_monitor() || is_done(jobs)) return false;
  return monitoring_.exchange(1, relaxed) == 0;  // the barrier in `sleep` came before
}

/// Returns whether all workers were idle during the whole poll of the queues. For this, the function checks that the
/// workers are idle both before and after the poll. Without the check after the poll, a worker that has announced its
/// sleep could take a job before the poll reaches its queue, and could post another job to a queue that was already
/// polled.
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

/// Marks the stopping pool as quiescent if no job is left. One worker does this for all workers, because each poll
/// reads the queues of all workers. If all workers were idle during an ordinary poll, no thread has moved jobs between
/// queues either.
void sleepers::try_quiesce(scheduler_base& jobs) noexcept {
  if (is_quiescent() || !(jobs.is_quiescent() || is_done(jobs))) return;
  // edge sleepers.stopping: publish all writes before the stop, for workers that leave without a poll
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
