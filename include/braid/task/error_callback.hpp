// braid/task/error_callback.hpp: the callback for exceptions of jobs that have no waiter, and what it is passed.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

namespace braid {

/// Where something was thrown.
struct error_origin {
  static constexpr std::size_t no_worker = SIZE_MAX;

  std::size_t worker = no_worker;     ///< the index of the worker; no_worker where the thread is none
  std::uint64_t job = 0;              ///< which of the jobs that this worker has begun, from 1; 0: it was none
  const char* what = "a posted job";  ///< what threw, such as `the handler of GET /users`; for the call alone
};

/// Called with what was thrown and, if it takes a second argument, with where. What the callback itself throws does no
/// harm: both exceptions then go to stderr, as all do where there is no callback.
/// Threads: the one that ran the job, so several may call it at a time.
class error_callback {
 public:
  error_callback() = default;

  template <typename Fn>
    requires(!std::same_as<std::remove_cvref_t<Fn>, error_callback>) &&
            (std::invocable<std::decay_t<Fn>&, std::exception_ptr> ||
             std::invocable<std::decay_t<Fn>&, std::exception_ptr, const error_origin&>)
  error_callback(Fn&& fn) : call_(with_origin(std::forward<Fn>(fn))) {}  // NOLINT: stands for the callable

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }

  /// Requires that there is a callable. Errors: what it throws.
  void operator()(std::exception_ptr error, const error_origin& from) const { call_(std::move(error), from); }

 private:
  using function = std::function<void(std::exception_ptr, const error_origin&)>;

  template <typename Fn>
  static auto with_origin(Fn&& fn) -> function {
    if constexpr (requires { fn == nullptr; })
      if (fn == nullptr) return {};
    if constexpr (std::invocable<std::decay_t<Fn>&, std::exception_ptr, const error_origin&>)
      return std::forward<Fn>(fn);
    else
      return [fn = std::forward<Fn>(fn)](std::exception_ptr error, const error_origin&) mutable {
        std::invoke(fn, std::move(error));
      };
  }

  function call_;
};

}  // namespace braid
