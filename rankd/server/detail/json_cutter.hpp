// rankd/server/detail/json_cutter.hpp: splits a JSON text at its outermost commas.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace rankd::detail {

/// A reader that returns the parts of a JSON text as they are written. It looks only for strings, brackets and commas,
/// and does not check whether the text is valid JSON.
/// Lifetime: the parts point into the text.
class json_cutter {
 public:
  explicit json_cutter(std::string_view text) noexcept : rest_(text) {}

  /// Skips spaces. If the given characters follow, skips them, too, and returns true. Otherwise, returns false.
  auto skip(std::string_view wanted) noexcept -> bool {
    skip_spaces();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }

  /// Returns the text between the quotes of the next string. Requires valid JSON.
  auto name() noexcept -> std::string_view {
    skip_spaces();
    const std::string_view quoted = cut(end_of_string(0) + 1);
    return quoted.substr(1, quoted.size() - 2);
  }

  /// Returns the text before the next comma, or before the bracket `closing` of the object or array that the value is
  /// in. Ignores commas and brackets within strings or nested brackets. Returns an empty text if the end is not found.
  auto value(char closing) noexcept -> std::string_view;

  [[nodiscard]] auto is_at_end() noexcept -> bool {
    skip_spaces();
    return rest_.empty();
  }

 private:
  static constexpr std::string_view spaces = " \t\r\n";

  /// Returns the position of the quote that ends the string beginning at `begin`. If there is no such quote, returns
  /// the size of the text or a greater number.
  [[nodiscard]] auto end_of_string(std::size_t begin) const noexcept -> std::size_t {
    std::size_t at = begin + 1;
    while (at < rest_.size() && rest_[at] != '"') at += rest_[at] == '\\' ? 2 : 1;
    return at;
  }

  auto cut(std::size_t size) noexcept -> std::string_view {
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(text.size());
    return text.substr(0, text.find_last_not_of(spaces) + 1);
  }

  void skip_spaces() noexcept { rest_.remove_prefix(std::min(rest_.find_first_not_of(spaces), rest_.size())); }

  std::string_view rest_;
};

inline auto json_cutter::value(char closing) noexcept -> std::string_view {
  skip_spaces();
  std::size_t depth = 0;
  for (std::size_t at = 0; at < rest_.size(); ++at) {
    const char c = rest_[at];
    if (depth == 0 && (c == ',' || c == closing)) return cut(at);
    if (c == '"')
      at = end_of_string(at);
    else if (c == '{' || c == '[')
      ++depth;
    else if ((c == '}' || c == ']') && depth-- == 0)
      return {};
  }
  return {};
}

}  // namespace rankd::detail
