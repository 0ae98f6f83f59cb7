// tests/support/stolen.hpp: makes sure that what was forked is run by a thief.
#pragma once

#include <braid/sync/atomic.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/worker.hpp>

#include <thread>

namespace braid::testing {

/// What a fork raises when it begins.
class begun {
 public:
  void raise() noexcept { raised_.store(true, release); }  // edge test.begun: publish

  /// Forks next to nothing until it is raised: each push answers a thief's request. Requires that another worker is
  /// there.
  void await() const {
    while (!raised_.load(acquire)) {  // edge test.begun: observe
      fork_join([] {}, [] {});
      std::this_thread::yield();
    }
  }

 private:
  atomic<bool> raised_{false};
};

/// Runs `mine`, while a thief runs `stolen`. What both give.
template <typename Mine, typename Stolen>
auto with_thief(Mine mine, Stolen stolen) {
  begun there;
  return fork_join(
      [&]() -> decltype(auto) {
        there.await();
        return mine();
      },
      [&]() -> decltype(auto) {
        there.raise();
        return stolen();
      });
}

}  // namespace braid::testing
