// tests/windows/tests/support/case_limit.hpp: ends a program one of whose test cases hangs, and says which.
#pragma once

#include <tests/support/seed.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

namespace braid::testing {

/// The limit on a case. BRAID_WATCHDOG names another number of seconds, or 0 for no limit. On a busy machine, a case
/// with many calls of the system takes minutes with Wine, whose processes exchange messages for most calls.
inline auto seconds_for_a_case(std::string_view /*program*/) -> double {
  return number_from_environment("BRAID_WATCHDOG").value_or(500);
}

/// A thread that waits for the end of each case.
class case_limit {
 public:
  explicit case_limit(double seconds) : seconds_(seconds) {}
  case_limit(const case_limit&) = delete;
  auto operator=(const case_limit&) -> case_limit& = delete;
  ~case_limit() { end(); }

  void begin(const char* name) {
    if (seconds_ <= 0) return;
    is_over_ = false;
    watcher_ = std::thread([this, name] {
      std::unique_lock lock(mutex_);
      if (ended_.wait_for(lock, std::chrono::duration<double>(seconds_), [this] { return is_over_; })) return;
      std::fprintf(stderr, "watchdog: the case \"%s\" is not done after %g s: it hangs\n", name, seconds_);
      std::_Exit(3);
    });
  }

  void end() {
    if (!watcher_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    ended_.notify_all();
    watcher_.join();
  }

 private:
  const double seconds_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread watcher_;
};

}  // namespace braid::testing
