// braid/coro/watch.hpp: a value that changes, and of which only the newest counts.
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/detail/waiter.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace braid {

/// A value that any thread may read and set; observers wait until it has changed. Changes in between may be passed
/// over. Threads: any; an observer one at a time. Values are copied and assigned under a lock, so that these do not
/// call back. Lifetime: outlives its observers. Cost: a change posts to the home of each observer that waits.
template <std::copyable T>
class watch {
 public:
  class observer;

  explicit watch(T initial) : value_(std::move(initial)) {}
  watch(const watch&) = delete;
  auto operator=(const watch&) -> watch& = delete;

  [[nodiscard]] auto get() const -> T {
    const std::lock_guard guard(lock_);
    return value_;
  }

  /// Counts as a change even when the value is the same.
  void set(T value) {
    update([&](T& held) { held = std::move(value); });
  }

  /// Changes the value in place: `fn(T&)`. Errors: what `fn` throws, and then no waiter is notified.
  template <std::invocable<T&> Fn>
  void update(Fn&& fn) {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    std::invoke(std::forward<Fn>(fn), value_);
    ++version_;
    waiting_.pop_all(woken);
  }

  /// The value will not change any more: observers that wait are notified.
  void close() noexcept {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    closed_ = true;
    waiting_.pop_all(woken);
  }

  /// An observer that has seen the value as it is now.
  [[nodiscard]] auto observe() noexcept -> observer {
    const std::lock_guard guard(lock_);
    return observer(*this, version_);
  }

 private:
  mutable std::mutex lock_;  // around all that follows
  T value_;
  std::uint64_t version_ = 0;
  bool closed_ = false;
  detail::wait_queue waiting_;
};

/// Knows which value it has seen.
template <std::copyable T>
class watch<T>::observer {
  class awaiter;

 public:
  /// Waits until the value is another one than was seen, and gives the newest as a result<T>. Errors: errc::closed when
  /// it was seen and will not change.
  [[nodiscard]] auto changed() noexcept { return awaiter(*this); }

 private:
  friend class watch;
  observer(watch& of, std::uint64_t seen) noexcept : of_(&of), seen_(seen) {}

  watch* of_;
  std::uint64_t seen_;
};

template <std::copyable T>
class watch<T>::observer::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "watch";

  explicit awaiter(observer& by) noexcept : detail::queue_awaiter<awaiter>(by.of_->lock_), by_(&by) {}

  [[nodiscard]] auto await_resume() const -> result<T> {
    const watch& from = *by_->of_;
    const std::lock_guard guard(from.lock_);
    if (by_->seen_ == from.version_) return fail(errc::closed);
    result<T> newest(from.value_);
    by_->seen_ = from.version_;
    return newest;
  }

  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool {
    return by_->seen_ != by_->of_->version_ || by_->of_->closed_;
  }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return by_->of_->waiting_; }

 private:
  observer* by_;
};

}  // namespace braid
