// rankd/expr/detail/text_matcher.hpp: tests of a single string: against a list, a pattern, or another string.
#pragma once

#include <rankd/registry/text_pattern.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rankd::detail {

/// How two strings are related: the comparisons of bytes, in the order of `comparison`, and parts.
enum class text_relation : std::uint8_t {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  starts_with,
  ends_with,
  contains,
};

/// Returns whether the relation holds for (a, b).
[[nodiscard]] auto related(text_relation relation, std::string_view a, std::string_view b) noexcept -> bool;

/// Says of any string whether it matches. Strings may hold any bytes.
/// Threads: any, once made.
class text_matcher {
 public:
  /// Matches the strings of `list` and no others.
  static auto any_of(std::vector<std::string> list) -> text_matcher;

  /// Matches if `pattern`, in the syntax of RE2, matches any part.
  /// Errors: RE2's error for the pattern.
  static auto regex(std::string_view pattern, letter_case letters) -> std::expected<text_matcher, std::string>;

  /// Matches strings that the relation holds for, as its left side or as its right side, with `text` as the other one.
  static auto relation(text_relation relation, std::string text, bool matched_is_left) -> text_matcher;

  [[nodiscard]] auto matches(std::string_view text) const -> bool;

 private:
  using sorted_list = std::vector<std::string>;

  struct other_side {
    text_relation how;
    std::string text;
    bool matched_is_left;
  };
  using text_test = std::variant<sorted_list, text_pattern, other_side>;

  explicit text_matcher(text_test test) noexcept;

  text_test test_;
};

}  // namespace rankd::detail
