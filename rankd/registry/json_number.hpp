// rankd/registry/json_number.hpp: handles numbers that other programs write in JSON, but that parsers refuse or round.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// Returns the float that an integer literal represents, or nothing if it represents no float. Call this function for
/// integers that do not fit into 64 bits, or that are not equal to any float. The literal must be the exact value of a
/// float, or the digits that JavaScript writes for a float: the shortest digits that identify the float, followed by
/// zeros. Any other integer would lose digits if it were converted to a float. Requires digits with an optional leading
/// minus.
[[nodiscard]] auto float_of_integer(std::string_view literal) -> std::optional<double>;

/// Appends `.0` to each integer that does not fit into 64 bits but represents a float (`float_of_integer`). A parser
/// then reads the integer as a float.
[[nodiscard]] auto with_large_integers_as_floats(std::string_view text) -> std::string;

/// A number that JSON cannot express, such as NaN, and its index among all numbers of its text.
struct special_number {
  std::size_t position;
  double value;
};

/// A JSON text in which each special number is replaced by zeros of the same length, so that offsets stay the same.
struct plain_json {
  std::string text;
  std::vector<special_number> specials;
};

/// Replaces `NaN`, `Infinity` and `-Infinity` outside of strings.
[[nodiscard]] auto without_special_numbers(std::string_view text) -> plain_json;

}  // namespace rankd
