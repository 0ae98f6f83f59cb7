// rankd/registry/vector_bytes.hpp: a vector as bytes: float32, little-endian, one number behind the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace rankd {

/// Returns how many numbers these bytes hold. Remaining bytes are ignored.
[[nodiscard]] constexpr auto vector_size(std::string_view bytes) noexcept -> std::size_t {
  return bytes.size() / sizeof(float);
}

/// Returns one number. Requires an index below `vector_size`. Bytes need no alignment.
[[nodiscard]] inline auto vector_item(std::string_view bytes, std::size_t index) noexcept -> float {
  float value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof(float), sizeof(float));
  return value;
}

/// Returns whether these are the bytes of so many numbers, all of them finite.
[[nodiscard]] auto is_vector(std::string_view bytes, std::size_t dimensions) noexcept -> bool;

/// Appends the number as a float32. Returns false, and appends nothing, if it is too large for a float32 or not finite.
[[nodiscard]] auto append_vector_item(std::string& out, double number) -> bool;

/// `[0.5,-1]`: each number as the shortest text that reads back as the same float32. Requires finite numbers.
void append_vector_json(std::string& out, std::string_view bytes);

// Products and sums are of float64, in the order of the numbers: products of float32 are exact there, so that every
// machine gives the same bits. If the lengths differ, the excess numbers of the longer side are ignored.

/// Returns the sum of the products. Cost: about a nanosecond for each number.
[[nodiscard]] auto dot_product(std::string_view a, std::string_view b) noexcept -> double;

/// Returns the dot product divided by both lengths, which is from -1 to 1; 0 if one of them is 0.
[[nodiscard]] auto cosine_similarity(std::string_view a, std::string_view b) noexcept -> double;

/// Returns the cosine, from -1 to 1, for a dot product and the dot products of both sides with themselves.
[[nodiscard]] auto measure_cosine(double dot, double square_a, double square_b) noexcept -> double;

}  // namespace rankd
