// src/task/sleepers.cpp: the protocol of docs/design/pool.md: announce, look again, sleep; place, look, wake.
#include <braid/task/detail/sleepers.hpp>

namespace braid::detail {

/// The worker at whose seat the job lies does not sleep beside it. Another one is woken where the job is urgent, or
/// where nobody would notice that a job holds that worker up.
void sleepers::wake_someone(const placement& placed) noexcept {
  if (placed.seat != placement::no_seat && idle_.try_pick(placed.seat)) return wake(*workers_[placed.seat]);
  if (placed.how == placement::verdict::can_wait && watching_.load(relaxed) != 0) return;
  if (!someone_searches()) wake_one();
}

/// The second look is one that the searching worker's `end_search` comes after, if it comes to it.
auto sleepers::someone_searches() noexcept -> bool {
  if (searching_.load(relaxed) == 0) return false;
  // edge sleepers.searching: both, the searching worker's last poll sees the new job
  return searching_.fetch_add(0, acq_rel) != 0;
}

auto sleepers::wake_one() noexcept -> bool {
  const auto index = idle_.pick();
  if (index) wake(*workers_[*index]);
  return index.has_value();
}

void sleepers::wake(worker& picked) noexcept {
  searching_.fetch_add(1, relaxed);  // for the worker that wakes; it takes this back after its first look
  picked.sleep->unpark();
}

void sleepers::call_others(worker& self, crew& jobs) noexcept {
  if (jobs.empty() || someone_searches()) return;
  if (wake_one()) count_one(self.counters.wakes_of_own);
}

/// Every unpark goes to a worker that was picked, and every worker that was picked parks until it comes: so no permit
/// is left over.
auto sleepers::sleep(worker& self, crew& jobs) noexcept -> wake_cause {
  if (is_settled()) return leave(self);
  idle_.announce(self.index);
  jobs.falls_asleep();
  barrier_.heavy();
  bool nothing_left = jobs.may_park(self);
  const bool stopping = phase_.load(acquire) != phase::running;  // edge sleepers.stopping: observe
  if (stopping) nothing_left = jobs.empty();  // the last job may have come after the look above; none comes after this
  if (!nothing_left && idle_.try_retract(self.index)) return wake_cause::own;

  if (nothing_left && stopping) settle(jobs);
  const bool leaves = nothing_left && stopping && idle_.try_leave(self.index);
  became_idle();
  if (leaves) return wake_cause::stop;
  count_one(self.counters.sleeps);
  const wake_cause woken = rest(self, jobs);
  if (woken != wake_cause::picked || !is_settled()) return woken;
  end_search();
  return leave(self);
}

/// For a worker that has nothing to do in a pool that has settled, and has not announced itself: no look for work. It
/// sees what was before the stop, as a worker that leaves after a poll does.
auto sleepers::leave(worker& self) noexcept -> wake_cause {
  static_cast<void>(phase_.load(acquire));  // edge sleepers.stopping: observe
  for (idle_.announce(self.index); !idle_.try_leave(self.index); idle_.announce(self.index)) {
    self.sleep->park();  // the permit is on its way
    end_search();
  }
  became_idle();
  return wake_cause::stop;
}

/// The monitor (Go's sysmon): while others run, one sleeping worker wakes at intervals and checks whether a long job
/// delays the jobs queued after it. A pick does not put off when that is due, nor does the work of a driver.
auto sleepers::rest(worker& self, crew& jobs) noexcept -> wake_cause {
  const bool watches = try_watch(jobs);
  if (watches && self.watch_due == time_point()) self.watch_due = steady_time().now() + watch_interval;
  auto why = self.sleep->sleep_until(watches ? self.watch_due : time_point::max());
  if (why == wake_reason::deadline) self.watch_due = {};
  if (why != wake_reason::permit && !idle_.try_retract(self.index)) {
    self.sleep->park();  // the permit is on its way
    why = wake_reason::permit;
  }
  if (watches) end_watch(self, jobs, why);
  switch (why) {
    case wake_reason::permit: return wake_cause::picked;
    case wake_reason::work: return wake_cause::called;
    case wake_reason::deadline: break;
  }
  return wake_cause::watched;
}

/// It does not count as the monitor, and no worker relies on it: each worker that is awake for long checks by itself.
auto sleepers::is_watch_due(worker& self) noexcept -> bool {
  const time_point now = steady_time().now();
  if (self.watch_due == time_point()) self.watch_due = now + watch_interval;
  if (now < self.watch_due) return false;
  self.watch_due = {};
  return true;
}

/// Jobs of threads that relied on this monitor are found by the next poll: that of this worker, or, where it has
/// something else to do first, the poll here on behalf of others.
void sleepers::end_watch(worker& self, crew& jobs, wake_reason why) noexcept {
  watching_.store(0, relaxed);
  barrier_.heavy();
  if (why == wake_reason::work && !idle_.none()) call_others(self, jobs);
}

/// False when somebody else watches, or all sleep beside nothing: one that has announced itself may be about to find a
/// job at its own seat.
auto sleepers::try_watch(crew& jobs) noexcept -> bool {
  if (!jobs.watches() || is_done(jobs)) return false;
  return watching_.exchange(1, relaxed) == 0;  // the barrier in `sleep` came before
}

/// Whether all have idled from before the look at the queues until after it: one that announced itself may be about to
/// find a job, take it before the look comes to its seat, and post another where the look has been.
auto sleepers::is_done(crew& jobs) noexcept -> bool {
  const auto idle = idle_.all_since();
  return idle && jobs.empty() && idle_.all_since() == idle;
}

auto sleepers::wait_idle_until(crew& jobs, time_point deadline) noexcept -> bool {
  for (bool in_time = true;;) {
    const auto key = became_idle_.prepare();
    const bool idle = is_done(jobs);
    if (idle || !in_time) {
      became_idle_.cancel();
      return idle;
    }
    in_time = became_idle_.wait_until(key, deadline);
  }
}

/// Once for all, because each look is at the seats of all workers. Where all have idled during an ordinary look nobody
/// has moved jobs either. Requires that the pool stops.
void sleepers::settle(crew& jobs) noexcept {
  if (is_settled() || !(jobs.is_settled() || is_done(jobs))) return;
  phase_.store(phase::settled, release);  // edge sleepers.stopping: publish
}

void sleepers::stop(crew& jobs) noexcept {
  auto before = phase::running;
  phase_.compare_exchange_strong(before, phase::stopping, release, relaxed);  // edge sleepers.stopping: publish
  barrier_.heavy();  // a worker that reads the phase before this store has advertised itself, and is claimed below
  settle(jobs);
  for (const auto& self : workers_)
    if (idle_.try_pick(self->index)) wake(*self);
}

}  // namespace braid::detail
