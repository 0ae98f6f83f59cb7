// braid/task/future.hpp: the result of asynchronous work: future, promise, shared future.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/future_continuation.hpp>
#include <braid/task/detail/future_state.hpp>
#include <braid/task/executor.hpp>

#include <concepts>
#include <exception>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace braid {

template <typename T>
class shared_future;

/// The future result of asynchronous work: a T, void, a reference, or an exception. Dropping the future detaches the
/// work; an exception of detached work is lost.
///
/// A continuation is called once the value is available. It has its own future, which gets its result. If the result is
/// itself a future, the continuation's future gets that future's value. If a future fails, its continuations are not
/// called, and their futures fail with the same exception. You can attach any number of continuations. `then` on an
/// lvalue keeps the future valid and passes the value as a const T&. `then` on an rvalue attaches the last
/// continuation, which gets a T&& after all other continuations have returned. Where a continuation runs:
///
///   then(fn)            runs on the executor of the work; the thread that fulfils the future posts it. If the future
///                       has no executor, it runs as with `then_inline`.
///   then(executor, fn)  runs on `executor`.
///   then_inline(fn)     runs at once, on the thread that fulfils the future. If the future is already ready, it runs
///                       on the calling thread. Use it for small work that does not block.
///
/// If an executor refuses a continuation, or no longer exists, the continuation's future fails with errc::closed. If
/// the executor drops the continuation, that future fails with errc::dropped.
///
/// Threads: one at a time. Lifetime: the future may outlive the executors to which it refers. Cost: a continuation
/// takes one block of memory for jobs, two locked operations, and one post. Protocol: docs/design/future.md
template <typename T>
class [[nodiscard]] future : public detail::refused_continuations<T> {
  static_assert(std::is_void_v<T> || std::is_lvalue_reference_v<T> || std::is_same_v<T, std::remove_cvref_t<T>>,
                "the value of a future must be void, an lvalue reference, or a non-const object");
  using gets = detail::continuation_takes;
  using mode = detail::continuation_mode;

 public:
  using value_type = T;

  /// Creates a future without a state. You can only assign to it, destroy it, or check whether it is valid.
  future() noexcept = default;
  future(future&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)), others_(std::exchange(other.others_, detail::readers::none)) {}
  auto operator=(future&& other) noexcept -> future& {
    future old(std::move(*this));
    state_ = std::exchange(other.state_, nullptr);
    others_ = std::exchange(other.others_, detail::readers::none);
    return *this;
  }
  ~future() { detach(); }

  [[nodiscard]] auto valid() const noexcept -> bool { return state_ != nullptr; }

  /// Returns whether the value or the failure is available.
  [[nodiscard]] auto is_ready() const noexcept -> bool { return state().is_settled(); }

  /// Blocks until the future is ready. If the work has not begun, a waiting worker runs the work itself. During the
  /// wait, another thread of the pool runs the worker's other jobs. These jobs may therefore wait for the current job
  /// without a deadlock. Joins of forks and groups do not count as such waits: see the limits in docs/design/future.md.
  /// Errors: std::system_error with errc::would_deadlock in an iteration of any event loop, and on a worker that has an
  /// event loop. The same error occurs on the thread of an executor that runs one job at a time and would have to run
  /// this work. Use co_await in these cases.
  void wait() const { state().wait(); }

  /// Waits as `wait` does, but returns false after `limit`. A worker checks the limit only between two jobs.
  [[nodiscard]] auto wait_for(duration limit) const -> bool { return state().wait_for(limit); }
  [[nodiscard]] auto wait_until(time_point deadline) const -> bool { return state().wait(deadline); }

  /// Moves the value out. The future then has no state. Blocks: like `wait`, and until continuations that were attached
  /// before have returned. A job of a serial executor must not call this if the executor has to run such a
  /// continuation, because the job would wait for ever. Errors: rethrows the exception of the work; the errors of
  /// `wait`. In an iteration of an event loop, and on a worker that has an event loop, throws errc::would_deadlock if a
  /// continuation that was attached before has not returned; the future is then unchanged.
  auto get() -> T;

  /// Requests that the work stops. A task stops at its next wait, or does not begin if it has not begun yet. If a task
  /// returns a value in spite of the stop, the value counts. Other work continues, unless it has a stop token (see
  /// `spawn`). Repeated calls have no effect.
  /// Blocks: never.
  void request_stop(errc reason = errc::stopped) noexcept { state().request_stop(reason); }

  /// Returns the number of the task that computes the value, or 0 for other work.
  [[nodiscard]] auto id() const noexcept -> task_id {
    const task_info* const known = state().info();
    return known == nullptr ? task_id() : known->id;
  }

  /// Returns the name with which the task was spawned. Lifetime: the name is valid as long as the future.
  [[nodiscard]] auto name() const noexcept -> std::string_view {
    const task_info* const known = state().info();
    return known == nullptr ? std::string_view() : known->name;
  }

  /// Discards the result. The work continues.
  void detach() noexcept {
    if (state_ != nullptr) std::exchange(state_, nullptr)->drop_reference();
  }

  /// Converts the future to a shared future, which can be copied. Its value can no longer be moved out.
  [[nodiscard]] auto share() && -> shared_future<T>;

  using detail::refused_continuations<T>::then;
  using detail::refused_continuations<T>::then_inline;
  using detail::refused_continuations<T>::recover;
  using detail::refused_continuations<T>::recover_inline;

  template <detail::continuation_function<T, gets::view> Fn>
  auto then(Fn&& fn) & -> detail::continued<T, Fn, gets::view> {
    return view<mode::posted>(state().where(), std::forward<Fn>(fn));
  }
  template <detail::continuation_function<T, gets::view> Fn>
  auto then(executor& executor, Fn&& fn) & -> detail::continued<T, Fn, gets::view> {
    return view<mode::posted>(executor.id(), std::forward<Fn>(fn));
  }
  template <detail::continuation_function<T, gets::view> Fn>
  auto then_inline(Fn&& fn) & -> detail::continued<T, Fn, gets::view> {
    return view<mode::inside>(state().where(), std::forward<Fn>(fn));
  }

  template <detail::continuation_function<T, gets::value> Fn>
  auto then(Fn&& fn) && -> detail::continued<T, Fn, gets::value> {
    return pass<mode::posted, gets::value>(state().where(), std::forward<Fn>(fn));
  }
  template <detail::continuation_function<T, gets::value> Fn>
  auto then(executor& executor, Fn&& fn) && -> detail::continued<T, Fn, gets::value> {
    return pass<mode::posted, gets::value>(executor.id(), std::forward<Fn>(fn));
  }
  template <detail::continuation_function<T, gets::value> Fn>
  auto then_inline(Fn&& fn) && -> detail::continued<T, Fn, gets::value> {
    return pass<mode::inside, gets::value>(state().where(), std::forward<Fn>(fn));
  }

  /// Attaches a failure handler. If the future fails, `fn(std::exception_ptr)` is called, and its result (a T or a
  /// future<T>) replaces the value. A value is passed on unchanged. `fn` runs on the executor on which a continuation
  /// of `then` would run. If that executor refuses or drops `fn`, the failure is passed on unchanged.
  template <detail::continuation_function<T, gets::failure> Fn>
  auto recover(Fn&& fn) && -> future {
    return pass<mode::posted, gets::failure>(state().where(), std::forward<Fn>(fn));
  }
  template <detail::continuation_function<T, gets::failure> Fn>
  auto recover(executor& executor, Fn&& fn) && -> future {
    return pass<mode::posted, gets::failure>(executor.id(), std::forward<Fn>(fn));
  }
  template <detail::continuation_function<T, gets::failure> Fn>
  auto recover_inline(Fn&& fn) && -> future {
    return pass<mode::inside, gets::failure>(state().where(), std::forward<Fn>(fn));
  }

 private:
  friend struct detail::future_access;

  explicit future(detail::future_state<T>& state) noexcept : state_(&state) {}

  [[nodiscard]] auto state() const noexcept -> detail::future_state<T>& {
    BRAID_EXPECTS(state_ != nullptr, "this future has no state: it was default-constructed, moved from, or consumed");
    return *state_;
  }

  auto consume() noexcept -> detail::consumed<T> {
    return {std::exchange(state_, nullptr), std::exchange(others_, detail::readers::none)};
  }

  template <mode Place, typename Fn>
  auto view(detail::executor_id executor, Fn&& fn) {
    others_ = detail::readers::perhaps;
    return detail::add_reader<Place>(state(), executor, std::forward<Fn>(fn));
  }

  template <mode Place, gets Gets, typename Fn>
  auto pass(detail::executor_id executor, Fn&& fn) {
    static_cast<void>(state());
    return detail::add_consumer<Place, Gets>(*this, executor, std::forward<Fn>(fn));
  }

  detail::future_state<T>* state_ = nullptr;
  detail::readers others_ = detail::readers::none;
};

template <typename T>
auto future<T>::get() -> T {
  wait();
  if (others_ == detail::readers::perhaps) state_->wait_for_readers();
  struct owner {
    detail::future_state<T>& state;
    ~owner() { state.drop_reference(); }
  } const own{*consume().state};
  if (own.state.how() == detail::verdict::failure) std::rethrow_exception(own.state.take_failure());
  return own.state.take();
}

/// A future that can be copied. All copies share one value, which no copy can move out. Continuations get a const T&.
/// Continuations run on the same executors as those of a `future`, and a failure has the same effect. Threads: one at a
/// time for one object; copies are independent of each other. Cost: a copy is one locked addition.
template <typename T>
class [[nodiscard]] shared_future : public detail::refused_views<T> {
  static constexpr auto view = detail::continuation_takes::view;
  using mode = detail::continuation_mode;

 public:
  using value_type = T;

  /// Creates a future without a state.
  shared_future() noexcept = default;
  /// Converts a future, as `future::share` does.
  shared_future(future<T>&& from) noexcept : state_(detail::future_access::consume(from).state) {}
  shared_future(const shared_future& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) state_->add_reference();
  }
  shared_future(shared_future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  auto operator=(shared_future other) noexcept -> shared_future& {
    std::swap(state_, other.state_);
    return *this;
  }
  ~shared_future() { detach(); }

  [[nodiscard]] auto valid() const noexcept -> bool { return state_ != nullptr; }
  [[nodiscard]] auto is_ready() const noexcept -> bool { return state().is_settled(); }

  /// The following functions work like those of `future`.
  void wait() const { state().wait(); }
  [[nodiscard]] auto wait_for(duration limit) const -> bool { return state().wait_for(limit); }
  [[nodiscard]] auto wait_until(time_point deadline) const -> bool { return state().wait(deadline); }

  /// Returns the value, which is valid as long as a copy of this future exists. Blocks: like `wait`. Errors: rethrows
  /// the exception of the work; the errors of `wait`.
  auto get() const -> decltype(auto) {
    state().wait();
    if (state_->how() == detail::verdict::failure) std::rethrow_exception(state_->failure());
    return std::as_const(*state_).read();
  }

  void detach() noexcept {
    if (state_ != nullptr) std::exchange(state_, nullptr)->drop_reference();
  }

  using detail::refused_views<T>::then;
  using detail::refused_views<T>::then_inline;

  template <detail::continuation_function<T, view> Fn>
  auto then(Fn&& fn) const -> detail::continued<T, Fn, view> {
    return detail::add_reader<mode::posted>(state(), state().where(), std::forward<Fn>(fn));
  }
  template <detail::continuation_function<T, view> Fn>
  auto then(executor& executor, Fn&& fn) const -> detail::continued<T, Fn, view> {
    return detail::add_reader<mode::posted>(state(), executor.id(), std::forward<Fn>(fn));
  }
  template <detail::continuation_function<T, view> Fn>
  auto then_inline(Fn&& fn) const -> detail::continued<T, Fn, view> {
    return detail::add_reader<mode::inside>(state(), state().where(), std::forward<Fn>(fn));
  }

 private:
  [[nodiscard]] auto state() const noexcept -> detail::future_state<T>& {
    BRAID_EXPECTS(state_ != nullptr, "this future has no state: it was default-constructed, moved from, or consumed");
    return *state_;
  }

  detail::future_state<T>* state_ = nullptr;
};

template <typename T>
auto future<T>::share() && -> shared_future<T> {
  return shared_future<T>(std::move(*this));
}

/// The producer of a future's value. It sets the value once. If the promise is destroyed before it has set a value, the
/// future fails with errc::broken_promise.
/// Threads: one at a time; another thread may use the future at the same time. Inline continuations run on the thread
/// that sets the value, before the call that sets it returns. Lifetime: may be destroyed as soon as the future is
/// ready.
template <typename T>
class promise {
  using state = detail::promise_state<T>;

 public:
  /// Constructs a promise whose future has no executor, so `then(fn)` works like `then_inline(fn)`. Errors:
  /// std::bad_alloc.
  promise() : promise(detail::executor_id()) {}
  /// Constructs a promise whose continuations run on `executor` if they name no other executor.
  explicit promise(executor& executor) : promise(executor.id()) {}
  promise(promise&& other) noexcept : state_(std::exchange(other.state_, nullptr)), future_(std::move(other.future_)) {}
  auto operator=(promise&& other) noexcept -> promise&;
  ~promise();

  /// Returns the future. You may call this after the result was set, but only once.
  [[nodiscard]] auto get_future() -> future<T> {
    BRAID_EXPECTS(future_.valid(), "get_future may be called only once for a promise");
    return std::move(future_);
  }

  /// Sets the value, a T constructed from `args`. If T is a reference, stores the reference. Errors: errc::already_set
  /// if a result was set before. Throws exceptions of the constructor of T; no result is set then.
  template <typename... Args>
    requires(std::is_void_v<T> ? sizeof...(Args) == 0 : std::constructible_from<T, Args...>)
  [[nodiscard]] auto set_value(Args&&... args) -> result<void>;

  /// Makes the future fail with the exception. Errors: errc::already_set if a result was set before.
  [[nodiscard]] auto set_exception(std::exception_ptr failure) noexcept -> result<void>;

 private:
  explicit promise(detail::executor_id executor)
      : state_(&detail::make_state<state>(executor)), future_(detail::future_access::make<T>(*state_)) {}

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
  BRAID_EXPECTS(failure != nullptr, "the exception of a failed future must not be null");
  detail::cascade more;
  std::exchange(state_, nullptr)->fail(std::move(failure), more);
  more.run();
  return {};
}

/// Returns a ready future with a T constructed from `args`. Threads: any. Errors: std::bad_alloc; exceptions of the
/// constructor of T.
template <typename T, typename... Args>
  requires(std::is_void_v<T> ? sizeof...(Args) == 0 : std::constructible_from<T, Args...>)
auto ready_future(Args&&... args) -> future<T> {
  promise<T> made;
  static_cast<void>(made.set_value(std::forward<Args>(args)...));
  return made.get_future();
}

/// Returns a future that has failed with this exception. Threads: any. Errors: std::bad_alloc.
template <typename T>
auto failed_future(std::exception_ptr failure) -> future<T> {
  promise<T> made;
  static_cast<void>(made.set_exception(std::move(failure)));
  return made.get_future();
}

/// Returns a future that has failed with a std::system_error of this error code. Threads: any. Errors: std::bad_alloc.
template <typename T>
auto failed_future(std::error_code code) -> future<T> {
  return failed_future<T>(std::make_exception_ptr(std::system_error(code)));
}

}  // namespace braid
