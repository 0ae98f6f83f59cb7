// tests/support/eventually.hpp: waiting for what another thread does, without a guess at how long it takes.
#pragma once

#include <chrono>
#include <thread>

namespace braid::testing {

/// True as soon as `holds()` is. False after half a minute, which only broken code needs.
template <typename Fn>
[[nodiscard]] auto eventually(Fn&& holds) -> bool {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int round = 0; !holds(); ++round) {
    if (std::chrono::steady_clock::now() > limit) return false;
    if (round < 1'000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // the awaited thread may need the processor
  }
  return true;
}

}  // namespace braid::testing
