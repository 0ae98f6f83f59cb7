// rankd/registry/vector_bytes.cpp: reads, writes and multiplies vectors number by number.
#include <rankd/registry/vector_bytes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace rankd {

static_assert(std::endian::native == std::endian::little, "vectors are little-endian and read in place");

auto is_vector(std::string_view bytes, std::size_t dimensions) noexcept -> bool {
  if (bytes.size() != dimensions * sizeof(float)) return false;
  for (std::size_t at = 0; at < dimensions; ++at)
    if (!std::isfinite(vector_item(bytes, at))) return false;
  return true;
}

auto append_vector_item(std::string& out, double number) -> bool {
  // The smallest double that rounds to infinity as a float: half a step above the largest float.
  constexpr double too_large = 0x1.ffffffp+127;
  if (!(std::fabs(number) < too_large)) return false;
  const auto value = static_cast<float>(number);
  std::array<char, sizeof(float)> raw{};
  std::memcpy(raw.data(), &value, raw.size());
  out.append(raw.data(), raw.size());
  return true;
}

void append_vector_json(std::string& out, std::string_view bytes) {
  out += '[';
  std::array<char, 32> text{};
  for (std::size_t at = 0; at < vector_size(bytes); ++at) {
    if (at != 0) out += ',';
    const float value = vector_item(bytes, at);
    out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
    if (value == 0 && std::signbit(value)) out += ".0";  // an integer has no -0
  }
  out += ']';
}

auto dot_product(std::string_view a, std::string_view b) noexcept -> double {
  double sum = 0;
  const std::size_t size = std::min(vector_size(a), vector_size(b));
  for (std::size_t at = 0; at < size; ++at)
    sum += static_cast<double>(vector_item(a, at)) * static_cast<double>(vector_item(b, at));
  return sum;
}

auto cosine_similarity(std::string_view a, std::string_view b) noexcept -> double {
  return measure_cosine(dot_product(a, b), dot_product(a, a), dot_product(b, b));
}

auto measure_cosine(double dot, double square_a, double square_b) noexcept -> double {
  if (square_a == 0 || square_b == 0) return 0;
  // Limits the result to 1, because rounding errors of roots and quotient may make the cosine of equal vectors slightly
  // larger.
  return std::clamp(dot / (std::sqrt(square_a) * std::sqrt(square_b)), -1.0, 1.0);
}

}  // namespace rankd
