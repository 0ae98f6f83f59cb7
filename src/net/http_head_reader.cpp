// src/net/http_head_reader.cpp: parses the lines and fields of a head, and checks that the fields agree with each
// other.
#include <braid/net/detail/http_head_reader.hpp>

#include <braid/net/detail/http_text.hpp>

#include <algorithm>
#include <limits>

namespace braid::detail {
namespace {

/// Parses decimal digits. If the number is too large, returns the largest value of the type, which exceeds every limit.
auto parse_length(std::string_view text) -> std::optional<std::uint64_t> {
  constexpr std::uint64_t max_value = std::numeric_limits<std::uint64_t>::max();
  if (!all_http(text, is_digit)) return std::nullopt;
  std::uint64_t out = 0;
  for (const char c : text) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (out > (max_value - digit) / 10) return max_value;
    out = out * 10 + digit;
  }
  return out;
}

/// Removes the first element of a comma-separated list from its front.
auto next_element(std::string_view& list) -> std::string_view {
  const std::size_t comma = std::min(list.find(','), list.size());
  const std::string_view out = trimmed(list.substr(0, comma));
  list.remove_prefix(std::min(comma + 1, list.size()));
  return out;
}

auto is_port(std::string_view text) -> bool {
  unsigned value = 0;
  if (text.size() > 5) return false;
  for (const char c : text) {
    if (!is_http(c, is_digit)) return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value <= 65'535;
}

/// Returns whether a dot is the first character or follows another dot. A dot at the end is valid; it stands for the
/// root of the DNS.
auto has_empty_label(std::string_view name) -> bool { return name.starts_with('.') || name.contains(".."); }

}  // namespace

auto is_host(std::string_view text) noexcept -> bool {
  const auto is_address = [](char c) { return is_http(c, is_hex) || c == ':' || c == '.'; };
  if (!text.starts_with('[')) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view name = text.substr(0, colon);
    return all_http(name, in_host) && !has_empty_label(name) &&
           (colon == text.size() || is_port(text.substr(colon + 1)));
  }
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos || end < 3) return false;
  if (!std::ranges::all_of(text.substr(1, end - 1), is_address)) return false;
  const std::string_view rest = text.substr(end + 1);
  return rest.empty() || (rest.front() == ':' && is_port(rest.substr(1)));
}

auto find_framing(const http_known_fields& known, const http_limits& limits) -> std::expected<http_framing, http_errc> {
  using kind = http_framing::kind;
  if (known.transfer == http_known_fields::encoding::chunked) return http_framing{kind::chunked, 0};
  if (known.length.value_or(0) > limits.body_bytes) return std::unexpected(http_errc::body_too_large);
  if (known.length.value_or(0) == 0) return http_framing{};
  return http_framing{kind::length, *known.length};
}

void http_head_reader::reset() noexcept {
  line_at_ = 0;
  scanned_to_ = 0;
  places_.clear();
  known_ = {};
}

auto http_head_reader::next_line(std::string_view input, std::size_t max_value)
    -> std::expected<std::optional<std::string_view>, http_errc> {
  const std::size_t end = std::min(input.size(), max_value);
  const auto unfinished = [&]() -> std::expected<std::optional<std::string_view>, http_errc> {
    if (input.size() >= max_value) return std::unexpected(http_errc::head_too_large);
    return std::nullopt;
  };
  scanned_to_ = find_control(input.data(), scanned_to_, end);
  if (scanned_to_ == end) return unfinished();
  if (input[scanned_to_] != '\r') return std::unexpected(http_errc::bad_line_end);
  if (scanned_to_ + 1 == end) return unfinished();
  if (input[scanned_to_ + 1] != '\n') return std::unexpected(http_errc::bad_line_end);
  const std::string_view line = input.substr(line_at_, scanned_to_ - line_at_);
  scanned_to_ += 2;
  line_at_ = scanned_to_;
  return line;
}

auto http_head_reader::read_fields(std::string_view input) -> std::expected<bool, http_errc> {
  for (;;) {
    // The maximum size of a head. Positions within a head are stored in 32 bits.
    constexpr std::size_t max_head = std::numeric_limits<std::uint32_t>::max();
    const auto line = next_line(input, std::min(limits_->head_bytes, max_head));
    if (!line) return std::unexpected(line.error());
    if (!*line) return false;
    if ((*line)->empty()) return true;
    if (const auto wrong = add_field(input, **line)) return std::unexpected(*wrong);
  }
}

auto http_head_reader::add_field(std::string_view input, std::string_view line) -> std::optional<http_errc> {
  if (line.front() == ' ' || line.front() == '\t') return http_errc::folded_field;
  std::size_t colon = 0;
  while (colon < line.size() && is_http(line[colon], in_token)) ++colon;
  if (colon == 0 || colon == line.size() || line[colon] != ':') return http_errc::bad_field;
  if (places_.size() == limits_->fields) return http_errc::too_many_fields;
  const std::string_view value = trimmed(line.substr(colon + 1));
  const auto place = [&](const char* text) { return static_cast<std::uint32_t>(text - input.data()); };
  places_.push_back({place(line.data()), static_cast<std::uint32_t>(colon), place(value.data()),
                     static_cast<std::uint32_t>(value.size())});
  return note(line.substr(0, colon), value);
}

auto http_head_reader::note(std::string_view name, std::string_view value) -> std::optional<http_errc> {
  switch (name.size()) {  // most fields are different and have another length
    case 4: return equals_lower(name, "host") ? note_host(value) : std::nullopt;
    case 6:
      if (!equals_lower(name, "expect")) return std::nullopt;
      if (!equals_lower(value, "100-continue")) return http_errc::unknown_expectation;
      known_.expects_continue = true;
      return std::nullopt;
    case 10:
      if (equals_lower(name, "connection")) note_connection(value);
      return std::nullopt;
    case 14: return equals_lower(name, "content-length") ? note_length(value) : std::nullopt;
    case 17: return equals_lower(name, "transfer-encoding") ? note_encoding(value) : std::nullopt;
    default: return std::nullopt;
  }
}

auto http_head_reader::note_host(std::string_view value) -> std::optional<http_errc> {
  if (known_.host || !is_host(value)) return http_errc::bad_host;
  known_.host = places_.size() - 1;
  return std::nullopt;
}

auto http_head_reader::note_length(std::string_view value) -> std::optional<http_errc> {
  if (known_.transfer != http_known_fields::encoding::none) return http_errc::length_and_encoding;
  if (known_.length) return http_errc::bad_length;  // also if they are equal: another program may use the other
  known_.length = parse_length(value);
  return known_.length ? std::nullopt : std::optional(http_errc::bad_length);
}

auto http_head_reader::note_encoding(std::string_view value) -> std::optional<http_errc> {
  if (known_.length) return http_errc::length_and_encoding;
  if (known_.transfer != http_known_fields::encoding::none) return http_errc::bad_encoding;
  known_.transfer = http_known_fields::encoding::chunked;
  if (equals_lower(value, "chunked")) return std::nullopt;
  bool chunked = false;
  do {
    if (chunked) return http_errc::bad_encoding;  // it must be the last one
    chunked = equals_lower(next_element(value), "chunked");
  } while (!value.empty());
  return chunked ? http_errc::unknown_encoding : http_errc::bad_encoding;
}

void http_head_reader::note_connection(std::string_view value) noexcept {
  while (!value.empty()) {
    const std::string_view element = next_element(value);
    known_.close |= equals_lower(element, "close");
    known_.keep_alive |= equals_lower(element, "keep-alive");
  }
}

}  // namespace braid::detail
