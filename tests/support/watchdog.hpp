// tests/support/watchdog.hpp: makes a test that hangs fail.
#pragma once

#include <tests/support/seed.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace braid::testing {

/// Ends the program with a sentence when it is still alive after `limit`. The limit is far beyond what the work takes
/// on a busy machine: it tells a hang from slowness, and measures nothing. A longer stress run has so much more time.
/// BRAID_WATCHDOG replaces the limit by another number of seconds, and 0 removes it.
class watchdog {
 public:
  explicit watchdog(std::chrono::seconds limit) : thread_([this, limit] { watch(longer(limit)); }) {}
  watchdog(const watchdog&) = delete;
  auto operator=(const watchdog&) -> watchdog& = delete;
  ~watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  static auto longer(std::chrono::seconds limit) -> std::chrono::seconds {
    if (const auto asked = number_from_environment("BRAID_WATCHDOG")) {
      if (*asked <= 0) return std::chrono::years(1);
      return std::chrono::ceil<std::chrono::seconds>(std::chrono::duration<double>(*asked));
    }
    const double factor = std::max(number_from_environment("BRAID_STRESS").value_or(1), 1.0);
    return std::chrono::ceil<std::chrono::seconds>(limit * factor);
  }

  void watch(std::chrono::seconds limit) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, limit, [this] { return over_; })) return;
    std::fprintf(stderr, "watchdog: not done after %lld s: something hangs\n", static_cast<long long>(limit.count()));
    std::abort();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace braid::testing
