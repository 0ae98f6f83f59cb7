// rankd/plan/key_template.hpp: keys of a store as text with holes, such as `trending:{country}`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// Where the value in a hole comes from: a column, `{country}`, or a param of the request, `{P.shop}`.
struct template_hole {
  enum class source_kind : std::uint8_t { column, param };

  std::string name;  ///< of the key or param, as the registry declares it
  source_kind from = source_kind::column;

  auto operator==(const template_hole&) const -> bool = default;
};

/// Why a text is not a template.
struct template_problem {
  std::string code;  ///< snake_case, stable
  std::string message;
  std::string hint = {};
};

/// The text of keys, with holes for values. A hole is a name in braces; `{{` and `}}` are braces of the key itself.
///
/// Different values and different texts never produce the same key: a value is escaped (`append_escaped`), so that it
/// consists of letters, digits, `_`, `.`, `-` and `%`, and between two holes there is another character, at which the
/// value before it ends.
struct key_template {
  /// Bytes of a template, and of a key.
  static constexpr std::size_t max_bytes = 511;

  std::vector<std::string> literals;  ///< what stands before each hole, and after the last: one more than `holes`
  std::vector<template_hole> holes;

  /// Errors: empty_key_template, key_template_too_long, unbalanced_brace, bad_hole, ambiguous_key_template.
  static auto parse(std::string_view text) -> std::expected<key_template, template_problem>;
};

/// Appends a value as it stands in a key: each byte other than letters, digits, `_`, `.` and `-` becomes `%` and two
/// hexadecimal digits in upper case. Different values stay different.
void append_escaped(std::string& out, std::string_view value);

}  // namespace rankd
