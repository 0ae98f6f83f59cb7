// rankd/plan/key_template.hpp: templates for keys of a store, with holes for values, such as `trending:{country}`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// A hole in a template: the place for a value from a column, as in `{country}`, or from a param of the request, as in
/// `{P.shop}`.
struct template_hole {
  enum class source_kind : std::uint8_t { column, param };

  std::string name;  ///< the name of the key or param in the registry
  source_kind from = source_kind::column;

  auto operator==(const template_hole&) const -> bool = default;
};

/// The reason why a text is not a valid template.
struct template_problem {
  std::string code;  ///< snake_case, stable
  std::string message;
  std::string hint = {};
};

/// A template for keys, with holes for values. A hole is a name in braces. `{{` and `}}` mean braces in the key itself.
///
/// Different values never produce the same key. Values are escaped (`append_escaped`), so that they consist of letters,
/// digits, `_`, `.`, `-` and `%`. Two holes must be separated by another character, which marks the end of the first
/// value.
struct key_template {
  /// The maximum length of a template, and of a key.
  static constexpr std::size_t max_bytes = 511;

  /// The text before each hole, and the text after the last hole. There is one more literal than there are holes.
  std::vector<std::string> literals;
  std::vector<template_hole> holes;

  /// Parses a template. Errors: empty_key_template, key_template_too_long, unbalanced_brace, bad_hole,
  /// ambiguous_key_template.
  static auto parse(std::string_view text) -> std::expected<key_template, template_problem>;
};

/// Appends a value in the escaped form for keys: each byte other than letters, digits, `_`, `.` and `-` becomes `%` and
/// two upper-case hexadecimal digits. Different values have different escaped forms.
void append_escaped(std::string& out, std::string_view value);

}  // namespace rankd
