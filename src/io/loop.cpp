// src/io/loop.cpp: implements the iterations of an event loop, its start and its stop.
#include <braid/io/loop.hpp>

#include "../platform/system.hpp"

#include <braid/base/config.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/sync/detail/let_others_run.hpp>
#include <braid/sync/detail/user_code.hpp>
#include <braid/task/detail/report_exception.hpp>
#include <braid/task/worker.hpp>
#include <braid/trace/detail/metric_source.hpp>

#include <algorithm>
#include <utility>

namespace braid {
namespace {

// docs/design/constants.md gives the reasons for these values.
constexpr int jobs_per_iteration = 128;
constexpr duration time_per_iteration = 100us;
constexpr int jobs_between_clock_reads = 16;
constexpr std::uint32_t iterations_per_timed = 64;

/// Returns whether the loop reads the clock after the job with the number `count` of an iteration. The loop reads the
/// clock after jobs 1, 2, 4 and 8, because a job may be long, and then after every 16th job.
constexpr auto reads_clock_behind(int count) noexcept -> bool {
  return count < jobs_between_clock_reads ? (count & (count - 1)) == 0 : count % jobs_between_clock_reads == 0;
}

/// A guard that sets a flag while the loop executes an iteration.
class in_iteration {
 public:
  explicit in_iteration(atomic<bool>& flag) noexcept : flag_(&flag) { flag.store(true, relaxed); }
  in_iteration(const in_iteration&) = delete;
  auto operator=(const in_iteration&) -> in_iteration& = delete;
  ~in_iteration() { flag_->store(false, relaxed); }

 private:
  atomic<bool>* flag_;
};

constinit thread_local loop* current_loop __attribute__((tls_model("initial-exec"))) = nullptr;

/// Forgets the current loop in the child of a fork, because the child's only thread runs no loop.
void forget_loop_in_child() noexcept { current_loop = nullptr; }

[[maybe_unused]] const int loop_fork_handler = detail::call_at_fork(nullptr, nullptr, &forget_loop_in_child);

}  // namespace

auto loop::create(loop::options options) -> result<std::unique_ptr<loop>> {
  auto backend = io_backend::make(options.backend);
  if (!backend) return fail(backend.error());
  return std::unique_ptr<loop>(new loop(std::move(options), std::move(*backend)));
}

loop::loop(loop::options options, std::unique_ptr<io_backend> backend)
    : options_(std::move(options)),
      clock_(options_.clock != nullptr ? options_.clock : &steady_time()),
      backend_(std::move(backend)),
      job_times_(steady_time()),  // posting threads read it; a program's own clock may allow only one thread
      wheel_(clock_->now()),
      root_(*this) {
  detail::home_list::add(*this, root_);
}

loop::~loop() {
  // edge loop.stopped: observe, the last writes of the loop's thread are seen before the loop is destroyed
  const state at = state_.load(acquire);
  BRAID_EXPECTS(at == state::idle || at == state::stopped, "a loop must be stopped before it is destroyed");
  detail::home_list::remove(*this);
  retire();
  drop_early_posts();
  drop_early_tasks();  // the tasks may hold streams of the loop
  // edge loop.woken: observe, the waking threads have left the backend before it is destroyed
  while (woken_.load(acquire) != wakes_owed_) detail::let_others_run();
  BRAID_EXPECTS(open_descriptors_.load(relaxed) == 0, "streams and listeners must be destroyed before their loop");
}

void loop::enter() {
  BRAID_EXPECTS(current_loop == nullptr, "a thread can run only one loop at a time");
  auto seen = state::idle;
  if (!state_.compare_exchange_strong(seen, state::starting, relaxed, relaxed)) {
    const bool never_ran = thread_.load(relaxed) == 0;
    BRAID_EXPECTS(seen == state::stopped || (seen == state::stopping && never_ran), "a loop can run only once");
    // edge loop.stopped: observe, the thread that stopped the loop has dropped the posted jobs
    while (state_.load(acquire) != state::stopped) detail::let_others_run();
    current_loop = this;
    thread_.store(detail::own_thread_id(), relaxed);
    return drop_early_tasks();
  }
  current_loop = this;
  thread_.store(detail::own_thread_id(), relaxed);
  seen = state::starting;
  state_.compare_exchange_strong(seen, state::running, relaxed, relaxed);
  start_early_tasks();
}

void loop::start_early_tasks() {
  for (task<void>& work : std::exchange(early_, {})) root_.begin(std::move(work), *this);
}

/// Drops the jobs that were posted before the loop ran. Later posts are refused.
void loop::drop_early_posts() noexcept {
  job* next = inbox_.close();
  while (job* const item = next) {
    next = item->next;
    item->drop();
  }
}

/// Destroys the tasks that were spawned before the loop ran. Repeats, because an object of a destroyed task may spawn
/// another task.
void loop::drop_early_tasks() noexcept {
  while (!early_.empty()) {
    const std::vector<task<void>> dropped = std::exchange(early_, {});
    spawned_.store(spawned_.load(relaxed) - dropped.size(), relaxed);
  }
}

void loop::leave() noexcept {
  current_loop = nullptr;
  thread_.store(0, relaxed);
}

void loop::run(const std::function<void()>& running) {
  const detail::user_code_section section;
  enter();
  if (running) running();
  marker_ = section.marker();
  while (step(blocking::allowed)) {}
  marker_ = nullptr;
  leave();
}

auto loop::run_once() -> bool {
  if (status() == state::stopped) return false;
  const detail::user_code_section section;
  if (status() == state::idle) enter();
  const bool more = step(blocking::forbidden);
  if (!more) leave();
  return more;
}

auto loop::step(blocking wait) -> bool {
  if (status() == state::stopped) return false;
  if (marker_ != nullptr) marker_->pass();
  const detail::loop_iteration here;
  const in_iteration noted(is_in_iteration_);
  sleeps_outside_ = false;
  detail::add_to_count(iterations_);
  const time_point start = now();
  fire_timers(start);
  ready_.push_chain(inbox_.take());
  run_ready(start);
  // edge loop.stopping: observe, all writes before the stop are seen
  if (state_.load(acquire) == state::stopping && finished()) return false;
  wait_for_work(wait, start);
  return true;
}

void loop::fire_timers(time_point start) noexcept {
  wheel_.advance(start, due_);
  if (due_.empty()) return;
  const detail::trace_slice slice(detail::trace_group::io, "timers");
  while (timer* item = due_.pop_front()) {
    detail::add_to_count(fired_);
    detail::take_from_count(armed_);
    item->fire();
  }
}

/// Runs the queued jobs of one iteration. The inbox is emptied into the queue once all jobs that were queued at the
/// previous emptying have run. So a posted job waits for at most two passes over the queue, and a burst of posts costs
/// only one poll of the inbox.
void loop::run_ready(time_point start) {
  if (ready_.empty()) return;
  const detail::trace_slice slice(detail::trace_group::io, "tick");
  const job* last_of_pass = ready_.newest();
  for (int count = 1; count <= jobs_per_iteration; ++count) {
    job* item = ready_.pop();
    if (item == nullptr) return;
    const bool ends_pass = item == last_of_pass;
    run_job(*item);
    if (ready_.empty()) return;
    if (ends_pass) {
      ready_.push_chain(inbox_.take());
      last_of_pass = ready_.newest();
    }
    if (reads_clock_behind(count) && now() - start > time_per_iteration) return;
  }
}

void loop::run_job(job& item) noexcept {
  detail::add_to_count(jobs_);
  try {
    detail::run_job(item);
  } catch (...) {
    report(std::current_exception());
  }
}

/// Measures the time of the next iteration from the moment when the system reports the first event, because tasks are
/// resumed from then on.
void loop::time_next_iteration() noexcept {
  backend_->clock_of_next_answer_ = clock_;
  backend_->answered_ = {};
}

/// Records the duration of the iteration that has just ended. The system call that waits for events does not count,
/// because it may block.
void loop::time_iteration(time_point start) noexcept {
  if (until_timed_ == 1) return time_next_iteration();
  until_timed_ = iterations_per_timed;
  backend_->clock_of_next_answer_ = nullptr;
  const time_point answered = std::exchange(backend_->answered_, {});
  iteration_times_.add(now() - (answered != time_point() ? answered : start), iterations_ - timed_up_to_);
  timed_up_to_ = iterations_;
}

void loop::wait_for_work(blocking wait, time_point start) noexcept {
  if (--until_timed_ <= 1) [[unlikely]]
    time_iteration(start);
  const bool must_not_block = wait == blocking::forbidden || !ready_.empty() || !inbox_.try_arm();
  if (must_not_block) {
    if (!backend_->has_watches()) return;
    backend_->wait(duration::zero());
    backend_->is_answering_.store(false, relaxed);  // as after each wait: the next one may last
    return;
  }
  std::optional<duration> timeout;
  if (const auto next = wheel_.next_event()) timeout = std::max(*next - now(), duration::zero());
  detail::add_to_count(waits_);
  is_in_iteration_.store(false, relaxed);
  {
    const detail::user_code_pause waiting(marker_);
    backend_->marker_ = marker_;
    backend_->wait(timeout);
    backend_->marker_ = nullptr;
  }
  backend_->is_answering_.store(false, relaxed);
}

/// Returns whether a step would find work, without asking the system for events. The stop of a loop counts as work,
/// too, because the last task may have ended after the previous check.
auto loop::is_ready() const noexcept -> bool {
  if (!ready_.empty() || inbox_.has_any()) return true;
  if (const auto next = wheel_.next_event(); next && *next <= now()) return true;
  return status() == state::stopping && (root_.tasks() == 0 || !root_.stop().requested());
}

/// Prepares the thread to sleep in an outer event loop, and returns how long it may sleep. Polls the backend first, so
/// that an old wake-up does not end the wait at once.
auto loop::prepare_sleep() noexcept -> std::optional<duration> {
  BRAID_EXPECTS(backend_->descriptor() >= 0, "an outer event loop can only wait for a loop with the epoll backend");
  backend_->wait(duration::zero());
  backend_->is_answering_.store(false, relaxed);
  if (!try_arm() || status() == state::stopping) return duration::zero();
  sleeps_outside_ = true;
  const auto next = wheel_.next_event();
  return next ? std::optional(std::max(*next - now(), duration::zero())) : std::nullopt;
}

/// Wakes the outer event loop, because the loop's own thread has queued work outside of an iteration.
void loop::wake_outer_loop() noexcept {
  sleeps_outside_ = false;
  backend_->wake();
}

/// Arms the inbox, so that later posts wake the backend. Requires that `is_ready` returned false. Returns false if a
/// job was posted since that call.
auto loop::try_arm() noexcept -> bool {
  ready_.push_chain(inbox_.take());  // disarms: it may have been armed before, and nothing was posted since
  return ready_.empty() && inbox_.try_arm();
}

/// Blocks until an event, a wake-up, a timer or the deadline, as `wait_for_work` does. Ready transfers are only
/// recorded here; a later step resumes their tasks.
void loop::wait(time_point deadline) noexcept {
  std::optional<duration> timeout;
  if (const auto next = wheel_.next_event()) timeout = std::max(*next - now(), duration::zero());
  if (deadline != time_point::max()) {
    const duration left = std::max(deadline - steady_time().now(), duration::zero());
    timeout = std::min(left, timeout.value_or(left));
  }
  if (until_timed_ == 1) [[unlikely]]
    time_next_iteration();  // times before this wait are no longer meaningful
  const detail::later_completions here;
  detail::add_to_count(waits_);
  backend_->wait(timeout);
  backend_->is_answering_.store(false, relaxed);
}

/// Performs the next step of the loop's stop. Returns true if the loop has stopped.
auto loop::finished() noexcept -> bool {
  root_.request_stop();
  if (root_.tasks() != 0 || !ready_.empty()) return false;
  ready_.push_chain(inbox_.close());
  wakes_owed_ = inbox_.wakes() + 1;  // and the wake of the stop
  // Jobs that were accepted just before the inbox was closed still run. Such jobs cannot start a task any more, because
  // the root scope is stopped.
  while (job* item = ready_.pop()) run_job(*item);
  // edge loop.stopped: publish, the last writes of the loop's thread are seen with the state
  state_.store(state::stopped, release);
  return true;
}

void loop::stop() noexcept {
  for (state seen = status(); seen != state::stopping && seen != state::stopped;) {
    // edge loop.stopping: publish, the loop sees all writes before the stop
    if (!state_.compare_exchange_weak(seen, state::stopping, release, relaxed)) continue;
    if (seen != state::idle) return wake();
    drop_early_posts();  // no thread runs the loop now or later
    // edge loop.stopped: publish, the jobs are dropped before the loop is destroyed
    state_.store(state::stopped, release);
    return;
  }
}

/// Wakes the backend after the caller has queued work. By then the loop may have run the work already, and may even
/// have stopped.
void loop::wake() noexcept {
  backend_->wake();
  // edge loop.woken: publish, the destructor waits until this thread no longer uses the backend
  woken_.fetch_add(1, release);
}

void loop::spawn(task<void> work) {
  const state at = status();
  if (at == state::stopped || root_.stop().requested()) return;
  if (at == state::idle) early_.push_back(std::move(work));
  spawned_.store(spawned_.load(relaxed) + 1, relaxed);
  if (at != state::idle) root_.begin(std::move(work), *this);  // NOLINT(bugprone-use-after-move): moved only if idle
}

/// Handles the end of a task that `spawn` has started.
void loop::root_ended(std::coroutine_handle<detail::task_promise<void>> frame) noexcept {
  std::exception_ptr error;
  if (frame.promise().result().has_exception()) error = frame.promise().result().exception();
  frame.destroy();
  if (error != nullptr) report(std::move(error));
  spawned_.store(spawned_.load(relaxed) - 1, relaxed);
}

auto loop::current() noexcept -> loop* { return current_loop; }

void loop::report(std::exception_ptr error) noexcept {
  detail::report_job_exception(options_.on_error, std::move(error), {.what = "a task or a posted job of a loop"});
}

auto loop::is_current() const noexcept -> bool { return current_loop == this; }

auto loop::try_post(job& work) noexcept -> bool {
  detail::trace_post(&work);
  if (const state at = status(); at == state::stopping || at == state::stopped) return false;
  job_times_.posted(work);
  if (is_current()) {
    ready_.push(work);
    if (sleeps_outside_) [[unlikely]]
      wake_outer_loop();
    return true;
  }
  const detail::push_result pushed = inbox_.try_push(work);
  if (pushed == detail::push_result::wake) wake();
  if (pushed != detail::push_result::closed) return true;
  detail::job_times::refused(work);
  return false;
}

void loop::post_resumption(job& step) noexcept {
  detail::trace_post(&step);
  job_times_.posted(step);
  if (is_current()) {
    ready_.push(step);
    if (sleeps_outside_) [[unlikely]]
      wake_outer_loop();
    return;
  }
  const detail::push_result pushed = inbox_.try_push(step);
  BRAID_EXPECTS(pushed != detail::push_result::closed, "a task cannot outlive its loop");
  if (pushed == detail::push_result::wake) wake();
}

/// Posts a job with which a task dump asks the loop for its waiting tasks. A stopping loop accepts the job as well,
/// because jobs that are in the inbox when the inbox is closed still run. A loop that has not started refuses: it has
/// no waiting tasks, and no thread that could answer.
auto loop::ask(job& question) noexcept -> detail::asked {
  if (status() == state::idle) return detail::asked::refused;
  const detail::push_result pushed = inbox_.try_push(question);
  if (pushed == detail::push_result::closed) return detail::asked::refused;
  if (pushed == detail::push_result::wake) wake();
  return detail::asked::on_its_way;
}

void loop::arm(timer& item, time_point time) noexcept {
  BRAID_ASSERT(is_current(), "timers must be armed on the loop's own thread");
  if (!item.is_armed()) detail::add_to_count(armed_);
  wheel_.arm(item, time);
  if (sleeps_outside_) [[unlikely]]
    wake_outer_loop();
}

/// Disarms a timer. Called on the loop's thread. If the loop has stopped, the thread that destroys the timer's owner
/// may call this as well, because no other thread uses the loop then.
void loop::disarm(timer& item) noexcept {
  BRAID_ASSERT(is_current() || status() == state::stopped, "timers must be disarmed on the loop's own thread");
  if (item.is_armed()) detail::take_from_count(armed_);
  wheel_.disarm(item);
}

}  // namespace braid
