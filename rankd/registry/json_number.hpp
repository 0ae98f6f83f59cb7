// rankd/registry/json_number.hpp: numbers of JSON that parsers refuse or round, though other programs write them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// Returns the float that an integer of JSON denotes if it does not fit into 64 bits, or equals no float: the float of
/// exactly this value, or the one that JavaScript writes in this way, by its shortest digits followed by zeros. No
/// other integer denotes a float, because it would lose digits. Requires digits, with or without a leading minus.
[[nodiscard]] auto float_of_integer(std::string_view literal) -> std::optional<double>;

/// Returns the JSON text with `.0` behind each integer beyond 64 bits that stands for a float, so that a parser reads
/// it.
[[nodiscard]] auto with_large_integers_as_floats(std::string_view text) -> std::string;

/// A number that JSON has no form for, and its position among all numbers of a text.
struct special_number {
  std::size_t position;
  double value;
};

/// A JSON text in which zeros of the same length replace each special number, so that offsets do not change.
struct plain_json {
  std::string text;
  std::vector<special_number> specials;
};

/// Replaces `NaN`, `Infinity` and `-Infinity` outside of strings.
[[nodiscard]] auto without_special_numbers(std::string_view text) -> plain_json;

}  // namespace rankd
