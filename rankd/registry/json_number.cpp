// rankd/registry/json_number.cpp: finds numbers in a JSON text without parsing the text.
#include <rankd/registry/json_number.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace rankd {
namespace {

/// Returns true for bytes that may occur in a number, a literal, or a misspelled literal.
auto is_word_byte(char c) noexcept -> bool {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' ||
         c == '.' || c == '_';
}

/// Returns the end of the string that begins with the quote at `position`.
auto end_of_string(std::string_view text, std::size_t position) noexcept -> std::size_t {
  for (++position; position < text.size() && text[position] != '"'; ++position)
    if (text[position] == '\\') ++position;
  return std::min(position + 1, text.size());
}

/// Calls `visit(word, at)` for each number and each literal outside of strings, even for misspelled literals.
template <typename Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      at = end_of_string(text, at);
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word_byte(text[end])) ++end;
    if (end != at) visit(text.substr(at, end - at), at);
    at = std::max(end, at + 1);
  }
}

auto is_decimal_digit(char c) noexcept -> bool { return c >= '0' && c <= '9'; }

auto find_special(std::string_view word) noexcept -> const double* {
  static constexpr std::array<std::pair<std::string_view, double>, 3> specials{
      {{"NaN", std::numeric_limits<double>::quiet_NaN()},
       {"Infinity", std::numeric_limits<double>::infinity()},
       {"-Infinity", -std::numeric_limits<double>::infinity()}}};
  for (const auto& [name, value] : specials)
    if (word == name) return &value;
  return nullptr;
}

template <typename Integer>
auto fits(std::string_view digits) noexcept -> bool {
  Integer out{};
  return std::from_chars(digits.data(), digits.data() + digits.size(), out).ec == std::errc();
}

/// Returns true for an integer that fits neither int64 nor uint64.
auto is_large_integer(std::string_view word) noexcept -> bool {
  constexpr std::size_t digits_that_fit = 18;
  if (word.size() <= digits_that_fit) return false;
  const std::string_view digits = word.substr(word.starts_with('-') ? 1 : 0);
  if (!std::ranges::all_of(digits, is_decimal_digit)) return false;
  return word.starts_with('-') ? !fits<std::int64_t>(word) : !fits<std::uint64_t>(word);
}

/// Prints an integral double below 1e21 in the same way as JavaScript: its shortest digits, filled up with zeros.
auto in_javascript(double whole) -> std::string {
  std::array<char, 32> room{};
  const char* const end =
      std::to_chars(room.data(), room.data() + room.size(), whole, std::chars_format::scientific).ptr;
  const std::string_view text(room.data(), static_cast<std::size_t>(end - room.data()));
  const std::size_t exponent_at = text.find('e');
  int exponent = 0;
  const std::size_t first = text[exponent_at + 1] == '+' ? exponent_at + 2 : exponent_at + 1;
  std::from_chars(text.data() + first, end, exponent);
  std::string out(text.substr(0, exponent_at));
  std::erase(out, '.');
  const std::size_t length = static_cast<std::size_t>(std::max(exponent, 0)) + 1 + (whole < 0 ? 1U : 0U);
  if (out.size() < length) out.append(length - out.size(), '0');
  return out;
}

}  // namespace

auto float_of_integer(std::string_view literal) -> std::optional<double> {
  const auto value = braid::detail::number_in<double>(literal);
  if (!value) return std::nullopt;
  std::array<char, 400> room{};  // the largest has 309 digits
  const char* const end =
      std::to_chars(room.data(), room.data() + room.size(), *value, std::chars_format::fixed, 0).ptr;
  if (std::string_view(room.data(), static_cast<std::size_t>(end - room.data())) == literal) return value;
  if (in_javascript(*value) == literal) return value;
  return std::nullopt;
}

auto with_large_integers_as_floats(std::string_view text) -> std::string {
  std::string out;
  std::size_t done = 0;
  for_each_word(text, [&](std::string_view word, std::size_t begin) {
    if (!is_large_integer(word) || !float_of_integer(word)) return;
    out.append(text.substr(done, begin + word.size() - done)).append(".0");
    done = begin + word.size();
  });
  return out.append(text.substr(done));
}

auto without_special_numbers(std::string_view text) -> plain_json {
  plain_json out{.text = std::string(text), .specials = {}};
  std::size_t numbers = 0;
  for_each_word(text, [&](std::string_view word, std::size_t begin) {
    if (const double* special = find_special(word)) {
      out.specials.push_back({numbers++, *special});
      std::fill_n(out.text.begin() + static_cast<std::ptrdiff_t>(begin), word.size(), ' ');
      out.text[begin] = '0';
    } else if (word.front() == '-' || is_decimal_digit(word.front())) {
      ++numbers;
    }
  });
  return out;
}

}  // namespace rankd
