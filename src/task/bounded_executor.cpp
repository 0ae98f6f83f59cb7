// src/task/bounded_executor.cpp: counts the jobs that wait in another executor, and limits their number.
#include <braid/task/executors.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/detail/job_block.hpp>

#include <optional>
#include <utility>

namespace braid {

/// A proxy that is queued in the executor in place of a job. When the proxy starts, it first frees its share of the
/// capacity, so that another job can be posted.
class bounded_executor::counted_job final : public job {
 public:
  counted_job(bounded_executor& owner, job& work) noexcept : job(&act), limit_(&owner), work_(&work) {}

 private:
  static void act(job& self, action request) {
    auto& counted = static_cast<counted_job&>(self);
    bounded_executor& owner = *counted.limit_;
    job& work = *counted.work_;
    detail::free_block<counted_job>(&counted);
    owner.leave();  // afterwards the executor may be destroyed
    if (request == action::run)
      detail::run_job(work);
    else
      work.drop();
  }

  bounded_executor* limit_;
  job* work_;
};

/// A `blocking_wait` that is over when the queue has room for one more job. A thread that arrives while other threads
/// wait also waits, so that the earlier threads are not starved.
class bounded_executor::wait_for_room final : public detail::blocking_wait {
 public:
  explicit wait_for_room(bounded_executor& owner) noexcept : executor_(&owner) {}

  [[nodiscard]] auto is_over() const noexcept -> bool override {
    const std::lock_guard lock(executor_->mutex_);
    return executor_->has_room() && (has_slept_ || executor_->waiting_ == 0);
  }
  void sleep(std::optional<time_point> /*deadline*/) noexcept override {
    std::unique_lock lock(executor_->mutex_);
    ++executor_->waiting_;
    executor_->room_.wait(lock, [this] { return executor_->has_room(); });
    --executor_->waiting_;
    has_slept_ = true;
  }

 private:
  bounded_executor* executor_;
  bool has_slept_ = false;
};

/// A `blocking_wait` that is over when the queue contains no job of this executor.
class bounded_executor::wait_for_none final : public detail::blocking_wait {
 public:
  explicit wait_for_none(bounded_executor& owner) noexcept : executor_(&owner) {}

  [[nodiscard]] auto is_over() const noexcept -> bool override { return executor_->pending() == 0; }
  void sleep(std::optional<time_point> /*deadline*/) noexcept override {
    std::unique_lock lock(executor_->mutex_);
    executor_->none_.wait(lock, [this] { return executor_->pending_ == 0; });
  }

 private:
  bounded_executor* executor_;
};

bounded_executor::bounded_executor(executor& over, bounded_executor::options options)
    : executor_layer(over), options_(options) {
  BRAID_EXPECTS(options_.capacity != 0, "a bounded executor must have room for at least one job");
}

bounded_executor::~bounded_executor() {
  wait_for_none left(*this);
  detail::block(left, nullptr, std::nullopt, over().id());
}

auto bounded_executor::try_post(job& work) noexcept -> bool {
  if (over().is_current()) return over().try_post(work);
  switch (enter()) {
    case entry::refused: return false;
    case entry::caller_runs: try { detail::run_job(work);
      } catch (...) {
        report(std::current_exception());
      }
      return true;
    case entry::counted: break;
  }
  counted_job* const counted = detail::try_make_proxy<counted_job>(*this, work);
  if (counted != nullptr && over().try_post(*counted)) return true;
  if (counted != nullptr) detail::free_block<counted_job>(counted);
  leave();
  if (counted == nullptr && over().try_post(work)) return true;  // without memory the job is not counted
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  return false;
}

auto bounded_executor::why_refused() const noexcept -> errc {
  const std::lock_guard lock(mutex_);
  return is_closed_ ? errc::closed : errc::full;
}

auto bounded_executor::pending() const -> std::size_t {
  const std::lock_guard lock(mutex_);
  return pending_;
}

auto bounded_executor::enter() noexcept -> entry {
  for (bool has_waited = false;; has_waited = true) {
    {
      const std::lock_guard lock(mutex_);
      if (has_room() && (has_waited || waiting_ == 0)) {
        ++pending_;
        return entry::counted;
      }
    }
    if (options_.full == when_full::refuse) return entry::refused;
    if (options_.full == when_full::run_inline) return entry::caller_runs;
    wait_for_room room(*this);
    detail::block(room, nullptr, std::nullopt, over().id());
  }
}

/// Counts a job that has left the queue. Waiting producers are woken when half of the capacity is free, so that not
/// every job wakes a thread. The notification is sent while the lock is held, because a thread that waits for the last
/// job may destroy this object as soon as it gets the lock.
void bounded_executor::leave() noexcept {
  const std::lock_guard lock(mutex_);
  --pending_;
  if (waiting_ != 0 && pending_ == options_.capacity / 2) room_.notify_all();
  if (pending_ == 0) none_.notify_all();
}

}  // namespace braid
