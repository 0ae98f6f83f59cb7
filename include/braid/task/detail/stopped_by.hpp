// braid/task/detail/stopped_by.hpp: the one question to whatever may stop work, and why it was stopped.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/stop_flag.hpp>

#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// What may keep work from beginning, and then says why.
struct never_stopped {
  using seen = void;  // by the callable
  [[nodiscard]] static auto reason() noexcept -> std::optional<errc> { return std::nullopt; }
};
struct stopped_by_flag {
  using seen = const stop_flag&;
  explicit stopped_by_flag(const stop_flag& by) noexcept : flag(&by) {}
  [[nodiscard]] auto reason() const noexcept -> std::optional<errc> {
    return flag->requested() ? std::optional(flag->reason()) : std::nullopt;
  }
  [[nodiscard]] auto show() const noexcept -> seen { return *flag; }
  const stop_flag* flag;
};
struct stopped_by_token {
  using seen = std::stop_token;
  explicit stopped_by_token(std::stop_token by) noexcept : token(std::move(by)) {}
  [[nodiscard]] auto reason() const noexcept -> std::optional<errc> {
    return token.stop_requested() ? std::optional(errc::stopped) : std::nullopt;
  }
  [[nodiscard]] auto show() const noexcept -> seen { return token; }
  std::stop_token token;
};

template <typename Signal>
struct stopped_by;
template <>
struct stopped_by<stop_flag> {
  using type = stopped_by_flag;
};
template <>
struct stopped_by<std::stop_token> {
  using type = stopped_by_token;
};

template <typename Signal>
using stopped_by_t = typename stopped_by<std::remove_cvref_t<Signal>>::type;

/// What a call gives back that may be stopped: nothing more where it cannot be.
template <typename Stop, typename T>
using unless_stopped = std::conditional_t<std::is_same_v<Stop, never_stopped>, T, result<T>>;

}  // namespace braid::detail
