// braid/coro/event.hpp: something that tasks of one home wait for, and that happens once.
#pragma once

#include <braid/base/intrusive_list.hpp>
#include <braid/coro/detail/leaf.hpp>

#include <concepts>
#include <coroutine>

namespace braid {

/// Tasks wait until somebody calls `set`; from then on nobody waits.
/// Threads: those of one home. For use across threads, post the `set` there.
class event {
  class waiter;

 public:
  event() = default;
  event(const event&) = delete;
  auto operator=(const event&) -> event& = delete;

  [[nodiscard]] auto is_set() const noexcept -> bool { return set_; }

  /// Resumes every waiter, when its home comes to it.
  void set() noexcept;

  /// Waits until the event is set.
  auto operator co_await() noexcept -> waiter;

 private:
  struct waiter_hook : list_hook {};

  class waiter final : private waiter_hook, private detail::leaf {
   public:
    explicit waiter(event& of) noexcept : leaf(&withdraw), event_(&of) {}

    [[nodiscard]] auto await_ready() const noexcept -> bool { return event_->set_; }

    template <std::derived_from<detail::promise_base> Promise>
    auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> detail::transfer {
      if (!begin(self.promise(), self)) return detail::transfer_to(self.promise().stop());
      event_->waiters_.push_back(*this);
      return detail::transfer_to({});
    }

    void await_resume() const noexcept {}

   private:
    friend class event;
    friend class intrusive_list<waiter, waiter_hook>;
    static void withdraw(leaf& self) noexcept { static_cast<waiter_hook&>(static_cast<waiter&>(self)).unlink(); }

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
