// rankd/registry/vector_bytes.hpp: vectors as bytes: float32 numbers, little-endian, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace rankd {

/// Returns how many numbers these bytes contain. An incomplete number at the end is ignored.
[[nodiscard]] constexpr auto vector_size(std::string_view bytes) noexcept -> std::size_t {
  return bytes.size() / sizeof(float);
}

/// Returns the number at an index. Requires an index below `vector_size`. The bytes need no alignment.
[[nodiscard]] inline auto vector_item(std::string_view bytes, std::size_t index) noexcept -> float {
  float value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof(float), sizeof(float));
  return value;
}

/// Returns whether the bytes represent a vector of `dimensions` finite numbers.
[[nodiscard]] auto is_vector(std::string_view bytes, std::size_t dimensions) noexcept -> bool;

/// Appends a number as a float32. If the number is not finite, or too large for a float32, returns false and appends
/// nothing.
[[nodiscard]] auto append_vector_item(std::string& out, double number) -> bool;

/// Appends a vector as JSON, such as `[0.5,-1]`. Each number is written as the shortest text that is parsed as the same
/// float32. Requires finite numbers.
void append_vector_json(std::string& out, std::string_view bytes);

// The following functions compute products and sums in float64, in the order of the numbers. Products of float32 are
// exact in float64, so the results have the same bits on every machine. If the lengths differ, excess numbers of the
// longer vector are ignored.

/// Returns the dot product. Cost: about a nanosecond for each number.
[[nodiscard]] auto dot_product(std::string_view a, std::string_view b) noexcept -> double;

/// Returns the cosine of the angle between two vectors, from -1 to 1. This is the dot product divided by both lengths.
/// Returns 0 if a length is 0.
[[nodiscard]] auto cosine_similarity(std::string_view a, std::string_view b) noexcept -> double;

/// Returns the cosine, from -1 to 1, for a dot product and the squared lengths of both vectors.
[[nodiscard]] auto measure_cosine(double dot, double square_a, double square_b) noexcept -> double;

}  // namespace rankd
