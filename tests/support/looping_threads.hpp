// tests/support/looping_threads.hpp: event loops on threads of their own, for tests of what tasks of several homes
// share.
#pragma once

#include <braid/coro/spawn.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>

#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace braid::testing {

class looping_threads {
 public:
  explicit looping_threads(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      loops_.push_back(loop::create().value());
      threads_.emplace_back([at = loops_.back().get()] { at->run(); });
      while (loops_.back()->status() != loop::state::running) std::this_thread::yield();
    }
  }
  looping_threads(const looping_threads&) = delete;
  auto operator=(const looping_threads&) -> looping_threads& = delete;
  ~looping_threads() {
    for (auto& one : loops_) one->stop();
    for (auto& one : threads_) one.join();
  }

  [[nodiscard]] auto operator[](std::size_t index) -> loop& { return *loops_[index]; }

  /// Runs `make(index)`, a task, on each loop, and waits until all have ended.
  template <typename Make>
  void run_on_each(Make make) {
    std::vector<std::thread> waiting;
    for (std::size_t i = 0; i < loops_.size(); ++i) waiting.emplace_back([&, i] { sync_wait(*loops_[i], make(i)); });
    for (auto& one : waiting) one.join();
  }

 private:
  std::vector<std::unique_ptr<loop>> loops_;
  std::vector<std::thread> threads_;
};

}  // namespace braid::testing
