// tests/support/eventually.hpp: waiting for what another thread does, without a guess at how long it takes.
#pragma once

#include <chrono>
#include <thread>

namespace braid::testing {

/// Returns true as soon as `holds()` does. Returns false if it did not within 30 s and 5 000 calls, which happens only
/// if the code is broken. The number counts too, because a process on a busy machine may get hardly any time in 30 s.
template <typename Fn>
[[nodiscard]] auto eventually(Fn&& holds) -> bool {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int round = 0; !holds(); ++round) {
    if (round > 5'000 && std::chrono::steady_clock::now() > limit) return false;
    if (round < 1'000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // the awaited thread may need the processor
  }
  return true;
}

/// Lets other threads run until `holds()` is true, for at most 20 ms. For tests that must pass in either case, but show
/// more if the others come first. The limit is a time because on a busy machine a yield can take milliseconds.
template <typename Fn>
void give_a_chance_to(Fn&& holds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (!holds() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
}

}  // namespace braid::testing
