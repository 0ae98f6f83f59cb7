// braid/task/detail/call_outcome.hpp: stores the result or the exception of a call for another thread.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace braid::detail {

/// The type in which the result R of a function is returned if it is returned together with results of other functions.
/// Void becomes std::monostate, an lvalue reference stays a reference, and everything else is a value.
template <typename R>
using returned = std::conditional_t<std::is_void_v<R>, std::monostate,
                                    std::conditional_t<std::is_lvalue_reference_v<R>, R, std::remove_cvref_t<R>>>;

template <typename Fn>
using result_of = std::invoke_result_t<Fn&>;

/// The type in which the result of a single function is returned: like `returned`, but void stays void.
template <typename Fn>
using kept_result = std::conditional_t<std::is_void_v<result_of<Fn>>, void, returned<result_of<Fn>>>;

/// Calls the function, and returns a value even if the function returns void.
template <typename Fn>
[[gnu::always_inline]] inline auto call(Fn& fn) -> returned<result_of<Fn>> {
  if constexpr (std::is_void_v<result_of<Fn>>) {
    fn();
    return {};
  } else {
    return fn();
  }
}

/// The result or the exception of one call. Threads: one at a time; the thread that calls `keep` or `fail` must signal
/// the thread that calls `take`.
template <typename R>
class call_outcome {
  static constexpr bool is_reference = std::is_lvalue_reference_v<R>;

 public:
  template <typename Fn>
  void keep(Fn& fn) noexcept {
    try {
      if constexpr (is_reference)
        value_ = std::addressof(fn());
      else
        value_.emplace(call(fn));
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }

  void fail(std::exception_ptr error) noexcept { thrown_ = std::move(error); }

  /// Returns the result. Errors: rethrows the exception of the function.
  auto take() -> returned<R> {
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
    if constexpr (is_reference)
      return *value_;
    else
      return std::move(*value_);
  }

 private:
  std::conditional_t<is_reference, std::remove_reference_t<R>*, std::optional<returned<R>>> value_{};
  std::exception_ptr thrown_;
};

}  // namespace braid::detail
