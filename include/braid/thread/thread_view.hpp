// braid/thread/thread_view.hpp: control of a thread through the object that owns it, without owning it.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/detail/thread_control.hpp>
#include <braid/thread/thread_info.hpp>

#include <concepts>
#include <memory>
#include <thread>
#include <type_traits>

#include <pthread.h>

namespace braid {

/// Identity of a thread of each kind, for the system. Threads: as the object.
/// Errors: no_such_process where there is no thread, or none any more.
[[nodiscard]] BRAID_API auto info_of(const std::thread& thread) -> result<thread_info>;
[[nodiscard]] BRAID_API auto info_of(const std::jthread& thread) -> result<thread_info>;
[[nodiscard]] inline auto info_of(const thread_info& thread) -> result<thread_info> { return thread; }

/// Requires a thread that has been neither joined nor detached, as every use of a pthread_t does.
[[nodiscard]] BRAID_API auto info_of(::pthread_t thread) -> result<thread_info>;

template <typename T>
  requires requires(const T& thread) {
    { thread.info() } -> std::same_as<result<thread_info>>;
  }
[[nodiscard]] auto info_of(const T& thread) -> result<thread_info> {
  return thread.info();
}

/// Waits until the thread has ended. Threads: as the object. Blocks: until then.
/// Errors: invalid_argument where there is nothing to join; would_deadlock where it is the caller.
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

/// Something that stands for a thread.
template <typename T>
concept thread_like = requires(const T& thread) {
  { info_of(thread) } -> std::same_as<result<thread_info>>;
};

namespace detail {

/// What a view copies, instead of keeping its address.
template <typename T>
concept small_handle = std::is_scalar_v<T> || std::same_as<T, thread_info>;

}  // namespace detail

/// All that can be done with the thread behind a std::thread, a std::jthread, a pthread_t, a braid::thread or a
/// thread_info. Owns nothing.
/// Threads: as the object behind it. Blocks: `join`, until the thread has ended. Errors: as for `thread_info`.
/// Lifetime: a view of a pthread_t or a thread_info keeps a copy, the others need the object.
template <thread_like T>
class thread_view : public detail::thread_control<thread_view<T>> {
 public:
  constexpr thread_view(T& viewed) noexcept
    requires(!detail::small_handle<T>)
      : viewed_(std::addressof(viewed)) {}
  constexpr thread_view(T viewed) noexcept
    requires detail::small_handle<T>
      : viewed_(viewed) {}

  /// The object behind it.
  [[nodiscard]] constexpr auto get() const noexcept -> std::conditional_t<detail::small_handle<T>, T, T&> {
    if constexpr (detail::small_handle<T>)
      return viewed_;
    else
      return *viewed_;
  }

  /// Its identity, to keep beyond the life of the object.
  [[nodiscard]] auto info() const -> result<thread_info> { return info_of(get()); }

  /// Waits until it has ended. Errors: as the function `join`.
  [[nodiscard]] auto join() const -> result<void>
    requires requires(const thread_view& self) { braid::join(self.get()); }
  {
    return braid::join(get());
  }

  /// True for the call that requested it; false as well where the thread takes no stop token.
  auto request_stop() const noexcept -> bool
    requires requires(T& thread) { thread.request_stop(); }
  {
    return get().request_stop();
  }

 private:
  std::conditional_t<detail::small_handle<T>, T, T*> viewed_;
};

}  // namespace braid
