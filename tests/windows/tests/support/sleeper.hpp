// tests/windows/tests/support/sleeper.hpp: a thread of a test that can be asked whether it sleeps.
#pragma once

#include <braid/sync/atomic.hpp>

#include <tests/support/eventually.hpp>

#include <chrono>
#include <thread>
#include <utility>

#include <sys/types.h>

namespace braid::testing {

/// Whether the thread with this id is blocked. Windows does not say, so a thread that has not ended after a while
/// counts as blocked.
inline auto is_asleep(::pid_t /*id*/) -> bool {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return true;
}

/// Runs `fn` on a thread of its own; joins when destroyed.
class sleeper {
 public:
  template <typename Fn>
  explicit sleeper(Fn fn)
      : thread_([this, fn = std::move(fn)] {
          id_.store(static_cast<::pid_t>(1), relaxed);
          fn();
          returned_.store(true, release);  // edge test.sleeper: publish
        }) {}
  sleeper(const sleeper&) = delete;
  auto operator=(const sleeper&) -> sleeper& = delete;
  ~sleeper() { thread_.join(); }

  /// Waits until the thread is blocked in the kernel. False when it returned instead.
  [[nodiscard]] auto falls_asleep() const -> bool {
    const bool settled = eventually([&] {
      const ::pid_t id = id_.load(relaxed);
      return returned() || (id != 0 && is_asleep(id));
    });
    return settled && !returned();
  }

  /// Whether `fn` has returned.
  [[nodiscard]] auto returned() const -> bool { return returned_.load(acquire); }  // edge test.sleeper: observe

 private:
  atomic<::pid_t> id_{0};
  atomic<bool> returned_{false};
  std::thread thread_;  // last: it uses the others
};

}  // namespace braid::testing
