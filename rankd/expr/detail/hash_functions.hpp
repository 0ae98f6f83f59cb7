// rankd/expr/detail/hash_functions.hpp: hash functions for draws and buckets, with the same results on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace rankd::detail {

/// Returns the FNV-1a hash of the bytes.
constexpr auto hash_of(std::string_view text) noexcept -> std::uint64_t {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
  return hash;
}

/// Returns the result of SplitMix64's finalizer. Every bit of the result depends on every bit of the word.
constexpr auto mixed(std::uint64_t word) noexcept -> std::uint64_t {
  word += 0x9e3779b97f4a7c15U;
  word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31U);
}

/// Returns the pseudo-random number of an id. `seed` is the hash of the seed text.
constexpr auto make_draw(std::uint64_t seed, std::int64_t id) noexcept -> std::uint64_t {
  return mixed(seed ^ mixed(static_cast<std::uint64_t>(id)));
}

/// Returns the pseudo-random number of a string id. `seed` is the hash of the seed text.
constexpr auto make_draw(std::uint64_t seed, std::string_view id) noexcept -> std::uint64_t {
  return mixed(seed ^ mixed(hash_of(id)));
}

}  // namespace rankd::detail
