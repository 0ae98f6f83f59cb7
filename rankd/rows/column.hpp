// rankd/rows/column.hpp: a typed column with one value for each row, and a bitmap of nulls.
#pragma once

#include <rankd/rows/bitmap.hpp>
#include <rankd/rows/dictionary.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

namespace rankd {

/// A column of strings, stored as codes of a dictionary.
struct string_values {
  std::span<const std::uint32_t> codes;
  const dictionary* words = nullptr;
  /// The number of float32 values (little-endian) in each string if the strings are vectors. Otherwise 0.
  std::uint32_t dimensions = 0;

  [[nodiscard]] auto operator[](std::size_t row) const -> std::string_view { return (*words)[codes[row]]; }
};

/// The values of all rows of a batch. Copies are views of the same values.
/// The value of a null row is unspecified. In a column of strings, it is code 0, which need not be in the dictionary.
/// Threads: any, once constructed. Lifetime: the arena that contains the values outlives it.
struct column {
  std::variant<std::span<const double>, std::span<const std::int64_t>, std::span<const bool>, string_values> values;
  bitmap validity;  ///< a null has a clear bit

  [[nodiscard]] auto size() const noexcept -> std::size_t;
  [[nodiscard]] auto is_null(std::size_t row) const noexcept -> bool { return !validity[row]; }

  /// These functions return a pointer to the values if the values have the type in the function's name, and null
  /// otherwise.
  [[nodiscard]] auto floats() const noexcept { return std::get_if<std::span<const double>>(&values); }
  [[nodiscard]] auto integers() const noexcept { return std::get_if<std::span<const std::int64_t>>(&values); }
  [[nodiscard]] auto booleans() const noexcept { return std::get_if<std::span<const bool>>(&values); }
  [[nodiscard]] auto strings() const noexcept { return std::get_if<string_values>(&values); }
};
static_assert(std::is_trivially_copyable_v<column> && std::is_trivially_destructible_v<column>);

inline auto column::size() const noexcept -> std::size_t {
  if (const string_values* text = strings()) return text->codes.size();
  if (const auto* flags = booleans()) return flags->size();
  if (const auto* whole = integers()) return whole->size();
  return floats()->size();
}

}  // namespace rankd
