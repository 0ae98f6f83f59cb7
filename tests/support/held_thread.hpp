// tests/support/held_thread.hpp: a thread that waits until it is let go, with its identity for tests that control it.
#pragma once

#include <braid/thread/scheduling.hpp>
#include <braid/thread/this_thread.hpp>

#include <latch>
#include <string>
#include <thread>

namespace braid::testing {

/// Lives until `end` or its destruction.
class held_thread {
 public:
  explicit held_thread(const std::string& name = "held")
      : thread_([this, name] {
          static_cast<void>(this_thread::set_name(name));
          info_ = this_thread::info().value_or(info_);
          before_ = info_.scheduling().value_or(before_);
          started_.count_down();
          released_.wait();
        }) {
    started_.wait();
  }
  held_thread(const held_thread&) = delete;
  auto operator=(const held_thread&) -> held_thread& = delete;
  ~held_thread() { static_cast<void>(end()); }

  [[nodiscard]] auto info() const -> thread_info { return info_; }
  [[nodiscard]] auto native() -> std::thread& { return thread_; }

  /// Joins it. False when it still counts as alive.
  auto end() -> bool {
    if (!thread_.joinable()) return true;
    run_as_others();
    released_.count_down();
    thread_.join();
    return !info_.is_alive();
  }

 private:
  /// Back to what it had, or to what needs no privilege: an idle thread hardly ends on a busy machine.
  void run_as_others() const {
    if (info_.set_scheduling(before_)) return;
    static_cast<void>(info_.set_scheduling(scheduling::other{info_.nice().value_or(nice_value())}));
  }

  std::latch started_{1};
  std::latch released_{1};
  thread_info info_{0, 0};
  scheduling before_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace braid::testing
