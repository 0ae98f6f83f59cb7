// braid/coro/detail/handled_task.hpp: what a task and its handle share.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/waiter.hpp>
#include <braid/coro/outcome.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/task_info.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/detail/job_allocator.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace braid::detail {

/// The task runs in a scope of its own, which threads with the handle may stop. They find it under the lock and count
/// themselves; before the task gives its scope up it takes it back, and waits until none of them is on the way.
class BRAID_API handled_task_base {
 public:
  explicit handled_task_base(std::string name);
  handled_task_base(const handled_task_base&) = delete;
  auto operator=(const handled_task_base&) -> handled_task_base& = delete;

  [[nodiscard]] auto info() noexcept -> task_info& { return info_; }
  [[nodiscard]] auto lock() noexcept -> std::mutex& { return lock_; }
  [[nodiscard]] auto queue() noexcept -> wait_queue& { return waiting_; }
  [[nodiscard]] auto is_done_under_lock() const noexcept -> bool { return is_done_; }

  // --- the owner of the handle; any thread ---

  void request_stop(errc reason) noexcept;
  [[nodiscard]] auto is_done() noexcept -> bool {
    const std::lock_guard guard(lock_);
    return is_done_;
  }
  void detach() noexcept {
    const std::lock_guard guard(lock_);
    is_detached_ = true;
  }

  // --- the task, at home ---

  /// From now on a stop goes to this scope; one that was asked for before does at once.
  void begin(scope& in) noexcept;

  class leave_awaiter;
  /// From now on a stop changes nothing, and when the await is over, nobody knows of the scope but what was posted to
  /// it. Not cut short by a stop.
  [[nodiscard]] auto leave() noexcept -> leave_awaiter;

  /// Wakes the awaiter of the task. Returns whether the handle is gone.
  auto settle() noexcept -> bool;

 protected:
  ~handled_task_base() = default;

 private:
  task_info info_;
  std::mutex lock_;  // around all that follows
  scope* running_ = nullptr;
  unsigned stopping_ = 0;  // threads that are about to stop the scope
  leave_awaiter* leaving_ = nullptr;
  std::optional<errc> asked_;  // for a stop, before there was a scope
  bool is_done_ = false;
  bool is_detached_ = false;
  wait_queue waiting_;
};

class BRAID_API handled_task_base::leave_awaiter final : job {
 public:
  explicit leave_awaiter(handled_task_base& of) noexcept : job(&resumed), of_(&of) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> transfer {
    handle_ = self;
    home_ = &self.promise().where()->where();
    return transfer_to(left() ? self : nullptr);
  }
  void await_resume() const noexcept {}

 private:
  friend class handled_task_base;

  static void resumed(job& self, action /*what*/) { resume(static_cast<leave_awaiter&>(self).handle_); }
  auto left() noexcept -> bool;

  handled_task_base* of_;
  home* home_ = nullptr;
  std::coroutine_handle<> handle_;
};

inline auto handled_task_base::leave() noexcept -> leave_awaiter { return leave_awaiter(*this); }

template <typename T>
struct handled_task final : handled_task_base {
  using handled_task_base::handled_task_base;
  outcome<T> ended;  // written by the task before it settles
};

/// What a task and its handle share, in one block.
template <typename T>
auto make_handled(std::string name) -> std::shared_ptr<handled_task<T>> {
  if constexpr (alignof(handled_task<T>) > 16)
    return std::make_shared<handled_task<T>>(std::move(name));
  else
    return std::allocate_shared<handled_task<T>>(job_allocator<handled_task<T>>(), std::move(name));
}

/// The end of the handle: its owner goes, or takes the outcome. The only one of its kind for a task.
template <typename T>
class handle_end {
 public:
  handle_end() = default;
  explicit handle_end(std::shared_ptr<handled_task<T>> state) noexcept : state_(std::move(state)) {}
  handle_end(handle_end&&) noexcept = default;
  auto operator=(handle_end&& other) noexcept -> handle_end& {
    handle_end old(std::exchange(state_, std::move(other.state_)));
    return *this;
  }
  ~handle_end() {
    if (state_ != nullptr) state_->detach();
  }

  [[nodiscard]] auto get() const noexcept -> handled_task<T>* { return state_.get(); }

 private:
  std::shared_ptr<handled_task<T>> state_;
};

/// The end of the task: where it goes without having run, it has ended as stopped.
template <typename T>
class task_end {
 public:
  explicit task_end(std::shared_ptr<handled_task<T>> state) noexcept : state_(std::move(state)) {}
  task_end(task_end&&) noexcept = default;
  auto operator=(task_end&&) -> task_end& = delete;
  ~task_end() {
    if (state_ != nullptr) state_->settle();
  }

  [[nodiscard]] auto state() const noexcept -> handled_task<T>& { return *state_; }

  /// What nobody will ask for is reported.
  void settle(outcome<T> ended, executor& where) noexcept {
    const auto state = std::exchange(state_, nullptr);
    const std::exception_ptr error = ended.has_exception() ? ended.exception() : nullptr;
    state->ended = std::move(ended);
    if (state->settle() && error != nullptr) where.report(error);
  }

 private:
  std::shared_ptr<handled_task<T>> state_;
};

template <typename T>
auto run_handled(task_end<T> end, task<T> work) -> task<void> {
  scope& around = co_await this_scope();
  outcome<T> ended;
  {
    scope own(around);
    own.bind(&task_info_key, &end.state().info());
    end.state().begin(own);
    // As `joined` does, whose frame is spared: what is awaited here is told of stops, or not cut short by them.
    ended = co_await outcome_in(own, std::move(work));
    co_await resume_home();
    if (!ended.has_value()) own.request_stop();
    try {
      co_await own.join();
    } catch (...) {
      if (!ended.has_exception()) ended.set_exception(std::current_exception());
    }
    co_await end.state().leave();
    co_await own.join();  // a stop that was posted meanwhile
  }
  end.settle(std::move(ended), around.where());
}

/// What begins a task with a handle, for the thread that runs it: the frame around the task is made there.
template <typename T>
class handled_start {
 public:
  handled_start(task_end<T> end, task<T> work) noexcept : end_(std::move(end)), work_(std::move(work)) {}

  /// Errors: std::bad_alloc, and then the task has ended as stopped.
  [[nodiscard]] auto operator()() && -> task<void> { return run_handled<T>(std::move(end_), std::move(work_)); }

 private:
  task_end<T> end_;
  task<T> work_;
};

/// Awaits the end, and gives it as `T` or as an outcome<T>.
template <typename T, typename Given>
class handled_awaiter final : public queue_awaiter<handled_awaiter<T, Given>> {
 public:
  explicit handled_awaiter(handle_end<T> of) noexcept
      : queue_awaiter<handled_awaiter>(of.get()->lock()), of_(std::move(of)) {}

  auto await_resume() -> Given {
    if constexpr (std::is_same_v<T, Given>)
      return of_.get()->ended.take();
    else
      return std::move(of_.get()->ended);
  }

  [[nodiscard]] auto try_take(wake_list& /*woken*/) const noexcept -> bool { return of_.get()->is_done_under_lock(); }
  [[nodiscard]] auto queue() const noexcept -> wait_queue& { return of_.get()->queue(); }

 private:
  handle_end<T> of_;
};

}  // namespace braid::detail
