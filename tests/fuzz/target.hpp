// tests/fuzz/target.hpp: what a fuzz target gives to the programs that run it, libFuzzer's or tests/fuzz/driver.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace braid::testing {

/// One target, defined by each tests/fuzz/*_fuzz.cpp.
struct fuzz_target {
  /// Ends the program by a contract when a property does not hold.
  void (*run)(std::string_view input) = nullptr;
  /// What belongs to the language of its inputs: see `mutated`.
  std::span<const std::string_view> words;
};

extern const fuzz_target target;

}  // namespace braid::testing
