// src/net/resp_parser.cpp: parses RESP incrementally. The beginning of a value is consumed when its first line is
// complete, and the bytes of a counted text are consumed as they arrive. So no byte is examined twice.
#include <braid/net/detail/resp_parser.hpp>

#include <braid/base/detail/number_in.hpp>
#include <braid/net/detail/short_text.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace braid::detail {
namespace {

constexpr std::ptrdiff_t max_length_digits = 10;
constexpr std::ptrdiff_t max_integer_digits = 19;
constexpr std::string_view dropped_verbatim = "txt:";

auto is_decimal(char c) noexcept -> bool { return static_cast<unsigned char>(c - '0') <= 9; }

auto to_aggregate(char sign) noexcept -> resp_type {
  switch (sign) {
    case '~': return resp_type::set;
    case '>': return resp_type::push;
    case '%': return resp_type::map;
    default: return resp_type::array;
  }
}

auto is_named_real(std::string_view text) noexcept -> bool { return text == "inf" || text == "nan"; }

}  // namespace

resp_parser::resp_parser(const resp_limits& limits) noexcept : limits_(limits) {
  limits_.depth = std::min(limits.depth, resp_limits::max_depth);
}

void resp_parser::begin(arena* memory) noexcept {
  memory_ = memory;
  payload_left_ = 0;
  depth_ = 0;
  scanned_ = 0;
  budget_ = limits_.reply;
  done_ = 0;
}

void resp_parser::discard() noexcept {
  if (memory_ == nullptr) return;
  memory_ = nullptr;
  payload_ = nullptr;
  for (std::uint32_t i = 0; i < depth_; ++i) frames_[i].next = nullptr;
  if (depth_ > 0) root_ = resp_value::of_items(root_.has_items() ? root_.type() : resp_type::array, {});
}

auto resp_parser::parse(std::string_view input) -> progress {
  cursor reader{.at = input.data(), .end = input.data() + input.size(), .begin = input.data()};
  for (;;) {
    const step next = payload_left_ != 0 ? read_payload(reader) : read_value(reader);
    if (next == step::opened) continue;
    const auto consumed = static_cast<std::size_t>(reader.at - reader.begin);
    if (next == step::value && !close_frames()) continue;
    if (next == step::wrong || done_ + consumed > limits_.reply) {
      if (next != step::wrong) refuse(reader, resp_errc::too_large);
      return {status::wrong, consumed};
    }
    if (next == step::value) return {status::complete, consumed};
    done_ += consumed;
    return {status::incomplete, consumed};
  }
}

auto resp_parser::read_value(cursor& cursor) -> step {
  if (cursor.at == cursor.end) return step::more;
  sign_ = *cursor.at;
  switch (sign_) {
    case '$': return read_short_bulk(cursor) ? step::value : read_bulk(cursor, resp_type::bulk_string);
    case ':': return read_integer(cursor);
    case '+': return read_text(cursor, resp_type::simple_string);
    case '-': return read_text(cursor, resp_type::error);
    case '*':
    case '~':
    case '>':
    case '%':
    case '|': return read_aggregate(cursor);
    case '!': return read_bulk(cursor, resp_type::error);
    case '=': return read_bulk(cursor, resp_type::verbatim);
    case '_':
    case '#':
    case ',':
    case '(': return read_word(cursor);
    case ';':
    case '.': return refuse(cursor, resp_errc::streamed);
    default: return refuse(cursor, resp_errc::unknown_type);
  }
}

/// Reads a length: digits after the sign, then CR LF. The length is -1 for a RESP2 null.
auto resp_parser::read_length(cursor& cursor, std::int64_t& length) -> step {
  const char* at = cursor.at + 1;
  const bool negative = at != cursor.end && *at == '-';
  const char* const first = at + (negative ? 1 : 0);
  std::int64_t value = 0;
  for (at = first; at != cursor.end && is_decimal(*at); ++at) {
    if (at - first == max_length_digits) return refuse(cursor, resp_errc::bad_number);
    value = value * 10 + (*at - '0');
  }
  if (at == cursor.end) return step::more;
  if (at == first) return refuse(cursor, *at == '?' && !negative ? resp_errc::streamed : resp_errc::bad_number);
  if (*at != '\r' || (*first == '0' && at - first > 1)) return refuse(cursor, resp_errc::bad_number);
  const bool may_be_null = sign_ == '$' || sign_ == '*';
  if (negative && (value != 1 || !may_be_null)) return refuse(cursor, resp_errc::bad_number);
  if (at + 1 == cursor.end) return step::more;
  if (at[1] != '\n') return refuse(cursor, resp_errc::bad_line_end);
  cursor.at = at + 2;
  length = negative ? -1 : value;
  return step::value;
}

/// Reads a short string that has arrived completely. Returns false, and reads nothing, if the input is anything else.
auto resp_parser::read_short_bulk(cursor& cursor) -> bool {
  const auto [text, consumed] = detail::short_text_at(cursor.at, cursor.end);
  if (consumed == 0 || !take_budget(text.size())) return false;
  cursor.at += consumed;
  if (is_dropped()) {
    put(resp_value::of_text(resp_type::bulk_string, ""));
    return true;
  }
  char* const place = static_cast<char*>(memory_->bytes(text.size(), 1));
  detail::copy_text(place, text.data(), text.size());
  put(resp_value::of_text(resp_type::bulk_string, {place, text.size()}));
  return true;
}

auto resp_parser::read_bulk(cursor& reader, resp_type type) -> step {
  const cursor start = reader;
  std::int64_t length = 0;
  if (const step read = read_length(reader, length); read != step::value) return read;
  if (length < 0) return put(resp_value());
  if (!take_budget(static_cast<std::uint64_t>(length))) return refuse(start, resp_errc::too_large);
  if (type == resp_type::verbatim && length < 4) return refuse(start, resp_errc::bad_verbatim);
  const auto size = static_cast<std::size_t>(length);
  payload_ = is_dropped() ? nullptr : static_cast<char*>(memory_->bytes(size, 1));
  payload_type_ = type;
  payload_size_ = static_cast<std::uint32_t>(size);
  payload_left_ = static_cast<std::uint32_t>(size + 2);
  return read_payload(reader);
}

/// Reads those bytes of a counted string that have arrived, and the CR LF at the end of the string.
auto resp_parser::read_payload(cursor& cursor) -> step {
  const auto there = static_cast<std::size_t>(cursor.end - cursor.at);
  if (payload_left_ > 2) {
    const std::size_t size = std::min<std::size_t>(there, payload_left_ - 2U);
    const std::size_t before = payload_size_ + 2U - payload_left_;
    if (payload_type_ == resp_type::verbatim && before <= 3 && before + size > 3 && cursor.at[3 - before] != ':')
      return refuse({.at = cursor.at + (3 - before), .end = cursor.end, .begin = cursor.begin},
                    resp_errc::bad_verbatim);
    if (payload_ != nullptr) detail::copy_text(payload_ + before, cursor.at, size);
    cursor.at += size;
    payload_left_ -= static_cast<std::uint32_t>(size);
  }
  while (payload_left_ <= 2 && payload_left_ > 0 && cursor.at != cursor.end) {
    if (*cursor.at != (payload_left_ == 2 ? '\r' : '\n')) return refuse(cursor, resp_errc::bad_line_end);
    ++cursor.at;
    --payload_left_;
  }
  if (payload_left_ != 0) return step::more;
  if (payload_ == nullptr)
    return put(resp_value::of_text(payload_type_, payload_type_ == resp_type::verbatim ? dropped_verbatim : ""));
  return put(resp_value::of_text(payload_type_, {payload_, payload_size_}));
}

auto resp_parser::read_aggregate(cursor& reader) -> step {
  if (sign_ == '>' && depth_ > 0) return refuse(reader, resp_errc::misplaced_push);
  const cursor start = reader;
  std::int64_t length = 0;
  if (const step read = read_length(reader, length); read != step::value) return read;
  if (length < 0) return put(resp_value());
  const bool pairs = sign_ == '%' || sign_ == '|';
  return open(start, to_aggregate(sign_), static_cast<std::uint64_t>(length) * (pairs ? 2 : 1));
}

auto resp_parser::open(const cursor& cursor, resp_type type, std::uint64_t count) -> step {
  const bool is_attribute = sign_ == '|';
  if (count == 0) return is_attribute ? step::opened : put(resp_value::of_items(type, {}));
  if (depth_ == limits_.depth) return refuse(cursor, resp_errc::too_deep);
  if (!take_budget(count * sizeof(resp_value))) return refuse(cursor, resp_errc::too_large);
  resp_value* items = nullptr;
  if (!is_attribute && !is_dropped()) items = memory_->uninitialized<resp_value>(count).data();
  if (!is_attribute) put(resp_value::of_items(type, {items, items == nullptr ? 0 : count}));
  frames_[depth_++] = {.next = items, .left = static_cast<std::uint32_t>(count), .is_attribute = is_attribute};
  return step::opened;
}

/// Ends every aggregate whose last element has been read. Returns true if the reply is complete.
auto resp_parser::close_frames() noexcept -> bool {
  while (depth_ > 0) {
    frame& top = frames_[depth_ - 1];
    if (--top.left != 0) return false;
    --depth_;
    if (top.is_attribute) return false;  // an attribute is followed by its value
  }
  return true;
}

auto resp_parser::read_integer(cursor& cursor) -> step {
  const char* at = cursor.at + 1;
  const bool negative = at != cursor.end && *at == '-';
  const bool is_signed = negative || (at != cursor.end && *at == '+');
  const char* const first = at + (is_signed ? 1 : 0);
  std::uint64_t value = 0;
  for (at = first; at != cursor.end && is_decimal(*at); ++at) {
    if (at - first == max_integer_digits) return refuse(cursor, resp_errc::bad_number);
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  if (at == cursor.end) return step::more;
  if (at == first || *at != '\r') return refuse(cursor, resp_errc::bad_number);
  const bool leading_zero = *first == '0' && (at - first > 1 || negative);
  const std::uint64_t greatest = std::uint64_t{std::numeric_limits<std::int64_t>::max()} + (negative ? 1 : 0);
  if (leading_zero || value > greatest) return refuse(cursor, resp_errc::bad_number);
  if (at + 1 == cursor.end) return step::more;
  if (at[1] != '\n') return refuse(cursor, resp_errc::bad_line_end);
  cursor.at = at + 2;
  return put(resp_value::of_integer(static_cast<std::int64_t>(negative ? 0 - value : value)));
}

/// Reads the text between the sign and CR LF. Skips the bytes that an earlier call has already searched.
auto resp_parser::read_line(cursor& cursor, std::string_view& text) -> step {
  const char* const first = cursor.at + 1;
  const char* const from = first + scanned_;
  const auto searched = static_cast<std::size_t>(cursor.end - from);
  const char* const cr = static_cast<const char*>(std::memchr(from, '\r', searched));
  const char* const stop = cr == nullptr ? cursor.end : cr;
  if (std::memchr(from, '\n', static_cast<std::size_t>(stop - from)) != nullptr)
    return refuse(cursor, resp_errc::bad_line_end);
  const auto length = static_cast<std::size_t>(stop - first);
  if (length > limits_.line) return refuse(cursor, resp_errc::line_too_long);
  if (cr == nullptr || cr + 1 == cursor.end) {
    scanned_ = length;
    return step::more;
  }
  if (cr[1] != '\n') return refuse(cursor, resp_errc::bad_line_end);
  scanned_ = 0;
  cursor.at = cr + 2;
  text = {first, length};
  return step::value;
}

auto resp_parser::read_text(cursor& reader, resp_type type) -> step {
  const cursor start = reader;
  std::string_view text;
  if (const step read = read_line(reader, text); read != step::value) return read;
  return put_text(start, type, text);
}

auto resp_parser::read_word(cursor& reader) -> step {
  const cursor start = reader;
  std::string_view text;
  if (const step read = read_line(reader, text); read != step::value) return read;
  switch (sign_) {
    case '_': return text.empty() ? put(resp_value()) : refuse(start, resp_errc::bad_null);
    case '#':
      if (text != "t" && text != "f") return refuse(start, resp_errc::bad_boolean);
      return put(resp_value::of_boolean(text == "t"));
    case ',': return parse_real(start, text);
    default: return parse_big_number(start, text);
  }
}

auto resp_parser::parse_big_number(const cursor& cursor, std::string_view text) -> step {
  const std::string_view digits = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  if (digits.empty() || !std::ranges::all_of(digits, is_decimal)) return refuse(cursor, resp_errc::bad_number);
  return put_text(cursor, resp_type::big_number, text);
}

auto resp_parser::parse_real(const cursor& cursor, std::string_view text) -> step {
  const bool negative = text.starts_with('-');
  const std::string_view magnitude = text.substr(negative || text.starts_with('+') ? 1 : 0);
  const bool numeric = !magnitude.empty() && (is_decimal(magnitude.front()) || magnitude.front() == '.');
  if (!numeric && !is_named_real(magnitude)) return refuse(cursor, resp_errc::bad_real);
  const auto value = number_in<double>(magnitude);
  if (!value) return refuse(cursor, resp_errc::bad_real);
  return put(resp_value::of_real(negative ? -*value : *value));
}

auto resp_parser::put(const resp_value& value) noexcept -> step {
  if (depth_ == 0)
    root_ = value;
  else if (resp_value*& next = frames_[depth_ - 1].next; next != nullptr)
    *next++ = value;
  return step::value;
}

auto resp_parser::put_text(const cursor& cursor, resp_type type, std::string_view text) -> step {
  if (!take_budget(text.size())) return refuse(cursor, resp_errc::too_large);
  return put(resp_value::of_text(type, is_dropped() ? std::string_view() : memory_->copied(text)));
}

auto resp_parser::take_budget(std::uint64_t bytes) noexcept -> bool {
  if (bytes > budget_) return false;
  budget_ -= bytes;
  return true;
}

auto resp_parser::refuse(const cursor& cursor, resp_errc code) noexcept -> step {
  fault_ = {.code = code,
            .offset = done_ + static_cast<std::uint64_t>(cursor.at - cursor.begin),
            .byte = static_cast<unsigned char>(sign_)};
  root_ = {};
  depth_ = 0;
  payload_left_ = 0;
  return step::wrong;
}

}  // namespace braid::detail
