// braid/task/detail/future_state.hpp: the state of a future including its typed result, and the state of a promise.
#pragma once

#include <braid/task/detail/future_core.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// A `future_core` with its result. Before the result exists, the same memory may hold the future that the state waits
/// for.
template <typename T>
class future_state : public future_core {
  struct nothing {};
  using stored = std::conditional_t<std::is_void_v<T>, nothing,
                                    std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>>;

 public:
  /// Returns the value for readers. Requires that a value is stored.
  [[nodiscard]] auto read() const noexcept -> decltype(auto) {
    if constexpr (std::is_reference_v<T>)
      return static_cast<T>(*value_);
    else if constexpr (!std::is_void_v<T>)
      return static_cast<const T&>(value_);
  }

  /// Returns the value for the consumer, which may move it out.
  [[nodiscard]] auto take() noexcept -> decltype(auto) {
    if constexpr (std::is_reference_v<T>)
      return static_cast<T>(*value_);
    else if constexpr (!std::is_void_v<T>)
      return static_cast<T&&>(value_);
  }

  /// Returns the exception. Requires that the state has failed.
  [[nodiscard]] auto failure() const noexcept -> const std::exception_ptr& { return failure_; }
  [[nodiscard]] auto take_failure() noexcept -> std::exception_ptr { return std::move(failure_); }

 protected:
  future_state(act_fn act, executor_id executor, future_core* before = nullptr) noexcept
      : future_core(act, executor), before_(before) {}
  ~future_state() {}  // after `destroy_result`

  [[nodiscard]] auto before() const noexcept -> future_core* { return before_; }
  void set_before(future_core& other) noexcept { before_ = &other; }

  /// Constructs the value from the result of `make`.
  /// Errors: exceptions of `make`; no result is stored then.
  template <typename Make>
  void emplace(Make&& make) {
    if constexpr (std::is_void_v<T>)
      static_cast<void>(std::forward<Make>(make)());
    else if constexpr (std::is_reference_v<T>)
      value_ = std::addressof(std::forward<Make>(make)());
    else
      ::new (static_cast<void*>(std::addressof(value_))) stored(std::forward<Make>(make)());
  }

  /// Settles the state with an exception. The producer must not access the object afterwards.
  void fail(std::exception_ptr failure, cascade& more) noexcept {
    ::new (static_cast<void*>(std::addressof(failure_))) std::exception_ptr(std::move(failure));
    settle(verdict::failure, more);
  }

  /// Destroys the value that `emplace` constructed. Requires that the state has not settled.
  void destroy_value() noexcept {
    if constexpr (std::is_object_v<T>) std::destroy_at(std::addressof(value_));
  }

  void destroy_result() noexcept {
    if (how() == verdict::failure)
      std::destroy_at(std::addressof(failure_));
    else
      destroy_value();
  }

 private:
  union {
    future_core* before_;  // until it settles
    stored value_;
    std::exception_ptr failure_;
  };
};

/// The shared state of a promise and its future, which user code settles through the promise.
template <typename T>
class promise_state final : public future_state<T> {
 public:
  explicit promise_state(executor_id executor) noexcept : future_state<T>(nullptr, executor) {}

  using future_state<T>::emplace;
  using future_state<T>::fail;

 private:
  void fire(cascade& /*more*/) noexcept override {}  // never called: it is not attached to a future

  void destroy() noexcept override {
    this->destroy_result();
    destroy_state(*this);
  }
};

}  // namespace braid::detail
