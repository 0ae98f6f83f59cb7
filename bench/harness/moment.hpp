// bench/harness/moment.hpp: when something happened on another thread, such as the start of a task.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace bench {

inline auto now_ns() -> std::int64_t {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Must stay where it is until it has come.
class moment {
 public:
  /// It is now. Once.
  void has_come() { at_ns_.store(now_ns(), std::memory_order_release); }  // edge moment.come: publish

  /// A task at whose start it is.
  [[nodiscard]] auto as_task() {
    return [this] { has_come(); };
  }

  /// When it was. Sleeps until then; ends the program when that takes too long. That is counted in looks and not by the
  /// clock, which goes on while the whole program is stopped.
  [[nodiscard]] auto await_ns() const -> std::int64_t {
    for (int patience = 100'000; patience > 0; --patience) {
      if (const std::int64_t at = at_ns_.load(std::memory_order_acquire); at != 0)
        return at;  // edge moment.come: observe
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    std::fprintf(stderr, "wrong result: a task has not started for a long time\n");
    std::abort();
  }

  /// The same without any sleep, for what comes in microseconds.
  [[nodiscard]] auto watch_ns() const -> std::int64_t {
    for (int patience = 10'000'000; patience > 0; --patience)
      if (const std::int64_t at = at_ns_.load(std::memory_order_acquire); at != 0)
        return at;      // edge moment.come: observe
    return await_ns();  // the thread that is to run it has no processor
  }

 private:
  std::atomic<std::int64_t> at_ns_{0};  // 0: not yet; written once
};

}  // namespace bench
