// braid/coro/synchronization.hpp: locks, events, latches and barriers that tasks wait for.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/detail/lock_awaiter.hpp>
#include <braid/coro/detail/permit_count.hpp>
#include <braid/coro/detail/waiter.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/small_mutex.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace braid {

/// A fair (FIFO) counting semaphore for tasks: a permit that is released goes to the task that has waited longest, and
/// no task overtakes another. A task that is stopped leaves the queue. A task that received its permit before the stop
/// continues to its next wait, and releases the permit when its locals are destroyed.
/// Threads: any. Lifetime: must outlive its permits and the waiting tasks. Cost: a compare-exchange if no task waits,
/// otherwise a lock; a post to the home of each task that had to wait (the serial executor that the task is bound to).
/// Protocol: docs/design/coroutine_sync.md
class async_semaphore {
  class awaiter;

 public:
  class permit;

  /// Constructs a semaphore with at most 2^64 - 2 permits. A larger number is reduced to this maximum, so you can pass
  /// the largest integer for a semaphore without a limit.
  explicit async_semaphore(std::size_t permits) noexcept : permits_(permits) {}
  async_semaphore(const async_semaphore&) = delete;
  auto operator=(const async_semaphore&) -> async_semaphore& = delete;

  /// Waits for a permit, and returns it.
  [[nodiscard]] auto acquire() noexcept -> awaiter;

  /// Returns a permit, or an empty optional if no permit is free.
  [[nodiscard]] auto try_acquire() noexcept -> std::optional<permit>;

  /// Adds `count` permits. They may be new, or replace permits that `permit::forget` has detached.
  void release(std::size_t count = 1) noexcept {
    taken_by_.store(0, relaxed);  // a new waiter must not see this task as the holder
    if (!permits_.try_add(count)) [[unlikely]]
      hand_over(count);
  }

  /// Returns the number of free permits. The number is 0 while a task waits.
  [[nodiscard]] auto available() const noexcept -> std::size_t { return permits_.free(); }

 private:
  friend class detail::lock_awaiter<async_semaphore>;
  friend struct detail::debug_layout;

  /// Records, for dumps of tasks that wait for a lock, that the task with the number `task` now holds the only permit.
  void record(std::uint64_t task) noexcept {
    grants_.store(grants_.load(relaxed) + 1, relaxed);
    taken_by_.store(task, relaxed);
  }
  BRAID_API void hand_over(std::size_t count) noexcept;

  detail::permit_count permits_;
  // This member is written only by the task that holds the permit, or by the thread that is passing it on.
  atomic<std::uint64_t> taken_by_{0};  // the number of the task that holds it; 0 if it is not known
  atomic<std::uint64_t> grants_{0};    // two equal values show that a lock was held throughout
  detail::small_mutex lock_;           // guards the queue
  detail::wait_queue waiting_;
};

/// A permit that is released when it is destroyed.
class [[nodiscard]] async_semaphore::permit {
 public:
  permit(permit&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
  auto operator=(permit other) noexcept -> permit& {
    std::swap(owner_, other.owner_);
    return *this;
  }
  ~permit() { release(); }

  /// Releases the permit now.
  void release() noexcept {
    if (owner_ != nullptr) std::exchange(owner_, nullptr)->release();
  }

  /// Detaches the permit from the semaphore. From now on the semaphore has one permit less.
  void forget() noexcept { owner_ = nullptr; }

  [[nodiscard]] explicit operator bool() const noexcept { return owner_ != nullptr; }

 private:
  friend class async_semaphore;
  friend class detail::lock_awaiter<async_semaphore>;
  explicit permit(async_semaphore& owner) noexcept : owner_(&owner) {}

  async_semaphore* owner_;
};

class [[nodiscard, gnu::warn_unused]] async_semaphore::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "semaphore";

  explicit awaiter(async_semaphore& owner) noexcept : queue_awaiter(owner.lock_), owner_(&owner) {}
  [[nodiscard]] auto await_resume() const noexcept -> permit { return permit(*owner_); }

  [[nodiscard]] auto try_take_at_once() const noexcept -> bool { return owner_->permits_.try_take(); }
  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool {
    return owner_->permits_.take_or_await();
  }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return owner_->waiting_; }

 private:
  async_semaphore* owner_;
};

inline auto async_semaphore::acquire() noexcept -> awaiter { return awaiter(*this); }

inline auto async_semaphore::try_acquire() noexcept -> std::optional<permit> {
  if (!permits_.try_take()) return std::nullopt;
  return permit(*this);
}

/// A fair (FIFO) mutex for tasks: one task at a time holds it. Other tasks, of any home, wait without blocking their
/// threads, and get the lock in the order of their requests. If a lock is never held across a wait, use a std::mutex.
/// Threads: any; the mutex may be released by another thread than the one that acquired it. Lifetime: must outlive its
/// guards and the waiting tasks. Cost: the same as for an async_semaphore.
class async_mutex {
 public:
  /// A guard that holds the lock until the guard is destroyed or `release` is called.
  using guard = async_semaphore::permit;

  /// Waits for the lock and returns a guard: `const auto held = co_await mutex.lock();`
  [[nodiscard]] auto lock() noexcept { return detail::lock_awaiter(semaphore_); }
  [[nodiscard]] auto try_lock() noexcept -> std::optional<guard> { return semaphore_.try_acquire(); }
  [[nodiscard]] auto is_locked() const noexcept -> bool { return semaphore_.available() == 0; }

 private:
  async_semaphore semaphore_{1};
};

/// A manual-reset event for tasks of any home. Tasks wait until `set` is called. After that, a wait returns at once
/// until `reset` is called. Tasks that `set` has released continue, even if a reset follows at once.
/// Threads: any. Lifetime: must outlive the waiting tasks. Cost: a lock; a post to the home of each waiting task. For
/// the tasks of one home, `event` is cheaper: it needs no lock and no post.
class async_event {
  class awaiter;

 public:
  async_event() = default;
  async_event(const async_event&) = delete;
  auto operator=(const async_event&) -> async_event& = delete;

  [[nodiscard]] auto is_set() const noexcept -> bool {
    const std::lock_guard guard(lock_);
    return set_;
  }

  void set() noexcept {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    set_ = true;
    waiting_.pop_all(woken);
  }

  void reset() noexcept {
    const std::lock_guard guard(lock_);
    set_ = false;
  }

  /// Waits until the event is set.
  [[nodiscard]] auto operator co_await() noexcept -> awaiter;

 private:
  mutable detail::small_mutex lock_;  // guards all members below
  bool set_ = false;
  detail::wait_queue waiting_;
};

class [[nodiscard, gnu::warn_unused]] async_event::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "event";

  explicit awaiter(async_event& owner) noexcept : queue_awaiter(owner.lock_), owner_(&owner) {}
  void await_resume() const noexcept {}

  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool { return owner_->set_; }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return owner_->waiting_; }

 private:
  async_event* owner_;
};

inline auto async_event::operator co_await() noexcept -> awaiter { return awaiter(*this); }

/// A single-use latch for tasks. Tasks wait until its count has reached zero. After that, a wait returns at once.
/// Threads: any. Lifetime: must outlive the waiting tasks; a task that has waited may destroy the latch.
class async_latch {
  class awaiter;

 public:
  explicit async_latch(std::size_t count) noexcept : left_(count) {}
  async_latch(const async_latch&) = delete;
  auto operator=(const async_latch&) -> async_latch& = delete;

  /// Subtracts `amount` from the count. Requires that the count is at least `amount`.
  void count_down(std::size_t amount = 1) noexcept {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    BRAID_EXPECTS(amount <= left_, "a latch must not be counted down below zero");
    left_ -= amount;
    if (left_ == 0) waiting_.pop_all(woken);
  }

  /// Returns whether the count is zero. If it is zero, a wait returns at once.
  [[nodiscard]] auto try_wait() const noexcept -> bool {
    const std::lock_guard guard(lock_);
    return left_ == 0;
  }

  /// Waits until the count is zero.
  [[nodiscard]] auto wait() noexcept -> awaiter;

  /// Decrements the count by one at once, and returns an awaiter that waits until the count is zero.
  [[nodiscard]] auto arrive_and_wait() noexcept -> awaiter;

 private:
  mutable detail::small_mutex lock_;  // guards all members below
  std::size_t left_;
  detail::wait_queue waiting_;
};

class [[nodiscard, gnu::warn_unused]] async_latch::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "latch";

  explicit awaiter(async_latch& owner) noexcept : queue_awaiter(owner.lock_), owner_(&owner) {}
  void await_resume() const noexcept {}

  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool { return owner_->left_ == 0; }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return owner_->waiting_; }

 private:
  async_latch* owner_;
};

inline auto async_latch::wait() noexcept -> awaiter { return awaiter(*this); }
inline auto async_latch::arrive_and_wait() noexcept -> awaiter {
  count_down();
  return awaiter(*this);
}

/// A cyclic barrier for tasks. Tasks wait until a fixed number of tasks has arrived; then all continue, and the next
/// phase begins. A task that is stopped while it waits still counts as arrived. Threads: any. Lifetime: must outlive
/// the waiting tasks.
class async_barrier {
  class awaiter;

 public:
  /// Constructs a barrier for `expected` tasks. Requires that `expected` is not zero.
  explicit async_barrier(std::size_t expected) noexcept : expected_(expected), missing_(expected) {
    BRAID_EXPECTS(expected != 0, "a barrier must expect at least one arrival");
  }
  async_barrier(const async_barrier&) = delete;
  auto operator=(const async_barrier&) -> async_barrier& = delete;

  /// Returns an awaiter. When a task awaits it, the task arrives and then waits for the other tasks.
  [[nodiscard]] auto arrive_and_wait() noexcept -> awaiter;

  /// Arrives for this phase without waiting, and reduces the number of expected tasks in later phases by one. Requires
  /// that this phase still waits for at least one arrival.
  void arrive_and_drop() noexcept {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    BRAID_EXPECTS(expected_ != 0, "this barrier expects no more tasks");
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

  detail::small_mutex lock_;  // guards all members below
  std::size_t expected_;
  std::size_t missing_;  // the number of arrivals that are missing in this phase
  std::uint64_t phase_ = 0;
  detail::wait_queue waiting_;  // tasks that wait for the end of this phase
};

class [[nodiscard, gnu::warn_unused]] async_barrier::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "barrier";

  explicit awaiter(async_barrier& owner) noexcept : queue_awaiter(owner.lock_), owner_(&owner) {}
  void await_resume() const noexcept {}

  /// Arrives even if the poll budget of this thread is used up, because the other tasks wait for this arrival.
  [[nodiscard]] auto await_ready() noexcept -> bool {
    {
      detail::wake_list woken;
      const std::lock_guard guard(owner_->lock_);
      phase_ = owner_->phase_;
      owner_->arrive(woken);
    }
    return queue_awaiter::await_ready();
  }

  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool { return owner_->phase_ != phase_; }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return owner_->waiting_; }

 private:
  async_barrier* owner_;
  std::uint64_t phase_ = 0;  // the phase in which it has arrived
};

inline auto async_barrier::arrive_and_wait() noexcept -> awaiter { return awaiter(*this); }

/// An event for the tasks of one home. Tasks wait until `set` is called. After that, a wait returns at once. Threads:
/// only the thread of that home, so no lock is needed. For tasks of several homes, use `async_event`.
class event {
  class waiter;

 public:
  event() = default;
  event(const event&) = delete;
  auto operator=(const event&) -> event& = delete;
  /// Requires that no task waits.
  ~event() {
    BRAID_EXPECTS(waiters_.empty(), "tasks still wait for this object: join or stop them before it is destroyed");
  }

  [[nodiscard]] auto is_set() const noexcept -> bool { return set_; }

  /// Sets the event. All waiting tasks resume in the next iteration of their home.
  void set() noexcept;

  /// Waits until the event is set.
  auto operator co_await() noexcept -> waiter;

 private:
  struct waiter_hook : list_hook {};

  class waiter final : private waiter_hook, private detail::awaiter_base {
   public:
    explicit waiter(event& awaited) noexcept : awaiter_base(functions), event_(&awaited) {}
    /// Requires that `other` has not been awaited.
    waiter(waiter&& other) noexcept : waiter(*other.event_) {}

    /// Returns false, because this may run on another thread, and only the home's thread may check whether the event is
    /// set.
    [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

    template <std::derived_from<detail::promise_base> Promise>
    auto await_suspend(std::coroutine_handle<Promise> self,
                       detail::await_place place = detail::await_place::current()) noexcept -> detail::transfer {
      return detail::transfer_to(suspend(self.promise(), place));
    }

    void await_resume() const noexcept {}

   private:
    friend class event;
    friend class intrusive_list<waiter, waiter_hook>;

    static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
      auto& waiting = static_cast<waiter&>(self);
      if (waiting.event_->set_) return waiting.not_started();
      waiting.event_->waiters_.push_back(waiting);
      return {};
    }
    static auto withdraw(awaiter_base& self) noexcept -> detail::withdrawal {
      static_cast<waiter_hook&>(static_cast<waiter&>(self)).unlink();
      return detail::withdrawal::done;
    }
    static constexpr operation functions{&start, &withdraw, "event"};

    event* event_;
  };

  intrusive_list<waiter, waiter_hook> waiters_;
  bool set_ = false;
};

inline void event::set() noexcept {
  set_ = true;
  while (waiter* next = waiters_.pop_front()) next->complete_later();
}

inline auto event::operator co_await() noexcept -> waiter { return waiter(*this); }

}  // namespace braid
