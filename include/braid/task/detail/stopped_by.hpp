// braid/task/detail/stopped_by.hpp: a common interface of stop sources, which return whether work was stopped and for
// which reason.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/stop_flag.hpp>

#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// A stop source that never requests a stop. The other sources return a reason once a stop is requested.
struct never_stopped {
  using seen = void;  // the type that the callable receives
  [[nodiscard]] static auto reason() noexcept -> std::optional<errc> { return std::nullopt; }
};
struct stopped_by_flag {
  using seen = const stop_flag&;
  explicit stopped_by_flag(const stop_flag& source) noexcept : flag(&source) {}
  [[nodiscard]] auto reason() const noexcept -> std::optional<errc> {
    return flag->requested() ? std::optional(flag->reason()) : std::nullopt;
  }
  [[nodiscard]] auto show() const noexcept -> seen { return *flag; }
  const stop_flag* flag;
};
struct stopped_by_token {
  using seen = std::stop_token;
  explicit stopped_by_token(std::stop_token source) noexcept : token(std::move(source)) {}
  [[nodiscard]] auto reason() const noexcept -> std::optional<errc> {
    return token.stop_requested() ? std::optional(errc::stopped) : std::nullopt;
  }
  [[nodiscard]] auto show() const noexcept -> seen { return token; }
  std::stop_token token;
};

/// A stop source that requests a stop if the future of the work or the executor of the work does.
class stopped_by_future {
 public:
  using seen = std::stop_token;
  explicit stopped_by_future(std::stop_token of_executor) : outer_(std::move(of_executor)) {}
  /// Requires that `other.show()` was not called yet.
  stopped_by_future(stopped_by_future&& other) noexcept
      : outer_(std::move(other.outer_)), source_(std::move(other.source_)) {}
  auto operator=(stopped_by_future&&) -> stopped_by_future& = delete;

  [[nodiscard]] auto reason() const noexcept -> std::optional<errc> {
    return outer_.stop_requested() || source_.stop_requested() ? std::optional(errc::stopped) : std::nullopt;
  }
  [[nodiscard]] auto show() const -> seen {
    passes_on_.emplace(outer_, stop{&source_});
    return source_.get_token();
  }
  void request_stop() noexcept { source_.request_stop(); }

 private:
  struct stop {
    std::stop_source* source;
    void operator()() const noexcept { source->request_stop(); }
  };

  std::stop_token outer_;
  mutable std::stop_source source_;
  mutable std::optional<std::stop_callback<stop>> passes_on_;  // from the executor, once the call has begun
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

/// The return type of a call that may be stopped: a result<T>, or T itself if the call cannot be stopped.
template <typename Stop, typename T>
using unless_stopped = std::conditional_t<std::is_same_v<Stop, never_stopped>, T, result<T>>;

}  // namespace braid::detail
