// rankd/expr/detail/text_matcher.hpp: tests of a single string: against a list, or a regular expression.
#pragma once

#include <rankd/registry/text_pattern.hpp>

#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rankd::detail {

/// Says of any string whether it matches. Strings may hold any bytes.
/// Threads: any, once made.
class text_matcher {
 public:
  /// Matches the strings of `list` and no others.
  static auto any_of(std::vector<std::string> list) -> text_matcher;

  /// Matches where `pattern`, in the syntax of RE2, matches any part.
  /// Errors: what RE2 has against the pattern.
  static auto regex(std::string_view pattern, letter_case letters) -> std::expected<text_matcher, std::string>;

  [[nodiscard]] auto matches(std::string_view text) const -> bool;

 private:
  using sorted_list = std::vector<std::string>;

  explicit text_matcher(std::variant<sorted_list, text_pattern> test) noexcept;

  std::variant<sorted_list, text_pattern> test_;
};

}  // namespace rankd::detail
