// src/coro/serial_executor.cpp: implements a serial executor on top of another executor: its drains, its timer and its
// destruction.
#include <braid/coro/serial_executor.hpp>

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/scheduled.hpp>

#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace braid {
namespace {

/// A list of the serial executors that this thread currently runs, innermost first. Such runs are nested if a worker
/// helps with other jobs while it waits, or if an executor has refused a job.
struct home_run {
  explicit home_run(const serial_executor& running) noexcept;
  home_run(const home_run&) = delete;
  auto operator=(const home_run&) -> home_run& = delete;
  ~home_run();

  const serial_executor* where;
  home_run* outer;
};

constinit thread_local home_run* innermost_run __attribute__((tls_model("initial-exec"))) = nullptr;

home_run::home_run(const serial_executor& running) noexcept
    : where(&running), outer(std::exchange(innermost_run, this)) {}
home_run::~home_run() { innermost_run = outer; }

// docs/design/constants.md explains how this value was chosen.
constexpr std::size_t steps_between_looks = 16;  // the number of own steps between two polls of the queue

}  // namespace

serial_executor::serial_executor(executor& target) : serial_executor(target, purpose::many_tasks) {}

serial_executor::serial_executor(executor& target, detail::shared_timers& timers) : serial_executor(target) {
  timer_state_ = std::make_unique<timer_state>(*this, &timers);
}

/// Creates a serial executor. If the serial executor is created for one task, the caller owns the queue until the first
/// drain has run, and no other thread drains it.
serial_executor::serial_executor(executor& executor, purpose purpose)
    : drain_step(&drain_due),
      executor_(executor.id()),
      queue_(purpose == purpose::many_tasks ? detail::strand_queue<job>()
                                            : detail::strand_queue<job>(detail::strand_queue<job>::held())),
      purpose_(purpose),
      first_(*this) {}

serial_executor::timer_state::timer_state(serial_executor& h, detail::shared_timers* timers) noexcept
    : droppable_timer(&wake_timer_fired, &wake_timer_fired),
      job(&ticked),
      owner(&h),
      service(timers),
      wheel(timers != nullptr ? timers->now() : h.now()) {}

/// The last job of a home with many tasks. The job is on the stack of the destructor, which waits until the job has
/// run.
struct serial_executor::last_step : job {
  explicit last_step(serial_executor& h) noexcept : job(&run), home_(&h) {}

  static void run(job& self, action /*what*/) {
    serial_executor& home = *static_cast<last_step&>(self).home_;
    home.first_.request_stop();
    home.first_.when_idle(&no_task_left, &home);
  }

  serial_executor* home_;
};

serial_executor::~serial_executor() {
  BRAID_EXPECTS(!is_current(), "a serial executor must not be destroyed by its own jobs or tasks");
  if (purpose_ != purpose::many_tasks) return;
  last_step end(*this);
  if (queue_.push(end) == detail::strand_push::first) {
    bool needs_drain = first_.tasks() != 0;
    if (!needs_drain) {  // at rest: nothing to wait for from an executor that may have no thread but this one
      const home_run here(*this);
      ready_.push_chain(queue_.take()->next);
      last_step::run(end, job::action::run);
      needs_drain = !ready_.empty() || !queue_.try_release();
    }
    if (needs_drain && !repost_drain()) drop_drain();
  }
  await_idle();
  disarm_wake_timer();
  detail::home_list::remove(*this);
  retire();
  await_idle();
}

/// Waits for the last drain. After that, no other thread uses the serial executor.
void serial_executor::await_idle() noexcept {
  // edge serial_executor.ended: observe all writes of the tasks
  detail::block_until([this] { return ended_.load(acquire) && queue_.is_idle(); }, executor_);
}

auto serial_executor::run_alone(executor& executor, task<void> first) -> bool {
  auto begin = [&executor, first = std::move(first)]() mutable {
    run_first(
        executor, purpose::root_task,
        [](scope& root, void* task) noexcept { root.spawn(std::move(*static_cast<braid::task<>*>(task))); }, &first);
  };
  return post(executor, std::move(begin)).has_value();
}

/// Runs the first step of a home that was created for one task.
struct serial_executor::first_step : job {
  first_step(serial_executor& h, begin_fn begin, void* context) noexcept
      : job(&run), home_(&h), begin_(begin), context_(context) {}

  static void run(job& self, action /*what*/) {
    auto& first = static_cast<first_step&>(self);
    serial_executor& home = *first.home_;
    first.begin_(home.first_, first.context_);
    if (home.purpose_ == purpose::root_task) home.first_.when_idle(&no_task_left, &home);
  }

  serial_executor* home_;
  begin_fn begin_;
  void* context_;
};

/// Creates the serial executor on the thread that will run the task. The memory of the serial executor is then in that
/// thread's caches, and no other thread can refer to it before the task waits.
void serial_executor::run_first(executor& executor, purpose purpose, begin_fn begin, void* context) {
  auto& made = *new serial_executor(executor, purpose);
  first_step first(made, begin, context);  // the first job of the drain, so it ends before the drain does
  made.ready_.push(first);
  made.drain();
}

void serial_executor::run_task_here(executor& executor, begin_fn begin, void* context) {
  run_first(executor, purpose::own_task, begin, context);
}

/// Ends the home when its only task has ended. If the home also has a root scope, waits until the scope has no tasks.
void serial_executor::task_has_left() noexcept {
  if (root_ != nullptr) return root_->when_idle(&no_task_left, this);
  static_cast<void>(no_task_left(this));
}

/// Returns the root scope of a home whose only task has a scope of its own. Hardly any program needs this root scope,
/// so it is created by the first call. If the allocation fails, the task's own scope serves as the root scope. The task
/// then does not end before the tasks that are spawned in the root scope, and a stop of the task stops those tasks as
/// well.
auto serial_executor::root_beside_task() noexcept -> scope& {
  if (root_ == nullptr) {
    root_.reset(new (std::nothrow) scope(*this));
    if (root_ == nullptr) return first_;
    first_.show(*root_);
    if (refused_.load(relaxed)) root_->request_stop();
  }
  return *root_;
}

void serial_executor::stop_tasks() noexcept {
  first_.request_stop();
  if (root_ != nullptr) root_->request_stop();
}

auto serial_executor::has_tasks() const noexcept -> bool {
  return first_.tasks() != 0 || (root_ != nullptr && root_->tasks() != 0);
}

auto serial_executor::is_current() const noexcept -> bool {
  const home_run* found = innermost_run;
  while (found != nullptr && found->where != this) found = found->outer;
  return found != nullptr;
}

auto serial_executor::try_post(job& work) noexcept -> bool {
  if (refused_.load(relaxed)) return false;
  detail::trace_post(&work);
  if (is_current()) {
    ready_.push_chain(queue_.take());  // jobs that were posted before, by threads that this job may have waited for
    ready_.push(work);
  } else if (queue_.push(work) == detail::strand_push::first && !repost_drain()) {
    ready_.push_chain(queue_.take()->next);  // the caller keeps its own, which is the oldest
    drop_drain();
    return false;
  }
  return true;
}

void serial_executor::post_resumption(job& step) noexcept {
  detail::trace_post(&step);
  if (is_current()) return ready_.push(step);
  if (queue_.push(step) == detail::strand_push::first && !repost_drain()) drop_drain();
}

/// Posts the next drain to the executor. Returns false if the executor refuses; the caller must then run the drain
/// itself.
auto serial_executor::repost_drain() noexcept -> bool {
  if (!refused_.load(relaxed) && detail::try_post_to(executor_, static_cast<drain_step&>(*this))) return true;
  refused_.store(true, relaxed);
  return false;
}

void serial_executor::drain_due(job& self, job::action action) {
  auto& home = static_cast<serial_executor&>(static_cast<drain_step&>(self));
  if (action == job::action::run) return home.drain();
  home.refused_.store(true, relaxed);
  home.drop_drain();
}

/// Drains the queue on the calling thread because the executor refuses to run a drain. Drops the jobs and stops the
/// tasks.
void serial_executor::drop_drain() noexcept {
  drops_jobs_ = true;
  drain();
}

void serial_executor::drain() noexcept {
  if (run_drain() == after_drain::end) delete this;
}

/// Runs jobs for one time slice. Once `try_release` has succeeded or the next drain is posted, another thread may run
/// or destroy this object.
auto serial_executor::run_drain() noexcept -> after_drain {
  return length_.in_drain([this] { return now(); }, [this](auto is_over) { return run_steps(is_over); });
}

template <typename Fn>
auto serial_executor::run_steps(Fn& is_over) noexcept -> after_drain {
  const home_run here(*this);
  for (std::size_t ran = 0;; ++ran) {
    if (refused_.load(relaxed)) stop_tasks();
    if (ready_.empty() || ran % steps_between_looks == 0) ready_.push_chain(queue_.take());
    if (!ready_.empty()) {
      if (is_over(ran) && repost_drain()) return after_drain::leave;
      run(*ready_.pop());
    } else if (purpose_ != purpose::many_tasks && ended_.load(relaxed) && !has_tasks()) {  // a job may have begun one
      if (std::exchange(is_retired_, true)) return after_drain::end;
      disarm_wake_timer();
      detail::home_list::remove(*this);
      retire();  // the posts of the timer, and of threads with a future of this home, are now in the queue
    } else {
      if (has_tasks() && !is_listed() && !ended_.load(relaxed)) detail::home_list::add(*this, first_);
      if (queue_.try_release()) return after_drain::leave;
    }
  }
}

auto serial_executor::ask(job& question) noexcept -> detail::asked {
  if (refused_.load(relaxed)) return detail::asked::refused;
  return queue_.push(question) == detail::strand_push::first ? detail::asked::to_be_run : detail::asked::on_its_way;
}

void serial_executor::run_asked() noexcept {
  if (!repost_drain()) drop_drain();
}

auto serial_executor::needs_polls() const noexcept -> bool {
  const detail::executor_use use(executor_);
  return use && use->needs_polls();
}

auto serial_executor::poll() noexcept -> bool {
  const detail::executor_use use(executor_);
  return use && use->poll();
}

auto serial_executor::stop_token() const noexcept -> std::stop_token {
  const detail::executor_use use(executor_);
  return use ? use->stop_token() : std::stop_token();
}

void serial_executor::report(std::exception_ptr error) noexcept {
  if (const detail::executor_use use(executor_); use) return use->report(std::move(error));
  executor::report(std::move(error));
}

/// Runs a job, or drops it if the executor refuses. A dropped step of a task still runs, because its waiters would hang
/// otherwise.
void serial_executor::run(job& work) noexcept {
  if (drops_jobs_) return work.drop();
  try {
    detail::run_job(work);
  } catch (...) {
    report(std::current_exception());
  }
}

auto serial_executor::no_task_left(void* self) noexcept -> std::coroutine_handle<> {
  // edge serial_executor.ended: publish all writes of the tasks to the thread that destroys the executor
  static_cast<serial_executor*>(self)->ended_.store(true, release);
  return {};
}

/// Finds the timer service of the process. Returns false if memory for the service cannot be allocated or its thread
/// cannot be started.
auto serial_executor::has_service() noexcept -> bool {
  try {
    if (timer_state_->service == nullptr) timer_state_->service = &detail::timers_of_process();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

auto serial_executor::now() const noexcept -> time_point {
  const bool has_service = timer_state_ != nullptr && timer_state_->service != nullptr;
  return has_service ? timer_state_->service->now() : steady_time().now();
}

void serial_executor::arm(timer& item, time_point time) noexcept {
  BRAID_ASSERT(is_current(), "a timer must be armed by a task of its home executor");
  try {
    if (timer_state_ == nullptr) timer_state_ = std::make_unique<timer_state>(*this, nullptr);
  } catch (const std::bad_alloc&) {
    return refused_.store(true, relaxed);  // a task that would never wake is stopped before the next step
  }
  timer_state_->wheel.arm(item, time);
  arm_wake_timer();
}

void serial_executor::disarm(timer& item) noexcept {
  BRAID_ASSERT(is_current(), "a timer must be disarmed by a task of its home executor");
  if (timer_state_ != nullptr) timer_state_->wheel.disarm(item);
}

/// Arms one timer of the process's timer service. It fires when the earliest timer of this serial executor is due.
void serial_executor::arm_wake_timer() noexcept {
  const auto next = timer_state_->wheel.next_event();
  if (!next || *next >= timer_state_->armed_until) return;
  if (*next <= now()) return post_tick();
  if (!has_service()) return refused_.store(true, relaxed);
  timer_state_->armed_until = *next;
  timer_state_->service->arm(*timer_state_, *next);
}

void serial_executor::disarm_wake_timer() noexcept {
  if (timer_state_ != nullptr && timer_state_->service != nullptr) timer_state_->service->disarm(*timer_state_);
}

void serial_executor::wake_timer_fired(timer& self) noexcept { static_cast<timer_state&>(self).owner->post_tick(); }

void serial_executor::post_tick() noexcept {
  // edge serial_executor.tick: observe that the tick job has left the queue and may be queued again
  if (!timer_state_->ticking.exchange(true, acquire)) post_resumption(*timer_state_);
}

void serial_executor::ticked(job& self, job::action /*what*/) {
  auto& all = static_cast<timer_state&>(self);
  serial_executor& home = *all.owner;
  // edge serial_executor.tick: publish that the tick job has left the queue, before it is queued again
  all.ticking.store(false, release);
  all.armed_until = time_point::max();
  all.wheel.advance(home.now(), all.due);
  while (timer* const item = all.due.pop_front()) item->fire();
  home.arm_wake_timer();
}

}  // namespace braid
