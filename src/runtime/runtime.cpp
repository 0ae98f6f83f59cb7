// src/runtime/runtime.cpp: starts the parts of a runtime, and stops them in an order that loses no work.
#include "pool_watch.hpp"

#include <braid/base/config.hpp>
#include <braid/runtime/detail/stall_watch.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/task/detail/time_span.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/worker.hpp>
#include <braid/thread/cgroup.hpp>
#include <braid/thread/this_thread.hpp>

#include <algorithm>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

namespace braid {
namespace {

/// Converts the options of a runtime to the options of its pool, without the driver in which the workers sleep.
auto make_pool_options(const runtime::options& options) -> pool::options {
  pool::options wanted;
  wanted.workers = options.workers;
  wanted.name = options.name;
  wanted.scheduler = options.scheduler;
  wanted.on_error = options.on_error;
  wanted.on_worker_start = options.on_worker_start;
  wanted.on_worker_stop = options.on_worker_stop;
  wanted.profile = options.profile;
  wanted.scheduling = options.scheduling;
  wanted.affinity = options.affinity;
  wanted.placement = options.placement;
  wanted.on_refused = options.on_refused;
  wanted.registration = options.registration;
  wanted.max_spare_threads = options.max_spare_threads;
  wanted.stay_awake = options.stay_awake;
  return wanted;
}

/// A guard that counts a task as in transit while the task moves from one worker to another.
class in_flight_guard {
 public:
  explicit in_flight_guard(atomic<std::size_t>& all) noexcept : total_(&all) { all.fetch_add(1, relaxed); }
  in_flight_guard(in_flight_guard&& other) noexcept : total_(std::exchange(other.total_, nullptr)) {}
  auto operator=(in_flight_guard&&) -> in_flight_guard& = delete;
  ~in_flight_guard() {
    if (total_ != nullptr) total_->fetch_sub(1, relaxed);
  }

 private:
  atomic<std::size_t>* total_;
};

/// Creates an event loop.
/// Errors: std::system_error.
auto made_loop(const runtime::options& options) -> std::unique_ptr<loop> {
  auto made = loop::create({.on_error = options.on_error});
  if (!made) throw std::system_error(made.error(), "the loop of a runtime");
  return std::move(*made);
}

}  // namespace

auto runtime::create(runtime::options options) -> result<std::unique_ptr<runtime>> {
  try {
    std::unique_ptr<runtime> made(new runtime(std::move(options)));
    detail::runtime_list::add(*made);
    return made;
  } catch (const std::system_error& refused) {
    return fail(refused.code());
  } catch (const std::bad_alloc&) {
    return fail(std::make_error_code(std::errc::not_enough_memory));
  }
}

runtime::runtime(runtime::options options) : shape_(options.shape) {
  blocking_ = std::make_unique<blocking_pool>(blocking_pool::options{
      .max_threads = options.max_blocking_threads, .name = options.name + "-b", .on_error = options.on_error});
  if (shape_ == runtime_shape::merged)
    start_merged(options);
  else
    start_separate(options);
  if (options.queue_capacity != 0)
    queue_ = std::make_unique<bounded_executor>(
        *pool_, bounded_executor::options{.capacity = options.queue_capacity, .full = options.on_full});
  watch_for_stalls(options);
}

void runtime::start_separate(const runtime::options& options) {
  loop_ = made_loop(options);
  loops_.push_back(loop_.get());
  make_pool(make_pool_options(options));
  detail::parker started;
  constexpr std::string_view suffix = "-loop";
  const std::string loop_name = options.name.substr(0, detail::max_thread_name - suffix.size()).append(suffix);
  loop_thread_ = std::thread([this, &started, loop_name] {
    static_cast<void>(this_thread::set_name(loop_name));
    loop_->run([&started] { started.unpark(); });
  });
  started.park();
}

/// Creates a pool whose workers run event loops. When the pool's constructor returns, the start hooks have been called,
/// so all loops run.
void runtime::start_merged(const runtime::options& options) {
  pool::options wanted = make_pool_options(options);
  if (wanted.workers == 0) wanted.workers = default_worker_count().workers;
  drivers_.reserve(wanted.workers);
  loops_.reserve(wanted.workers);
  on_the_way_ = std::make_unique<atomic<std::size_t>[]>(wanted.workers);
  wanted.make_driver = [this, &options](std::size_t) {
    auto made = std::make_unique<detail::loop_driver>(made_loop(options));
    drivers_.push_back(made.get());
    loops_.push_back(&made->io());
    return made;
  };
  wanted.on_worker_start = [this, theirs = std::move(wanted.on_worker_start)](std::size_t index) {
    drivers_[index]->begin();
    if (theirs) theirs(index);
  };
  wanted.on_worker_stop = [this, theirs = std::move(wanted.on_worker_stop)](std::size_t index) {
    drivers_[index]->end();  // before the program's hook, which may throw
    if (theirs) theirs(index);
  };
  make_pool(std::move(wanted));
}

void runtime::make_pool(pool::options wanted) {
  const detail::pools_of_runtime here;
  pool_ = std::make_unique<pool>(std::move(wanted));
}

runtime::~runtime() {
  BRAID_EXPECTS(!is_current(), "a runtime must not be destroyed by its own tasks or jobs");
  detail::runtime_list::remove(*this);
  static_cast<void>(shutdown(shutdown_mode::drain));
}

auto runtime::is_current() const noexcept -> bool {
  return (loop_ != nullptr && loop_->is_current()) || pool_->is_current() || blocking_->is_current();
}

auto runtime::io() noexcept -> loop& {
  if (loops_.size() == 1) return *loops_.front();
  loop* const mine = loop::current();
  if (mine != nullptr && std::ranges::find(loops_, mine) != loops_.end()) return *mine;
  return *loops_[next_loop_.fetch_add(1, relaxed) % loops_.size()];
}

auto runtime::post(task<void> work) -> result<void> {
  return post_made([work = std::move(work)]() mutable noexcept { return std::move(work); });
}

/// Returns the executor that receives tasks from other threads.
auto runtime::entrance() noexcept -> executor& {
  if (loop_ != nullptr) return *loop_;
  return *pool_;  // the pool of a merged runtime, or of a runtime that has ended with the process and refuses work
}

/// Starts a task. Called by a job on the executor that `entrance` returns.
void runtime::start(task<void> work) {
  if (shape_ == runtime_shape::separate) return loop_->spawn(std::move(work));
  start_here(std::move(work));
}

/// Starts a task on this worker's loop, or on another loop if that has far fewer tasks. Prefers this worker, because
/// the worker that took the job is probably the least busy one.
void runtime::start_here(task<void> work) {
  const std::size_t here = detail::current_worker()->index;
  if (!loops_[here]->is_current()) return;  // the loop has stopped already, and so has the task
  const std::size_t there = home_for_one_more(here);
  if (here == there) return loops_[here]->spawn(std::move(work));
  auto arrives = [at = loops_[there], work = std::move(work), counted = in_flight_guard(on_the_way_[there])]() mutable {
    at->spawn(std::move(work));
  };
  // The other loop refuses the task only if the runtime is stopping. This loop is then about to stop as well, so the
  // task is dropped.
  static_cast<void>(braid::post(*loops_[there], std::move(arrives)));
}

auto runtime::count_load(std::size_t index) const noexcept -> std::size_t {
  return loops_[index]->spawned() + on_the_way_[index].load(relaxed);
}

/// Returns the index of the loop that should run a new task. A task cannot move after its start, so a worker that
/// receives a whole burst of tasks must not keep all of these tasks.
auto runtime::home_for_one_more(std::size_t here) const noexcept -> std::size_t {
  // docs/design/constants.md explains how this value was chosen.
  constexpr std::size_t few = 16;
  std::size_t min_load = here;
  for (std::size_t index = 0; index < loops_.size(); ++index)
    if (count_load(index) < count_load(min_load)) min_load = index;
  const std::size_t max_count = count_load(min_load) + std::max(few, count_load(min_load) / 4);
  return count_load(here) > max_count && loops_[min_load]->status() == loop::state::running ? min_load : here;
}

void runtime::watch_for_stalls(const runtime::options& options) {
  duration limit = options.stall_limit;
  if (limit == duration::zero()) limit = detail::stall_limit_of_environment().value_or(duration::zero());
  if (limit <= duration::zero()) return;
  stalls_ =
      std::make_unique<detail::stall_watch>(detail::stall_targets_of(*this), limit, options.on_stall, steady_time());
  stalls_->start();
}

void detail::runtime_end::close(runtime& ended) noexcept {
  detail::runtime_list::remove(ended);
  ended.stalls_.reset();
  ended.loop_.reset();
  for (detail::loop_driver* const each : ended.drivers_) each->free_loop();
  ended.loops_.clear();
}

void runtime::stop_loops() {
  for (loop* const each : loops_) each->stop();
  for (detail::loop_driver* const each : drivers_) each->await_end();
  const std::lock_guard lock(join_mutex_);
  if (loop_thread_.joinable()) loop_thread_.join();
}

/// Stops the parts in an order that depends on the mode. In a draining shutdown, the loops end first, because their
/// tasks may wait for jobs. In a dropping shutdown, the jobs are dropped first, so that waiting tasks fail sooner. The
/// blocking pool ends last, because workers may wait for its jobs.
auto runtime::shutdown(shutdown_mode mode) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  if (mode == shutdown_mode::drain) stop_loops();
  static_cast<void>(pool_->shutdown(mode));
  static_cast<void>(blocking_->shutdown(mode));
  stop_loops();
  return {};
}

/// Stops all loops. Returns whether all of them have stopped before the deadline. Polls every quarter of a millisecond,
/// because a notification from each loop would not be worth its cost.
auto runtime::stop_loops_until(time_point deadline) -> bool {
  for (loop* const each : loops_) each->stop();
  const auto has_ended = [](const loop* each) { return each->status() == loop::state::stopped; };
  while (!std::ranges::all_of(loops_, has_ended)) {
    if (steady_time().now() >= deadline) return false;
    std::this_thread::sleep_for(250us);
  }
  return true;
}

/// Stops the parts in the order of a draining shutdown. Stops waiting for a part when the deadline has passed; each
/// later part gets the remaining time.
auto runtime::shutdown_for(duration limit) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  const time_point deadline = detail::later(steady_time().now(), limit).value_or(time_point::max());
  const auto left = [deadline] { return std::max(duration(0), deadline - steady_time().now()); };
  bool in_time = stop_loops_until(deadline);
  in_time = pool_->shutdown_for(left()).has_value() && in_time;
  in_time = blocking_->shutdown_for(left()).has_value() && in_time;
  if (!in_time) return fail(errc::deadline_exceeded);
  stop_loops();
  return {};
}

}  // namespace braid
