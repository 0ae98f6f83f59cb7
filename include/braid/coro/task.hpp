// braid/coro/task.hpp: the coroutine type `task`, and its `outcome`: a value, an exception, or stopped.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/detail/deleted.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/task/job.hpp>

#include <coroutine>
#include <exception>
#include <functional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace braid {

/// The outcome of work: a value, an exception, or stopped. A default-constructed outcome is stopped.
template <typename T>
class [[nodiscard]] outcome {
  struct nothing {};
  using stored = std::conditional_t<std::is_void_v<T>, nothing,
                                    std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>>;

 public:
  outcome() = default;

  template <typename... Args>
  void set_value(Args&&... args) {
    if constexpr (std::is_reference_v<T>)
      state_.template emplace<1>(&args...);
    else
      state_.template emplace<1>(std::forward<Args>(args)...);
  }
  void set_exception(std::exception_ptr error) noexcept { state_.template emplace<2>(std::move(error)); }

  [[nodiscard]] auto has_value() const noexcept -> bool { return state_.index() == 1; }
  [[nodiscard]] auto has_exception() const noexcept -> bool { return state_.index() == 2; }
  [[nodiscard]] auto is_stopped() const noexcept -> bool { return state_.index() == 0; }

  /// Returns the exception. Requires that `has_exception()` is true.
  [[nodiscard]] auto exception() const noexcept -> std::exception_ptr { return std::get<2>(state_); }

  /// Returns the value. Errors: rethrows the exception of the outcome; throws std::system_error with errc::stopped if
  /// the outcome is stopped.
  auto take() -> T {
    const auto held = std::get_if<1>(&state_);
    if (held == nullptr) [[unlikely]]
      fail();
    if constexpr (std::is_reference_v<T>)
      return static_cast<T>(**held);
    else if constexpr (!std::is_void_v<T>)
      return std::move(*held);
  }

 private:
  [[noreturn, gnu::noinline]] void fail() {
    if (has_exception()) std::rethrow_exception(std::get<2>(state_));
    throw std::system_error(make_error_code(errc::stopped));
  }

  std::variant<std::monostate, stored, std::exception_ptr> state_;
};

template <typename T>
class task;

namespace detail {

template <typename T>
inline constexpr bool is_result = false;
template <typename T>
inline constexpr bool is_result<result<T>> = true;

template <typename T>
class task_promise_base : public promise_base {
 public:
  using promise_base::promise_base;

  void unhandled_exception() noexcept {
    this->expect_to_go_on();
    outcome_.set_exception(std::current_exception());
  }
  [[nodiscard]] auto result() noexcept -> outcome<T>& { return outcome_; }

 protected:
  outcome<T> outcome_;
};

template <typename T>
class task_promise final : public task_promise_base<T> {
 public:
  task_promise() noexcept : task_promise_base<T>(std::coroutine_handle<task_promise>::from_promise(*this)) {}
  auto get_return_object() noexcept -> task<T>;
  template <typename U = T>
    requires std::is_constructible_v<T, U&&>
  void return_value(U&& value) {
    this->outcome_.set_value(std::forward<U>(value));
  }
};

template <>
class task_promise<void> final : public task_promise_base<void> {
 public:
  task_promise() noexcept : task_promise_base<void>(std::coroutine_handle<task_promise>::from_promise(*this)) {}
  auto get_return_object() noexcept -> task<void>;
  void return_void() noexcept { outcome_.set_value(); }
};

}  // namespace detail

/// An asynchronous function that returns a `T` (a value, a reference or void). It does nothing until it is awaited,
/// spawned into a scope or passed to `sync_wait`; it is awaited at most once. Exceptions are rethrown by the await. If
/// a stop reaches the task while it waits (for example, for a timer or a socket), the task never resumes. Its locals
/// are destroyed on its own thread. The awaiting task is stopped as well, unless it awaits an `outcome`. A destructor
/// that throws during a stop ends the program.
/// Threads: it may be moved and destroyed only while it is not running. Cost: one frame from the thread's free lists.
template <typename T = void>
class [[nodiscard("a task does nothing until it is awaited or spawned")]] BRAID_COROUTINE_TYPE task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task() = default;
  task(const task&) BRAID_DELETED("a task cannot be copied: use std::move(work)");
  auto operator=(const task&) -> task& BRAID_DELETED("a task cannot be copied: use std::move(work)");
  task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  auto operator=(task&& other) noexcept -> task& {
    if (this != &other) {
      reset();
      frame_ = std::exchange(other.frame_, nullptr);
    }
    return *this;
  }
  ~task() { reset(); }

  [[nodiscard]] explicit operator bool() const noexcept { return frame_ != nullptr; }

  /// Runs the task and returns its value. Its frame is destroyed when the expression ends.
  auto operator co_await() && noexcept { return awaiter(release()); }
  auto operator co_await() & noexcept {
    static_assert(sizeof(T*) == 0, "a task can be awaited only once: use co_await std::move(work)");
  }

  /// Passes the frame to the caller, which must destroy it.
  [[nodiscard]] auto release() noexcept -> std::coroutine_handle<promise_type> {
    return std::exchange(frame_, nullptr);
  }

 private:
  friend promise_type;

  class [[nodiscard, gnu::warn_unused]] awaiter {
   public:
    explicit awaiter(std::coroutine_handle<promise_type> child) noexcept : child_(child) {
      BRAID_EXPECTS(child_, "only a task that has not been awaited yet can be awaited");
    }
    awaiter(const awaiter&) = delete;
    auto operator=(const awaiter&) -> awaiter& = delete;
    ~awaiter() {
      if (child_) child_.destroy();
    }

    [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
    template <std::derived_from<detail::promise_base> Promise>
    auto await_suspend(std::coroutine_handle<Promise> parent,
                       detail::await_place place = detail::await_place::current()) noexcept -> detail::transfer {
      parent.promise().suspends_at(place);
      child().attach_owned(parent.promise(), child_);
      return detail::transfer_to(child_);
    }
    auto await_resume() -> T { return child().result().take(); }
    /// Returns the result, which must be used. If the result is ignored, clang warns at the `co_await` expression, but
    /// g++ 12 does not.
    [[nodiscard]] auto await_resume() -> T
      requires detail::is_result<T>
    {
      return child().result().take();
    }

   private:
    [[nodiscard]] auto child() const noexcept -> promise_type& {
      return std::coroutine_handle<promise_type>::from_address(child_.address()).promise();
    }

    std::coroutine_handle<> child_;  // null when a stop has destroyed it
  };

  explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  void reset() noexcept {
    if (frame_) std::exchange(frame_, nullptr).destroy();
  }

  std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <typename T>
inline constexpr bool is_lazy_work<task<T>> = true;

template <typename T>
auto task_promise<T>::get_return_object() noexcept -> task<T> {
  return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}

inline auto task_promise<void>::get_return_object() noexcept -> task<void> {
  return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

/// Runs a task and returns its outcome. If `scope` is not null, the task runs in that scope.
template <typename T>
class [[nodiscard, gnu::warn_unused]] outcome_awaiter {
 public:
  outcome_awaiter(task<T> work, scope* scope) noexcept : child_(work.release()), scope_(scope) {
    BRAID_EXPECTS(child_, "only a task that has not been awaited yet can be awaited");
  }
  outcome_awaiter(const outcome_awaiter&) = delete;
  auto operator=(const outcome_awaiter&) -> outcome_awaiter& = delete;
  ~outcome_awaiter() { child_.destroy(); }

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> parent, await_place place = await_place::current()) noexcept
      -> transfer {
    parent.promise().suspends_at(place);
    child_.promise().attach(parent.promise(), &ended);
    if (scope_ != nullptr) child_.promise().set_scope(scope_);
    return transfer_to(child_);
  }
  auto await_resume() noexcept -> outcome<T> { return std::move(child_.promise().result()); }

 private:
  static auto ended(promise_base& child, ending /*outcome*/) noexcept -> std::coroutine_handle<> {
    return child.continuation();
  }

  std::coroutine_handle<task_promise<T>> child_;
  scope* scope_;
};

}  // namespace detail

/// Awaits `work` and returns its outcome. If `work` throws or is stopped, the outcome says so, and the caller
/// continues. Errors: none.
template <typename T>
[[nodiscard]] auto as_outcome(task<T> work) noexcept {
  return detail::outcome_awaiter<T>(std::move(work), nullptr);
}

}  // namespace braid
