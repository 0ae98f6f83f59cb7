// braid/coro/event.hpp: something that tasks of one home wait for, and that happens once.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/coro/detail/awaiter_base.hpp>

#include <concepts>
#include <coroutine>

namespace braid {

/// Tasks wait until `set` is called; from then on no task waits.
/// Threads: those of one home, without a lock. Across threads: `async_event`.
class event {
  class waiter;

 public:
  event() = default;
  event(const event&) = delete;
  auto operator=(const event&) -> event& = delete;
  /// Requires that no task waits.
  ~event() { BRAID_EXPECTS(waiters_.empty(), "what tasks wait for outlives them: join or stop them first"); }

  [[nodiscard]] auto is_set() const noexcept -> bool { return set_; }

  /// Resumes every waiter, when its home comes to it.
  void set() noexcept;

  /// Waits until the event is set.
  auto operator co_await() noexcept -> waiter;

 private:
  struct waiter_hook : list_hook {};

  class waiter final : private waiter_hook, private detail::awaiter_base {
   public:
    explicit waiter(event& of) noexcept : awaiter_base(how), event_(&of) {}
    /// Requires that it is not awaited yet.
    waiter(waiter&& other) noexcept : waiter(*other.event_) {}

    /// Not known before the task is at home.
    [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

    template <std::derived_from<detail::promise_base> Promise>
    auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> detail::transfer {
      return detail::transfer_to(suspend(self.promise(), self));
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
    static constexpr operation how{&start, &withdraw, "event"};

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
