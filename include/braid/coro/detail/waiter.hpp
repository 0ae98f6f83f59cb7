// braid/coro/detail/waiter.hpp: a queue of waiting coroutines from several homes, protected by a small lock.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/sync/detail/small_mutex.hpp>

#include <concepts>
#include <coroutine>
#include <mutex>

namespace braid {
class async_semaphore;
}

namespace braid::detail {

struct waiter_hook : list_hook {};

/// The queue node of a suspended coroutine that waits for a permit, a value or an event. Other threads may resume it. A
/// thread that removes the node from the queue, under the lock of the semaphore or channel, grants what the coroutine
/// waits for and then wakes it. A stop either removes the node itself, or has no effect because another thread has
/// removed the node before.
/// Protocol: docs/design/coroutine_sync.md
class BRAID_API waiter : public waiter_hook, public awaiter_base {
 protected:
  waiter(const operation& functions, small_mutex& lock) noexcept : awaiter_base(functions), lock_(&lock) {}
  ~waiter() = default;

  [[nodiscard]] auto lock() const noexcept -> small_mutex& { return *lock_; }
  /// Returns whether the coroutine still waits. A waiter that is not queued has been granted what it waited for, and
  /// will be resumed. Threads: any thread that holds the lock.
  [[nodiscard]] auto is_queued() const noexcept -> bool { return queued_; }
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal;

 private:
  friend class wait_queue;
  friend class wake_list;
  friend struct debug_layout;
  friend class braid::async_semaphore;

  bool queued_ = false;  // under the lock

 protected:
  bool yields_ = false;  // the task has used up its budget, and lets other work run before it asks for something

 private:
  small_mutex* lock_;
};

/// A list of waiters that were removed from their queues and must be woken. The destructor wakes them. Declare the list
/// before the lock guard, so that the waiters are woken after the lock is released.
class BRAID_API wake_list {
 public:
  wake_list() = default;
  wake_list(const wake_list&) = delete;
  auto operator=(const wake_list&) -> wake_list& = delete;
  ~wake_list() {
    if (!list_.empty()) wake();
  }

  void add(waiter& granted) noexcept { list_.push_back(granted); }

 private:
  void wake() noexcept;

  intrusive_list<waiter, waiter_hook> list_;
};

/// A FIFO queue of waiters. Threads: any thread that holds the lock of the waiters.
class wait_queue {
 public:
  wait_queue() = default;
  wait_queue(const wait_queue&) = delete;
  auto operator=(const wait_queue&) -> wait_queue& = delete;
  ~wait_queue() {
    BRAID_EXPECTS(list_.empty(), "tasks still wait for this object: join or stop them before it is destroyed");
  }

  [[nodiscard]] auto empty() const noexcept -> bool { return list_.empty(); }
  void push(waiter& item) noexcept {
    item.queued_ = true;
    list_.push_back(item);
  }
  /// Removes and returns the oldest waiter, or null if no task waits. From then on a stop has no effect on the waiter.
  [[nodiscard]] auto pop() noexcept -> waiter* {
    waiter* const oldest = list_.pop_front();
    if (oldest != nullptr) oldest->queued_ = false;
    return oldest;
  }
  void pop_all(wake_list& woken) noexcept {
    while (waiter* const oldest = pop()) woken.add(*oldest);
  }

 private:
  intrusive_list<waiter, waiter_hook> list_;
};

/// An awaiter that takes something, such as a permit, if it is available, and otherwise waits in a queue. If the poll
/// budget is used up, the awaiter lets the other work of its home run before it takes a permit. If it took the permit
/// first, it would hold the permit unused while the other tasks wait for it. `Derived` must have two functions, which
/// are called under the lock: `try_take(wake_list&)` and `queue()`. `try_take` may be called again after it has
/// returned false. `Derived` must also have a string literal `waits_for`, which names the wait. It may have a function
/// `try_take_at_once()`, which is called first and without the lock. It may also have `describe(text)`, `needs()` and
/// `layout`, which have the same meaning as in `awaiter_base::operation`.
template <typename Derived>
class queue_awaiter : public waiter {
 public:
  [[nodiscard]] auto await_ready() noexcept -> bool {
    this->yields_ = !may_go_on();
    if (this->yields_) return false;
    if constexpr (requires(Derived& one) { one.try_take_at_once(); }) {
      return self().try_take_at_once();
    } else {
      wake_list woken;
      const std::lock_guard guard(lock());
      return self().try_take(woken);
    }
  }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> waiting, await_place place = await_place::current()) noexcept
      -> transfer {
    if (this->yields_) return transfer_to(yield_first(waiting.promise(), place));
    return transfer_to(suspend(waiting.promise(), place));
  }

 protected:
  explicit queue_awaiter(small_mutex& lock) noexcept : waiter(functions, lock) {}
  /// Requires that `other` has not been awaited.
  queue_awaiter(queue_awaiter&& other) noexcept : queue_awaiter(other.lock()) {}

 private:
  [[nodiscard]] auto self() noexcept -> Derived& { return static_cast<Derived&>(*this); }
  [[nodiscard]] auto self() const noexcept -> const Derived& { return static_cast<const Derived&>(*this); }

  static auto start(awaiter_base& begun) noexcept -> std::coroutine_handle<> {
    auto& waiting = static_cast<queue_awaiter&>(begun);
    {
      wake_list woken;
      const std::lock_guard guard(waiting.lock());
      if (!waiting.self().try_take(woken)) {
        waiting.self().queue().push(waiting);
        return {};
      }
    }
    return waiting.not_started();
  }

  static void describe_more(const awaiter_base& waiting, std::string& text) {
    static_cast<const queue_awaiter&>(waiting).self().describe(text);
  }
  static auto task_needed(const awaiter_base& waiting) noexcept -> needed_task {
    return static_cast<const queue_awaiter&>(waiting).self().needs();
  }
  static constexpr auto operation_of_derived() noexcept -> operation {
    operation made{&start, &withdraw, Derived::waits_for};
    if constexpr (requires(const Derived& one, std::string& text) { one.describe(text); })
      made.describe = &describe_more;
    if constexpr (requires(const Derived& one) { one.needs(); }) made.needs = &task_needed;
    if constexpr (requires { Derived::layout; }) made.layout = Derived::layout;
    return made;
  }
  static constexpr operation functions = operation_of_derived();
};

}  // namespace braid::detail
