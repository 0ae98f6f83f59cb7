// braid/thread/thread.hpp: a thread class with settings, and views of other kinds of thread objects.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/detail/thread_body.hpp>
#include <braid/thread/detail/thread_control.hpp>
#include <braid/thread/profile.hpp>
#include <braid/thread/scheduling.hpp>
#include <braid/thread/this_thread.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <pthread.h>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

namespace braid {

/// An owner of at most one thread. The destructor requests a stop and joins.
/// Threads: one at a time, like std::thread. Blocks: the destructor, `join`, and an assignment to an object with a
/// running thread block until that thread has ended. Errors: no_such_process from operations on a thread that has
/// ended, or if there is no thread.
class BRAID_API thread : public detail::thread_control<thread> {
 public:
  /// The settings that a thread has from its start. For settings without a value, the system's default is used.
  struct options {
    std::optional<std::string> name = std::nullopt;
    std::optional<cpu_set> affinity = std::nullopt;
    std::optional<braid::scheduling> scheduling = std::nullopt;
    std::optional<std::size_t> stack_size = std::nullopt;  ///< in bytes; excludes a conversion to std::thread
    refusal on_refused = refusal::fail;
  };

  /// Constructs an object without a thread.
  thread() noexcept = default;

  /// Takes ownership of a running thread.
  explicit thread(std::thread adopted) noexcept;
  explicit thread(std::jthread adopted) noexcept;
  static auto adopt(::pthread_t adopted) noexcept -> thread;

  /// Starts a thread that calls `fn(stop_token, args...)` if that is possible, and otherwise `fn(args...)`. Like
  /// std::jthread, the thread uses copies of `fn` and the arguments. The new thread first applies the options to
  /// itself. An uncaught exception of `fn` ends the program, as with std::thread.
  /// Blocks: until the options are applied or refused. After that, `fn` either runs, or has been destroyed and never
  /// runs. Errors: the error of the first refused setting, unless the options ignore refusals; the system's error if
  /// the thread cannot be started. Throws std::bad_alloc if there is no memory; `fn` has not been called then.
  template <typename Fn, typename... Args>
    requires detail::thread_callable<Fn, Args...>
  [[nodiscard]] static auto create(options options, Fn&& fn, Args&&... args) -> result<thread>;

  thread(thread&& other) noexcept;
  /// Takes over another thread. The previous thread is stopped and joined, as in the destructor.
  auto operator=(thread&& other) noexcept -> thread&;
  ~thread();

  /// Returns the outcome of each option that was passed to `create`.
  [[nodiscard]] auto report() const noexcept -> const settings_report& { return report_; }

  /// Returns a reference to the thread that stays valid when this object is destroyed.
  [[nodiscard]] auto info() const -> result<thread_info>;

  [[nodiscard]] auto joinable() const noexcept -> bool { return !std::holds_alternative<std::monostate>(held_); }

  /// Waits until the thread has ended.
  /// Errors: invalid_argument if there is no thread; would_deadlock if the calling thread would wait for itself.
  [[nodiscard]] auto join() -> result<void>;

  /// Requests a stop. Returns true for the first call. Returns false for later calls, and if the callable has no stop
  /// token.
  auto request_stop() noexcept -> bool { return stop_.request_stop(); }

  /// Returns a stop source that can still be used after `release`. The source has no stop state if the callable accepts
  /// no stop token.
  [[nodiscard]] auto stop_source() const noexcept -> std::stop_source { return stop_; }

  /// Passes the ownership of the native thread to the caller. `Native` must be std::thread if `create` started the
  /// thread without a stack size, and pthread_t if `create` started it with a stack size. For an adopted thread,
  /// `Native` must be the type that was adopted.
  /// Errors: operation_not_supported if `Native` is another type (the thread is not released then); invalid_argument if
  /// there is no thread.
  template <typename Native = std::thread>
    requires detail::one_of<Native, std::thread, std::jthread, ::pthread_t>
  [[nodiscard]] auto release() -> result<Native>;

 private:
  struct beginning;

  [[nodiscard]] static auto start(options options, std::unique_ptr<detail::thread_body> body, std::stop_source stop)
      -> result<thread>;
  [[nodiscard]] auto launch(beginning& first) -> result<void>;
  [[nodiscard]] auto launch_with_stack(beginning& first) -> result<void>;
  static void run(beginning& first) noexcept;
  static void configure(beginning& first);
  void end() noexcept;

  std::variant<std::monostate, std::thread, std::jthread, ::pthread_t> held_;
  std::stop_source stop_{std::nostopstate};
  settings_report report_;
};

template <typename Fn, typename... Args>
  requires detail::thread_callable<Fn, Args...>
auto thread::create(thread::options options, Fn&& fn, Args&&... args) -> result<thread> {
  using body = detail::callable_body<std::decay_t<Fn>, std::decay_t<Args>...>;
  std::stop_source stop(std::nostopstate);
  if constexpr (body::takes_token) stop = std::stop_source();
  auto call = std::make_unique<body>(stop.get_token(), std::forward<Fn>(fn), std::forward<Args>(args)...);
  return start(std::move(options), std::move(call), std::move(stop));
}

template <typename Native>
  requires detail::one_of<Native, std::thread, std::jthread, ::pthread_t>
auto thread::release() -> result<Native> {
  if (!joinable()) return fail(errc::invalid_argument);
  auto* native = std::get_if<Native>(&held_);
  if (native == nullptr) return fail(std::make_error_code(std::errc::operation_not_supported));
  Native released = std::move(*native);
  held_ = std::monostate();
  stop_ = std::stop_source(std::nostopstate);
  return released;
}

/// Returns a reference to the thread that a thread object of any kind represents. Threads: the same as for the object.
/// Errors: no_such_process if there is no thread, or if the thread has ended.
[[nodiscard]] BRAID_API auto info_of(const std::thread& thread) -> result<thread_info>;
[[nodiscard]] BRAID_API auto info_of(const std::jthread& thread) -> result<thread_info>;
[[nodiscard]] inline auto info_of(const thread_info& thread) -> result<thread_info> { return thread; }

/// Returns a reference to the thread of a pthread_t. Requires that the thread has been neither joined nor detached.
[[nodiscard]] BRAID_API auto info_of(::pthread_t thread) -> result<thread_info>;

template <typename T>
  requires requires(const T& thread) {
    { thread.info() } -> std::same_as<result<thread_info>>;
  }
[[nodiscard]] auto info_of(const T& thread) -> result<thread_info> {
  return thread.info();
}

/// Waits until the thread has ended. Threads: the same as for the object. Blocks: until the thread has ended. Errors:
/// invalid_argument if the thread is not joinable; would_deadlock if the calling thread would wait for itself.
[[nodiscard]] BRAID_API auto join(std::thread& thread) -> result<void>;
[[nodiscard]] BRAID_API auto join(std::jthread& thread) -> result<void>;
[[nodiscard]] BRAID_API auto join(::pthread_t thread) -> result<void>;

template <typename T>
  requires requires(T& thread) {
    { thread.join() } -> std::same_as<result<void>>;
  }
[[nodiscard]] auto join(T& thread) -> result<void> {
  return thread.join();
}

namespace detail {

/// A type that represents a thread.
template <typename T>
concept thread_like = requires(const T& thread) {
  { info_of(thread) } -> std::same_as<result<thread_info>>;
};

/// A type of small handles, which a view copies instead of storing their address.
template <typename T>
concept small_handle = std::is_scalar_v<T> || std::same_as<T, thread_info>;

}  // namespace detail

/// A view that provides all thread operations for a std::thread, a std::jthread, a pthread_t, a braid::thread or a
/// thread_info. The view owns nothing. Threads: the same as for the viewed object. Blocks: `join` blocks until the
/// thread has ended. Errors: the errors of `thread_info`. Lifetime: a view of a pthread_t or a thread_info contains a
/// copy; for other types, the viewed object must outlive the view.
template <detail::thread_like T>
class thread_view : public detail::thread_control<thread_view<T>> {
 public:
  constexpr thread_view(std::conditional_t<detail::small_handle<T>, T, T&> viewed) noexcept : viewed_(kept(viewed)) {}

  /// Returns the viewed object.
  [[nodiscard]] constexpr auto get() const noexcept -> std::conditional_t<detail::small_handle<T>, T, T&> {
    if constexpr (detail::small_handle<T>)
      return viewed_;
    else
      return *viewed_;
  }

  /// Returns a reference to the thread that stays valid when the viewed object is destroyed.
  [[nodiscard]] auto info() const -> result<thread_info> { return info_of(get()); }

  /// Waits until the thread has ended. Errors: the errors of the function `join`.
  [[nodiscard]] auto join() const -> result<void>
    requires requires(const thread_view& self) { braid::join(self.get()); }
  {
    return braid::join(get());
  }

  /// Requests a stop. Returns true for the first call. Returns false for later calls, and if the thread has no stop
  /// token.
  auto request_stop() const noexcept -> bool
    requires requires(T& thread) { thread.request_stop(); }
  {
    return get().request_stop();
  }

 private:
  using copy_or_address = std::conditional_t<detail::small_handle<T>, T, T*>;

  static constexpr auto kept(std::conditional_t<detail::small_handle<T>, T, T&> viewed) noexcept -> copy_or_address {
    if constexpr (detail::small_handle<T>)
      return viewed;
    else
      return std::addressof(viewed);
  }

  copy_or_address viewed_;
};
template <typename T>
  requires(!detail::small_handle<T>)
thread_view(T&) -> thread_view<T>;
template <typename T>
  requires detail::small_handle<T>
thread_view(T) -> thread_view<T>;

}  // namespace braid
