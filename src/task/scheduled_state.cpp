// src/task/scheduled_state.cpp: implements the states of scheduled work: waiting for its timer, queued, running and
// ended.
#include <braid/task/detail/scheduled_state.hpp>

#include <utility>

namespace braid::detail {

scheduled_state::scheduled_state(executor_id executor, std::shared_ptr<timer_keeper> keeper, tick_rule rule) noexcept
    : droppable_timer(&fired, &timers_closed),
      job(&act),
      executor_(executor),
      keeper_(std::move(keeper)),
      rule_(rule) {}

scheduled_state::~scheduled_state() = default;

void scheduled_state::let_go() noexcept {
  // edge scheduled.last: both, the last owner sees all uses before it frees the object
  if (references_.fetch_sub(1, acq_rel) == 1) free();
}

auto scheduled_state::start(time_point first, time_point now) noexcept -> bool {
  tick_ = rule_.first_due(first, now);
  keep();
  if (try_arm(now)) return true;
  references_.fetch_sub(1, relaxed);
  return false;
}

/// Arms the timer for the next run. If the due time has already passed, arms the timer for `time_point::min()` instead,
/// because the timers round times up and would fire this timer later.
auto scheduled_state::try_arm(time_point now) noexcept -> bool {
  return keeper_->try_arm(*this, tick_ <= now ? time_point::min() : tick_);
}

/// Ends the work before it runs. Returns true for only one of several callers; that caller must destroy the captures.
auto scheduled_state::try_leave(phase from) noexcept -> bool {
  return phase_.compare_exchange_strong(from, phase::ending, relaxed, relaxed);
}

/// Destroys the captures, and reports why the work ended. Requires that the caller holds a reference.
void scheduled_state::end_as(phase outcome) noexcept {
  destroy_captures();
  phase_.store(outcome, release);  // edge scheduled.ended: publish that the captures are destroyed
  switch (outcome) {
    case phase::cancelled: return never_ran(errc::stopped);
    case phase::refused: return never_ran(errc::closed);
    case phase::dropped: return never_ran(errc::dropped);
    default: return;
  }
}

/// Ends the work instead of passing it on to the executor, and drops the reference. Called by the timer thread or the
/// executor.
void scheduled_state::give_up(phase from, phase outcome) noexcept {
  if (try_leave(from)) end_as(outcome);
  let_go();
}

void scheduled_state::timers_closed(timer& self) noexcept {
  static_cast<scheduled_state&>(self).give_up(phase::pending, phase::dropped);
}

void scheduled_state::fired(timer& self) noexcept {
  auto& work = static_cast<scheduled_state&>(self);
  auto seen = phase::pending;
  if (!work.phase_.compare_exchange_strong(seen, phase::queued, relaxed, relaxed)) return work.let_go();
  if (try_post_to(work.executor_, work)) return;  // afterwards the work may have run, and be destroyed
  work.give_up(phase::queued, phase::refused);
}

void scheduled_state::act(job& self, action request) {
  auto& work = static_cast<scheduled_state&>(self);
  if (request == action::run) return work.run();
  work.give_up(phase::queued, phase::dropped);
}

void scheduled_state::run() {
  auto seen = phase::queued;
  if (!phase_.compare_exchange_strong(seen, phase::running, relaxed, relaxed)) return let_go();
  runs_.fetch_add(1, relaxed);
  struct guard {
    scheduled_state& work;
    ~guard() { work.after_run(); }  // also when the function throws, which the executor reports
  } const ended{*this};
  call();
}

void scheduled_state::after_run() noexcept {
  if (!rule_.repeats()) {
    end_as(phase::done);
    return let_go();
  }
  const time_point now = keeper_->now();
  tick_ = rule_.after(tick_, now);
  auto seen = phase::running;
  // edge scheduled.captures: publish, a thread that cancels destroys the captures only after this run
  if (!phase_.compare_exchange_strong(seen, phase::pending, release, relaxed)) {
    end_as(phase::cancelled);
    return let_go();
  }
  keep();  // the work may run and end before the next lines
  if (!try_arm(now))
    give_up(phase::pending, phase::dropped);
  else if (phase_.load(relaxed) >= phase::ending && keeper_->retract(*this))
    let_go();  // a cancel came before the timer was armed, and could not disarm it
  let_go();
}

auto scheduled_state::cancel() noexcept -> cancellation {
  auto seen = phase_.load(relaxed);
  while (seen < phase::last_run) {
    const auto next = seen == phase::running ? phase::last_run : phase::ending;
    // edge scheduled.captures: observe, the last run's writes to the captures are seen
    if (!phase_.compare_exchange_weak(seen, next, acquire, relaxed)) continue;
    if (next == phase::last_run) return cancellation::after_run;
    end_as(phase::cancelled);
    if (keeper_->retract(*this)) let_go();
    return cancellation::done;
  }
  if (seen == phase::last_run) return cancellation::after_run;
  if (keeper_->retract(*this)) let_go();
  return cancellation::too_late;
}

auto scheduled_state::status() const noexcept -> schedule_status {
  switch (phase_.load(acquire)) {  // edge scheduled.ended: observe, what the captures left is seen
    case phase::done: return schedule_status::done;
    case phase::cancelled: return schedule_status::cancelled;
    case phase::refused: return schedule_status::refused;
    case phase::dropped: return schedule_status::dropped;
    default: return schedule_status::active;
  }
}

}  // namespace braid::detail
