// src/task/pool.cpp: creates and ends the workers of a pool, and reports exceptions of jobs that have no waiter.
#include <braid/task/pool.hpp>

#include "../platform/system.hpp"
#include "../thread/thread_calls.hpp"

#include <braid/base/config.hpp>
#include <braid/sync/detail/cpu_pause.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/sync/detail/futex.hpp>
#include <braid/sync/detail/user_code.hpp>
#include <braid/task/basic_pool.hpp>
#include <braid/task/detail/default_pool.hpp>
#include <braid/task/detail/report_exception.hpp>
#include <braid/task/detail/scheduler_base.hpp>
#include <braid/task/detail/spare_threads.hpp>
#include <braid/task/detail/time_span.hpp>
#include <braid/thread/cgroup.hpp>
#include <braid/thread/detail/steal_order.hpp>
#include <braid/thread/registry.hpp>
#include <braid/thread/this_thread.hpp>
#include <braid/thread/topology.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace braid {

namespace {

constinit thread_local const pool* drops_for = nullptr;  // the pool whose jobs this thread drops

void print(std::exception_ptr error, const char* source) noexcept {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& known) {
    std::fprintf(stderr, "braid: %s threw: %s\n", source, known.what());
  } catch (...) {
    std::fprintf(stderr, "braid: %s threw something that is not a std::exception\n", source);
  }
}

/// Returns the CPU of the worker with this index if workers are distributed over `cpus`, one CPU for each worker.
auto one_of_these(const cpu_set& cpus, std::size_t index) -> cpu_set {
  if (cpus.empty()) return cpus;
  return {*std::next(cpus.begin(), static_cast<std::ptrdiff_t>(index % cpus.size()))};
}

/// Returns the thread settings of a worker. Called by the worker thread, which has inherited the affinity of the thread
/// that creates the pool.
auto worker_profile(const pool::options& options, std::size_t index) -> thread_profile {
  thread_profile wanted = options.profile.value_or(thread_profile());
  wanted.name = detail::indexed_thread_name(options.name, index);
  if (options.scheduling) wanted.scheduling = options.scheduling;
  if (options.affinity) wanted.affinity = options.affinity;
  if (options.placement == worker_placement::anywhere) return wanted;
  if (!wanted.affinity) wanted.affinity = this_thread::affinity().value_or(cpu_set());
  wanted.affinity = one_of_these(*wanted.affinity, index);
  return wanted;
}

auto register_worker(const pool::options& options, std::size_t index) -> std::unique_ptr<registration> {
  if (!options.registration) return nullptr;
  thread_label label{.tag = options.registration->tag, .name = detail::indexed_thread_name(options.name, index)};
  return std::make_unique<registration>(options.registration->registry.registry(), std::move(label));
}

/// Returns the victims of a worker, in the order in which the worker tries to steal from them.
auto list_victims(const pool::options& options, std::size_t index) -> std::vector<std::size_t> {
  std::vector<std::size_t> others;
  others.reserve(options.workers - 1);
  for (std::size_t step = 1; step < options.workers; ++step) others.push_back((index + step) % options.workers);
  if (options.placement == worker_placement::anywhere || others.size() < 2) return others;
  std::vector<unsigned> cpus;
  for (std::size_t each = 0; each < options.workers; ++each) {
    const auto affinity = worker_profile(options, each).affinity;
    if (!affinity || affinity->empty()) return others;
    cpus.push_back(*affinity->first());
  }
  return detail::steal_order(topology::read(), cpus, index);
}

/// The inputs that determine the default number of workers and that may change: BRAID_WORKERS and the affinity mask of
/// the first thread. The kernel removes CPUs from the mask that are offline or that cgroups do not grant.
struct worker_count_inputs {
  std::string variable;
  cpu_set mask;

  static auto read() -> worker_count_inputs {
    worker_count_inputs found;
    if (const char* text = std::getenv("BRAID_WORKERS")) found.variable = text;
    found.mask = detail::read_process_affinity().value_or(cpu_set());
    return found;
  }
  auto operator==(const worker_count_inputs&) const -> bool = default;
};

/// Returns default_worker_count() from a cache, because reading the files that this count depends on takes longer than
/// creating a pool. The files are read again only if an input has changed.
auto default_workers() -> unsigned {
  struct answer {
    detail::fork_safe_mutex mutex;
    worker_count_inputs inputs;
    unsigned workers = 0;
  };
  static answer& last = *new answer;  // never freed, because pools may be created while statics are destroyed
  const worker_count_inputs inputs = worker_count_inputs::read();
  {
    const std::lock_guard lock(last.mutex);
    if (last.workers != 0 && last.inputs == inputs) return last.workers;
  }
  const worker_count found = default_worker_count();  // without the lock, because forks wait for that lock
  const unsigned workers = found.workers;
  if (!inputs.variable.empty() && !found.environment)
    std::fprintf(stderr, "braid: %u workers: %s\n", workers, found.reason.c_str());
  const std::lock_guard lock(last.mutex);
  last.workers = workers;
  last.inputs = inputs;
  return workers;
}

auto with_worker_total(pool::options options) -> pool::options {
  if (options.workers == 0) options.workers = default_workers();
  return options;
}

/// Returns how often a worker without jobs polls before it sleeps, at about one poll per microsecond. Returns 0 if the
/// pool has only one CPU, because polling would keep the CPU from workers with jobs. Reads no files, because the
/// affinity contains only CPUs that cgroups grant.
auto looks_before_sleep(const pool::options& options) -> std::uint32_t {
  if (options.stay_awake <= 0us) return 0;
  const auto usable = options.affinity ? *options.affinity : this_thread::affinity().value_or(cpu_set());
  if (usable.size() == 1) return 0;
  // A poll makes up to `max_backoff` processor pauses, which are counted in 32 bits. The limit corresponds to more than
  // a minute.
  constexpr std::int64_t max_looks = std::numeric_limits<std::uint32_t>::max() / detail::worker_idle::max_backoff;
  const std::int64_t looks = std::chrono::ceil<std::chrono::microseconds>(options.stay_awake).count();
  return static_cast<std::uint32_t>(std::min(looks, max_looks));
}

auto factory_for(scheduler chosen) noexcept -> detail::scheduler_factory {
  switch (chosen) {
    case scheduler::work_stealing: return &detail::scheduler_for<work_stealing>::make;
    case scheduler::least_loaded: return &detail::scheduler_for<least_loaded>::make;
    case scheduler::shared_queue: break;
  }
  return &detail::scheduler_for<shared_queue>::make;
}

}  // namespace

scheduling_hooks::~scheduling_hooks() = default;

namespace detail {

scheduler_base::~scheduler_base() = default;

void report_job_exception(const error_callback& on_error, std::exception_ptr error,
                          const error_callback::origin& origin) noexcept {
  if (!on_error) return print(std::move(error), origin.what);
  try {
    on_error(error, origin);
  } catch (...) {
    print(std::move(error), origin.what);
    print(std::current_exception(), "the error callback of a pool");
  }
}

void back_off(std::uint32_t pauses) noexcept {
  for (; pauses > 0; --pauses) cpu_pause();
}

}  // namespace detail

pool::pool(pool::options options) : pool(std::move(options), nullptr) {}

pool::pool(pool::options options, detail::scheduler_factory make)
    : options_(with_worker_total(std::move(options))),
      looks_before_sleep_(looks_before_sleep(options_)),
      barrier_(std::make_unique<detail::asymmetric_barrier>()),
      configured_(static_cast<std::ptrdiff_t>(options_.workers)),
      at_work_(options_.workers) {
  make_workers();
  sleepers_ = std::make_unique<detail::sleepers>(workers_, *barrier_);
  forks_ = std::make_unique<detail::fork_exchange>(workers_, *barrier_, *sleepers_, looks_before_sleep_);
  for (const auto& each : workers_) each->exchange = forks_.get();
  scheduler_ = (make != nullptr ? make : factory_for(options_.scheduler))(*this, workers_);
  busy_worker_ = scheduler_->busy_worker();
  own_queues_ = scheduler_->own_queues();
  static_cast<void>(id());  // created early, so that nothing that refers to the pool later needs memory
  if (options_.max_spare_threads != 0 && !options_.make_driver) {
    spare_threads_ = std::make_unique<detail::spare_threads>(
        *scheduler_, options_.max_spare_threads, options_.workers,
        [this](std::size_t number, const std::function<void()>& serve) { spare_thread(number, serve); });
    for (const auto& each : workers_) each->spares = spare_threads_.get();
  }
  reports_.resize(options_.workers);
  start_threads();
  await_settings();
  detail::note_pool_made(*this);
}

void pool::make_workers() {
  workers_.reserve(options_.workers);
  for (std::size_t index = 0; index < options_.workers; ++index) {
    auto sleeps_in = options_.make_driver ? options_.make_driver(index) : std::make_unique<parking_driver>();
    BRAID_EXPECTS(sleeps_in != nullptr, "make_driver must return a driver for each worker");
    workers_.push_back(std::make_unique<worker>(*this, index, *barrier_, steady_time(), std::move(sleeps_in)));
    workers_.back()->victims = list_victims(options_, index);
  }
}

void pool::start_threads() {
  threads_.reserve(workers_.size());
  try {
    for (const auto& self : workers_) threads_.emplace_back([this, &self] { work(*self); });
  } catch (...) {
    scheduler_->close();
    stop_and_join();
    throw;
  }
}

void pool::await_settings() {
  detail::wait_for_latch(configured_);
  if (not_configured_ != nullptr) {
    scheduler_->close();
    stop_and_join();
    std::rethrow_exception(not_configured_);
  }
  if (options_.on_refused == refusal::ignore) return;
  for (const settings_report& report : reports_) {
    if (report.all_applied()) continue;
    scheduler_->close();
    stop_and_join();
    throw std::system_error(report.first_refusal().error(), "a worker of a pool: " + report.to_string());
  }
}

pool::~pool() {
  BRAID_EXPECTS(!is_current(), "a pool must not be destroyed by one of its own workers");
  static_cast<void>(shutdown(shutdown_mode::drain));
  detail::note_pool_gone(*this);
  retire();
}

void pool::work(worker& self) noexcept {
  const detail::worker_scope here(self);
  self.thread.store(detail::own_thread_id(), relaxed);
  {
    const detail::user_code_section section;
    const std::unique_ptr<registration> registered = configure(self.index);
    call_hook(options_.on_worker_start, self.index);
    configured_.count_down();
    scheduler_->work(self);
    call_hook(options_.on_worker_stop, self.index);
  }
  self.thread.store(0, relaxed);
  // edge pool.left: both, the joining thread sees all writes of the workers
  if (at_work_.fetch_sub(1, acq_rel) == 1) detail::futex_wake(at_work_, INT_MAX);
}

/// The body of a spare thread, which works in the contexts of workers. If the memory for its settings cannot be
/// allocated, the thread runs without these settings.
void pool::spare_thread(std::size_t number, const std::function<void()>& serve) noexcept {
  const std::size_t index = options_.workers + number;
  std::unique_ptr<registration> registered;
  try {
    static_cast<void>(this_thread::apply(worker_profile(options_, index)));
    registered = register_worker(options_, index);
  } catch (const std::exception&) {
    registered = nullptr;
  }
  call_hook(options_.on_worker_start, index);
  serve();
  call_hook(options_.on_worker_stop, index);
}

/// Applies a worker's settings. If this fails, for instance for lack of memory, the pool's constructor fails.
auto pool::configure(std::size_t index) noexcept -> std::unique_ptr<registration> {
  try {
    reports_[index] = this_thread::apply(worker_profile(options_, index));
    return register_worker(options_, index);
  } catch (...) {
    if (!configuration_failed_.exchange(true, relaxed)) not_configured_ = std::current_exception();
    return nullptr;
  }
}

void pool::call_hook(const std::function<void(std::size_t)>& hook, std::size_t index) noexcept {
  if (!hook) return;
  try {
    hook(index);
  } catch (...) {
    detail::report_job_exception(options_.on_error, std::current_exception(),
                                 {.worker = index, .what = "a hook of a pool"});
  }
}

void pool::report(std::exception_ptr error) noexcept {
  error_callback::origin from;
  if (const worker* self = poster(); self != nullptr)
    from = {.worker = self->index, .job = self->counters.jobs.load(relaxed)};
  detail::report_job_exception(options_.on_error, std::move(error), from);
}

auto pool::try_post(job& work, priority level) noexcept -> bool {
  record_post(work);
  const placement placed = scheduler_->place(work, poster(), level);
  if (placed.how == placement::verdict::refused) {
    detail::job_times::refused(work);
    return false;
  }
  barrier_->light();
  sleepers_->wake_for(placed);
  return true;
}

auto pool::is_current() const noexcept -> bool { return poster() != nullptr; }

auto pool::run_one() noexcept -> bool {
  worker* const self = poster();
  return self != nullptr && scheduler_->run_one(*self, search::routine);
}

auto pool::statistics() const noexcept -> pool::totals {
  pool::totals total;
  for (const auto& each : workers_) {
    total.jobs += each->counters.jobs.load(relaxed);
    total.steals += each->counters.steals.load(relaxed);
    total.sleeps += each->counters.sleeps.load(relaxed);
    total.wakes += each->counters.wakes_of_own.load(relaxed);
    total.forks += each->counters.forks_stolen.load(relaxed);
    total.lost_exchanges += each->counters.contention.lost_exchanges.load(relaxed);
    total.heavy_barriers += each->counters.contention.heavy_barriers.load(relaxed);
  }
  total.late = late_.load(relaxed);
  if (spare_threads_ != nullptr) total.spare_threads = spare_threads_->started();
  return total;
}

auto pool::wait_idle() -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  sleepers_->wait_idle(*scheduler_);
  return {};
}

auto pool::shutdown(shutdown_mode mode) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  scheduler_->close();
  if (mode != shutdown_mode::drain) drop_pending();
  if (mode == shutdown_mode::stop_now) stop_.request_stop();
  stop_and_join();
  await_drops();
  return {};
}

auto pool::shutdown_for(duration limit) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  const time_point deadline = detail::later(steady_time().now(), limit).value_or(time_point::max());
  scheduler_->close();
  const bool in_time = ends_by(deadline);
  if (!in_time) {
    drop_pending();
    stop_.request_stop();
  }
  await_drops();
  if (!in_time) return fail(errc::deadline_exceeded);
  return {};
}

/// Drops all queued jobs. If another thread calls this concurrently, each of the two threads drops some of the jobs.
void pool::drop_pending() noexcept {
  dropping_.fetch_add(1, relaxed);
  const pool* const outer = std::exchange(drops_for, this);
  scheduler_->drop_all();
  drops_for = outer;
  // edge pool.dropped: publish, the waiting thread sees the jobs dropped
  if (dropping_.fetch_sub(1, release) == 1) detail::futex_wake(dropping_, INT_MAX);
}

/// Waits until no thread is dropping jobs. Returns at once if the caller is the destructor of a job that this thread is
/// dropping.
void pool::await_drops() noexcept {
  if (drops_for == this) return;
  // edge pool.dropped: observe, the jobs are seen as dropped
  while (const std::uint32_t left = dropping_.load(acquire)) detail::futex_wait(dropping_, left);
}

/// Waits until the workers have ended. Returns false if some workers still had work at the deadline. Requires that the
/// scheduler is closed.
auto pool::ends_by(time_point deadline) noexcept -> bool {
  sleepers_->stop(*scheduler_);
  // edge pool.left: observe, all writes of the workers are seen
  while (const std::uint32_t left = at_work_.load(acquire)) {
    const bool timed_out = detail::futex_wait(at_work_, left, deadline) == detail::futex_wait_status::timed_out;
    if (timed_out && at_work_.load(relaxed) != 0) return false;
  }
  stop_and_join();
  return true;
}

/// Stops and joins the workers. Requires that the scheduler is closed, so that the queues only shrink once a worker
/// sees that the pool stops.
void pool::stop_and_join() noexcept {
  const std::lock_guard lock(join_mutex_);
  sleepers_->stop(*scheduler_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  if (spare_threads_ != nullptr) spare_threads_->join();
}

}  // namespace braid
