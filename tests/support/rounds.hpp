// tests/support/rounds.hpp: leaves that end only when as many as there are workers run at the same time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace braid::testing {

/// Leaves come in rounds of one for each worker, and a leaf ends when its round is complete. So all end if no worker is
/// ever without a leaf while one is left; and otherwise none ends, until the patience is over.
class rounds {
 public:
  explicit rounds(std::size_t workers) : workers_(workers) {}

  /// Threads: any. Blocks: until its round is complete, or somebody has waited for too long.
  void leaf() {
    std::unique_lock lock(mutex_);
    const std::size_t complete = (begun_++ / workers_ + 1) * workers_;
    if (begun_ == complete) return changed_.notify_all();
    const auto is_over = [&] { return begun_ >= complete || gave_up_; };
    for (int second = 0; second < 20; ++second)  // a process that gets hardly any time needs longer for each turn
      if (changed_.wait_for(lock, std::chrono::seconds(1), is_over)) return;
    gave_up_ = true;
    changed_.notify_all();
  }

  /// How many leaves have begun.
  [[nodiscard]] auto begun() -> std::size_t {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

  /// Whether a leaf has waited in vain.
  [[nodiscard]] auto gave_up() -> bool {
    const std::lock_guard lock(mutex_);
    return gave_up_;
  }

 private:
  const std::size_t workers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t begun_ = 0;
  bool gave_up_ = false;
};

}  // namespace braid::testing
