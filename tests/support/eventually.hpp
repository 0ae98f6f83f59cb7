// tests/support/eventually.hpp: waiting for what another thread does, without a guess at how long it takes.
#pragma once

#include <chrono>
#include <thread>

namespace braid::testing {

/// True as soon as `holds()` is. False after half a minute, which only broken code needs.
template <typename Fn>
[[nodiscard]] auto eventually(Fn&& holds) -> bool {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace braid::testing
