// bench/loop/task_list.hpp: what programs write around a loop that takes no tasks from other threads: a list under a
// lock, and whatever wakes the loop.
#pragma once

#include <bench/harness/moment.hpp>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace bench {

class task_list {
 public:
  using task = void (*)(std::uint64_t&);

  explicit task_list(std::uint64_t expected) : expected_(expected) {}

  /// Calls `wake` where nothing was there before. Any thread.
  template <typename Wake>
  void post(task work, Wake wake) {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      is_first = tasks_.empty();
      tasks_.push_back(work);
    }
    if (is_first) wake();
  }

  /// Whether all that are expected have run by now. The loop's thread.
  auto run_all() -> bool {
    std::vector<task> now;
    {
      const std::lock_guard lock(mutex_);
      now.swap(tasks_);
    }
    for (const task work : now) work(ran_);
    return ran_ == expected_;
  }

  [[nodiscard]] auto ran() const -> std::uint64_t { return ran_; }

 private:
  std::mutex mutex_;
  std::vector<task> tasks_;
  std::uint64_t ran_ = 0;
  std::uint64_t expected_;
};

/// The same for tasks that only say when they began; a null one is the last.
class moment_list {
 public:
  /// Calls `wake` where nothing was there before. Any thread.
  template <typename Wake>
  void post(moment* task, Wake wake) {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      is_first = tasks_.empty();
      tasks_.push_back(task);
    }
    if (is_first) wake();
  }

  /// Whether the last has come. The loop's thread.
  auto run_all() -> bool {
    std::vector<moment*> now;
    {
      const std::lock_guard lock(mutex_);
      now.swap(tasks_);
    }
    for (moment* const each : now) {
      if (each == nullptr) return true;
      each->has_come();
    }
    return false;
  }

 private:
  std::mutex mutex_;
  std::vector<moment*> tasks_;
};

}  // namespace bench
