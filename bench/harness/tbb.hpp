// bench/harness/tbb.hpp: what contenders of oneTBB share.
#pragma once

#include <bench/harness/program.hpp>
#include <bench/harness/tally.hpp>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/version.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace bench {

inline auto tbb_contender(std::string name = "oneTBB") -> contender {
  return {.name = std::move(name), .kind = kind::rival, .version = TBB_VERSION_STRING};
}

/// As a system that takes tasks: all slots of the arena belong to workers, so that as many threads run tasks as
/// elsewhere.
class tbb_system {
 public:
  explicit tbb_system(unsigned workers)
      : limit_(tbb::global_control::max_allowed_parallelism, workers + 1), arena_(static_cast<int>(workers), 0) {}
  ~tbb_system() {
    while (spreading_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }
  tbb_system(const tbb_system&) = delete;
  auto operator=(const tbb_system&) -> tbb_system& = delete;

  template <typename Fn>
  void post(Fn fn) {
    arena_.enqueue(std::move(fn));
  }

  template <typename Fn>
  void spread(std::uint64_t count, Fn fn) {
    spreading_.fetch_add(1, std::memory_order_relaxed);
    post([this, count, fn] {
      tbb::task_group group;
      for (std::uint64_t i = 0; i < count; ++i) group.run(fn);
      group.wait();
      spreading_.fetch_sub(1, std::memory_order_release);
    });
  }

  auto finish(std::uint64_t expected) -> std::uint64_t { return tally::wait_for(expected); }

  /// oneTBB has no futures: what its users write.
  template <typename Fn>
  auto submit(Fn fn) {
    auto result = std::make_shared<std::promise<decltype(fn())>>();
    auto future = result->get_future();
    post([result, fn] { result->set_value(fn()); });
    return future;
  }

 private:
  tbb::global_control limit_;
  tbb::task_arena arena_;
  std::atomic<int> spreading_{0};  // tasks of `spread` that have not ended
};

/// Runs `fn` in an arena of so many threads, the calling one among them.
template <typename Fn>
auto in_arena(unsigned threads, Fn fn) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(static_cast<int>(threads));
  return arena.execute(fn);
}

}  // namespace bench
