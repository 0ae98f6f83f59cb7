// braid/task/detail/scheduler_for.hpp: the loop of a worker, with a scheduling policy compiled into it.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/detail/user_code.hpp>
#include <braid/task/detail/common_queue.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/detail/local_queues.hpp>
#include <braid/task/detail/report_exception.hpp>
#include <braid/task/detail/scheduler_base.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/detail/spare_threads.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace braid::detail {

/// Executes `pauses` pause instructions of the processor.
BRAID_API void back_off(std::uint32_t pauses) noexcept;

/// A scheduling policy together with the queues of high and low priority.
template <scheduling_policy Policy>
class scheduler_for final : public scheduler_base {
 public:
  scheduler_for(pool& owner, const worker_list& workers) : owner_(owner), forks_(*owner.forks_), policy_(workers) {
    if constexpr (requires { policy_.queue_of_all(); }) shared_ = &policy_.queue_of_all();
  }

  static auto make(pool& owner, const worker_list& workers) -> std::unique_ptr<scheduler_base> {
    return std::make_unique<scheduler_for>(owner, workers);
  }

  auto place(job& work, worker* poster, priority level) noexcept -> placement override {
    if (level == priority::normal) {
      const placement placed = policy_.place(work, poster);
      if (placed.how != placement::verdict::no_memory) [[likely]]
        return placed;
    }
    common_queue& queue = level == priority::low ? low_ : high_;  // neither needs memory
    if (!queue.try_push(work)) return {};
    return {.how = placement::verdict::urgent};
  }

  auto worker_for(worker* poster) noexcept -> worker* override {
    if constexpr (local_queue_policy<Policy>)
      return &policy_.worker_for(poster);
    else
      return nullptr;
  }

  [[nodiscard]] auto busy_worker() const noexcept -> const atomic<worker*>* override {
    if constexpr (requires { policy_.busy_worker(); })
      return &policy_.busy_worker();
    else
      return nullptr;
  }

  [[nodiscard]] auto own_queues() noexcept -> local_queues* override {
    if constexpr (requires { policy_.own_queues(); })
      return &policy_.own_queues();
    else
      return nullptr;
  }

  void work(worker& self) noexcept override;
  auto run_one(worker& self, search reason) noexcept -> bool override;
  auto run_awaited(worker& self, job& awaited) noexcept -> bool override;

  void falls_asleep() noexcept override { forks_.ask_all(); }
  [[nodiscard]] auto has_monitor() const noexcept -> bool override { return Policy::has_monitor; }
  [[nodiscard]] auto may_park(worker& self) noexcept -> bool override {
    return high_.empty() && low_.empty() && policy_.may_park(self) && forks_.empty();
  }
  [[nodiscard]] auto empty() noexcept -> bool override {
    return high_.empty() && low_.empty() && policy_.empty() && forks_.empty();
  }
  [[nodiscard]] auto is_quiescent() noexcept -> bool override {
    if constexpr (requires { policy_.is_quiescent(); })
      return high_.empty() && low_.empty() && policy_.is_quiescent() && forks_.empty();
    return false;
  }
  void close() noexcept override {
    high_.close();
    low_.close();
    policy_.close();
  }
  void drop_all() noexcept override {
    high_.drop_all();
    low_.drop_all();
    policy_.drop_all();
  }

 private:
  static constexpr std::uint32_t polls_between_fair = 64;
  static constexpr std::uint32_t max_between_driver_polls = 8;  // jobs
  static constexpr duration quantum = 100us;
  static constexpr duration quantum_beside_driver = 20us;
  static constexpr std::uint32_t max_jobs_per_slice = 256;
  static constexpr std::uint32_t worth_a_look = 16;  // jobs that a poll of the inbox has shown
  static constexpr duration worth_a_backoff = 2us;
  static constexpr std::uint32_t min_backoff = 4;

  static auto why_after(worker& self, wake_cause woken) noexcept -> search {
    switch (woken) {
      case wake_cause::claimed: return search::woken;
      case wake_cause::monitored: return search::monitor;
      case wake_cause::called:
        return Policy::has_monitor && sleepers::is_monitor_due(self) ? search::monitor : search::routine;
      default: return search::routine;
    }
  }

  auto next(worker& self, search reason) noexcept -> found_job;
  auto next_in_fairness(worker& self) noexcept -> found_job;
  void run_posted(worker& self) noexcept;
  auto is_slice_over(worker& self, std::uint32_t ran) noexcept -> bool;
  auto next_posted(worker& self, std::uint32_t& since_look) noexcept -> found_job;
  auto run_own(worker& self) noexcept -> bool;
  auto run_fresh(worker& self) noexcept -> bool;
  static void back_off_after_jobs(worker& self) noexcept;
  auto lingers(worker& self) noexcept -> bool;
  /// Returns whether the driver's work is next. Posts rely on that a worker woken for jobs polls for them first.
  static auto is_driver_next(worker& self, wake_cause woken) noexcept -> bool {
    return woken == wake_cause::called || (woken == wake_cause::own && self.sleep->is_due());
  }
  /// Returns whether the driver has work, which a worker without jobs does. In a pool that stops it leaves instead.
  auto has_own_work(worker& self) noexcept -> bool {
    return self.has_own_work && !owner_.sleepers_->is_stopping() && self.sleep->is_ready();
  }
  void work_beside_jobs(worker& self) noexcept;
  void look_up(worker& self) noexcept;
  auto help_with_forks(worker& self) noexcept -> bool;
  template <typename Item>
  auto run_if_any(worker& self, Item item) noexcept -> bool;
  template <typename Item>
  void run(worker& self, Item& item) noexcept;

  pool& owner_;
  fork_exchange& forks_;
  Policy policy_;
};

template <scheduling_policy Policy>
void scheduler_for<Policy>::work(worker& self) noexcept {
  sleepers& others = *owner_.sleepers_;
  code_marker* const marker = outermost_code_marker();
  bool relied_on = false;  // posts may have counted on this worker since it looked for more
  for (auto woken = wake_cause::own; woken != wake_cause::stop;) {
    if (marker != nullptr) marker->pass();
    if (self.absent != 0) [[unlikely]]
      owner_.spare_threads_->yield_context(self, marker);
    if (self.has_own_work && is_driver_next(self, woken)) [[unlikely]] {
      if (std::exchange(relied_on, false)) others.pass_on(self, *this);
      work_beside_jobs(self);
    }
    found_job item = next(self, why_after(self, woken));
    fork_record* const stolen = item ? nullptr : forks_.steal(self);
    if (woken == wake_cause::claimed) others.end_search();
    if (std::exchange(self.should_wake_peer, false) || is_relied_on(woken)) relied_on = true;
    woken = wake_cause::own;
    if (!item && stolen == nullptr) {
      const user_code_pause idle(marker);
      self.pace.paused();
      self.between_own_work = 1;
      if (self.absent != 0) {
        owner_.spare_threads_->pause(self);
        woken = wake_cause::monitored;  // no worker relies on this context to monitor: it never announces its sleep
        continue;
      }
      if (has_own_work(self))
        woken = wake_cause::called;
      else if (!lingers(self))
        woken = others.sleep(self, *this);
      continue;
    }
    if (std::exchange(relied_on, false)) {
      forks_.ask_for_sleepers();
      others.pass_on(self, *this);
    }
    if (self.pace.job_begins()) look_up(self);
    if (stolen != nullptr) {
      forks_.run_stolen(self, *stolen);
      continue;
    }
    run(self, item);
    if constexpr (local_queue_policy<Policy>) {
      if (self.remote_slice_due) [[unlikely]]
        run_posted(self);
      // A worker that has just found nothing backs off before the next poll: a producer is writing there.
      if (!run_own(self) && owner_.looks_before_sleep_ != 0) back_off_after_jobs(self);
    }
  }
}

/// Runs remote jobs for one time slice, because the worker's own jobs have just had theirs. Each counts as a poll, so
/// that priority `low` gets its share.
template <scheduling_policy Policy>
void scheduler_for<Policy>::run_posted(worker& self) noexcept {
  self.remote_slice_due = false;
  if (self.queue.seems_empty()) return;  // then the inbox is next anyway
  self.remote_slice_ended = self.pace.beside_jobs([&] {
    std::uint32_t since_look = worth_a_look;
    for (std::uint32_t ran = 0; !is_slice_over(self, ran); ++ran) {
      const bool is_fair_look = --self.until_fair == 0;
      if (!run_if_any(self, is_fair_look ? next_in_fairness(self) : next_posted(self, since_look))) return;
    }
  });
}

/// The clock is read after the first, second and fourth job, because jobs may be long, and then every eight jobs.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::is_slice_over(worker& self, std::uint32_t ran) noexcept -> bool {
  if (ran == max_jobs_per_slice || self.absent != 0 || !high_.empty()) return true;
  if (ran == 0 || (!std::has_single_bit(ran) && ran % max_between_driver_polls != 0)) return false;
  return self.pace.elapsed() >= (self.has_own_work ? quantum_beside_driver : quantum);
}

/// Runs the jobs that were there at the last poll. Polls again only if the last poll was worth it, because a producer
/// may be writing there, and each poll takes its cache lines away.
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

/// Runs the jobs in the worker's own context, as long as nothing else requires a poll: the jobs that `next` would
/// return, without its overhead. Returns false when no job is left there.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::run_own(worker& self) noexcept -> bool {
  std::uint32_t max_count = std::min(self.pace.left_in_batch(), self.until_fair - 1);
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
  self.until_fair -= std::min(begun, self.until_fair - 1);
  self.pace.have_begun(begun);
  self.since_look += begun;
  return more;
}

/// Looks what has been posted meanwhile. Where that was next to nothing the last time, the worker has caught up with a
/// producer, and rests first: it would take the lines away that are being written, for a job or two.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::run_fresh(worker& self) noexcept -> bool {
  if (owner_.looks_before_sleep_ != 0 && self.since_look * self.pace.average() < worth_a_backoff)
    self.pace.back_off_in([] { back_off(worker::max_backoff); });
  self.since_look = 0;
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
  if (!high_.empty() && self.consecutive_high < max_consecutive_high) {
    ++self.consecutive_high;
    if (job* const urgent = high_.pop(); urgent != nullptr) return urgent;
  }
  self.consecutive_high = 0;
  if (--self.until_fair == 0)
    if (found_job fair = next_in_fairness(self)) return fair;
  if (found_job usual = policy_.refill(self, reason)) return usual;
  if (job* const urgent = high_.pop(); urgent != nullptr) return urgent;
  return low_.pop();
}

template <scheduling_policy Policy>
auto scheduler_for<Policy>::next_in_fairness(worker& self) noexcept -> found_job {
  self.until_fair = polls_between_fair;
  if (--self.until_low == 0) {
    self.until_low = polls_between_low / polls_between_fair;
    if (job* const patient = low_.pop(); patient != nullptr) return patient;
  }
  return policy_.tick(self);
}

template <scheduling_policy Policy>
auto scheduler_for<Policy>::run_one(worker& self, search reason) noexcept -> bool {
  found_job item = next(self, reason);
  if (!item) return help_with_forks(self);
  if (std::exchange(self.should_wake_peer, false)) owner_.sleepers_->pass_on(self, *this);
  if (self.pace.job_begins()) look_up(self);
  run(self, item);
  return true;
}

template <scheduling_policy Policy>
auto scheduler_for<Policy>::run_awaited(worker& self, job& awaited) noexcept -> bool {
  if constexpr (requires { policy_.try_take(self, awaited); }) {
    const bool found = policy_.try_take(self, awaited);
    if (std::exchange(self.should_wake_peer, false)) owner_.sleepers_->pass_on(self, *this);
    if (!found) return false;
    if (self.pace.job_begins()) look_up(self);
    found_job item(&awaited);
    run(self, item);
    return true;
  } else {
    return false;
  }
}

/// Called when a job waits for something that is not a fork. Other workers may run what it has forked meanwhile. The
/// worker runs their forks if it has no work of its own, so that a thief's deque contains only work of the stolen fork.
/// A spare thread also runs what the waiting job has forked.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::help_with_forks(worker& self) noexcept -> bool {
  if (self.forks.private_size() != 0 && self.forks.wanted()) forks_.answer(self);
  return (self.absent != 0 || fork_exchange::has_none(self)) && forks_.help(self);
}

/// A batch of jobs begins: at most every ten microseconds or so, and at least every 64 jobs.
template <scheduling_policy Policy>
void scheduler_for<Policy>::look_up(worker& self) noexcept {
  self.sleep->poll();
  if constexpr (local_queue_policy<Policy>) {
    const time_point behind_next_job = self.pace.batch_began() + self.pace.average();
    self.remote_slice_due = behind_next_job - self.remote_slice_ended >= quantum;
    if (owner_.sleepers_->anybody_sleeps() && is_worth_a_wake(self, self.backlog()))
      owner_.sleepers_->pass_on(self, *this);
  }
}

/// A producer that has posted several jobs since the worker rested continues to write: it is not polled for a long
/// time. A producer that posts a single job and waits for it is polled soon.
template <scheduling_policy Policy>
void scheduler_for<Policy>::back_off_after_jobs(worker& self) noexcept {
  const std::uint64_t begun = self.counters.jobs.load(relaxed);
  const bool was_alone = begun - std::exchange(self.begun_before_backoff, begun) <= 1;
  self.backoff = was_alone ? std::max(self.backoff / 2, min_backoff) : worker::max_backoff;
  back_off(self.backoff);
}

/// Looks once in a microsecond, after jobs that came one at a time, so that it does not take the cache lines away that
/// a producer is writing; not before the first job, while a large pool starts. Returns true if there is a job again.
template <scheduling_policy Policy>
auto scheduler_for<Policy>::lingers(worker& self) noexcept -> bool {
  if (self.counters.jobs.load(relaxed) == 0 && self.counters.forks_stolen.load(relaxed) == 0) return false;
  std::uint32_t backoff = self.backoff;
  for (auto left = owner_.looks_before_sleep_ * worker::max_backoff; left > 0; left -= std::min(left, backoff)) {
    back_off(backoff);
    if (owner_.sleepers_->is_quiescent()) return false;
    if (!may_park(self) || has_own_work(self)) return true;
    backoff = std::min(2 * backoff, worker::max_backoff);
  }
  return false;
}

/// Runs the driver. Forks that it leaves are run here, as after a job. Whether there is more to do is checked after the
/// next job, because jobs may be long, and then less often, if they are not.
template <scheduling_policy Policy>
void scheduler_for<Policy>::work_beside_jobs(worker& self) noexcept {
  const std::uint32_t position = self.forks.position();
  self.pace.beside_jobs([&self] { self.sleep->work(); });
  self.between_own_work = 1;
  if (self.leaves_forks) [[unlikely]]
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
  if (self.leaves_forks) [[unlikely]]
    run_left_forks(self, position);
}

}  // namespace braid::detail
