// braid/coro/detail/outside_wait.hpp: a wait that is completed by foreign code, such as a sender or a callback.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/awaiter_base.hpp>

#include <coroutine>
#include <cstdint>
#include <utility>

namespace braid::detail {

/// A wait that foreign code ends by calling `end` exactly once. It may do so on any thread, and before the function
/// that starts the operation has returned.
class outside_wait : public awaiter_base {
 protected:
  using awaiter_base::awaiter_base;

  /// Calls `begin`, which starts the operation. Returns the coroutine to run next, as `operation::start` does.
  template <typename Begin>
  auto start_with(Begin begin) noexcept -> std::coroutine_handle<> {
    phase_ = phase::starts;
    begin();
    switch (std::exchange(phase_, phase::waits)) {
      case phase::completed:
        if (may_go_on()) return not_started();
        complete_later();
        break;
      case phase::stopped: stop_later(); break;
      default: break;
    }
    return {};
  }

  /// Ends the wait. The coroutine then continues, or ends as stopped, on its home, perhaps before this function
  /// returns.
  /// Threads: any.
  void end(ending outcome) noexcept {
    if (where().is_current() && phase_ == phase::starts)
      phase_ = outcome == ending::done ? phase::completed : phase::stopped;
    else if (outcome == ending::done)
      complete_from_elsewhere();
    else
      stop_from_elsewhere();
  }

 private:
  enum class phase : std::uint8_t { waits, starts, completed, stopped } phase_ = phase::waits;  // used on the home
};

}  // namespace braid::detail
