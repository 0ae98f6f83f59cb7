// rankd/store/detail/circuit_breaker.hpp: pauses the calls to a server that fails repeatedly.
#pragma once

#include <braid/base/clock.hpp>

#include <cstdint>

namespace rankd::detail {

/// A circuit breaker. After `failures` failures in a row, it allows no calls during the time `rest`. Then it allows one
/// trial call, whose outcome decides whether other calls are allowed again. If a call began before the pause and ends
/// later, its failure is ignored, but its success counts.
/// Threads: one at a time.
class circuit_breaker {
 public:
  struct options {
    std::uint32_t failures = 5;  ///< 0: calls are never paused
    braid::duration rest = std::chrono::seconds(1);
  };

  /// The kind of call that is allowed at a moment.
  enum class pass : std::uint8_t {
    none,   ///< no call is allowed
    usual,  ///< a normal call is allowed
    trial,  ///< a call is allowed that tests whether the server has recovered
  };

  explicit circuit_breaker(options options) noexcept : options_(options) {}

  /// Returns which kind of call is allowed now. The caller must end each allowed call with `succeeded`, `failed` or
  /// `gave_up`.
  [[nodiscard]] auto ask(braid::time_point now) noexcept -> pass {
    if (options_.failures == 0 || failures_ < options_.failures) return pass::usual;
    if (is_trying_ || now < rests_until_) return pass::none;
    is_trying_ = true;
    return pass::trial;
  }

  void succeeded() noexcept {
    failures_ = 0;
    is_trying_ = false;
  }
  void failed(pass kind, braid::time_point now) noexcept {
    if (options_.failures == 0) return;
    if (kind == pass::trial) {
      failures_ = options_.failures;
      is_trying_ = false;
    } else {
      if (failures_ == options_.failures) return;
      ++failures_;
      if (failures_ < options_.failures) return;
    }
    rests_until_ = now + options_.rest;
  }
  /// Ends a call whose caller gave up before there was an answer.
  void gave_up(pass kind) noexcept {
    if (kind == pass::trial) is_trying_ = false;
  }

 private:
  options options_;
  std::uint32_t failures_ = 0;
  bool is_trying_ = false;
  braid::time_point rests_until_{};
};

}  // namespace rankd::detail
