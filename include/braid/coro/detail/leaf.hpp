// braid/coro/detail/leaf.hpp: what an awaitable that really waits is made of: it resumes at home, or is stopped.
#pragma once

#include <braid/coro/detail/promise.hpp>
#include <braid/coro/scope.hpp>
#include <braid/task/job.hpp>

#include <coroutine>

namespace braid::detail {

/// The wait of one coroutine. A derived awaiter starts its operation after `begin`, and calls `complete` when it is
/// over; where a stop comes first, its `withdraw` function ends the operation and the coroutine ends as stopped. Only
/// one of both happens.
/// Threads: the home's.
class BRAID_API leaf : public job, private stop_callback {
 public:
  using withdraw_fn = void (*)(leaf& self) noexcept;

  leaf(const leaf&) = delete;
  auto operator=(const leaf&) -> leaf& = delete;

 protected:
  explicit leaf(withdraw_fn withdraw) noexcept : job(&resumed), stop_callback(&stopped), withdraw_(withdraw) {}
  ~leaf() {
    if (is_linked()) unlink();
  }

  /// Ties the wait to the coroutine that suspends. False when its scope is stopped already: then it does not wait.
  [[nodiscard]] auto begin(promise_base& promise, std::coroutine_handle<> self) noexcept -> bool;

  /// Ends a wait whose operation could not start, and gives the coroutine, which goes on at once.
  [[nodiscard]] auto not_started() noexcept -> std::coroutine_handle<>;

  [[nodiscard]] auto where() const noexcept -> home& { return promise_->where()->where(); }

  /// Resumes the coroutine now.
  void complete() noexcept;

  /// Resumes the coroutine when its home comes to it. From here on a stop is too late.
  void complete_later() noexcept;

 private:
  static void resumed(job& self, action what);
  static void stopped(stop_callback& self) noexcept;

  withdraw_fn withdraw_;
  promise_base* promise_ = nullptr;
  std::coroutine_handle<> handle_;
  enum class state : unsigned char { waiting, done, stopped } state_ = state::waiting;
};

}  // namespace braid::detail
