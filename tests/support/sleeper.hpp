// tests/support/sleeper.hpp: a thread of a test that can be asked whether it sleeps.
#pragma once

#include <braid/sync/atomic.hpp>

#include <tests/support/eventually.hpp>

#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

namespace braid::testing {

/// Whether the thread with this id is blocked in the kernel, by /proc.
inline auto is_asleep(::pid_t id) -> bool {
  std::ifstream file("/proc/self/task/" + std::to_string(id) + "/stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() && line[name_end + 2] == 'S';
}

/// Runs `fn` on a thread of its own; joins when destroyed.
class sleeper {
 public:
  template <typename Fn>
  explicit sleeper(Fn fn)
      : thread_([this, fn = std::move(fn)] {
          id_.store(static_cast<::pid_t>(::syscall(SYS_gettid)), relaxed);
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
