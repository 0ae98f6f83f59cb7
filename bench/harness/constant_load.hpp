// bench/harness/constant_load.hpp: tasks of one length that leave no worker without any, for any system that has `post`
// (bench/harness/posting.hpp).
#pragma once

#include <bench/harness/tally.hpp>
#include <bench/harness/work.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace bench {

constexpr unsigned tasks_per_worker = 4;  ///< that run or wait at any time: what leaves none without any

/// So many tasks, each of which counts itself and posts its successor when it ends; they end with this.
template <typename System>
class constant_load {
 public:
  constant_load(System& system, unsigned tasks, std::uint64_t steps) : system_(&system), steps_(steps), left_(tasks) {
    for (unsigned i = 0; i < tasks; ++i) post_one();
  }
  constant_load(const constant_load&) = delete;
  auto operator=(const constant_load&) -> constant_load& = delete;
  ~constant_load() {
    is_over_.store(true, std::memory_order_relaxed);
    while (left_.load(std::memory_order_acquire) != 0)  // edge constant_load.left: observe
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

 private:
  void post_one() {
    system_->post([this] { run_one(); });
  }
  void run_one() {
    work_for(steps_);
    tally::count();
    if (is_over_.load(std::memory_order_relaxed))
      left_.fetch_sub(1, std::memory_order_release);  // edge constant_load.left: publish
    else
      post_one();
  }

  System* system_;
  std::uint64_t steps_;
  std::atomic<bool> is_over_{false};  // written by the thread that ends it
  std::atomic<unsigned> left_;        // tasks that have not ended for good; written by those that do
};

}  // namespace bench
