// tests/task/small_pool.hpp: a pool as small as the explorer needs it: seats that are one word each, and the loop of a
// worker.
#pragma once

#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/futex.hpp>
#include <braid/task/detail/scheduler_base.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <tests/support/bare_workers.hpp>
#include <tests/support/model.hpp>
#include <tests/task/twin_sleepers.hpp>

#include <array>
#include <bit>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace braid::testing {

/// Up to 31 jobs, which are numbers, in one word; the lowest goes first. It has the orders that docs/design/pool.md
/// asks of a scheduler's queues, and no other.
class small_context {
 public:
  /// False when closed.
  [[nodiscard]] auto place(unsigned number) noexcept -> bool {
    std::uint32_t seen = 0;
    do {
      if ((seen & closed) != 0) return false;
    } while (!jobs_.compare_exchange_strong(seen, seen | std::uint32_t{1} << number, release, relaxed));
    return true;
  }

  /// The older half of the jobs, rounded up, or just the oldest of them; 0 when there are none.
  [[nodiscard]] auto take_half() noexcept -> std::uint32_t {
    return take([](std::uint32_t jobs) { return (std::popcount(jobs) + 1) / 2; });
  }
  [[nodiscard]] auto take_one() noexcept -> std::uint32_t {
    return take([](std::uint32_t) { return 1; });
  }

  /// What a thief has taken elsewhere; may come after the close.
  void move_here(std::uint32_t jobs) noexcept {
    if (jobs != 0) jobs_.fetch_or(jobs, release);
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t {
    return static_cast<std::size_t>(std::popcount(jobs_.load(acquire) & ~closed));
  }
  [[nodiscard]] auto empty() const noexcept -> bool { return size() == 0; }

  void close() noexcept { jobs_.fetch_or(closed, relaxed); }

 private:
  static constexpr std::uint32_t closed = std::uint32_t{1} << 31;

  template <typename HowMany>
  auto take(HowMany how_many) noexcept -> std::uint32_t {
    std::uint32_t seen = jobs_.load(relaxed);
    while ((seen & ~closed) != 0) {
      std::uint32_t left = seen & ~closed;
      for (int i = how_many(left); i > 0; --i) left &= left - 1;
      if (jobs_.compare_exchange_strong(seen, left | (seen & closed), acq_rel, relaxed)) return seen & ~closed & ~left;
    }
    return 0;
  }

  atomic<std::uint32_t> jobs_{0};
};

/// What a job waits for that may not end before another one has run.
class gate {
 public:
  void open() noexcept {
    open_.store(1, release);
    braid::detail::futex_wake(open_, INT_MAX);
  }
  void pass() noexcept {
    while (open_.load(acquire) == 0) braid::detail::futex_wait(open_, 0);
  }

 private:
  atomic<std::uint32_t> open_{0};
};

/// A driver that once, at any moment, has something to do.
class restless_driver final : public driver {
 public:
  void park() noexcept override { inner_.park(); }
  [[nodiscard]] auto park_until(time_point deadline) noexcept -> bool override { return inner_.park_until(deadline); }
  void unpark() noexcept override { inner_.unpark(); }
  [[nodiscard]] auto has_own_work() const noexcept -> bool override { return true; }
  [[nodiscard]] auto sleep_until(time_point deadline) noexcept -> wake_reason override {
    if (has_called_) return driver::sleep_until(deadline);
    if (inner_.park_until(time_point())) return wake_reason::permit;  // for the explorer a deadline is any time
    has_called_ = true;
    return wake_reason::work;
  }

 private:
  parking_driver inner_;
  bool has_called_ = false;
};

/// Where jobs lie.
enum class layout : std::uint8_t { shared, per_worker };

/// How a pool that stops finds that nothing is left at any seat.
enum class quiescing : std::uint8_t {
  never,
  counted,  ///< by a look during which no thief has begun to move jobs
  blindly,  ///< by a look
};

/// Workers that sleep and are woken as `Sleepers` says: those of the product, or a twin with a fault, which may also be
/// one of the loop here. That one is the loop of detail::scheduler_for without lanes and without lingering.
template <typename Sleepers>
class small_pool final : public detail::scheduler_base {
  static constexpr fault broken = fault_of<Sleepers>;

 public:
  using verdict = placement::verdict;
  static constexpr std::size_t max_jobs = 4;

  static constexpr std::size_t nobody = max_jobs;

  /// `restless`: the worker whose driver has something to do once.
  small_pool(model::run& r, layout where, std::size_t workers, std::size_t restless = nobody)
      : run_(r), where_(where), workers_(workers, [restless](std::size_t index) -> std::unique_ptr<driver> {
          if (index == restless) return std::make_unique<restless_driver>();
          return std::make_unique<parking_driver>();
        }) {}

  // --- for the body of a run ---

  /// What a job does, by its number; for jobs that do something.
  std::function<void(worker&, unsigned)> on_run = [](worker&, unsigned) {};

  /// What the restless driver has to do.
  std::function<void()> on_call = [] {};

  /// So many jobs at a seat bring others without a wake; 0: none do.
  std::size_t long_backlog = 0;

  quiescing quiesces = quiescing::never;

  /// False when refused.
  auto post(unsigned number, std::size_t context, verdict how = verdict::can_wait) -> bool {
    given_[number] = 1;
    if (!at(context).place(number)) return false;
    workers_.barrier.light();
    sleepers_.wake_for({.how = how, .worker = where_ == layout::per_worker ? context : placement::no_worker});
    return true;
  }

  void work_as(std::size_t index) { work(workers_[index]); }

  /// As a worker that is in the middle of a job: runs one of its own, if there is one.
  void help_as(std::size_t index) {
    if (const std::uint32_t found = at(index).take_one(); found != 0) run(workers_[index], found);
  }
  void wait_idle() noexcept { sleepers_.wait_idle(*this); }
  void stop() noexcept {
    close();
    if constexpr (requires { sleepers_.stop(*this); })
      sleepers_.stop(*this);
    else
      sleepers_.stop();
  }

  [[nodiscard]] auto has_run(unsigned number) const -> bool { return done_[number] == 1; }

  // --- for the sleepers ---

  auto place(job&, worker*, priority) noexcept -> placement override { return {}; }
  auto worker_for(worker*) noexcept -> worker* override { return nullptr; }
  auto run_one(worker&, search) noexcept -> bool override { return false; }
  void drop_all() noexcept override {}

  void work(worker& self) noexcept override;

  [[nodiscard]] auto has_monitor() const noexcept -> bool override { return where_ == layout::per_worker; }
  [[nodiscard]] auto may_park(worker& self) noexcept -> bool override { return at(self.index).empty(); }
  [[nodiscard]] auto empty() noexcept -> bool override {
    for (std::size_t index = 0; index < context_count(); ++index)
      if (!at(index).empty()) return false;
    return true;
  }
  [[nodiscard]] auto is_quiescent() noexcept -> bool override {
    if (quiesces == quiescing::never) return false;
    const std::uint32_t before = moves_.load(acquire);
    const bool moving = quiesces == quiescing::counted && before % one_begin != 0;
    if (moving || !empty()) return false;
    if (quiesces == quiescing::counted && moves_.load(relaxed) / one_begin != before / one_begin) return false;
    is_known_quiescent_.store(true, relaxed);
    return true;
  }
  void close() noexcept override {
    closed_.store(true, relaxed);
    for (std::size_t index = 0; index < context_count(); ++index) at(index).close();
  }

 private:
  static constexpr std::uint32_t one_begin = 1U << 16U;

  auto context_count() const noexcept -> std::size_t { return where_ == layout::shared ? 1 : workers_.list.size(); }
  auto at(std::size_t index) noexcept -> small_context& { return seats_[where_ == layout::shared ? 0 : index]; }

  auto next(worker& self, detail::wake_cause woken) noexcept -> std::uint32_t;
  auto steal(worker& self, std::size_t victim) noexcept -> std::uint32_t;
  auto is_held_up(worker& self, std::size_t victim) noexcept -> bool;
  auto has_long_backlog(std::size_t victim) noexcept -> bool {
    return long_backlog != 0 && at(victim).size() >= long_backlog;
  }
  void pass_on(worker& self) noexcept {
    if constexpr (broken != fault::passes_nothing_on) sleepers_.pass_on(self, *this);
  }
  void run(worker& self, std::uint32_t found) noexcept;

  model::run& run_;
  const layout where_;
  bare_workers workers_;
  Sleepers sleepers_{workers_.list, workers_.barrier};
  std::array<small_context, 4> seats_;
  atomic<bool> closed_{false};
  atomic<std::uint32_t> moves_{0};  // thieves that move jobs, and above that how many have begun to
  atomic<bool> is_known_quiescent_{false};
  std::array<model::shared<int>, max_jobs> given_;
  std::array<model::shared<int>, max_jobs> done_;
};

template <typename Sleepers>
void small_pool<Sleepers>::work(worker& self) noexcept {
  using enum detail::wake_cause;
  bool relied_on = false;
  for (auto woken = own; woken != stop;) {
    if (woken == called) {
      on_call();
      woken = own;
    }
    const bool is_late = quiesces != quiescing::never && is_known_quiescent_.load(relaxed);
    const std::uint32_t found = next(self, woken);
    run_.check(!is_late || found == 0, "a pool that has settled has no jobs");
    const bool searched = woken == claimed;
    const bool looks_early = broken == fault::looks_for_more_too_early && searched && empty();
    if (searched && broken != fault::passes_on_too_early) sleepers_.end_search();
    if (woken != own || std::exchange(self.idle.should_wake_peer, false)) relied_on = true;
    if (broken == fault::forgets_that_it_was_relied_on && found == 0) relied_on = false;
    if (found != 0 && std::exchange(relied_on, false) && !looks_early) pass_on(self);
    if (searched && broken == fault::passes_on_too_early) sleepers_.end_search();
    woken = own;
    if (found != 0)
      run(self, found);
    else
      woken = sleepers_.sleep(self, *this);
  }
}

/// A job, as a bit; 0 for none.
template <typename Sleepers>
auto small_pool<Sleepers>::next(worker& self, detail::wake_cause woken) noexcept -> std::uint32_t {
  if (const std::uint32_t mine = at(self.index).take_one(); mine != 0 || where_ == layout::shared) return mine;
  for (const std::size_t victim : self.victims) {
    const bool held_up = woken == detail::wake_cause::monitored && is_held_up(self, victim);
    const bool called = woken == detail::wake_cause::claimed || held_up || has_long_backlog(victim);
    if (!called && !closed_.load(relaxed)) continue;
    if (quiesces == quiescing::counted) moves_.fetch_add(one_begin + 1, relaxed);
    const std::uint32_t oldest = steal(self, victim);
    if (quiesces == quiescing::counted) moves_.fetch_sub(1, release);
    if (oldest != 0) return oldest;
  }
  return 0;
}

template <typename Sleepers>
auto small_pool<Sleepers>::steal(worker& self, std::size_t victim) noexcept -> std::uint32_t {
  const std::uint32_t taken = at(victim).take_half();
  if (taken == 0) return 0;
  const std::uint32_t oldest = taken & (~taken + 1);
  at(self.index).move_here(taken & ~oldest);
  self.idle.should_wake_peer = broken != fault::moves_jobs_silently;
  return oldest;
}

template <typename Sleepers>
auto small_pool<Sleepers>::is_held_up(worker& self, std::size_t victim) noexcept -> bool {
  self.idle.seen.resize(workers_.list.size());
  const std::uint64_t begun = workers_[victim].counters.jobs.load(relaxed);
  const std::uint64_t since = begun - std::exchange(self.idle.seen[victim], begun);
  return at(victim).size() > since;
}

template <typename Sleepers>
void small_pool<Sleepers>::run(worker& self, std::uint32_t found) noexcept {
  detail::count_one(self.counters.jobs);
  const auto number = static_cast<unsigned>(std::countr_zero(found));
  run_.check(given_[number] == 1, "a job brings what was written before its post");
  run_.check(done_[number] == 0, "a job runs once");
  on_run(self, number);
  done_[number] = 1;
}

}  // namespace braid::testing
