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

/// A relation between two strings: a comparison of their bytes, or a test of whether one string contains the other. The
/// comparisons are in the order of `comparison`.
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

/// Returns whether `a` has the relation to `b`.
[[nodiscard]] auto related(text_relation relation, std::string_view a, std::string_view b) noexcept -> bool;

/// A test of strings against a list, a pattern or another string. Strings may contain any bytes.
/// Threads: any, once constructed.
class text_matcher {
 public:
  /// Creates a test that matches exactly the strings in `list`.
  static auto any_of(std::vector<std::string> list) -> text_matcher;

  /// Creates a test that matches every string in which the regular expression `pattern` (in RE2 syntax) finds a match.
  /// Errors: RE2's error for the pattern.
  static auto regex(std::string_view pattern, letter_case letters) -> std::expected<text_matcher, std::string>;

  /// Creates a test that matches strings with the given relation to `text`. `matched_is_left` states whether the tested
  /// string is the left operand of the relation.
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
