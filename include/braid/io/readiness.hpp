// braid/io/readiness.hpp: waiting until a descriptor can be read or written.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/io/backend.hpp>
#include <braid/io/loop.hpp>

#include <concepts>
#include <coroutine>
#include <string>

namespace braid {

namespace detail {

/// Appends "read of fd 9, 10.0.0.7:6379" to a description. Errors: std::bad_alloc.
BRAID_API void describe_descriptor(std::string& text, io_interest side, int number);

class readiness_awaiter final : awaiter_base {
 public:
  readiness_awaiter(loop& on, int number, io_interest interest) noexcept : awaiter_base(how), on_(&on), watch_(*this) {
    watch_.descriptor = number;
    watch_.interest = interest;
  }
  /// Requires that it is not awaited yet.
  readiness_awaiter(readiness_awaiter&& other) noexcept : awaiter_base(how), on_(other.on_), watch_(*this) {
    watch_.descriptor = other.watch_.descriptor;
    watch_.interest = other.watch_.interest;
  }

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> transfer {
    return transfer_to(suspend(self.promise(), self));
  }

  [[nodiscard]] auto await_resume() const noexcept -> result<void> { return started_; }

 private:
  struct wake_watch : io_watch {
    explicit wake_watch(readiness_awaiter& a) noexcept : owner(&a) { ready = &became_ready; }
    readiness_awaiter* owner;
  };

  static void became_ready(io_watch& self) noexcept { static_cast<wake_watch&>(self).owner->complete(); }
  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    auto& waiting = static_cast<readiness_awaiter&>(self);
    BRAID_EXPECTS(&waiting.where() == waiting.on_, "a descriptor is used by tasks that are at home on its loop");
    waiting.started_ = waiting.on_->backend().watch(waiting.watch_);
    return waiting.started_ ? std::coroutine_handle<>() : waiting.not_started();
  }
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal {
    auto& waiting = static_cast<readiness_awaiter&>(self);
    waiting.on_->backend().unwatch(waiting.watch_);
    return withdrawal::done;
  }
  static void describe(const awaiter_base& self, std::string& text) {
    const io_watch& watch = static_cast<const readiness_awaiter&>(self).watch_;
    describe_descriptor(text, watch.interest, watch.descriptor);
  }
  static constexpr operation how{&start, &withdraw, "readiness", &describe};

  loop* on_;
  wake_watch watch_;
  result<void> started_;
};

}  // namespace detail

/// Waits until `descriptor` can be read without blocking, has ended, or is in error. One reader and one writer may wait
/// for a descriptor at a time. A regular file is always ready. Requires that the task is at home on the loop.
/// Errors: as `io_backend::watch`.
[[nodiscard]] inline auto readable(loop& on, int descriptor) noexcept {
  return detail::readiness_awaiter(on, descriptor, io_interest::read);
}

/// Waits until `descriptor` can be written without blocking. As `readable` otherwise.
[[nodiscard]] inline auto writable(loop& on, int descriptor) noexcept {
  return detail::readiness_awaiter(on, descriptor, io_interest::write);
}

}  // namespace braid
