// tests/support/seed.hpp: seeds that are printed, so that a failure can be repeated, and how long stress tests run.
#pragma once

#include <tests/support/sanitizer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>

namespace braid::testing {

/// The number in an environment variable; nothing where it is not set or not a number.
inline auto number_from_environment(const char* name) -> std::optional<double> {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text, &end);  // libc++ 19 has no std::from_chars for it
  if (end == text || *end != '\0') return std::nullopt;
  return value;
}

/// The seed of a stress test, printed: BRAID_SEED, or a new one.
inline auto printed_seed() -> std::uint64_t {
  std::uint64_t seed = std::random_device{}();
  if (const char* text = std::getenv("BRAID_SEED"); text != nullptr) seed = std::strtoull(text, nullptr, 10);
  std::printf("seed %llu (BRAID_SEED repeats it)\n", static_cast<unsigned long long>(seed));
  return seed;
}

/// `count` times BRAID_STRESS; at least one. Where that is not set it is 1, and 0.25 under a sanitizer: one finds a
/// race by the order of two accesses in any run, and the builds without look at many runs.
inline auto scaled(std::size_t count) -> std::size_t {
  const double usual = under_address_sanitizer || under_thread_sanitizer ? 0.25 : 1;
  const double factor = number_from_environment("BRAID_STRESS").value_or(usual);
  const double wanted = static_cast<double>(count) * factor;
  return wanted < 1 ? 1 : static_cast<std::size_t>(wanted);
}

/// Whether somebody asked for a stress run, by BRAID_STRESS: on a machine of its own, where bounds on time mean
/// something.
inline auto is_stress_run() -> bool { return number_from_environment("BRAID_STRESS").has_value(); }

}  // namespace braid::testing
