// braid/coro/yield.hpp: letting the other work of the home go first.
#pragma once

#include <braid/coro/detail/awaiter_base.hpp>

#include <concepts>
#include <coroutine>

namespace braid {

namespace detail {

class yield_awaiter final : awaiter_base {
 public:
  yield_awaiter() noexcept : awaiter_base(how) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> transfer {
    if (self.promise().where() == nullptr) return transfer_to(self);
    return transfer_to(suspend(self.promise(), self));
  }
  void await_resume() const noexcept {}

 private:
  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    static_cast<yield_awaiter&>(self).complete_later();
    return {};
  }
  static auto withdraw(awaiter_base& /*self*/) noexcept -> withdrawal { return withdrawal::done; }
  static constexpr operation how{&start, &withdraw, "yield"};
};

}  // namespace detail

/// `co_await yield()` puts the task behind everything that its home has ready. A task without a home goes on at once.
/// Threads: any; a task that is away comes home first. Blocks: no thread.
/// In a scope that is stopped the task ends as stopped: a long computation that yields can be stopped there.
[[nodiscard]] inline auto yield() noexcept { return detail::yield_awaiter(); }

}  // namespace braid
