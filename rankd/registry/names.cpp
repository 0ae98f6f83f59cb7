// rankd/registry/names.cpp: checks the spelling of names without regular expressions.
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <cstdint>

namespace rankd {
namespace {

auto is_digit(char c) noexcept -> bool { return c >= '0' && c <= '9'; }
auto is_lower(char c) noexcept -> bool { return c >= 'a' && c <= 'z'; }
auto is_word(char c) noexcept -> bool { return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_'; }
auto is_slug(char c) noexcept -> bool { return is_digit(c) || is_lower(c) || c == '_'; }

/// Removes `prefix` and `count` digits from the front of `text`. Returns false if the text does not begin like that.
auto take_number(std::string_view& text, std::string_view prefix, std::size_t count) noexcept -> bool {
  if (!text.starts_with(prefix) || text.size() < prefix.size() + count) return false;
  const std::string_view digits = text.substr(prefix.size(), count);
  text.remove_prefix(prefix.size() + count);
  return std::ranges::all_of(digits, is_digit);
}

/// Describes the UTF-8 sequences that begin with the byte `lead`: their length, and the range of their second byte
/// (Unicode, table 3-7).
struct utf8_form {
  std::size_t length;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
};

auto find_form(std::uint8_t lead) noexcept -> utf8_form {
  if (lead < 0x80) return {.length = 1};
  if (lead < 0xC2) return {.length = 0};
  if (lead < 0xE0) return {.length = 2};
  if (lead == 0xE0) return {.length = 3, .low = 0xA0};
  if (lead == 0xED) return {.length = 3, .high = 0x9F};
  if (lead < 0xF0) return {.length = 3};
  if (lead == 0xF0) return {.length = 4, .low = 0x90};
  if (lead < 0xF4) return {.length = 4};
  if (lead == 0xF4) return {.length = 4, .high = 0x8F};
  return {.length = 0};
}

}  // namespace

auto is_identifier(std::string_view text) noexcept -> bool { return is_plan_word(text) && !is_digit(text.front()); }

auto is_plan_word(std::string_view text) noexcept -> bool {
  return !text.empty() && std::ranges::all_of(text, is_word);
}

auto is_endpoint_id(std::string_view text) noexcept -> bool { return take_number(text, "ep_", 4) && text.empty(); }

auto is_experiment_id(std::string_view text) noexcept -> bool { return take_number(text, "exp_", 4) && text.empty(); }

auto is_capability_id(std::string_view text) noexcept -> bool {
  if (!take_number(text, "cap.rfc.", 4) || !text.starts_with('.')) return false;
  text.remove_prefix(1);
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view slug = text.substr(0, dot);
  const std::string_view version = text.substr(dot + 1);
  return !slug.empty() && is_lower(slug.front()) && std::ranges::all_of(slug, is_slug) && version.size() >= 2 &&
         version[0] == 'v' && version[1] != '0' && std::ranges::all_of(version.substr(1), is_digit);
}

auto utf8_character(std::string_view text) noexcept -> std::size_t {
  const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const utf8_form form = find_form(byte(0));
  if (form.length == 0 || form.length > text.size()) return 0;
  if (form.length > 1 && (byte(1) < form.low || byte(1) > form.high)) return 0;
  for (std::size_t i = 2; i < form.length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return form.length;
}

auto is_utf8(std::string_view text) noexcept -> bool { return utf8_prefix(text) == text.size(); }

auto utf8_prefix(std::string_view text) noexcept -> std::size_t {
  std::size_t at = 0;
  while (at < text.size()) {
    const bool ascii = static_cast<std::uint8_t>(text[at]) < 0x80;  // nearly all of what is read
    const std::size_t length = ascii ? 1 : utf8_character(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

auto quote_name(std::string_view name) -> std::string {
  constexpr std::size_t max_length = 80;
  if (name.size() <= max_length) return "`" + std::string(name) + "`";
  const std::string_view head = name.substr(0, max_length);
  return "`" + std::string(head.substr(0, utf8_prefix(head))) + "…`";
}

}  // namespace rankd
