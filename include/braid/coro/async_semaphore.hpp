// braid/coro/async_semaphore.hpp: a number of permits that tasks of any home hold and wait for.
#pragma once

#include <braid/coro/detail/waiter.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

namespace braid {

/// Fair (FIFO) counting semaphore for tasks: a permit that is given back goes to the oldest waiting task, and none
/// overtakes. A task that is stopped leaves the queue; one that was handed its permit before the stop goes on with it
/// to its next wait, and gives it back with its locals.
/// Threads: any. Lifetime: outlives its permits and the waiting tasks. Cost: a lock; for each waiting task a post to
/// its home. Protocol: docs/design/coroutine_sync.md
class async_semaphore {
  class awaiter;

 public:
  class permit;

  explicit async_semaphore(std::size_t permits) noexcept : free_(permits) {}
  async_semaphore(const async_semaphore&) = delete;
  auto operator=(const async_semaphore&) -> async_semaphore& = delete;

  /// Waits for a permit, and gives it.
  [[nodiscard]] auto acquire() noexcept -> awaiter;

  /// A permit, if one is free.
  [[nodiscard]] auto try_acquire() noexcept -> std::optional<permit>;

  /// Adds so many permits: those given back by `permit::forget`, or new ones.
  void release(std::size_t count = 1) noexcept {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    for (; count > 0; --count) {
      detail::waiter* const oldest = waiting_.pop();
      if (oldest == nullptr) break;
      woken.add(*oldest);
    }
    free_ += count;
  }

  /// How many permits are free. While a task waits there is none.
  [[nodiscard]] auto available() const noexcept -> std::size_t {
    const std::lock_guard guard(lock_);
    return free_;
  }

 private:
  auto take() noexcept -> bool {
    if (free_ == 0) return false;
    --free_;
    return true;
  }

  mutable std::mutex lock_;  // around all that follows
  std::size_t free_;         // 0 while a task waits
  detail::wait_queue waiting_;
};

/// Gives itself back when it is destroyed.
class [[nodiscard]] async_semaphore::permit {
 public:
  permit(permit&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  auto operator=(permit other) noexcept -> permit& {
    std::swap(of_, other.of_);
    return *this;
  }
  ~permit() { release(); }

  /// Gives it back now.
  void release() noexcept {
    if (of_ != nullptr) std::exchange(of_, nullptr)->release();
  }

  /// Never gives it back: the semaphore has one permit less from now on.
  void forget() noexcept { of_ = nullptr; }

  [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }

 private:
  friend class async_semaphore;
  explicit permit(async_semaphore& of) noexcept : of_(&of) {}

  async_semaphore* of_;
};

class async_semaphore::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "semaphore";

  explicit awaiter(async_semaphore& of) noexcept : queue_awaiter(of.lock_), of_(&of) {}
  [[nodiscard]] auto await_resume() const noexcept -> permit { return permit(*of_); }

  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool { return of_->take(); }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return of_->waiting_; }

 private:
  async_semaphore* of_;
};

inline auto async_semaphore::acquire() noexcept -> awaiter { return awaiter(*this); }

inline auto async_semaphore::try_acquire() noexcept -> std::optional<permit> {
  const std::lock_guard guard(lock_);
  if (!take()) return std::nullopt;
  return permit(*this);
}

}  // namespace braid
