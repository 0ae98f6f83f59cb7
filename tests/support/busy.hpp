// tests/support/busy.hpp: pauses of threads in stress tests.
#pragma once

#include <braid/sync/detail/cpu_pause.hpp>

#include <chrono>
#include <thread>

namespace braid::testing {

/// Keeps the thread busy for so long. It takes no longer where other programs want the processor: to yield again and
/// again gives them a slice each time.
inline void busy_for(std::chrono::nanoseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) detail::cpu_pause();
}

/// Returns when `holds()`, which another thread makes true: looks often at first, and then after short sleeps.
template <typename Fn>
void wait_until(Fn holds) {
  using namespace std::chrono_literals;
  const auto soon = std::chrono::steady_clock::now() + 20us;
  while (!holds()) {
    if (std::chrono::steady_clock::now() < soon)
      detail::cpu_pause();
    else
      std::this_thread::sleep_for(1us);
  }
}

}  // namespace braid::testing
