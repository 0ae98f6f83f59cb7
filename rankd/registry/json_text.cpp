// rankd/registry/json_text.cpp: escapes strings, handles invalid UTF-8, and writes numbers.
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>

#include <braid/base/config.hpp>
#include <braid/base/detail/base64.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rankd {
namespace {

/// States for each byte whether it is a whole character that JSON strings contain unescaped. Nearly all text consists
/// of such bytes.
constexpr std::array<bool, 256> plain_bytes = [] {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < 0x7F; ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}();

auto is_plain(char c) noexcept -> bool { return plain_bytes[static_cast<unsigned char>(c)]; }

/// Returns whether eight bytes need no escaping. The helpers set the highest bit of each byte for which their test
/// holds. A helper may also set the bit of the byte after such a byte. That does not change the result, because a
/// single set bit already means that escaping is needed.
auto are_plain(const char* eight) noexcept -> bool {
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr std::uint64_t highest = 0x80 * ones;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, eight, sizeof(bytes));
  const auto is_below = [](std::uint64_t all, std::uint64_t bound) { return (all - bound * ones) & ~all; };
  const auto has_zero = [](std::uint64_t all) { return (all - ones) & ~all; };
  const std::uint64_t others = bytes | is_below(bytes, 0x20) | has_zero(bytes ^ ('"' * ones)) |
                               has_zero(bytes ^ ('\\' * ones)) | has_zero(bytes ^ (0x7F * ones));
  return (others & highest) == 0;
}

/// Checks eight bytes at a time. The last eight bytes may overlap the eight bytes before them.
auto is_plain(std::string_view text) noexcept -> bool {
  constexpr std::size_t step = sizeof(std::uint64_t);
  if (text.size() < step) return std::ranges::all_of(text, [](char c) { return is_plain(c); });
  for (std::size_t at = 0; at + step <= text.size(); at += step)
    if (!are_plain(text.data() + at)) return false;
  return are_plain(text.data() + text.size() - step);
}

/// Appends a quoted text. Ignores the size passed to the callback, because libstdc++ 12 passes the capacity instead.
void append_quoted(std::string& out, std::string_view text) {
  const std::size_t before = out.size();
  const std::size_t after = before + text.size() + 2;
  out.resize_and_overwrite(after, [&](char* all, std::size_t) {
    all[before] = '"';
    std::ranges::copy(text, all + before + 1);
    all[after - 1] = '"';
    return after;
  });
}

void append_escape(std::string& out, unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += "\\u00";
  out += digits[byte >> 4U];
  out += digits[byte & 0xFU];
}

/// Appends an ASCII character that must be escaped.
void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: append_escape(out, static_cast<unsigned char>(c)); return;
  }
}

template <typename T>
void append_number(std::string& out, T value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  BRAID_ASSERT(error == std::errc{}, "every number fits the buffer");
  out.append(buffer, static_cast<std::size_t>(end - buffer));
}

/// The first integral float that does not fit int64. This float and all larger ones are written with an exponent,
/// because many parsers would read such a number as an integer, and then refuse or round it.
constexpr double end_of_integers = 0x1p63;

void append_scientific(std::string& out, double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  BRAID_ASSERT(error == std::errc{}, "every number fits the buffer");
  out.append(buffer, static_cast<std::size_t>(end - buffer));
}

/// Writes a number below 10^9 with at most three digits after the point, such as a score or a price; returns null for
/// any other number. These digits are the shortest possible: no two numbers of 15 digits have the same double, and the
/// result is checked against the value. The form with an exponent is never shorter: an exponent takes four characters
/// and saves only trailing zeros, and a whole number below 100000 has at most four of these.
auto write_short(char* to, double value) noexcept -> char* {
  constexpr double max_size = 1'000'000'000;
  constexpr std::int64_t max_whole = 100'000;
  constexpr std::ptrdiff_t digits_before = 9;
  if (!(std::abs(value) < max_size)) return nullptr;
  const auto thousandths = static_cast<std::int64_t>(value * 1000 + (value < 0 ? -0.5 : 0.5));
  if (thousandths == 0 || static_cast<double>(thousandths) / 1000 != value) return nullptr;
  const std::int64_t size = std::abs(thousandths);
  const std::int64_t behind = size % 1000;
  if (behind == 0 && size / 1000 >= max_whole) return nullptr;
  if (value < 0) *to++ = '-';
  to = std::to_chars(to, to + digits_before, size / 1000).ptr;
  if (behind == 0) return to;
  const auto digit = [](std::int64_t number) { return static_cast<char>('0' + number % 10); };
  *to++ = '.';
  *to++ = digit(behind / 100);
  if (behind % 100 != 0) *to++ = digit(behind / 10);
  if (behind % 10 != 0) *to++ = digit(behind);
  return to;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  if (is_plain(text)) return append_quoted(out, text);
  out += '"';
  for (;;) {
    const auto is_plain_byte = [](char c) { return is_plain(c); };
    const auto plain = static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain_byte) - text.begin());
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = utf8_character(text);
    if (static_cast<unsigned char>(text.front()) < 0x80)
      append_ascii(out, text.front());
    else if (length == 0)
      append_escape(out, static_cast<unsigned char>(text.front()));
    else
      out.append(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

auto quote_json(std::string_view text) -> std::string {
  std::string out;
  append_json_string(out, text);
  return out;
}

void append_json_bytes(std::string& out, std::string_view bytes) {
  if (is_plain(bytes)) return append_quoted(out, bytes);
  if (is_utf8(bytes)) return append_json_string(out, bytes);
  out += "{\"base64\":\"";
  braid::detail::append_base64(out, bytes, braid::detail::base64_alphabet::standard);
  out += "\"}";
}

void append_json_number(std::string& out, double value) {
  BRAID_ASSERT(std::isfinite(value), "JSON has no number that is not finite");
  char buffer[16];
  if (char* const end = write_short(buffer, value); end != nullptr)
    return static_cast<void>(out.append(buffer, static_cast<std::size_t>(end - buffer)));
  if (std::abs(value) >= end_of_integers) return append_scientific(out, value);
  append_number(out, value);
  if (value == 0 && std::signbit(value)) out += ".0";  // an integer has no -0
}

void append_json_number(std::string& out, std::int64_t value) { append_number(out, value); }

auto number_text(const scalar& value) -> std::string {
  std::string out;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) append_json_number(out, *whole);
  if (const auto* fraction = std::get_if<double>(&value)) append_json_number(out, *fraction);
  return out.empty() ? "null" : out;
}

}  // namespace rankd
