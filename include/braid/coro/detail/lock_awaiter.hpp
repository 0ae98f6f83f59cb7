// braid/coro/detail/lock_awaiter.hpp: the awaiter for a lock. It records the task that holds the lock.
#pragma once

#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/coro/detail/resume.hpp>
#include <braid/coro/detail/waiter.hpp>
#include <braid/sync/atomic.hpp>

#include <concepts>
#include <coroutine>
#include <mutex>
#include <string>

namespace braid::detail {

extern BRAID_API const wait_layout lock_wait_layout;

/// Acquires the single permit of a semaphore, and records the task that acquired it. Because the task is known only
/// from the promise, the awaiter suspends even if the lock is free.
template <typename Semaphore>
class [[nodiscard, gnu::warn_unused]] lock_awaiter final : public queue_awaiter<lock_awaiter<Semaphore>> {
  using base = queue_awaiter<lock_awaiter>;

 public:
  static constexpr const char* waits_for = "lock";
  static constexpr const wait_layout* layout = &lock_wait_layout;

  explicit lock_awaiter(Semaphore& semaphore) noexcept : base(semaphore.lock_), awaited_(&semaphore) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> waiting, await_place place = await_place::current()) noexcept
      -> transfer {
    if (!may_go_on()) return transfer_to(this->yield_first(waiting.promise(), place));
    if (awaited_->permits_.try_take()) {
      awaited_->record(task_number(waiting.promise().where()));
      return transfer_to(waiting);
    }
    return base::await_suspend(waiting, place);
  }
  [[nodiscard]] auto await_resume() const noexcept { return typename Semaphore::permit(*awaited_); }

  [[nodiscard]] auto try_take(wake_list& /*woken*/) const noexcept -> bool {
    if (!awaited_->permits_.take_or_await()) return false;
    awaited_->record(this->task());
    return true;
  }
  [[nodiscard]] auto queue() const noexcept -> wait_queue& { return awaited_->waiting_; }
  void describe(std::string& text) const { describe_task(text, "taken by", needs().task); }
  /// Returns the task that holds the lock. Returns an empty value if the waiting task has already received the lock but
  /// has not resumed yet.
  [[nodiscard]] auto needs() const noexcept -> needed_task {
    const std::lock_guard guard(awaited_->lock_);
    if (!this->is_queued()) return {};
    return {.task = awaited_->taken_by_.load(relaxed), .lock = awaited_, .grant = awaited_->grants_.load(relaxed)};
  }

 private:
  friend struct debug_layout;

  Semaphore* awaited_;
};

}  // namespace braid::detail
