// rankd/store/detail/circuit_breaker.hpp: leaves a server alone that fails again and again.
#pragma once

#include <braid/base/clock.hpp>

#include <cstdint>

namespace rankd::detail {

/// After `failures` in a row nothing is asked for `rest`; then one call tries, and decides for the others.
/// Threads: one at a time.
class circuit_breaker {
 public:
  struct options {
    std::uint32_t failures = 5;  ///< 0: never rests
    braid::duration rest = std::chrono::seconds(1);
  };

  explicit circuit_breaker(options how) noexcept : how_(how) {}

  /// Whether a call may be made now. One that may ends by `succeeded`, `failed` or `gave_up`.
  [[nodiscard]] auto may_ask(braid::time_point now) noexcept -> bool {
    if (how_.failures == 0 || failures_ < how_.failures) return true;
    if (is_trying_ || now < rests_until_) return false;
    is_trying_ = true;
    return true;
  }

  void succeeded() noexcept {
    failures_ = 0;
    is_trying_ = false;
  }
  void failed(braid::time_point now) noexcept {
    if (failures_ < how_.failures) ++failures_;
    if (failures_ == how_.failures) rests_until_ = now + how_.rest;
    is_trying_ = false;
  }
  /// Its caller went away before there was an answer.
  void gave_up() noexcept { is_trying_ = false; }

 private:
  options how_;
  std::uint32_t failures_ = 0;
  bool is_trying_ = false;
  braid::time_point rests_until_{};
};

}  // namespace rankd::detail
