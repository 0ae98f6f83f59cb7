// braid/task/promise.hpp: the side of a future that gives the result; and futures that have theirs from the start.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/future_state.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>

#include <concepts>
#include <exception>
#include <system_error>
#include <type_traits>
#include <utility>

namespace braid {

/// Fulfils its future, once. If it is dropped before, the future fails with errc::broken_promise.
/// Threads: one at a time; the future may meanwhile be with another. The thread that sets runs the continuations that
/// run inline, before the call returns. Lifetime: may be destroyed as soon as the future is ready.
template <typename T>
class promise {
  using state = detail::promise_state<T>;

 public:
  /// The future has no executor: `then(fn)` is as `then_inline(fn)`. Errors: std::bad_alloc.
  promise() : promise(detail::executor_id()) {}
  /// Continuations that name no other place run on `where`.
  explicit promise(executor& where) : promise(where.id()) {}
  promise(promise&& other) noexcept : state_(std::exchange(other.state_, nullptr)), future_(std::move(other.future_)) {}
  auto operator=(promise&& other) noexcept -> promise&;
  ~promise();

  /// The other side. May be called after the result was set. Requires that it was not called before.
  [[nodiscard]] auto get_future() -> future<T> {
    BRAID_EXPECTS(future_.valid(), "a promise gives its future away once");
    return std::move(future_);
  }

  /// Fulfils the future with a T made from `args`; a T& is given as it is. Errors: errc::already_set when there is a
  /// result; throws what the making of the T throws, and there is no result then.
  template <typename... Args>
    requires(std::is_void_v<T> ? sizeof...(Args) == 0 : std::constructible_from<T, Args...>)
  [[nodiscard]] auto set_value(Args&&... args) -> result<void>;

  /// Lets the future fail. Errors: errc::already_set when there is a result.
  [[nodiscard]] auto set_exception(std::exception_ptr failure) noexcept -> result<void>;

 private:
  explicit promise(detail::executor_id where)
      : state_(&detail::make_state<state>(where)), future_(detail::future_access::make<T>(*state_)) {}

  state* state_;  // null once there is a result
  future<T> future_;
};

template <typename T>
promise<T>::~promise() {
  if (state_ != nullptr) static_cast<void>(set_exception(detail::failure_of(errc::broken_promise)));
}

template <typename T>
auto promise<T>::operator=(promise&& other) noexcept -> promise& {
  promise old(std::move(*this));
  state_ = std::exchange(other.state_, nullptr);
  future_ = std::move(other.future_);
  return *this;
}

template <typename T>
template <typename... Args>
  requires(std::is_void_v<T> ? sizeof...(Args) == 0 : std::constructible_from<T, Args...>)
auto promise<T>::set_value(Args&&... args) -> result<void> {
  if (state_ == nullptr) return braid::fail(errc::already_set);
  state_->emplace([&]() -> T { return T(std::forward<Args>(args)...); });
  detail::cascade more;
  std::exchange(state_, nullptr)->settle(detail::verdict::value, more);
  more.run();
  return {};
}

template <typename T>
auto promise<T>::set_exception(std::exception_ptr failure) noexcept -> result<void> {
  if (state_ == nullptr) return braid::fail(errc::already_set);
  BRAID_EXPECTS(failure != nullptr, "a future fails with an exception");
  detail::cascade more;
  std::exchange(state_, nullptr)->fail(std::move(failure), more);
  more.run();
  return {};
}

/// A future that is ready with a T made from `args`. Threads: any. Errors: std::bad_alloc; what making the T throws.
template <typename T, typename... Args>
  requires(std::is_void_v<T> ? sizeof...(Args) == 0 : std::constructible_from<T, Args...>)
auto ready_future(Args&&... args) -> future<T> {
  promise<T> made;
  static_cast<void>(made.set_value(std::forward<Args>(args)...));
  return made.get_future();
}

/// A future that has failed. Threads: any. Errors: std::bad_alloc.
template <typename T>
auto failed_future(std::exception_ptr failure) -> future<T> {
  promise<T> made;
  static_cast<void>(made.set_exception(std::move(failure)));
  return made.get_future();
}

/// A future that has failed with a std::system_error of this code. Threads: any. Errors: std::bad_alloc.
template <typename T>
auto failed_future(std::error_code code) -> future<T> {
  return failed_future<T>(std::make_exception_ptr(std::system_error(code)));
}

}  // namespace braid
