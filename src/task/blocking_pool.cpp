// src/task/blocking_pool.cpp: implements a thread pool for jobs that block: threads start on demand and end after an
// idle time.
#include <braid/task/executors.hpp>

#include "../platform/system.hpp"

#include <braid/base/config.hpp>
#include <braid/sync/detail/user_code.hpp>
#include <braid/task/detail/report_exception.hpp>
#include <braid/task/detail/time_span.hpp>
#include <braid/thread/this_thread.hpp>

#include <exception>
#include <utility>

namespace braid {
namespace {

constinit thread_local const blocking_pool* current_pool = nullptr;

/// Resets the thread's pool in the child of a fork, because the only thread of the child belongs to no pool.
void forget_blocking_pool_in_child() noexcept { current_pool = nullptr; }

[[maybe_unused]] const int blocking_pool_fork_handler =
    detail::call_at_fork(nullptr, nullptr, &forget_blocking_pool_in_child);

}  // namespace

blocking_pool::blocking_pool(blocking_pool::options options) : options_(std::move(options)) {
  BRAID_EXPECTS(options_.max_threads != 0, "a blocking pool must have at least one thread");
}

blocking_pool::~blocking_pool() {
  BRAID_EXPECTS(!is_current(), "a blocking pool must not be destroyed by one of its own threads");
  static_cast<void>(shutdown(shutdown_mode::drain));
  retire();
}

auto blocking_pool::try_post(job& work) noexcept -> bool {
  detail::trace_post(&work);
  thread_list done;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (queued_ >= idle_ && running_.size() < options_.max_threads) {
      try {
        start_thread();
      } catch (const std::exception&) {
        if (!running_.empty() && !running_.back().joinable()) running_.pop_back();
        if (running_.empty()) return false;  // otherwise a running thread will run it
      }
    }
    job_times_.posted(work);
    queue_.push(work);
    ++queued_;
    done.swap(ended_);
  }
  arrived_.notify_one();
  for (std::thread& thread : done) thread.join();
  return true;
}

/// Starts a thread. The caller holds the pool's lock, and the new thread waits for this lock before it accesses the
/// pool.
void blocking_pool::start_thread() {
  const auto self = running_.emplace(running_.end());
  *self = std::thread([this, self, number = started_] { work(self, number); });
  ++started_;
  ++at_work_;
}

void blocking_pool::work(thread_list::iterator self, std::size_t number) noexcept {
  static_cast<void>(this_thread::set_name(detail::indexed_thread_name(options_.name, number)));
  current_pool = this;
  std::unique_lock lock(mutex_);
  while (job* const found = next(lock)) {
    lock.unlock();
    run(*found);
    lock.lock();
  }
  if (!closed_) ended_.splice(ended_.end(), running_, self);
  if (--at_work_ == 0) none_at_work_.notify_all();
}

void blocking_pool::run(job& work) noexcept {
  const detail::user_code_section section;
  try {
    detail::run_job(work);
  } catch (...) {
    report(std::current_exception());
  }
}

/// Waits for a job and returns it. Returns null if the thread must end.
auto blocking_pool::next(std::unique_lock<std::mutex>& lock) -> job* {
  if (queued_ == 0 && !closed_) {
    const time_point until = detail::later(steady_time().now(), options_.linger).value_or(time_point::max());
    ++idle_;
    arrived_.wait_until(lock, until, [this] { return queued_ != 0 || closed_; });
    --idle_;
  }
  if (queued_ == 0) return nullptr;
  --queued_;
  ++begun_;
  return queue_.pop();
}

auto blocking_pool::is_current() const noexcept -> bool { return current_pool == this; }

void blocking_pool::report(std::exception_ptr error) noexcept {
  detail::report_job_exception(options_.on_error, std::move(error), {.what = "a job of a blocking pool"});
}

auto blocking_pool::threads() const -> std::size_t {
  const std::lock_guard lock(mutex_);
  return running_.size();
}

auto blocking_pool::shutdown(shutdown_mode mode) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_all();
  if (mode != shutdown_mode::drain) drop_all();
  if (mode == shutdown_mode::stop_now) stop_.request_stop();
  const std::lock_guard joining(join_mutex_);
  thread_list last;
  {
    const std::lock_guard lock(mutex_);
    last.splice(last.end(), ended_);
    last.splice(last.end(), running_);
  }
  for (std::thread& thread : last) thread.join();
  return {};
}

auto blocking_pool::shutdown_for(duration limit) -> result<void> {
  if (is_current()) return fail(errc::would_deadlock);
  const time_point deadline = detail::later(steady_time().now(), limit).value_or(time_point::max());
  std::unique_lock lock(mutex_);
  closed_ = true;
  arrived_.notify_all();
  const bool in_time = none_at_work_.wait_until(lock, deadline, [this] { return at_work_ == 0; });
  lock.unlock();
  if (in_time) return shutdown(shutdown_mode::drain);
  drop_all();
  stop_.request_stop();
  return fail(errc::deadline_exceeded);
}

void blocking_pool::drop_all() {
  while (true) {
    std::unique_lock lock(mutex_);
    if (queued_ == 0) return;
    --queued_;
    job& pending = *queue_.pop();
    lock.unlock();
    pending.drop();
  }
}

}  // namespace braid
