// braid/coro/detail/fork_promise.hpp: the base of the promises of coroutines that compute (`fork_task`).
#pragma once

#include <braid/coro/detail/resume.hpp>
#include <braid/task/detail/job_memory.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace braid {

template <typename T>
class fork_task;

namespace detail {

/// True for awaitables that declare that a computing coroutine may await them.
template <typename A>
concept computed = requires { typename A::is_computed; };

/// The promise of a computing coroutine. It refers only to the coroutine's continuation, because such a coroutine has
/// no home and no scope.
class fork_promise_base {
 public:
  /// A function that returns the coroutine to run after the end of `ended`, or null. It may destroy the frame of
  /// `ended`.
  using end_fn = std::coroutine_handle<> (*)(fork_promise_base& ended) noexcept;

  struct final_awaiter {
    [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
    template <std::derived_from<fork_promise_base> Promise>
    auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> transfer {
      return transfer_to(self.promise().finish());
    }
    void await_resume() const noexcept {}
  };

  static auto operator new(std::size_t size) -> void* { return allocate_job(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { free_job(frame, size); }

  [[nodiscard]] auto initial_suspend() const noexcept -> std::suspend_always { return {}; }
  [[nodiscard]] auto final_suspend() const noexcept -> final_awaiter { return {}; }
  void unhandled_exception() noexcept { thrown_ = std::current_exception(); }

  template <typename A>
  auto await_transform(A&& awaited) const noexcept -> A&& {
    static_assert(computed<std::remove_cvref_t<A>>,
                  "a fork_task only computes: it can await fork_tasks and forks of them; use a task to wait for time, "
                  "locks or sockets");
    return static_cast<A&&>(awaited);
  }

  /// Resumes `parent` when the coroutine has ended.
  void attach(std::coroutine_handle<> parent) noexcept { context_ = parent.address(); }

  /// Calls `end` when the coroutine has ended, and resumes the coroutine that `end` returns.
  void attach(end_fn end, void* context) noexcept {
    end_ = end;
    context_ = context;
  }

  [[nodiscard]] auto context() const noexcept -> void* { return context_; }

  /// Returns the exception that left the coroutine, or null.
  [[nodiscard]] auto thrown() const noexcept -> const std::exception_ptr& { return thrown_; }
  void fail(std::exception_ptr thrown) noexcept { thrown_ = std::move(thrown); }

 protected:
  std::exception_ptr thrown_;

 private:
  [[nodiscard]] auto finish() noexcept -> std::coroutine_handle<> {
    return end_ == nullptr ? std::coroutine_handle<>::from_address(context_) : end_(*this);
  }

  end_fn end_ = nullptr;  // null: the context is a coroutine
  void* context_ = nullptr;
};

template <typename T>
class fork_promise final : public fork_promise_base {
  static_assert(!std::is_rvalue_reference_v<T>, "a fork_task must return a value, an lvalue reference or void");
  static constexpr bool is_reference = std::is_lvalue_reference_v<T>;

 public:
  auto get_return_object() noexcept -> fork_task<T>;

  template <typename U = T>
    requires std::is_constructible_v<T, U&&>
  void return_value(U&& value) {
    if constexpr (is_reference)
      value_ = std::addressof(static_cast<T>(value));
    else
      value_.emplace(std::forward<U>(value));
  }

  /// Returns the value. Errors: rethrows the exception of the coroutine.
  auto take() -> T {
    if (thrown_ != nullptr) [[unlikely]]
      std::rethrow_exception(thrown_);
    if constexpr (is_reference)
      return *value_;
    else
      return std::move(*value_);
  }

 private:
  std::conditional_t<is_reference, std::remove_reference_t<T>*, std::optional<std::remove_cv_t<T>>> value_{};
};

template <>
class fork_promise<void> final : public fork_promise_base {
 public:
  auto get_return_object() noexcept -> fork_task<void>;
  void return_void() const noexcept {}

  void take() {
    if (thrown_ != nullptr) [[unlikely]]
      std::rethrow_exception(thrown_);
  }
};

}  // namespace detail
}  // namespace braid
