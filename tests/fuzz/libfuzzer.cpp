// tests/fuzz/libfuzzer.cpp: a target as libFuzzer wants it.
#include <tests/fuzz/mutate.hpp>
#include <tests/fuzz/target.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using braid::testing::target;

namespace {

auto text_of(const std::uint8_t* data, std::size_t size) -> std::string_view {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" {

auto LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size) -> std::size_t;
auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int;
auto LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) -> std::size_t;

auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  target.run(text_of(data, size));
  return 0;
}

/// Its own mutations, which learn from comparisons, take turns with ours, which know brackets.
auto LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) -> std::size_t {
  if (seed % 3 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text = braid::testing::mutated(text_of(data, size), target.words, seed);
  const std::size_t kept = std::min(text.size(), max_size);
  std::copy_n(text.begin(), kept, data);
  return kept;
}
}
