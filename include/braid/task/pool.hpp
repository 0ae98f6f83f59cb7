// braid/task/pool.hpp: a pool of worker threads that run posted jobs, with the scheduler as a parameter.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/event_count.hpp>
#include <braid/task/detail/idle_set.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/shared_queue.hpp>
#include <braid/task/worker.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/profile.hpp>
#include <braid/thread/registration.hpp>
#include <braid/thread/scheduling.hpp>
#include <braid/thread/settings_report.hpp>
#include <braid/thread/worker_count.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace braid {

/// Which of their CPUs the workers of a pool use.
enum class worker_placement : std::uint8_t {
  anywhere,  ///< each of them all
  spread,    ///< each of them one, in turn
};

/// The workers of a pool are registered under their names for as long as they run.
struct worker_registration {
  std::string tag;
  thread_registry registry = default_registry();
};

struct pool_options {
  unsigned workers = 0;        ///< 0: default_worker_count()
  std::string name = "braid";  ///< threads are called name-0, name-1, …
  /// Receives what a posted job throws; without it, and when it throws itself, the message goes to stderr. Called on
  /// the worker.
  std::function<void(std::exception_ptr)> on_error = {};
  std::optional<thread_profile> profile = std::nullopt;        ///< of each worker; its name is not used
  std::optional<braid::scheduling> scheduling = std::nullopt;  ///< instead of that of the profile
  std::optional<cpu_set> affinity = std::nullopt;              ///< instead of that of the profile
  worker_placement placement = worker_placement::anywhere;     ///< among these CPUs, or among all that are allowed
  refusal on_refused = refusal::ignore;                        ///< of a setting
  std::optional<worker_registration> registration = std::nullopt;
};

/// What happens to jobs that were accepted and have not started.
enum class shutdown_mode : std::uint8_t {
  drain,         ///< they run first
  drop_pending,  ///< they are dropped: waiters fail with errc::dropped; one that is just changing its queue is run
};

/// Worker threads that run posted jobs. The destructor drains.
/// Threads: every member may be called from any thread; `wait_idle`, `shutdown` and the destructor not from a worker.
template <scheduling_policy Policy>
class basic_pool final : public executor {
 public:
  /// Starts the workers. Blocks: until they have their names and settings, and are registered.
  /// Errors: std::system_error when a thread cannot be started, or has a setting refused that may not be ignored.
  explicit basic_pool(pool_options options = {});
  ~basic_pool() override;

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;
  [[nodiscard]] auto is_current() const noexcept -> bool override;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return workers_.size(); }

  /// What became of the name and the settings of each worker.
  [[nodiscard]] auto settings_reports() const noexcept -> std::span<const settings_report> { return reports_; }

  /// Blocks until no job is queued or running. Every capture of the jobs that ran has been destroyed by then.
  /// Errors: would_deadlock on a worker of this pool.
  auto wait_idle() -> result<void>;

  /// Refuses new jobs, deals with pending ones as `mode` says, and joins the workers. May be called again, and from
  /// several threads: all return after the workers have stopped.
  /// Errors: would_deadlock on a worker of this pool, which stays usable.
  auto shutdown(shutdown_mode mode) -> result<void>;

 private:
  enum class phase : std::uint8_t { running, stopping };
  static constexpr duration watch_interval = 1ms;
  enum class wake_cause : std::uint8_t {
    own,      // it did not sleep, because there is work
    picked,   // a post or a shutdown picked it, and counted it as searching
    watched,  // it slept for as long as a watch takes
    stop,     // the pool stops and nothing is left to do
  };

  void start_threads();
  void await_settings();
  void work(worker& self) noexcept;
  void run(worker& self, job& item) noexcept;
  auto next_job(worker& self, search why) noexcept -> job*;
  void wake_for(const placement& placed) noexcept;
  void wake_one() noexcept;
  void wake(worker& picked) noexcept;
  static constexpr auto why_after(wake_cause woken) noexcept -> search;
  void pass_on() noexcept;
  auto sleep(worker& self) noexcept -> wake_cause;
  auto rest(worker& self) noexcept -> wake_cause;
  auto try_watch() noexcept -> bool;
  void stop_and_join() noexcept;

  pool_options options_;
  Policy policy_;
  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<settings_report> reports_;  // each written by its worker, before `configured_`
  std::latch configured_;
  detail::idle_set idle_;
  event_count became_idle_;
  atomic<std::uint32_t> searching_{0};   // workers that are awake without a job; a post then need not wake one
  atomic<std::uint32_t> watching_{0};    // 1 while a worker sleeps with a deadline; written by that worker
  atomic<phase> phase_{phase::running};  // written by shutdown, once
  std::mutex join_mutex_;                // one thread joins, the others wait for it
  std::vector<std::thread> threads_;
};

/// The pool of programs that do not choose.
using pool = basic_pool<shared_queue>;

namespace detail {

/// Registers the calling thread, where the pool says so.
BRAID_API auto register_worker(const pool_options& options, std::size_t index) -> std::unique_ptr<registration>;

/// Hands what a job threw to `on_error`; without one, and when that throws too, the message goes to stderr.
BRAID_API void report_job_exception(const std::function<void(std::exception_ptr)>& on_error,
                                    std::exception_ptr error) noexcept;

/// What a worker of a pool with these options is to have. Called by the worker, whose affinity is that of the thread
/// that makes the pool.
BRAID_API auto worker_profile(const pool_options& options, std::size_t index) -> thread_profile;

inline auto with_worker_total(pool_options options) -> pool_options {
  if (options.workers == 0) options.workers = default_worker_count().workers;
  return options;
}

}  // namespace detail

template <scheduling_policy Policy>
basic_pool<Policy>::basic_pool(pool_options options)
    : options_(detail::with_worker_total(std::move(options))),
      policy_(options_.workers),
      reports_(options_.workers),
      configured_(options_.workers),
      idle_(options_.workers) {
  workers_.reserve(options_.workers);
  for (std::size_t index = 0; index < options_.workers; ++index)
    workers_.push_back(std::make_unique<worker>(*this, index));
  start_threads();
  await_settings();
}

template <scheduling_policy Policy>
void basic_pool<Policy>::start_threads() {
  threads_.reserve(workers_.size());
  try {
    for (const auto& self : workers_) threads_.emplace_back([this, &self] { work(*self); });
  } catch (...) {
    policy_.close();
    stop_and_join();
    throw;
  }
}

template <scheduling_policy Policy>
void basic_pool<Policy>::await_settings() {
  configured_.wait();
  if (options_.on_refused == refusal::ignore) return;
  for (const settings_report& report : reports_) {
    if (report.all_applied()) continue;
    policy_.close();
    stop_and_join();
    throw std::system_error(report.first_refusal().error(), "a worker of a pool: " + report.to_string());
  }
}

template <scheduling_policy Policy>
basic_pool<Policy>::~basic_pool() {
  BRAID_EXPECTS(!is_current(), "a pool is not destroyed by one of its own workers");
  static_cast<void>(shutdown(shutdown_mode::drain));
}

template <scheduling_policy Policy>
auto basic_pool<Policy>::try_post(job& work) noexcept -> bool {
  const worker* poster = current_worker();
  if (poster != nullptr && poster->pool != this) poster = nullptr;
  const placement placed = policy_.place(work, poster);
  if (placed.how == placement::verdict::refused) return false;
  wake_for(placed);
  return true;
}

/// The worker at whose seat the job lies does not sleep beside it. Another one is woken where the job is urgent, or
/// where nobody would notice that a job holds that worker up.
template <scheduling_policy Policy>
void basic_pool<Policy>::wake_for(const placement& placed) noexcept {
  if (placed.seat != placement::no_seat && idle_.try_pick(placed.seat)) return wake(*workers_[placed.seat]);
  if (searching_.load(relaxed) != 0) return;
  if (placed.how == placement::verdict::can_wait && watching_.load(relaxed) != 0) return;
  wake_one();
}

template <scheduling_policy Policy>
auto basic_pool<Policy>::is_current() const noexcept -> bool {
  const worker* self = current_worker();
  return self != nullptr && self->pool == this;
}

template <scheduling_policy Policy>
auto basic_pool<Policy>::wait_idle() -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  while (true) {
    const auto key = became_idle_.prepare();
    if (policy_.empty() && idle_.all() && policy_.empty()) {
      became_idle_.cancel();
      return {};
    }
    became_idle_.wait(key);
  }
}

template <scheduling_policy Policy>
auto basic_pool<Policy>::shutdown(shutdown_mode mode) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  policy_.close();
  if (mode == shutdown_mode::drop_pending) {
    auto pending = policy_.take_all();
    while (job* item = pending.pop()) item->drop();
  }
  stop_and_join();
  return {};
}

/// Requires that the queue is closed, so that a worker that sees the pool stopping sees a queue that only gets shorter.
template <scheduling_policy Policy>
void basic_pool<Policy>::stop_and_join() noexcept {
  const std::lock_guard lock(join_mutex_);
  phase_.store(phase::stopping, release);  // edge pool.stopping: publish
  policy_.close();  // again: a worker whose `may_park` came before this has announced itself, and is picked below
  for (const auto& self : workers_)
    if (idle_.try_retract(self->index)) wake(*self);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

template <scheduling_policy Policy>
void basic_pool<Policy>::work(worker& self) noexcept {
  const detail::worker_scope here(self);
  reports_[self.index] = this_thread::apply(detail::worker_profile(options_, self.index));
  const auto registered = detail::register_worker(options_, self.index);
  configured_.count_down();
  bool relied_on = false;  // posts may have counted on this worker since it looked for more
  for (auto woken = wake_cause::own; woken != wake_cause::stop;) {
    job* item = next_job(self, why_after(woken));
    if (woken == wake_cause::picked) searching_.fetch_sub(1, relaxed);
    if (woken != wake_cause::own || std::exchange(self.moved_jobs, false)) relied_on = true;
    woken = wake_cause::own;
    if (item == nullptr) {
      woken = sleep(self);
      continue;
    }
    if (std::exchange(relied_on, false)) pass_on();
    run(self, *item);
  }
}

template <scheduling_policy Policy>
constexpr auto basic_pool<Policy>::why_after(wake_cause woken) noexcept -> search {
  switch (woken) {
    case wake_cause::picked: return search::woken;
    case wake_cause::watched: return search::watch;
    default: return search::routine;
  }
}

template <scheduling_policy Policy>
auto basic_pool<Policy>::next_job(worker& self, search why) noexcept -> job* {
  constexpr std::uint64_t jobs_between_ticks = 61;
  if (self.jobs_run % jobs_between_ticks == 0)
    if (job* fair = policy_.tick(self)) return fair;
  return policy_.refill(self, why);
}

template <scheduling_policy Policy>
void basic_pool<Policy>::run(worker& self, job& item) noexcept {
  ++self.jobs_run;
  try {
    item.run();
  } catch (...) {
    detail::report_job_exception(options_.on_error, std::current_exception());
  }
}

template <scheduling_policy Policy>
void basic_pool<Policy>::wake_one() noexcept {
  if (const auto index = idle_.pick()) wake(*workers_[*index]);
}

template <scheduling_policy Policy>
void basic_pool<Policy>::wake(worker& picked) noexcept {
  searching_.fetch_add(1, relaxed);  // for the worker that wakes; it takes this back after its first look
  picked.sleep.unpark();
}

/// Posts may have relied on a worker that searched or watched, or looked for jobs while it moved them, and it now runs
/// one. So if more are there, it wakes the next worker before it starts.
template <scheduling_policy Policy>
void basic_pool<Policy>::pass_on() noexcept {
  if (!policy_.empty()) wake_one();
}

/// Every unpark goes to a worker that was picked, and every worker that was picked parks until it comes: so no permit
/// is left over.
template <scheduling_policy Policy>
auto basic_pool<Policy>::sleep(worker& self) noexcept -> wake_cause {
  idle_.announce(self.index);
  bool nothing_left = policy_.may_park(self);
  const bool stopping = phase_.load(acquire) == phase::stopping;  // edge pool.stopping: observe
  if (stopping)
    nothing_left = policy_.empty();  // the last job may have come after the look above; none comes after this
  if (!nothing_left && idle_.try_retract(self.index)) return wake_cause::own;

  const bool leaves = nothing_left && stopping && idle_.try_leave(self.index);
  if (idle_.all()) became_idle_.notify_all();
  if (leaves) return wake_cause::stop;
  return rest(self);
}

/// While others run, one of those who sleep wakes now and then and looks whether a job holds up the jobs behind it. A
/// pick does not put off when that is due.
template <scheduling_policy Policy>
auto basic_pool<Policy>::rest(worker& self) noexcept -> wake_cause {
  if (!try_watch()) {
    self.sleep.park();
    return wake_cause::picked;
  }
  if (self.watch_due == time_point()) self.watch_due = steady_time().now() + watch_interval;
  bool picked = self.sleep.park_until(self.watch_due);
  if (!picked) {
    self.watch_due = {};
    picked = !idle_.try_retract(self.index);
    if (picked) self.sleep.park();  // the permit is on its way
  }
  watching_.exchange(0, acq_rel);  // edge pool.watching: both
  return picked ? wake_cause::picked : wake_cause::watched;
}

/// False when somebody else watches, or all sleep beside nothing: one that has announced itself may be about to find a
/// job at its own seat.
template <scheduling_policy Policy>
auto basic_pool<Policy>::try_watch() noexcept -> bool {
  if constexpr (!Policy::watches) return false;
  if (idle_.all() && policy_.empty()) return false;
  return watching_.exchange(1, acq_rel) == 0;  // edge pool.watching: both
}

extern template class BRAID_API basic_pool<shared_queue>;

}  // namespace braid
