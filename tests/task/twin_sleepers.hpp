// tests/task/twin_sleepers.hpp: the sleep and wake protocol, written once more, with a fault to choose.
#pragma once

#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/detail/event_count.hpp>
#include <braid/task/detail/idle_set.hpp>
#include <braid/task/detail/scheduler_base.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <chrono>
#include <cstdint>

namespace braid::testing {

/// Mistakes that an author of this protocol might make.
enum class fault : std::uint8_t {
  none,
  // Of the sleepers.
  looks_before_announcing,
  announces_without_barrier,
  wakes_without_picking,
  trusts_an_old_look,         ///< believes a plain look at how many search
  watches_beside_awake_only,  ///< takes all announced workers for sleeping ones
  ends_watch_without_barrier,
  works_while_announced,    ///< does what its driver has to do as if it slept
  leaves_monitor_silently,  ///< the same, after others have relied on its watch
  stops_without_barrier,
  leaves_after_one_look,
  leaves_the_count,
  trusts_a_passing_idleness,  ///< looks at the queues twice and in between whether all are idle
  takes_two_looks_for_one,    ///< looks before and after whether all are idle, and not whether they have idled since
  // Of the loop of a worker.
  passes_nothing_on,
  passes_on_without_barrier,
  passes_on_too_early,            ///< before it has ended its search
  looks_for_more_too_early,       ///< the same, but for the wake itself
  forgets_that_it_was_relied_on,  ///< because it found nothing at first
  moves_jobs_silently,            ///< to its own seat, while others looked and saw them nowhere
};

/// What detail::sleepers is, but for the fault.
template <fault Broken>
class twin_sleepers {
  using wake_cause = detail::wake_cause;
  using scheduler_base = detail::scheduler_base;

 public:
  static constexpr fault broken = Broken;

  twin_sleepers(const worker_list& workers, braid::detail::asymmetric_barrier& barrier)
      : workers_(workers), barrier_(barrier), idle_(workers.size()) {}

  void wake_for(const placement& placed) noexcept {
    if (idle_.none()) return;
    const bool can_wait = placed.how == placement::verdict::can_wait && monitoring_.load(relaxed) != 0;
    if (can_wait && !idle_.is_advertised(placed.worker)) return;
    if (placed.worker != placement::no_worker && try_pick(placed.worker)) return wake(*workers_[placed.worker]);
    if (can_wait) return;
    if (!someone_searches()) wake_one();
  }

  auto sleep(worker& self, scheduler_base& jobs) noexcept -> wake_cause;
  void end_search() noexcept { searching_.fetch_sub(1, acq_rel); }

  void pass_on(worker& /*self*/, scheduler_base& jobs) noexcept {
    if constexpr (Broken != fault::passes_on_without_barrier) barrier_.light();
    if (!idle_.none() && !jobs.empty() && !someone_searches()) wake_one();
  }

  void wait_idle(scheduler_base& jobs) noexcept;

  void stop() noexcept {
    stopping_.store(1, release);
    if constexpr (Broken != fault::stops_without_barrier) barrier_.heavy();
    for (const auto& self : workers_)
      if (idle_.try_claim(self->index)) wake(*self);
  }

 private:
  auto try_pick(std::size_t index) noexcept -> bool {
    return Broken == fault::wakes_without_picking ? idle_.is_advertised(index) : idle_.try_claim(index);
  }

  auto someone_searches() noexcept -> bool {
    if (searching_.load(relaxed) == 0) return false;
    return Broken == fault::trusts_an_old_look || searching_.fetch_add(0, acq_rel) != 0;
  }

  void wake_one() noexcept {
    if (const auto index = idle_.claim_any()) wake(*workers_[*index]);
  }

  void wake(worker& claimed) noexcept {
    searching_.fetch_add(1, relaxed);
    claimed.sleep->unpark();
  }

  auto rest(worker& self, scheduler_base& jobs) noexcept -> wake_cause;
  void end_monitoring(scheduler_base& jobs, wake_reason why) noexcept;

  auto try_monitor(scheduler_base& jobs) noexcept -> bool {
    const bool done = Broken == fault::watches_beside_awake_only ? idle_.all() : is_done(jobs);
    if (!jobs.has_monitor() || done) return false;
    return monitoring_.exchange(1, relaxed) == 0;
  }

  auto is_done(scheduler_base& jobs) noexcept -> bool {
    if constexpr (Broken == fault::trusts_a_passing_idleness) return jobs.empty() && idle_.all() && jobs.empty();
    if constexpr (Broken == fault::takes_two_looks_for_one) return idle_.all() && jobs.empty() && idle_.all();
    const auto idle = idle_.all_since();
    return idle && jobs.empty() && idle_.all_since() == idle;
  }

  const worker_list& workers_;
  braid::detail::asymmetric_barrier& barrier_;
  detail::idle_set idle_;
  atomic<std::uint32_t> searching_{0};
  atomic<std::uint32_t> monitoring_{0};
  atomic<std::uint32_t> stopping_{0};
  braid::detail::event_count became_idle_;
};

template <fault Broken>
auto twin_sleepers<Broken>::sleep(worker& self, scheduler_base& jobs) noexcept -> wake_cause {
  const bool early = Broken == fault::looks_before_announcing && jobs.may_park(self);
  idle_.advertise(self.index);
  if constexpr (Broken != fault::announces_without_barrier) barrier_.heavy();
  bool nothing_left = Broken == fault::looks_before_announcing ? early : jobs.may_park(self);
  const bool stopping = stopping_.load(acquire) != 0;
  if (stopping && Broken != fault::leaves_after_one_look) nothing_left = jobs.empty();
  if (!nothing_left && idle_.try_cancel(self.index)) return wake_cause::own;

  const bool out_of_count = Broken == fault::leaves_the_count;
  const bool leaves =
      nothing_left && stopping && (out_of_count ? idle_.try_cancel(self.index) : idle_.try_retire(self.index));
  if (idle_.all()) became_idle_.notify_all();
  return leaves ? wake_cause::stop : rest(self, jobs);
}

template <fault Broken>
auto twin_sleepers<Broken>::rest(worker& self, scheduler_base& jobs) noexcept -> wake_cause {
  const bool has_monitor = try_monitor(jobs);
  // For the explorer a deadline is any time.
  auto why = self.sleep->sleep_until(has_monitor ? time_point() : time_point::max());
  const bool stays = Broken == fault::works_while_announced && why == wake_reason::work;
  if (why != wake_reason::permit && !stays && !idle_.try_cancel(self.index)) {
    self.sleep->park();
    why = wake_reason::permit;
  }
  if (has_monitor) end_monitoring(jobs, why);
  if (why == wake_reason::permit) return wake_cause::claimed;
  return why == wake_reason::work ? wake_cause::called : wake_cause::monitored;
}

template <fault Broken>
void twin_sleepers<Broken>::end_monitoring(scheduler_base& jobs, wake_reason why) noexcept {
  monitoring_.store(0, relaxed);
  if constexpr (Broken != fault::ends_watch_without_barrier) barrier_.heavy();
  if (why != wake_reason::work || Broken == fault::leaves_monitor_silently) return;
  if (!idle_.none() && !jobs.empty() && !someone_searches()) wake_one();
}

template <fault Broken>
void twin_sleepers<Broken>::wait_idle(scheduler_base& jobs) noexcept {
  while (true) {
    const auto key = became_idle_.prepare();
    if (is_done(jobs)) return became_idle_.cancel();
    became_idle_.wait(key);
  }
}

/// What is wrong with these sleepers: nothing, with those of the product.
template <typename Sleepers>
inline constexpr fault fault_of = fault::none;
template <fault Broken>
inline constexpr fault fault_of<twin_sleepers<Broken>> = Broken;

}  // namespace braid::testing
