// src/task/threadless.cpp: implements executors without threads, whose jobs run on the thread that posts them, polls or
// waits.
#include <braid/task/detail/threadless.hpp>

#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/sync/detail/user_code.hpp>
#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/detail/report_exception.hpp>
#include <braid/task/detail/time_span.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/worker.hpp>
#include <braid/trace/detail/hooks.hpp>

#include <exception>
#include <utility>

namespace braid {
namespace detail {

/// A guard that records that the calling thread is running or dropping jobs of an executor.
class threadless::stay {
 public:
  enum class purpose : std::uint8_t { run, drop };

  stay(threadless& owner, purpose wanted) noexcept
      : owner_(owner), purpose_(wanted), outer_(std::exchange(innermost, this)) {}
  stay(const stay&) = delete;
  auto operator=(const stay&) -> stay& = delete;
  ~stay() { innermost = outer_; }

  /// Returns the calling thread's guard for this executor and purpose, or null.
  static auto find(const threadless& owner, purpose wanted) noexcept -> stay* {
    stay* found = innermost;
    while (found != nullptr && (&found->owner_ != &owner || found->purpose_ != wanted)) found = found->outer_;
    return found;
  }

  /// Returns the executor of the calling thread's innermost guard, or null.
  static auto here() noexcept -> executor* { return innermost != nullptr ? &innermost->owner_ : nullptr; }

  intrusive_queue<job> waiting;  ///< jobs that the running job has posted; only an inline executor uses it

 private:
  static constinit thread_local stay* innermost;

  threadless& owner_;
  const purpose purpose_;
  stay* const outer_;
};

constinit thread_local threadless::stay* threadless::stay::innermost = nullptr;

auto threadless_here() noexcept -> executor* { return threadless::stay::here(); }

auto threadless::is_current() const noexcept -> bool { return stay::find(*this, stay::purpose::run) != nullptr; }

void threadless::report(std::exception_ptr error) noexcept { report_job_exception(on_error_, std::move(error), {}); }

void threadless::run(job& work) noexcept {
  try {
    run_job(work);
  } catch (...) {
    report(std::current_exception());
  }
}

void threadless::leave() noexcept {
  // edge threadless.left: publish, the waiting thread sees all writes of the jobs
  const std::uint32_t before = inside_.fetch_sub(1, release);
  if ((before & ~closed) == 1) left_.notify_all();
}

auto threadless::await_leaves(time_point deadline) noexcept -> bool {
  for (bool in_time = true;;) {
    const auto key = left_.prepare();
    // edge threadless.left: observe, all writes of the jobs are seen
    const bool is_empty = (inside_.load(acquire) & ~closed) == 0;
    if (is_empty || !in_time) {
      left_.cancel();
      return is_empty;
    }
    in_time = left_.wait_until(key, deadline);
  }
}

}  // namespace detail

// --- inline_executor: `inside_` counts the threads that run jobs ---

inline_executor::~inline_executor() {
  BRAID_EXPECTS(!is_current(), "an inline_executor must not be destroyed by one of its own jobs");
  static_cast<void>(shutdown(shutdown_mode::drain));
  retire();
}

auto inline_executor::try_post(job& work) noexcept -> bool {
  if (stay* const running = stay::find(*this, stay::purpose::run); running != nullptr) {
    if (is_entry_closed()) return false;
    detail::trace_post(&work);
    running->waiting.push(work);
    return true;
  }
  const bool accepted = enter();
  if (accepted) {
    detail::trace_post(&work);
    const detail::user_code_section section;
    stay here(*this, stay::purpose::run);
    run(work);
    while (job* const next = here.waiting.pop()) drops_.load(relaxed) ? next->drop() : run(*next);
  }
  leave();
  return accepted;
}

auto inline_executor::wait_idle() -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  await_leaves(time_point::max());
  return {};
}

auto inline_executor::shutdown(shutdown_mode mode) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  close_entry();
  if (mode != shutdown_mode::drain) drops_.store(true, relaxed);
  if (mode == shutdown_mode::stop_now) request_stop();
  return wait_idle();
}

auto inline_executor::shutdown_for(duration limit) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  const time_point deadline = detail::later(steady_time().now(), limit).value_or(time_point::max());
  close_entry();
  if (await_leaves(deadline)) return {};
  drops_.store(true, relaxed);
  request_stop();
  return fail(errc::deadline_exceeded);
}

// --- manual_executor: `inside_` counts the threads that drop jobs ---

manual_executor::manual_executor(error_callback on_error) : threadless(std::move(on_error)) {
  detail::run_while_waiting(id());
}

manual_executor::~manual_executor() {
  BRAID_EXPECTS(!is_current(), "a manual_executor must not be destroyed by one of its own jobs");
  static_cast<void>(shutdown(shutdown_mode::drain));
  detail::end_run_while_waiting(id());
  retire();
}

auto manual_executor::try_post(job& work, priority level) noexcept -> bool {
  detail::trace_post(&work);
  switch (level) {
    case priority::high: return high_.try_push(work);
    case priority::low: return low_.try_push(work);
    case priority::normal: break;
  }
  return normal_.try_push(work);
}

/// Removes and returns the next job in the order that `priority` describes, or returns null.
auto manual_executor::take() noexcept -> job* {
  if (consecutive_high_ < detail::max_consecutive_high) {
    if (job* const urgent = high_.pop(); urgent != nullptr) {
      ++consecutive_high_;
      return urgent;
    }
  }
  consecutive_high_ = 0;
  if (--until_low_ == 0) {
    until_low_ = detail::polls_between_low;
    if (job* const patient = low_.pop(); patient != nullptr) return patient;
  }
  if (job* const usual = normal_.pop(); usual != nullptr) return usual;
  if (job* const urgent = high_.pop(); urgent != nullptr) return urgent;
  return low_.pop();
}

/// Runs the next job. Requires that the thread holds `running_`. While the job runs, the thread does not count as a
/// worker, so that no other thread steals parts of the job.
auto manual_executor::run_next() noexcept -> bool {
  job* const next = take();
  if (next == nullptr) return false;
  const detail::worker_scope nobody(nullptr);
  const detail::user_code_section section;
  const stay here(*this, stay::purpose::run);
  run(*next);
  return true;
}

auto manual_executor::poll() noexcept -> bool {
  if (is_current()) return run_next();  // in a job, whose thread has `running_`
  const std::unique_lock lock(running_, std::try_to_lock);
  return lock.owns_lock() && run_next();
}

/// Runs jobs until none is left. Returns false if jobs are left at the deadline.
auto manual_executor::run_until(time_point deadline) noexcept -> bool {
  const std::unique_lock lock(running_, deadline);
  if (!lock.owns_lock()) return false;
  while (steady_time().now() < deadline)
    if (!run_next()) return true;
  return has_none();
}

auto manual_executor::wait_idle() -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  const std::lock_guard lock(running_);
  while (run_next()) {}
  return {};
}

void manual_executor::close() noexcept {
  for (detail::common_queue* const each : {&high_, &normal_, &low_}) each->close();
}

/// Drops all queued jobs. If another thread calls this concurrently, each of the two threads drops some of the jobs.
void manual_executor::drop_pending() noexcept {
  enter();
  {
    const stay here(*this, stay::purpose::drop);
    for (detail::common_queue* const each : {&high_, &normal_, &low_}) each->drop_all();
  }
  leave();
}

auto manual_executor::shutdown(shutdown_mode mode) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  close();
  if (mode != shutdown_mode::drain) drop_pending();
  if (mode == shutdown_mode::stop_now) request_stop();
  static_cast<void>(wait_idle());
  await_drops();
  return {};
}

auto manual_executor::shutdown_for(duration limit) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  const time_point deadline = detail::later(steady_time().now(), limit).value_or(time_point::max());
  close();
  const bool in_time = run_until(deadline);
  if (!in_time) {
    drop_pending();
    request_stop();
  }
  await_drops();
  if (!in_time) return fail(errc::deadline_exceeded);
  return {};
}

/// Waits until no thread is dropping jobs. Returns at once if the caller is the destructor of a job that this thread is
/// dropping.
void manual_executor::await_drops() noexcept {
  if (stay::find(*this, stay::purpose::drop) == nullptr) await_leaves(time_point::max());
}

}  // namespace braid
