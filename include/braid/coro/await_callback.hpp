// braid/coro/await_callback.hpp: lets a task await a function that reports its result to a callback, as Asio and C APIs
// do.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/outside_wait.hpp>
#include <braid/coro/task.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/failure_of.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <functional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

/// The result type for a callback with these argument types. If the first argument is an error code, the result is a
/// result<…>.
template <typename... Args>
struct callback_value {
  using type = std::tuple<Args...>;
};
template <>
struct callback_value<> {
  using type = void;
};
template <typename Arg>
struct callback_value<Arg> {
  using type = Arg;
};
template <typename... Args>
  requires(sizeof...(Args) > 0)
struct callback_value<std::error_code, Args...> {
  using type = result<typename callback_value<Args...>::type>;
};
template <>
struct callback_value<std::error_code> {
  using type = result<void>;
};

/// A wait that ends when a callback is called. The derived class starts the operation that calls the callback.
template <typename... Args>
class callback_wait : public outside_wait {
 public:
  using value = typename callback_value<Args...>::type;

  /// Stores the arguments of the callback as the result and ends the wait. Threads: any.
  void complete(Args... args) noexcept {
    try {
      if constexpr (is_result<value>)
        set_result(std::move(args)...);
      else
        outcome_.set_value(std::move(args)...);
    } catch (...) {
      outcome_.set_exception(std::current_exception());
    }
    finish();
  }
  /// Called when the callback was destroyed without having been called. The wait fails with errc::broken_promise.
  void drop() noexcept {
    outcome_.set_exception(failure_of(errc::broken_promise));
    finish();
  }

 protected:
  using outside_wait::outside_wait;

  void start_failed(std::exception_ptr error) noexcept { failure_ = std::move(error); }
  void note_stop() noexcept { is_stopped_.store(true, relaxed); }
  auto take() -> value {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return outcome_.take();
  }

 private:
  template <typename... Rest>
  void set_result(std::error_code code, Rest... rest) {
    if (code)
      outcome_.set_value(value(std::unexpect, code));
    else if constexpr (sizeof...(Rest) == 0)
      outcome_.set_value(value());
    else
      outcome_.set_value(value(std::in_place, std::move(rest)...));
  }
  void finish() noexcept { end(is_stopped_.load(relaxed) ? ending::stopped : ending::done); }

  outcome<value> outcome_;
  std::exception_ptr failure_;      // the exception of the start; used by the home
  atomic<bool> is_stopped_{false};  // the operation was cancelled; written by the home
};

}  // namespace detail

/// The callback that `await_callback` passes to the function that starts an operation. It is called once, on any
/// thread; if it is destroyed without having been called, the await fails with errc::broken_promise.
/// Threads: one at a time. Lifetime: may outlive the call that received it, and must be called or destroyed before the
/// home executor of its task ends.
template <typename... Args>
class [[nodiscard]] awaited_callback {
 public:
  explicit awaited_callback(detail::callback_wait<Args...>& to) noexcept : to_(&to) {}
  awaited_callback(awaited_callback&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
  auto operator=(awaited_callback&& other) noexcept -> awaited_callback& {
    std::swap(to_, other.to_);
    return *this;
  }
  ~awaited_callback() {
    if (to_ != nullptr) to_->drop();
  }

  void operator()(Args... args) noexcept {
    BRAID_EXPECTS(to_ != nullptr, "the callback of an awaited operation may be called only once");
    std::exchange(to_, nullptr)->complete(std::move(args)...);
  }

 private:
  detail::callback_wait<Args...>* to_;  // null once the callback was called or moved from
};

namespace detail {

/// The default type of `cancel`. An operation without a `cancel` function cannot be ended early.
struct no_cancel {};

template <typename Initiate, typename Cancel, typename... Args>
class [[nodiscard, gnu::warn_unused]] callback_awaiter final : callback_wait<Args...> {
  using wait = callback_wait<Args...>;

 public:
  callback_awaiter(Initiate initiate, Cancel cancel)
      : wait(functions), initiate_(std::move(initiate)), cancel_(std::move(cancel)) {}
  /// Requires that `other` has not been awaited.
  callback_awaiter(callback_awaiter&& other)
      : wait(functions), initiate_(std::move(other.initiate_)), cancel_(std::move(other.cancel_)) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    return transfer_to(this->suspend(self.promise(), place));
  }
  auto await_resume() -> typename wait::value { return this->take(); }

 private:
  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    auto& waiting = static_cast<callback_awaiter&>(self);
    return waiting.start_with([&waiting] {
      try {
        std::invoke(waiting.initiate_, awaited_callback<Args...>(waiting));
      } catch (...) {
        waiting.start_failed(std::current_exception());
      }
    });
  }
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal {
    if constexpr (std::same_as<Cancel, no_cancel>) {
      return withdrawal::runs;
    } else {
      auto& waiting = static_cast<callback_awaiter&>(self);
      waiting.note_stop();
      std::invoke(waiting.cancel_);
      return withdrawal::later;
    }
  }
  static constexpr awaiter_base::operation functions{&start, &withdraw, "callback"};

  Initiate initiate_;
  [[no_unique_address]] Cancel cancel_;
};

}  // namespace detail

/// `co_await await_callback<Args...>(initiate)` calls `initiate(callback)` on the home of the task, the serial executor
/// that the task is bound to. After the callback was called, on any thread, the task resumes on its home. If the
/// callback has no arguments, the await returns void; if it has one, that argument; if it has several, a tuple of them.
/// If the first argument is a std::error_code, the await returns a result<…> with the other arguments. If the task is
/// stopped, `cancel()` is called on the home. It should request that the operation ends early. The task ends as stopped
/// once the callback is called or destroyed. Without `cancel`, the task continues with the result of the operation and
/// ends at its next wait.
/// Threads: any; a task that runs on another executor returns to its home first. Blocks: no thread.
/// Errors: rethrows an exception of `initiate` after the callback was called or destroyed; errc::broken_promise if the
/// callback was destroyed. Cost: no allocation.
template <typename... Args, std::move_constructible Initiate>
  requires std::invocable<Initiate&, awaited_callback<Args...>>
[[nodiscard]] auto await_callback(Initiate initiate) {
  return detail::callback_awaiter<Initiate, detail::no_cancel, Args...>(std::move(initiate), {});
}
template <typename... Args, std::move_constructible Initiate, std::move_constructible Cancel>
  requires std::invocable<Initiate&, awaited_callback<Args...>> && std::invocable<Cancel&>
[[nodiscard]] auto await_callback(Initiate initiate, Cancel cancel) {
  return detail::callback_awaiter<Initiate, Cancel, Args...>(std::move(initiate), std::move(cancel));
}

}  // namespace braid
