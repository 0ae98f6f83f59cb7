// braid/coro/async_barrier.hpp: a place where a number of tasks of any home wait for each other, again and again.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/coro/detail/waiter.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace braid {

/// Cyclic barrier for tasks: they wait until so many have arrived; then all go on, and the next phase begins. A task
/// that is stopped while it waits has arrived all the same.
/// Threads: any. Lifetime: outlives the waiting tasks.
class async_barrier {
  class awaiter;

 public:
  /// Requires an expected arrival.
  explicit async_barrier(std::size_t expected) noexcept : expected_(expected), missing_(expected) {
    BRAID_EXPECTS(expected != 0, "a barrier expects at least one arrival");
  }
  async_barrier(const async_barrier&) = delete;
  auto operator=(const async_barrier&) -> async_barrier& = delete;

  /// Arrives, when it is awaited, and waits for the others.
  [[nodiscard]] auto arrive_and_wait() noexcept -> awaiter;

  /// Arrives for this phase and is not expected in those that follow; does not wait. Requires that more arrivals are
  /// missing in this phase.
  void arrive_and_drop() noexcept {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    BRAID_EXPECTS(expected_ != 0, "no arrival is expected at this barrier any more");
    --expected_;
    arrive(woken);
  }

 private:
  void arrive(detail::wake_list& woken) noexcept {
    if (--missing_ != 0) return;
    missing_ = expected_;
    ++phase_;
    waiting_.pop_all(woken);
  }

  std::mutex lock_;  // around all that follows
  std::size_t expected_;
  std::size_t missing_;  // in this phase
  std::uint64_t phase_ = 0;
  detail::wait_queue waiting_;  // for the end of this phase
};

class async_barrier::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "barrier";

  explicit awaiter(async_barrier& of) noexcept : queue_awaiter(of.lock_), of_(&of) {}
  void await_resume() const noexcept {}

  [[nodiscard]] auto try_take(detail::wake_list& woken) noexcept -> bool {
    if (!arrived_) {
      arrived_ = true;
      phase_ = of_->phase_;
      of_->arrive(woken);
    }
    return of_->phase_ != phase_;
  }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return of_->waiting_; }

 private:
  async_barrier* of_;
  bool arrived_ = false;
  std::uint64_t phase_ = 0;
};

inline auto async_barrier::arrive_and_wait() noexcept -> awaiter { return awaiter(*this); }

}  // namespace braid
