// braid/base/random.hpp: a small, fast random generator that returns the same sequence for a seed on every machine.
#pragma once

#include <cstdint>
#include <limits>

namespace braid {

/// A sequence of 64-bit numbers that depends only on the seed. It is also a standard uniform random bit generator. Not
/// suitable for secrets.
/// Threads: one at a time. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014
/// (SplitMix64).
class random_source {
 public:
  using result_type = std::uint64_t;

  explicit constexpr random_source(std::uint64_t seed) noexcept : state_(seed) {}

  static constexpr auto min() noexcept -> result_type { return 0; }
  static constexpr auto max() noexcept -> result_type { return std::numeric_limits<result_type>::max(); }

  constexpr auto operator()() noexcept -> result_type {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  /// Returns a number in [0, bound). The bias is below bound / 2^64. Requires bound > 0.
  constexpr auto below(std::uint64_t bound) noexcept -> std::uint64_t {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((wide{(*this)()} * bound) >> 64U);
  }

  /// Returns a number in [0, 1), with 53 random bits.
  constexpr auto unit() noexcept -> double { return static_cast<double>((*this)() >> 11U) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace braid
