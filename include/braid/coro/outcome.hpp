// braid/coro/outcome.hpp: how a task ended: with a value, with an exception, or stopped.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/error.hpp>

#include <exception>
#include <functional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace braid {

/// One of three endings. A default-made outcome is stopped.
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

  /// What was thrown. Requires `has_exception()`.
  [[nodiscard]] auto exception() const noexcept -> std::exception_ptr { return std::get<2>(state_); }

  /// The value. Errors: rethrows the exception; std::system_error with errc::stopped when stopped.
  auto take() -> T {
    if (has_exception()) std::rethrow_exception(std::get<2>(state_));
    if (is_stopped()) throw std::system_error(make_error_code(errc::stopped));
    if constexpr (std::is_reference_v<T>)
      return static_cast<T>(*std::get<1>(state_));
    else if constexpr (!std::is_void_v<T>)
      return std::move(std::get<1>(state_));
  }

 private:
  std::variant<std::monostate, stored, std::exception_ptr> state_;
};

}  // namespace braid
