// braid/coro/async_generator.hpp: an asynchronous generator: a lazy sequence that may wait between its elements.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/coro/detail/promise.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace braid {

template <typename T>
class async_generator;

namespace detail {

template <typename T>
class async_generator_promise final : public promise_base {
 public:
  using element = std::remove_reference_t<T>;

  /// Transfers control to the consumer, which is the coroutine above in the same thread of control.
  struct yield_awaiter {
    [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
    auto await_suspend(std::coroutine_handle<async_generator_promise> self) noexcept -> transfer {
      self.promise().runs_ = false;
      return transfer_to(self.promise().continuation());
    }
    void await_resume() const noexcept {}
  };

  auto get_return_object() noexcept -> async_generator<T>;

  auto yield_value(element& value) noexcept -> yield_awaiter {
    value_ = std::addressof(value);
    return {};
  }
  /// A temporary lives in the frame until the coroutine goes on.
  auto yield_value(element&& value) noexcept -> yield_awaiter
    requires(!std::is_reference_v<T>)
  {
    value_ = std::addressof(value);
    return {};
  }

  void return_void() noexcept { ended(); }
  void unhandled_exception() noexcept {
    error_ = std::current_exception();
    ended();
  }

  void starts() noexcept {
    runs_ = true;
    value_ = nullptr;
  }
  [[nodiscard]] auto runs() const noexcept -> bool { return runs_; }

  /// The element that was yielded; null at the end. Errors: rethrows what the coroutine threw, once.
  [[nodiscard]] auto take() -> element* {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return value_;
  }

 private:
  void ended() noexcept {
    runs_ = false;
    value_ = nullptr;
  }

  element* value_ = nullptr;
  std::exception_ptr error_;
  bool runs_ = false;  // it was asked for an element, and has not answered: it waits, or was stopped there
};

}  // namespace detail

/// Asynchronous generator: a sequence of `T`s that is made while it is read, by a coroutine that may await what a task
/// may. It runs as a child of the task that asks for the next element: in its scope, at its home, and stopped with it.
/// One that was stopped stays so: a task that asks it again is stopped too.
///
///   while (const row* next = co_await rows.next()) use(*next);
///
/// Threads: one at a time. Cost: one frame from the thread's free lists, and nothing for each element.
template <typename T>
class [[nodiscard]] async_generator {
 public:
  using promise_type = detail::async_generator_promise<T>;
  using element = std::remove_reference_t<T>;

  async_generator(async_generator&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  auto operator=(async_generator other) noexcept -> async_generator& {
    std::swap(frame_, other.frame_);
    return *this;
  }
  /// Requires that no task waits for the next element.
  ~async_generator() {
    if (frame_) frame_.destroy();
  }

  /// The next element, which may be moved from and lives until the next call; null when there is none, also when asked
  /// again. Errors: rethrows what the coroutine throws; it has ended then.
  [[nodiscard]] auto next() noexcept { return awaiter(frame_); }

 private:
  friend promise_type;

  class awaiter {
   public:
    explicit awaiter(std::coroutine_handle<promise_type> of) noexcept : frame_(of) {
      BRAID_EXPECTS(frame_, "this generator was moved from");
    }

    [[nodiscard]] auto await_ready() const noexcept -> bool { return frame_.done(); }
    template <std::derived_from<detail::promise_base> Promise>
    auto await_suspend(std::coroutine_handle<Promise> consumer) noexcept -> detail::transfer {
      promise_type& promise = frame_.promise();
      if (promise.runs()) return detail::transfer_to(consumer.promise().stop());
      promise.attach(consumer.promise(), consumer);
      promise.starts();
      return detail::transfer_to(frame_);
    }
    auto await_resume() -> element* { return frame_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> frame_;
  };

  explicit async_generator(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <typename T>
auto async_generator_promise<T>::get_return_object() noexcept -> async_generator<T> {
  return async_generator<T>(std::coroutine_handle<async_generator_promise>::from_promise(*this));
}

}  // namespace detail
}  // namespace braid
