// braid/task/detail/crew_of.hpp: the loop of a worker, with a scheduling policy compiled into it.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/detail/common_queue.hpp>
#include <braid/task/detail/crew.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/detail/report_exception.hpp>
#include <braid/task/detail/seats.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/detail/stand_ins.hpp>
#include <braid/task/found_job.hpp>
#include <braid/task/lane.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace braid::detail {

/// Waits for so many pauses of the processor.
BRAID_API void rest_for(std::uint32_t pauses) noexcept;

/// A policy, with the lanes beside it.
template <scheduling_policy Policy>
class crew_of final : public crew {
 public:
  crew_of(pool& owner, const worker_list& workers) : owner_(owner), forks_(*owner.forks_), policy_(workers) {}

  static auto make(pool& owner, const worker_list& workers) -> std::unique_ptr<crew> {
    return std::make_unique<crew_of>(owner, workers);
  }

  auto place(job& work, worker* poster, lane level) noexcept -> placement override {
    if (level == lane::normal) {
      const placement placed = policy_.place(work, poster);
      if (placed.how != placement::verdict::no_memory) [[likely]]
        return placed;
    }
    common_queue& queue = level == lane::bulk ? bulk_ : urgent_;  // neither needs memory
    if (!queue.try_push(work)) return {};
    return {.how = placement::verdict::urgent};
  }

  auto seat_for(worker* poster) noexcept -> worker* override {
    if constexpr (seated_policy<Policy>)
      return &policy_.seat_for(poster);
    else
      return nullptr;
  }

  [[nodiscard]] auto busy_seat() const noexcept -> const atomic<worker*>* override {
    if constexpr (requires { policy_.busy_seat(); })
      return &policy_.busy_seat();
    else
      return nullptr;
  }

  [[nodiscard]] auto own_seats() noexcept -> seats* override {
    if constexpr (requires { policy_.own_seats(); })
      return &policy_.own_seats();
    else
      return nullptr;
  }

  void work(worker& self) noexcept override;
  auto run_one(worker& self, search why) noexcept -> bool override;
  auto run_awaited(worker& self, job& awaited) noexcept -> bool override;

  void falls_asleep() noexcept override { forks_.ask_all(); }
  [[nodiscard]] auto watches() const noexcept -> bool override { return Policy::watches; }
  [[nodiscard]] auto may_park(worker& self) noexcept -> bool override {
    return urgent_.empty() && bulk_.empty() && policy_.may_park(self) && forks_.empty();
  }
  [[nodiscard]] auto empty() noexcept -> bool override {
    return urgent_.empty() && bulk_.empty() && policy_.empty() && forks_.empty();
  }
  [[nodiscard]] auto is_settled() noexcept -> bool override {
    if constexpr (requires { policy_.is_settled(); })
      return urgent_.empty() && bulk_.empty() && policy_.is_settled() && forks_.empty();
    return false;
  }
  void close() noexcept override {
    urgent_.close();
    bulk_.close();
    policy_.close();
  }
  void drop_all() noexcept override {
    urgent_.drop_all();
    bulk_.drop_all();
    policy_.drop_all();
  }

 private:
  static constexpr std::uint32_t turns_between_ticks = 64;
  static constexpr std::uint32_t most_between_looks_at_own_work = 8;  // jobs
  static constexpr duration time_of_own_jobs = 100us;
  static constexpr duration time_beside_own_work = 20us;
  static constexpr std::uint32_t most_posted_in_a_row = 256;
  static constexpr std::uint32_t worth_a_look = 16;  // jobs that a look at the inbox has shown
  static constexpr duration worth_a_rest = 2us;
  static constexpr std::uint32_t shortest_rest = 4;

  static constexpr auto is_relied_on(wake_cause woken) noexcept -> bool {
    return woken == wake_cause::picked || woken == wake_cause::watched;
  }

  static auto why_after(worker& self, wake_cause woken) noexcept -> search {
    switch (woken) {
      case wake_cause::picked: return search::woken;
      case wake_cause::watched: return search::watch;
      case wake_cause::called: return Policy::watches && sleepers::is_watch_due(self) ? search::watch : search::routine;
      default: return search::routine;
    }
  }

  auto next(worker& self, search why) noexcept -> found_job;
  auto next_in_fairness(worker& self) noexcept -> found_job;
  void run_posted(worker& self) noexcept;
  auto is_row_over(worker& self, std::uint32_t ran) noexcept -> bool;
  auto next_posted(worker& self, std::uint32_t& since_look) noexcept -> found_job;
  auto run_own(worker& self) noexcept -> bool;
  auto run_fresh(worker& self) noexcept -> bool;
  static void rest_after_jobs(worker& self) noexcept;
  auto lingers(worker& self) noexcept -> bool;
  /// Whether the driver's work is next. A worker that was woken for jobs polls for them first: posts rely on that.
  static auto has_turn(worker& self, wake_cause woken) noexcept -> bool {
    return woken == wake_cause::called || (woken == wake_cause::own && self.sleep->is_due());
  }
  /// Whether there is work of the driver's that a worker without jobs does. In a pool that stops it leaves instead.
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
  common_queue urgent_;
  common_queue bulk_;
};

template <scheduling_policy Policy>
void crew_of<Policy>::work(worker& self) noexcept {
  sleepers& others = *owner_.sleepers_;
  bool relied_on = false;  // posts may have counted on this worker since it looked for more
  for (auto woken = wake_cause::own; woken != wake_cause::stop;) {
    if (self.away != 0) [[unlikely]]
      owner_.stand_ins_->give_way(self);
    if (self.has_own_work && has_turn(self, woken)) [[unlikely]] {
      if (std::exchange(relied_on, false)) others.pass_on(self, *this);
      work_beside_jobs(self);
    }
    found_job item = next(self, why_after(self, woken));
    fork_record* const stolen = item ? nullptr : forks_.steal(self);
    if (woken == wake_cause::picked) others.end_search();
    if (std::exchange(self.calls_others, false) || is_relied_on(woken)) relied_on = true;
    woken = wake_cause::own;
    if (!item && stolen == nullptr) {
      self.pace.paused();
      self.between_own_work = 1;
      if (self.away != 0) {
        owner_.stand_ins_->pause(self);
        woken = wake_cause::watched;  // such a seat never announces its sleep, so nobody relies on it to watch: it does
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
    if constexpr (seated_policy<Policy>) {
      if (self.owes_a_row) [[unlikely]]
        run_posted(self);
      // A worker that has just found nothing backs off before the next poll: a producer is writing there.
      if (!run_own(self) && owner_.looks_before_sleep_ != 0) rest_after_jobs(self);
    }
  }
}

/// What others have posted, ahead of what the worker has posted itself, which has had its time: now they have as much.
/// Each counts as a look for work, so that the bulk lane comes to its turns.
template <scheduling_policy Policy>
void crew_of<Policy>::run_posted(worker& self) noexcept {
  self.owes_a_row = false;
  if (self.queue.seems_empty()) return;  // then the inbox is next anyway
  self.row_ended = self.pace.beside_jobs([&] {
    std::uint32_t since_look = worth_a_look;
    for (std::uint32_t ran = 0; !is_row_over(self, ran); ++ran) {
      const bool is_fair_look = --self.until_fair == 0;
      if (!run_if_any(self, is_fair_look ? next_in_fairness(self) : next_posted(self, since_look))) return;
    }
  });
}

/// The clock is read behind the first, second and fourth job, because jobs may be long, and then every eight jobs.
template <scheduling_policy Policy>
auto crew_of<Policy>::is_row_over(worker& self, std::uint32_t ran) noexcept -> bool {
  if (ran == most_posted_in_a_row || self.away != 0 || !urgent_.empty()) return true;
  if (ran == 0 || (!std::has_single_bit(ran) && ran % most_between_looks_at_own_work != 0)) return false;
  return self.pace.elapsed() >= (self.has_own_work ? time_beside_own_work : time_of_own_jobs);
}

/// What lay there at the last look; then what lies there now, where the last look was worth it: a producer may be
/// writing there, and loses its lines to each look.
template <scheduling_policy Policy>
auto crew_of<Policy>::next_posted(worker& self, std::uint32_t& since_look) noexcept -> found_job {
  if (found_job seen = self.box.claim_seen()) {
    ++since_look;
    return seen;
  }
  if (since_look < worth_a_look) return {};
  since_look = 1;
  return policy_.tick(self);
}

/// What lies at the worker's own seat, while nothing else asks for a look: what `next` would find, without the way
/// there. False when nothing is left there.
template <scheduling_policy Policy>
auto crew_of<Policy>::run_own(worker& self) noexcept -> bool {
  std::uint32_t most = std::min(self.pace.left_in_batch(), self.until_fair - 1);
  if (self.has_own_work) {
    most = std::min(most, self.between_own_work - 1);
    self.between_own_work = std::min(2 * self.between_own_work, most_between_looks_at_own_work);
  }
  std::uint32_t begun = 0;
  bool more = true;
  while (more && begun < most && self.away == 0 && urgent_.empty()) {
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
auto crew_of<Policy>::run_fresh(worker& self) noexcept -> bool {
  if (owner_.looks_before_sleep_ != 0 && self.since_look * self.pace.average() < worth_a_rest)
    self.pace.rest_in([] { rest_for(worker::longest_rest); });
  self.since_look = 0;
  return run_if_any(self, self.box.claim());
}

template <scheduling_policy Policy>
template <typename Item>
auto crew_of<Policy>::run_if_any(worker& self, Item item) noexcept -> bool {
  if (!item) return false;
  run(self, item);
  return true;
}

template <scheduling_policy Policy>
auto crew_of<Policy>::next(worker& self, search why) noexcept -> found_job {
  if (!urgent_.empty() && self.urgent_in_a_row < most_urgent_in_a_row) {
    ++self.urgent_in_a_row;
    if (job* const urgent = urgent_.pop(); urgent != nullptr) return urgent;
  }
  self.urgent_in_a_row = 0;
  if (--self.until_fair == 0)
    if (found_job fair = next_in_fairness(self)) return fair;
  if (found_job usual = policy_.refill(self, why)) return usual;
  if (job* const urgent = urgent_.pop(); urgent != nullptr) return urgent;
  return bulk_.pop();
}

template <scheduling_policy Policy>
auto crew_of<Policy>::next_in_fairness(worker& self) noexcept -> found_job {
  self.until_fair = turns_between_ticks;
  if (--self.until_bulk == 0) {
    self.until_bulk = turns_between_bulk / turns_between_ticks;
    if (job* const patient = bulk_.pop(); patient != nullptr) return patient;
  }
  return policy_.tick(self);
}

template <scheduling_policy Policy>
auto crew_of<Policy>::run_one(worker& self, search why) noexcept -> bool {
  found_job item = next(self, why);
  if (!item) return help_with_forks(self);
  if (std::exchange(self.calls_others, false)) owner_.sleepers_->pass_on(self, *this);
  if (self.pace.job_begins()) look_up(self);
  run(self, item);
  return true;
}

template <scheduling_policy Policy>
auto crew_of<Policy>::run_awaited(worker& self, job& awaited) noexcept -> bool {
  if constexpr (requires { policy_.try_take(self, awaited); }) {
    const bool found = policy_.try_take(self, awaited);
    if (std::exchange(self.calls_others, false)) owner_.sleepers_->pass_on(self, *this);
    if (!found) return false;
    if (self.pace.job_begins()) look_up(self);
    found_job item(&awaited);
    run(self, item);
    return true;
  } else {
    return false;
  }
}

/// A job waits for something that is no fork. What it has forked is for others meanwhile; what they have forked it runs
/// if nothing of its own is left, so that a thief has nothing in its deque but what belongs to the stolen fork.
template <scheduling_policy Policy>
auto crew_of<Policy>::help_with_forks(worker& self) noexcept -> bool {
  if (self.forks.private_size() != 0 && self.forks.wanted()) forks_.answer(self);
  return fork_exchange::has_none(self) && forks_.help(self);
}

/// A batch of jobs begins: at most every ten microseconds or so, and at least every 64 jobs.
template <scheduling_policy Policy>
void crew_of<Policy>::look_up(worker& self) noexcept {
  self.sleep->poll();
  if constexpr (seated_policy<Policy>) {
    const time_point behind_next_job = self.pace.batch_began() + self.pace.average();
    self.owes_a_row = behind_next_job - self.row_ended >= time_of_own_jobs;
    if (owner_.sleepers_->anybody_sleeps() && is_worth_a_wake(self, self.backlog()))
      owner_.sleepers_->pass_on(self, *this);
  }
}

/// A producer that has posted several jobs since the worker rested goes on writing: it is left alone for long. One that
/// posts a single job and waits for it is looked for soon.
template <scheduling_policy Policy>
void crew_of<Policy>::rest_after_jobs(worker& self) noexcept {
  const std::uint64_t begun = self.counters.jobs.load(relaxed);
  const bool was_alone = begun - std::exchange(self.begun_before_rest, begun) <= 1;
  self.rest = was_alone ? std::max(self.rest / 2, shortest_rest) : worker::longest_rest;
  rest_for(self.rest);
}

/// Looks once in a microsecond, so as not to take the cache lines away that a producer is writing, after jobs that came
/// alone a few times; not before the first job, while a large pool starts. True when there is a job again.
template <scheduling_policy Policy>
auto crew_of<Policy>::lingers(worker& self) noexcept -> bool {
  if (self.counters.jobs.load(relaxed) == 0 && self.counters.forks_stolen.load(relaxed) == 0) return false;
  std::uint32_t rest = self.rest;
  for (std::uint32_t left = owner_.looks_before_sleep_ * worker::longest_rest; left > 0; left -= std::min(left, rest)) {
    rest_for(rest);
    if (owner_.sleepers_->is_settled()) return false;
    if (!may_park(self) || has_own_work(self)) return true;
    rest = std::min(2 * rest, worker::longest_rest);
  }
  return false;
}

/// What the driver has to do. Forks that it leaves are run here, as after a job. Whether there is more is asked behind
/// the next job, because jobs may be long, and then not so often, because they are not.
template <scheduling_policy Policy>
void crew_of<Policy>::work_beside_jobs(worker& self) noexcept {
  const std::uint32_t position = self.forks.position();
  self.pace.beside_jobs([&self] { self.sleep->work(); });
  self.between_own_work = 1;
  if (self.leaves_forks) [[unlikely]]
    run_left_forks(self, position);
}

template <scheduling_policy Policy>
template <typename Item>
void crew_of<Policy>::run(worker& self, Item& item) noexcept {
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
