// bench/harness/work.hpp: work of a given length that a compiler cannot shorten.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace bench {

/// So many steps, each of which needs the one before.
inline void work_for(std::uint64_t steps) {
  std::uint64_t value = steps;
  for (; steps > 0; --steps) {
    value = value * 6'364'136'223'846'793'005U + 1;
    asm volatile("" : "+r"(value));
  }
}

/// How long a step takes at best. Takes some milliseconds.
inline auto step_ns() -> double {
  constexpr std::uint64_t steps = 100'000;
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work_for(steps);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count() / static_cast<double>(steps));
  }
  return best;
}

}  // namespace bench
